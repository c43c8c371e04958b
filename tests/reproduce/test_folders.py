"""Test runs that are killed, and simultaneous runs in one folder.

Accepted results are complete and have the requested seed.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from storagekit.core.errors import InputError
from storagekit.reproduce import cache, folders, runner

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no locks there, and no kills")

TABLES = [f"table{number}.csv" for number in range(6)]
# each table contains its seed; files named after a seed must be removed by later runs
CELLS = (
    "import time\nfrom pathlib import Path\nfolder = Path(out) / 'dsptf'",
    f"for name in {TABLES}:\n    (folder / name).write_text(str(seed))\n    time.sleep(0.03)",
    "(folder / f'of_{seed}.csv').write_text(str(seed))",
)
# A process imports the runner, which takes seconds, and forks for each run. With QUICK, cells run in that process
# instead of a kernel, which takes seconds to start.
SERVES = """
import os, sys
from pathlib import Path
from storagekit.reproduce import notebooks, runner

def in_this_process(notebook, running, parameters, environment, on_cell, sockets):
    import nbformat
    page, names = nbformat.read(notebook, 4), dict(parameters)
    for cell in page.cells:
        if cell.cell_type == "code" and not cell.metadata.get("tags"):
            exec(cell.source, names)
            on_cell(cell)
    nbformat.write(page, running)

def run(out, folder, seed, quick):
    if quick == "QUICK":
        notebooks._execute = in_this_process
    report = runner.reproduce(["dsptf"], out=out, seed=int(seed), notebooks=Path(folder), bind=lambda site: None)
    return 0 if report.outcomes[0].state in ("ran", "cached") else 1

for line in sys.stdin:
    word, *arguments = line.split()
    if word == "wait":
        print(os.waitstatus_to_exitcode(os.waitpid(int(arguments[0]), 0)[1]), flush=True)
    elif pid := os.fork():
        print(pid, flush=True)
    else:
        status = 1
        try:
            status = run(*arguments)
        finally:
            os._exit(status)
"""


@pytest.fixture(scope="module")
def server():
    command, pipe = [sys.executable, "-c", SERVES], subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        yield process
        process.communicate()


@pytest.fixture
def send_command(server):
    """Return a function that sends the server one line and returns its result, a number."""

    def send(*words) -> int:
        print(*words, file=server.stdin, flush=True)
        return int(server.stdout.readline())

    return send


def accepted(out: Path, notebooks: Path) -> list[int]:
    """Return those of two seeds whose results are accepted in `out`, after a check of the folder."""
    found = []
    for seed in (0, 1):
        values = {"profile": "quick", "seed": seed}
        wanted = cache.fingerprint("dsptf", notebooks / "dsptf.ipynb", values)
        if cache.is_current(out / "dsptf", wanted, cache.pages("dsptf")):
            found.append(seed)
            made = {path.name: path for path in (out / "dsptf").iterdir() if path.suffix == ".csv"}
            assert set(made) == {*TABLES, f"of_{seed}.csv"}
            assert {path.read_text() for path in made.values()} == {str(seed)}
    return found


def hidden(out: Path) -> set[str]:
    return {path.name for path in out.rglob(".*")} - {folders.LOCK}


def kill_some(send_command, tmp_path: Path, notebooks: Path, kills: int, longest: float, quick: str) -> None:
    """Kill runs of seed 1 over a folder with complete results of seed 0, each after a random time."""
    before, out, times = tmp_path / "before", tmp_path / "out", random.Random(19)
    assert send_command("wait", send_command("run", before, notebooks, 0, quick)) == 0 and accepted(
        before, notebooks
    ) == [0]
    for _ in range(kills):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(before, out)
        run = send_command("run", out, notebooks, 1, quick)
        time.sleep(times.uniform(0, longest))
        os.kill(run, signal.SIGKILL)
        status, left = send_command("wait", run), accepted(out, notebooks)
        assert left in ([0], [], [1]) and status in (0, -signal.SIGKILL)
        assert left == [1] or status != 0
        assert (left != []) == cache.is_finished(out, "dsptf")
    assert send_command("wait", send_command("run", out, notebooks, 1, quick)) == 0
    assert accepted(out, notebooks) == [1] and not hidden(out)


def pair_some(send_command, tmp_path: Path, notebooks: Path, pairs: int, quick: str) -> None:
    """Start runs of two seeds at once in one folder.

    Both run, one after the other, and the results of the later one stay.
    """
    for _ in range(pairs):
        runs = [send_command("run", tmp_path / "out", notebooks, seed, quick) for seed in (0, 1)]
        assert [send_command("wait", run) for run in runs] == [0, 0]
        assert len(accepted(tmp_path / "out", notebooks)) == 1 and not hidden(tmp_path / "out")


def test_a_killed_run_leaves_earlier_results_or_none_that_are_accepted(send_command, write, notebooks, tmp_path):
    write("dsptf", *CELLS)
    kill_some(send_command, tmp_path, notebooks, 5, 0.6, "QUICK")


def test_two_runs_in_one_folder_leave_the_results_of_one(send_command, write, notebooks, tmp_path):
    write("dsptf", *CELLS)
    pair_some(send_command, tmp_path, notebooks, 3, "QUICK")


@pytest.mark.slow
@pytest.mark.parametrize(("longest", "quick"), [(6.0, "KERNELS"), (0.6, "QUICK")])
def test_fifty_kills(send_command, write, notebooks, tmp_path, longest, quick):
    write("dsptf", *CELLS)
    kill_some(send_command, tmp_path, notebooks, 50, longest, quick)


@pytest.mark.slow
@pytest.mark.parametrize("quick", ["KERNELS", "QUICK"])
def test_twenty_pairs_in_one_folder(send_command, write, notebooks, tmp_path, quick):
    write("dsptf", *CELLS)
    pair_some(send_command, tmp_path, notebooks, 20, quick)


class Killed(BaseException):
    """Acts as the end of the process: no error handler catches it."""


def a_run(folder: Path, seed: int) -> Path:
    folder.mkdir(parents=True)
    for name in (*TABLES, f"of_{seed}.csv", *cache.pages("dsptf")):
        (folder / name).write_text(str(seed))
    return folder


@pytest.mark.parametrize("kind", ["replace", "unlink"])
def test_interrupted_anywhere_accepted_results_are_complete(tmp_path, monkeypatch, kind):
    """Results are moved by renaming and removing files; the run ends before each of these operations in turn."""
    acts, killed = 0, True
    while killed:
        out = tmp_path / str(acts)
        cache.move_into(a_run(out / "made0", 0), out / "dsptf", "of seed 0")
        (out / "dsptf" / "mine.txt").write_text("the reader's own")
        made, left, killed = a_run(out / "made1", 1), acts, False
        whose = os if kind == "replace" else Path
        really = getattr(whose, kind)

        def act(*given, really=really, **options):
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return really(*given, **options)

        with monkeypatch.context() as patch:
            patch.setattr(whose, kind, act)
            try:
                cache.move_into(made, out / "dsptf", "of seed 1")
            except Killed:
                killed = True
        for seed in (0, 1):
            if cache.is_current(out / "dsptf", f"of seed {seed}", cache.pages("dsptf")):
                contents = {path.read_text() for path in (out / "dsptf").glob("*.csv")}
                assert contents == {str(seed)}
        # the next run detects the results of the last one
        cache.move_into(a_run(out / "made2", 2), out / "dsptf", "of seed 2")
        assert {path.name for path in (out / "dsptf").glob("of_*")} == {"of_2.csv"}
        assert (out / "dsptf" / "mine.txt").exists()
        acts += 1
    assert acts > 3


def test_a_waiting_run_names_the_other_process(tmp_path, capfd, monkeypatch):
    """The lock ends with its process."""
    holds = "import sys\nfrom pathlib import Path\nfrom storagekit.reproduce import folders\n"
    holds += "with folders.alone_in(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    command, pipe = [sys.executable, "-c", holds, str(tmp_path)], subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        (tmp_path / ".storagekit-run-killed").mkdir()
        monkeypatch.setattr(folders.time, "sleep", lambda _seconds: (other.kill(), other.wait()))
        with folders.alone_in(tmp_path):
            assert hidden(tmp_path) == set()
    stderr = capfd.readouterr().err
    assert f"process {other.pid} uses {tmp_path}; waiting until it ends" in stderr
    assert stderr.count("\n") == 1 and "--out" in stderr


@pytest.mark.parametrize(
    "outputs",
    [
        {},
        [],
        None,
        "without the notebook",
        {"..": "?"},
        {"": "?"},
        {"/etc/hostname": "?"},
        {"../mine.txt": "?"},
        {"a\\b": "?"},
        {"fingerprint.json": "?"},
        {".hidden": "?"},
        {"new\nline": "?"},
        {"nul\0": "?"},
        {"mine.txt": 1},
        "deep",
    ],
)
def test_an_empty_record_or_one_with_strange_names_is_not_accepted(tmp_path, outputs):
    """The next run also removes no file that the record names."""
    mine = tmp_path / "mine.txt"
    mine.write_text("the reader's own")
    cache.move_into(a_run(tmp_path / "made", 0), tmp_path / "dsptf", "of seed 0")
    assert cache.is_current(tmp_path / "dsptf", "of seed 0", cache.pages("dsptf"))
    record = tmp_path / "dsptf" / cache.FINGERPRINT
    whole = json.loads(record.read_text())["outputs"]
    if isinstance(outputs, dict) and outputs:
        outputs = whole | outputs
    if outputs == "without the notebook":
        outputs = {name: its for name, its in whole.items() if name != "dsptf.ipynb"}
    record_text = json.dumps({"fingerprint": "of seed 0", "outputs": outputs})
    record.write_text("[" * 100_000 if outputs == "deep" else record_text)
    assert not cache.is_current(tmp_path / "dsptf", "of seed 0", cache.pages("dsptf"))
    assert not cache.is_finished(tmp_path, "dsptf")
    cache.clear(tmp_path / "dsptf", ["dsptf.ipynb"])
    assert mine.exists() and not record.exists()


def test_an_input_changed_during_a_run_invalidates_its_results(write, notebooks, tmp_path, monkeypatch):
    write("dsptf", "x = 1")

    def edits(notebook, folder, *_given):
        folder.mkdir(parents=True)
        for name in cache.pages("dsptf"):
            (folder / name).write_text("made")
        notebook.write_text(notebook.read_text().replace("x = 1", "x = 2"))

    from storagekit.reproduce import notebooks as kernels

    monkeypatch.setattr(kernels, "run_notebook", edits)
    given = {
        "out": tmp_path / "out",
        "notebooks": notebooks,
        "bind": lambda _site: runner.NotebookOutcome("site", "ran", 0.0),
    }
    assert [runner.reproduce(["dsptf"], **given).outcomes[0].state for _ in range(3)] == ["ran", "ran", "cached"]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("JAX_ENABLE_X64", True),
        ("JAX_THREEFRY_PARTITIONABLE", True),
        ("XLA_FLAGS", True),
        ("JAX_PLATFORMS", True),
        ("JAX_COMPILATION_CACHE_DIR", False),
        ("JAX_NUM_CPU_DEVICES", False),
        ("HOME_OF_NOBODY", False),
    ],
)
def test_variables_that_change_numbers_count(write, monkeypatch, name, counts):
    notebook = write("dsptf", "x = 1")
    before = cache.fingerprint("dsptf", notebook, {})
    monkeypatch.setenv(name, "--xla_cpu_enable_fast_math=true" if name == "XLA_FLAGS" else "1")
    assert (cache.fingerprint("dsptf", notebook, {}) != before) == counts


def test_lab_pages_depend_on_the_papers_that_they_use():
    inputs = [name for name, _ in cache.inputs("")]
    assert "storagekit/papers/dsfq/what_if.py" in inputs


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path):
    with pytest.raises(InputError, match="give a writable folder"), folders.alone_in(tmp_path / "nowhere"):
        pass
    with pytest.raises(InputError, match="give a writable folder"), folders.private(tmp_path / "nowhere"):
        pass
