"""Test full or read-only disks, closed pipes and signals: one line, a matching exit status, and nothing left behind."""

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
def as_stdout(handle: int):
    """Replace sys.stdout as in a program that starts with this file or pipe."""
    before = sys.stdout
    with suppress(BrokenPipeError), open(handle, "w", encoding="utf-8") as sys.stdout:
        yield
    sys.stdout = before


@pytest.fixture
def run_with_stdout(monkeypatch, capsys):
    """Run the command line with a file handle for standard output: return status and stderr."""

    def call(handle: int, *words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["storagekit", *words])
        with as_stdout(handle), pytest.raises(SystemExit) as left:
            cli.main()
        return int(left.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", ["list", "list --json", "--help", "--version", "plan size -h"])
def test_a_full_standard_output_gives_one_line(run_with_stdout, arguments):
    status, line = run_with_stdout(os.open("/dev/full", os.O_WRONLY), *arguments.split())
    assert status == 1 and line.startswith("storagekit: ") and line.count("\n") == 1


@pytest.mark.parametrize("arguments", ["list", "list --json", "--help"])
def test_a_closed_pipe_ends_the_program_without_output(run_with_stdout, arguments, monkeypatch):
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # typer replaces it
    reads, writes = os.pipe()
    os.close(reads)
    status, line = run_with_stdout(writes, *arguments.split())
    assert status in (1, 141) and line == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_python_adds_nothing_to_the_line():
    """At exit, Python would flush the unwritten output again."""
    command = [sys.executable, "-m", "storagekit.cli", "list"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1 and ran.stderr.startswith("storagekit: ")


NOTEBOOK_WAITS = (
    "from pathlib import Path\nimport os, time",
    "Path(out).parent.joinpath('begun').write_text(str(os.getpid()))\ntime.sleep(120)",
)


# Processes that run in the background ignore these signals, and so do their children.
AS_FROM_A_TERMINAL = (
    "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
)


def has_ended(process: int) -> bool:
    """Return whether a process has ended; its exit status may still be unread."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def temporary():
    """Return a folder for temporary files with a short name, as sockets need."""
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
def test_a_stopped_run_leaves_the_earlier_results_and_nothing_else(
    write, notebooks, tmp_path, temporary, number, status
):
    write("dsptf", *NOTEBOOK_WAITS)
    out, kernel = tmp_path / "out", tmp_path / "out" / "begun"
    (out / "dsptf").mkdir(parents=True)
    (out / "dsptf" / "measurements.json").write_text("from an earlier run")
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
        _, stderr = run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == status
    assert (
        stderr.splitlines()[-1] == "storagekit: stopped; the current runs are incomplete" and "Traceback" not in stderr
    )
    assert has_ended(int(kernel.read_text()))
    assert list(temporary.iterdir()) == []
    assert {path.name for path in out.iterdir()} == {"dsptf", "begun", folders.LOCK}
    assert {path.name for path in (out / "dsptf").iterdir()} == {"measurements.json", "fingerprint.json"}


@pytest.mark.parametrize("module", ["typer", "storagekit.cli.plan", "storagekit.cli.main"])
def test_ctrl_c_during_imports_gives_one_line(module):
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
    assert ran.stderr == "storagekit: stopped; the current runs are incomplete\n"


def test_a_folder_with_a_long_name_raises_for_sockets(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(folders.tempfile, "tempdir", str(deep))
    with folders.short(tmp_path) as folder:
        assert folder.is_dir() and folder.parent == Path("/tmp")
    assert not folder.exists()
    monkeypatch.setattr(folders.tempfile, "mkdtemp", lambda **_given: os.mkdir("/nowhere/at/all"))
    with pytest.raises(InputError, match="set TMPDIR to a folder with a short path"), folders.short(tmp_path):
        pass


def test_sockets_of_a_killed_run_are_removed_with_the_rest(tmp_path, temporary, monkeypatch):
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
    """Return a function that mounts a disk of a few kilobytes at a folder."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True)
        if made.returncode:
            pytest.skip("no disk may be mounted here")
        return folder

    yield mount
    subprocess.run(["umount", "-l", str(folder)], capture_output=True)


def test_a_full_disk_gives_one_line(write, notebooks, mounted, storagekit, monkeypatch):
    """If the notebook meets the full disk first, it reports it.

    Its files are removed, so that a second attempt has the same space.
    """
    write("dsptf", "from pathlib import Path\n(Path(out) / 'dsptf' / 'big').write_bytes(bytes(10**6))")
    monkeypatch.setattr(runner, "reproductions_path", lambda: notebooks)
    monkeypatch.setattr(Site, "write", lambda _book: "")
    out = mounted("size=300k")
    status, _, stderr = storagekit("reproduce", "dsptf", "--out", str(out))
    begins, *last = [line for line in stderr.splitlines() if line.startswith("storagekit: ")]
    assert begins.startswith("storagekit: results so far, updated during the run: ")
    assert status == 1 and "Traceback" not in stderr and last and "No space left on device" in last[0]
    assert {path.name for path in out.rglob("*")} <= {folders.LOCK, "dsptf", "dsptf.failed.ipynb", "scorecard.csv"}
    (out / "fills").write_bytes(b"0" * 200_000)
    with open(out / "fills", "ab", 0) as full, pytest.raises(OSError):
        while True:
            full.write(bytes(1000))
    status, _, stderr = storagekit("reproduce", "dsptf", "--out", str(out))
    assert status in (1, 2) and "Traceback" not in stderr and "No space left on device" in stderr


def test_a_read_only_folder_gives_one_line_even_with_complete_results(
    mounted, storagekit, write, notebooks, monkeypatch
):
    write("dsptf", "x = 1")
    monkeypatch.setattr(runner, "reproductions_path", lambda: notebooks)
    monkeypatch.setattr(Site, "write", lambda _book: "")
    out = mounted("size=9m")
    assert storagekit("reproduce", "dsptf", "--out", str(out))[0] in (0, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
    status, text, stderr = storagekit("reproduce", "dsptf", "--out", str(out))
    assert (status, text) == (2, "")
    assert stderr == f"storagekit: out '{out}': Read-only file system; give a writable folder, --out DIR\n"


def test_a_failed_write_names_the_file(tmp_path, storagekit, monkeypatch):
    (tmp_path / "file").write_text("a file")
    status, _, stderr = storagekit("scorecard", "--out", str(tmp_path / "file"))
    assert status == 2 and stderr.count("\n") == 1

    def full(*_given, **_options):
        raise OSError(28, "No space left on device", "/disk/x")

    monkeypatch.setattr("storagekit.cli.catalogue.catalogue", full)
    assert storagekit("list") == (
        1,
        "",
        "storagekit: /disk/x: No space left on device; free space there, or write to another folder, and run again\n",
    )
