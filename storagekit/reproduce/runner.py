"""Run the reproduction notebooks in parallel, score their measurements, and build the site from all results."""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from nbformat import NotebookNode

from storagekit.core import devices
from storagekit.core.errors import InputError
from storagekit.core.resources import real_traces, reproductions_path, trace_names
from storagekit.core.validation import one_of
from storagekit.reproduce import cache, claims, folders, keeping, parameters
from storagekit.reproduce.page import MEASUREMENTS, PROFILES, score_paper
from storagekit.reproduce.processes import end_children
from storagekit.reproduce.progress import Progress, exhibits, has_headline, is_headline, showing
from storagekit.reproduce.report import SCORECARD, write_scorecard
from storagekit.reproduce.scorecard import ScorecardRow, score
from storagekit.reproduce.site import Site, SiteError, lab_pages
from storagekit.reproduce.turns import RunStopped, Turns

# Ranks of turns: for a paper before its headline is shown, for a paper after its headline, and for the lab's pages.
_FIRST, _FURTHER, _LAST = 0, 1, (2, 0)
_OURS = ("out", "profile", "seed")
# Seeds of a run's repetitions follow the run's seed, and have 32 bits.
MOST_SEED = 2**31


@dataclass(frozen=True)
class NotebookOutcome:
    """The result of running a paper's notebook, of writing the lab's pages, or of building the site.

    Parameters
    ----------
    paper : str
        Key of the paper, "lab" or "site".
    state : str
        "ran", "cached" (nothing has changed since the last run) or "failed".
    seconds : float
        Duration, seconds.
    message : str
        The reason for a failure; empty by default.
    """

    paper: str
    state: str
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class RunReport:
    """The result of a run of the notebooks.

    Parameters
    ----------
    out : Path
        Folder of the results.
    outcomes : tuple of NotebookOutcome
        Outcomes of the notebooks, in the order of the request.
    rows : tuple of ScorecardRow
        Scorecard of all results that are in `out` after the run.
    took : mapping of str to sequence of str
        For each given parameter, the papers whose notebooks have this parameter.
    site : NotebookOutcome
        Outcome of the site.
    lab : NotebookOutcome
        Outcome of the lab's pages.
    """

    out: Path
    outcomes: tuple[NotebookOutcome, ...]
    rows: tuple[ScorecardRow, ...]
    took: Mapping[str, Sequence[str]] = field(default_factory=dict)
    site: NotebookOutcome = NotebookOutcome("site", "cached", 0.0)
    lab: NotebookOutcome = NotebookOutcome("lab", "cached", 0.0)

    @property
    def failed(self) -> bool:
        """Return whether any notebook, the lab's pages or the site failed."""
        return any(outcome.state == "failed" for outcome in (*self.outcomes, self.lab, self.site))


@dataclass(frozen=True)
class _Plan:
    paper: str
    notebook: Path
    folder: Path
    values: dict[str, Any]
    fingerprint: str

    def inputs(self) -> Iterator[Path]:
        """Yield the files that determine the results."""
        yield self.notebook
        yield from (path for _, path in cache.inputs(self.paper))
        yield from real_traces(self.paper, self.values.get("traces", "")).values()

    @property
    def is_current(self) -> bool:
        """Return whether the folder of this plan contains all results of this plan."""
        return cache.is_current(self.folder, self.fingerprint, cache.pages(self.paper))


@dataclass(frozen=True)
class _Among:
    """Objects that all notebooks of a run share.

    They are the private folder, the folder for sockets, the environment of the kernels, the progress display and the
    queue of turns. The event `stopped` is set when the run is stopped.
    """

    room: Path
    sockets: Path
    environment: Mapping[str, str]
    progress: Progress
    turns: Turns
    stopped: Event


def available(folder: Path | None = None) -> list[str]:
    """Return the papers that have a notebook in `folder`, which is the package's folder by default."""
    return sorted(path.stem for path in (folder or reproductions_path()).glob("*.ipynb"))


def bind(site: Site) -> NotebookOutcome:
    """Build the site, unless the existing site was built from the same results."""
    if site.is_current():
        return NotebookOutcome("site", "cached", 0.0)
    begin = time.monotonic()
    try:
        site.write()
    except SiteError as fault:
        return NotebookOutcome("site", "failed", time.monotonic() - begin, str(fault))
    return NotebookOutcome("site", "ran", time.monotonic() - begin)


def reproduce(
    papers: Sequence[str] = (),
    *,
    out: str | Path = "build/reproductions",
    profile: str = "quick",
    seed: int = 0,
    given: Mapping[str, str] | None = None,
    jobs: int | None = None,
    notebooks: Path | None = None,
    bind: Callable[[Site], NotebookOutcome] = bind,
) -> RunReport:
    """Run the notebooks of `papers`, then write the scorecard and the site, OUT/index.html.

    If a notebook fails, the failure is reported, and the other notebooks continue.

    Parameters
    ----------
    papers : sequence of str
        Keys of the papers; all by default.
    out : str or Path
        Folder of the results, with one folder per paper.
    profile : str
        "quick" or "full"; "quick" by default.
    seed : int
        Seed of the run, from 0 to 2^31; 0 by default.
    given : mapping of str to str, optional
        Values of further parameters as text. Each notebook receives only the parameters that it defines.
    jobs : int, optional
        Number of notebooks that run in parallel. By default it is the number of cores, because most compilations and
        every chart use a single core.
    notebooks : Path, optional
        Folder of the notebooks; the package's folder by default.
    bind : callable
        Function that builds the site; the function `bind` of this module by default.

    Returns
    -------
    RunReport
        Outcomes and scorecard.

    Raises
    ------
    InputError
        Before anything runs, if a paper, the profile, a parameter or the number of jobs is impossible.

    Notes
    -----
    A run of all papers in the package's folder also writes the lab's pages for the site.
    """
    jobs = devices.cores() if jobs is None else jobs
    if jobs < 1:
        raise InputError(f"jobs {jobs}: give at least 1")
    one_of(*PROFILES)("profile", profile)
    if seed < 0:
        raise InputError(f"seed {seed}: give at least 0")
    if seed > MOST_SEED:
        raise InputError(f"seed {seed}: give at most {MOST_SEED}")
    out, folder = _output_folder(out), notebooks or reproductions_path()
    ours = {"out": str(out), "profile": profile, "seed": seed}
    defaults = {paper: _parameters(folder / f"{paper}.ipynb") for paper in _chosen(papers, folder)}
    took = _takers(given or {}, defaults)
    given = _with_whole_paths(given or {}, took)
    values = {paper: ours | parameters.check(given, others) for paper, others in defaults.items()}
    environment = devices.environment(min(jobs, len(values)))
    whole = not papers and notebooks is None
    with folders.alone_in(out), folders.private(out) as room, folders.short(room) as sockets:
        # Inputs are read while the lock is held, so that no other run is at work in the folder.
        plans = [_plan(paper, folder / f"{paper}.ipynb", out / paper, its) for paper, its in values.items()]
        todo = [plan for plan in plans if not plan.is_current]
        counts = {plan.paper: exhibits(plan.notebook) for plan in todo}
        others = tuple(_score_all(out, (), without=counts))
        drawn = _lab_pages_to_make(out) if whole else 0
        with showing(out, counts, others, drawn) as progress:
            with _pool(len(todo) + 1, jobs) as (pool, turns, stopped):
                among = _Among(room, sockets, environment, progress, turns, stopped)
                queued_turns = [turns.enter((_FIRST, number)) for number in range(len(todo))]
                running = pool.map(partial(_run, among), range(len(todo)), todo, queued_turns)
                # The lab's pages are written while the last notebook runs, because this notebook leaves a core idle.
                drawing = pool.submit(_export, out, among, turns.enter(_LAST)) if drawn else None
                ran = {outcome.paper: outcome for outcome in running}
                lab = drawing.result() if drawing else RunReport.lab
            outcomes = tuple(ran.get(plan.paper, NotebookOutcome(plan.paper, "cached", 0.0)) for plan in plans)
            rows = tuple(_score_all(out, outcomes))
            write_scorecard(rows, room)
            os.replace(room / SCORECARD, out / SCORECARD)
            failures = {one.paper: one.message.partition(";")[0] for one in outcomes if one.state == "failed"}
            return RunReport(out, outcomes, rows, took, bind(Site(out, rows, failures)), lab)


def _lab_pages_to_make(out: Path) -> int:
    return 0 if lab_pages.are_current(out) else len(lab_pages.LAB_PAGES)


def _export(out: Path, among: _Among, turn: AbstractContextManager[None]) -> NotebookOutcome:
    """Write the lab's pages."""
    with turn:
        begin = time.monotonic()
        why = lab_pages.export(out, among.environment, among.progress.lab_page)
    return NotebookOutcome("lab", "failed" if why else "ran", time.monotonic() - begin, why)


def _output_folder(out: str | Path) -> Path:
    folder = Path(out).expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise folders.not_writable(Path(out), fault) from fault
    return folder


def _chosen(papers: Sequence[str], folder: Path) -> list[str]:
    there = available(folder)
    for paper in papers:
        if paper not in there:
            known = "has no notebook" if paper in claims.papers() else "is unknown"
            raise InputError(f"paper {paper!r} {known}; give one of {', '.join(there) or '(none)'}")
    if not there:
        raise InputError(f"{folder}: no reproduction notebooks in this folder; give another folder")
    return list(dict.fromkeys(papers)) or there


def _parameters(notebook: Path) -> dict[str, Any]:
    """Return the defaults of the parameters that a user may give a notebook.

    Raises InputError if the notebook lacks a parameter that the runner sets.
    """
    defaults = parameters.read_parameters(notebook)
    lacking = [name for name in _OURS if name not in defaults]
    if lacking:
        raise InputError(f"notebook {notebook}: its parameters cell lacks {', '.join(lacking)}; add these parameters")
    return {name: value for name, value in defaults.items() if name not in _OURS}


def _takers(given: Mapping[str, str], defaults: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    for name in given:
        if name in _OURS:
            raise InputError(f"parameter {name!r}: give it as --{name}")
    return parameters.takers(given, defaults)


def _with_whole_paths(given: Mapping[str, str], took: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return `given` with an absolute path of the folder of traces, because each kernel has its own working folder.

    Raises InputError if the folder contains no trace that one of the papers uses.
    """
    if not given.get("traces"):
        return dict(given)
    folder = Path(given["traces"]).expanduser().resolve()
    if not folder.is_dir():
        raise InputError(f"traces {given['traces']!r}: no such folder; give the folder of your trace files")
    files = sorted({file for paper in took["traces"] for file in trace_names(paper).values()})
    if files and not any(real_traces(paper, folder) for paper in took["traces"]):
        raise InputError(
            f"traces {given['traces']!r}: the folder has none of {', '.join(files)}; give a folder with some of them"
        )
    return {**given, "traces": str(folder)}


def _plan(paper: str, notebook: Path, folder: Path, values: dict[str, Any]) -> _Plan:
    return _Plan(paper, notebook, folder, values, _fingerprint(paper, notebook, values))


def _fingerprint(paper: str, notebook: Path, values: Mapping[str, Any]) -> str:
    return cache.fingerprint(paper, notebook, {name: value for name, value in values.items() if name != "out"})


@contextmanager
def _pool(threads: int, jobs: int) -> Iterator[tuple[ThreadPoolExecutor, Turns, Event]]:
    """Yield a pool of threads, a queue with at most `jobs` simultaneous turns, and an event that is set at an interrupt.

    After an interrupt, the processes that the threads started are ended, and the threads are not awaited.
    """
    pool, turns, stopped = ThreadPoolExecutor(threads), Turns(jobs), Event()
    try:
        yield pool, turns, stopped
    except BaseException:
        stopped.set()
        turns.stop()
        pool.shutdown(wait=False, cancel_futures=True)
        end_children()
        raise
    pool.shutdown()


def _run(among: _Among, number: int, plan: _Plan, turn: AbstractContextManager[None]) -> NotebookOutcome:
    """Wait for a turn, run a paper in the private folder, and move its results to the final folder of the paper."""
    with suppress(RunStopped), turn:
        among.progress.starts(plan.paper)
        outcome = _run_now(among, number, plan)
        if not among.stopped.is_set():
            among.progress.ends(plan.paper, outcome.state == "failed")
        return outcome
    return NotebookOutcome(plan.paper, "failed", 0.0, "stopped")


def _run_now(among: _Among, number: int, plan: _Plan) -> NotebookOutcome:
    from storagekit.reproduce.notebooks import NotebookError, run_notebook

    begin = time.monotonic()
    made, kept = among.room / plan.paper, keeping.prepare(plan.fingerprint, plan.inputs())
    # The executed notebook shows its final folder instead of the private folder.
    at_home = partial(re.sub, rf"(/|\\+){re.escape(among.room.name)}", "")
    try:
        values = plan.values | {"out": str(among.room)}
        environment = {**among.environment, keeping.VARIABLE: str(kept)}
        on_cell = _after_cells(among, number, plan)
        run_notebook(plan.notebook, made, values, environment, on_cell, at_home, among.sockets)
        unchanged = _fingerprint(plan.paper, plan.notebook, plan.values) == plan.fingerprint
        cache.move_into(made, plan.folder, plan.fingerprint if unchanged else cache.CHANGED, _leftovers(plan.paper))
        keeping.forget(kept)
    except (NotebookError, OSError) as fault:
        remains = "" if among.stopped.is_set() else _failed(plan, made)
        why = str(fault) if isinstance(fault, NotebookError) else f"{fault.filename}: {fault.strerror}"
        return NotebookOutcome(plan.paper, "failed", time.monotonic() - begin, f"{why}; {remains}")
    return NotebookOutcome(plan.paper, "ran", time.monotonic() - begin)


def _after_cells(among: _Among, number: int, plan: _Plan) -> Callable[[NotebookNode], None]:
    """Return the function that is called after each cell.

    The function reports the cell to the progress display. It then gives way to papers that have not yet shown their
    headline.
    """
    stage = [_FIRST if has_headline(plan.notebook) else _FURTHER]

    def on_cell(cell: NotebookNode) -> None:
        among.progress.cell(plan.paper, cell, among.room / plan.paper)
        if is_headline(cell):
            stage[0] = _FURTHER
        among.turns.give_way((stage[0], number))

    return on_cell


def _leftovers(paper: str) -> tuple[str, ...]:
    """Return the names of files that runs of a paper may leave and that no record lists."""
    return (MEASUREMENTS, f"{paper}.failed.ipynb", *cache.pages(paper))


def _failed(plan: _Plan, made: Path) -> str:
    """Remove the results of an earlier run, and move the executed part of the failed notebook to the paper's folder.

    Return a phrase with the location of the executed part.
    """
    name = f"{plan.paper}.failed.ipynb"
    try:
        cache.clear(plan.folder, _leftovers(plan.paper))
        plan.folder.mkdir(exist_ok=True)
        os.replace(made / name, plan.folder / name)
    except OSError:
        return "nothing was stored"
    return f"executed part: {plan.folder / name}"


def _score_all(out: Path, outcomes: Sequence[NotebookOutcome], without: Collection[str] = ()) -> Iterator[ScorecardRow]:
    """Yield the scorecard rows of papers, except `without`, that have a finished run in `out` or failed in this run."""
    failed = {o.paper: o.message for o in outcomes if o.state == "failed"}
    for paper in [paper for paper in claims.papers() if paper not in without]:
        if paper in failed:
            note = f"the notebook failed: {failed[paper].partition(';')[0]}"
            yield from score(claims.load_claims(paper), (), note)
        elif cache.is_finished(out, paper):
            yield from score_paper(out, paper)
