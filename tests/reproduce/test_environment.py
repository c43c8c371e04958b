"""Disks that are full or not to be written, a pipe that closes, signals: a line each, a status that says so, nothing left."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from storagekit.cli import main as cli
from storagekit.core.errors import InputError
from storagekit.reproduce import folders, runner
from storagekit.reproduce.site import Site

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no signals, no /dev/full")


@contextmanager
def standing_for_stdout(handle: int):
    """sys.stdout as a program has it that is started with this file or pipe."""
    before = sys.stdout
    with suppress(BrokenPipeError), open(handle, "w", encoding="utf-8") as sys.stdout:
        yield
    sys.stdout = before


@pytest.fixture
def said(monkeypatch, capsys):
    """Run the command line with a file handle for standard output: status and stderr."""

    def call(handle: int, *arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["storagekit", *arguments])
        with standing_for_stdout(handle), pytest.raises(SystemExit) as left:
            cli.main()
        return int(left.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("asked", ["list", "list --json", "--help", "--version", "plan size -h"])
def test_a_full_standard_output_is_a_line(said, asked):
    status, line = said(os.open("/dev/full", os.O_WRONLY), *asked.split())
    assert status == 1 and line.startswith("storagekit: ") and line.count("\n") == 1


@pytest.mark.parametrize("asked", ["list", "list --json", "--help"])
def test_a_pipe_that_is_closed_ends_it_without_a_word(said, asked, monkeypatch):
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # typer puts another in its place
    reads, writes = os.pipe()
    os.close(reads)
    status, line = said(writes, *asked.split())
    assert status in (1, 141) and line == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_python_has_nothing_to_add_to_the_line():
    """As it ends it would flush what could not be written, once more."""
    command = [sys.executable, "-m", "storagekit.cli", "list"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1 and ran.stderr.startswith("storagekit: ")


NOTEBOOK_WAITS = (
    "from pathlib import Path\nimport os, time",
    "Path(out).parent.joinpath('begun').write_text(str(os.getpid()))\ntime.sleep(120)",
)


# who runs the tests in the background has these ignored, by children too
AS_FROM_A_TERMINAL = (
    "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
)


def gone(process: int) -> bool:
    """Whether a process has ended, or nobody has asked yet how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def temporary():
    """A folder for temporary files with a short name, as sockets need."""
    folder = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param("SIGINT", 130, marks=pytest.mark.slow),
        ("SIGTERM", 143),
        pytest.param("SIGHUP", 129, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_leaves_nothing_and_what_was_there(write, notebooks, tmp_path, temporary, number, status):
    write("dsptf", *NOTEBOOK_WAITS)
    out, kernel = tmp_path / "out", tmp_path / "out" / "begun"
    (out / "dsptf").mkdir(parents=True)
    (out / "dsptf" / "measurements.json").write_text("of an earlier run")
    (out / "dsptf" / "fingerprint.json").write_text(json.dumps({"fingerprint": "?", "outputs": {"a.csv": "?"}}))
    code = (
        f"{AS_FROM_A_TERMINAL}import sys; from pathlib import Path\n"
        "from storagekit.cli import main as cli; from storagekit.reproduce import runner\n"
        "notebooks = Path(sys.argv.pop())\nrunner.reproductions_path = lambda: notebooks\ncli.main()"
    )
    command = [sys.executable, "-c", code, "reproduce", "dsptf", "--out", str(out), str(notebooks)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    end = time.monotonic() + 120
    while not kernel.exists():
        assert run.poll() is None and time.monotonic() < end, run.communicate()
        time.sleep(0.1)
    run.send_signal(getattr(signal, number))
    try:
        _, told = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == status
    assert told.splitlines()[-1] == "storagekit: stopped; what was running is not finished" and "Traceback" not in told
    assert gone(int(kernel.read_text()))
    assert list(temporary.iterdir()) == []
    assert {path.name for path in out.iterdir()} == {"dsptf", "begun", folders.LOCK}
    assert {path.name for path in (out / "dsptf").iterdir()} == {"measurements.json", "fingerprint.json"}


@pytest.mark.parametrize("module", ["typer", "storagekit.cli.plan", "storagekit.cli.main"])
def test_ctrl_c_during_imports_is_a_line(module):
    code = (
        f"{AS_FROM_A_TERMINAL}import os, sys\n"
        "class Presses:\n"
        "    def find_spec(self, name, *given):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Presses())\n"
        "from storagekit.cli.__main__ import main\n"
        "sys.argv = ['storagekit', 'list']\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr == "storagekit: stopped; what was running is not finished\n"


def test_a_long_folder_for_temporary_files_is_none_for_sockets(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(folders.tempfile, "tempdir", str(deep))
    with folders.short(tmp_path) as folder:
        assert folder.is_dir() and folder.parent == Path("/tmp")
    assert not folder.exists()
    monkeypatch.setattr(folders.tempfile, "mkdtemp", lambda **_given: os.mkdir("/nowhere/at/all"))
    with pytest.raises(InputError, match="name a short folder in TMPDIR"), folders.short(tmp_path):
        pass


def test_sockets_of_a_killed_run_go_with_the_rest(tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "tempdir", str(temporary))
    killed = temporary / "storagekit-killed"
    mine = temporary / "mine"
    for number, folder in enumerate((killed, mine)):
        folder.mkdir()
        left = tmp_path / f"{folders.PRIVATE}{number}"
        left.mkdir()
        (left / "short").symlink_to(folder)
    with folders.alone_in(tmp_path):
        assert not killed.exists() and mine.exists()


@pytest.fixture
def mounted(tmp_path):
    """A disk of so many kilobytes, at a folder."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True)
        if made.returncode:
            pytest.skip("no disk may be mounted here")
        return folder

    yield mount
    subprocess.run(["umount", "-l", str(folder)], capture_output=True)


def test_a_full_disk_is_a_line(write, notebooks, mounted, storagekit, monkeypatch):
    """The notebook says so where it is the first to meet it; what it wrote goes, and a second attempt meets no fuller one."""
    write("dsptf", "from pathlib import Path\n(Path(out) / 'dsptf' / 'big').write_bytes(bytes(10**6))")
    monkeypatch.setattr(runner, "reproductions_path", lambda: notebooks)
    monkeypatch.setattr(Site, "write", lambda _book: "")
    out = mounted("size=300k")
    status, _, told = storagekit("reproduce", "dsptf", "--out", str(out))
    begins, *last = [line for line in told.splitlines() if line.startswith("storagekit: ")]
    assert begins.startswith("storagekit: results so far, growing: ")
    assert status == 1 and "Traceback" not in told and last and "No space left on device" in last[0]
    assert {path.name for path in out.rglob("*")} <= {folders.LOCK, "dsptf", "dsptf.failed.ipynb", "scorecard.csv"}
    (out / "fills").write_bytes(b"0" * 200_000)
    with open(out / "fills", "ab", 0) as full, pytest.raises(OSError):
        while True:
            full.write(bytes(1000))
    status, _, told = storagekit("reproduce", "dsptf", "--out", str(out))
    assert status in (1, 2) and "Traceback" not in told and "No space left on device" in told


def test_a_folder_that_may_only_be_read_is_a_line_even_when_all_is_there(
    mounted, storagekit, write, notebooks, monkeypatch
):
    write("dsptf", "x = 1")
    monkeypatch.setattr(runner, "reproductions_path", lambda: notebooks)
    monkeypatch.setattr(Site, "write", lambda _book: "")
    out = mounted("size=9m")
    assert storagekit("reproduce", "dsptf", "--out", str(out))[0] in (0, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
    status, text, told = storagekit("reproduce", "dsptf", "--out", str(out))
    assert (status, text) == (2, "")
    assert told == f"storagekit: out '{out}': Read-only file system; name a folder you can write, --out DIR\n"


def test_what_cannot_be_written_is_named(tmp_path, storagekit, monkeypatch):
    (tmp_path / "file").write_text("a file")
    status, _, told = storagekit("scorecard", "--out", str(tmp_path / "file"))
    assert status == 2 and told.count("\n") == 1

    def full(*_given, **_options):
        raise OSError(28, "No space left on device", "/disk/x")

    monkeypatch.setattr("storagekit.cli.catalogue.catalogue", full)
    assert storagekit("list") == (
        1,
        "",
        "storagekit: /disk/x: No space left on device; make room there, or write elsewhere, and run again\n",
    )
