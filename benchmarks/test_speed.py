"""Measure speed as ratios to the scalar control, in one session. No benchmark asserts a time.

python -m pytest benchmarks --benchmark-enable
"""

import os
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from benchmarks import control, fair_control
from benchmarks.operations import operations
from storagekit.core.devices import cores
from storagekit.core.units import KB
from storagekit.dispatch import DSPTF, Hashing, NearestIdle, central
from storagekit.drive import Mixed, load_buffered, load_drive
from storagekit.engine import Record, ResponseBins, Scenario, System, binned, execute, keys, stack
from storagekit.engine.run import CHUNK, Runner, _advance
from storagekit.papers.dsfq import bricks as dsfq
from storagekit.papers.dsptf.brick_group import SLOTS, group
from storagekit.papers.srarray.disk import paper_drive
from storagekit.papers.srarray.disk_array import placement_of
from storagekit.placement import Declustered, Replicas
from storagekit.plan import Layout
from storagekit.schedule import RSATF, SATF
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, ExponentialSize, FixedSize, RandomRequests, recorded
from storagekit.workload.synthetic import CELLO_BASE, generate
from storagekit.write import Background

RUNS = 256
LATENCY = 50e-6
RECORD = Record(sums_of(STANDARD))
KINDS = ("atlas10k", "cheetah4lp", "cheetah9lp", "hp_c2247a")
INTERPRETATIONS = {"receiving brick": control.RECEIVING, "all copies": control.ALL}


@pytest.fixture(scope="module")
def atlas():
    return control.layout(load_drive("atlas10k"))


def engine(scenario, runs, chunks):
    """Return work for `against` that simulates `chunks` more chunks. It has no batch if `runs` is None."""
    key = keys([0])[:, 0] if runs is None else keys(range(runs))
    runner = Runner(scenario, key, RECORD)

    def work():
        tally, _ = runner.advance(chunks)
        return int(tally["served"].sum())

    work.runner = runner
    return work


def scalar(atlas, interpretation, latency=0.0, threads=1, hashing=False):
    loop = control.Loop(8, 16, SLOTS[interpretation][0], 0.9, INTERPRETATIONS[interpretation], hashing)
    kernel = control.with_claims if latency else control.without_delay
    arguments = (atlas, loop, latency) if latency else (atlas, loop)

    def work():
        return sum(sums.accesses for sums in control.on_cores(threads, kernel, *arguments, events=400_000 // threads))

    return work


@pytest.mark.parametrize("interpretation", INTERPRETATIONS)
def test_table1_without_delay(against, atlas, interpretation):
    ours = engine(group(central(), interpretation=interpretation), RUNS, 16)
    against(f"table1, zero delay, {interpretation}, all cores", ours, scalar(atlas, interpretation, threads=cores()))


@pytest.mark.parametrize("interpretation", INTERPRETATIONS)
def test_table1_with_claims(against, atlas, interpretation):
    ours = engine(group(DSPTF(LATENCY), interpretation=interpretation), RUNS, 16)
    against(
        f"table1, claims at 50 us, {interpretation}, all cores",
        ours,
        scalar(atlas, interpretation, LATENCY, threads=cores()),
    )


@pytest.mark.parametrize("interpretation", INTERPRETATIONS)
def test_one_run_alone(against, atlas, interpretation):
    ours = engine(group(central(), interpretation=interpretation), None, 400)
    against(f"one run, zero delay, {interpretation}, one core", ours, scalar(atlas, interpretation))


def test_hashing(against, atlas):
    ours = engine(group(Hashing()), RUNS, 16)
    theirs = scalar(atlas, "receiving brick", threads=cores(), hashing=True)
    against("hashing, receiving brick, all cores", ours, theirs)


def test_fair_queues(against):
    """Measure figure 9 of dsfq with TOTAL delays: f has 30 threads on a brick of four disks, g 30 there and 15 on another."""
    scenario = dsfq.shared_bricks(
        [dsfq.StreamThreads(0, (0,), 30, 30), dsfq.StreamThreads(1, (0,), 30, 30), dsfq.StreamThreads(1, (1,), 15, 15)],
        weights=(1, 1),
    )
    drive = control.layout(load_drive(dsfq.DRIVE))
    settings = fair_control.sharing(scenario, sizes=dsfq.SMALL, read_share=dsfq.READ_SHARE)

    def alone(seed, seconds, _warm_up):
        return fair_control.fair_bricks(drive, settings, seed, seconds, 0.0)

    def theirs():
        # on every core, sixteen times the length of one run of the batch
        return sum(served.accesses for served in control.on_cores(cores(), alone, events=320.0))

    runs = 128
    stacked, _ = stack([scenario], range(runs))
    against(f"figure 9 of dsfq, {runs} runs, all cores", engine(stacked, runs, 64), theirs)


def clocked(work):
    """Return the processor seconds of `work`."""
    began = time.process_time()
    work()
    return time.process_time() - began


@pytest.mark.parametrize("outstanding", [32, 64])
def test_kinds_of_drives(benchmark, note, outstanding):
    """Compare 30 bricks of four kinds of drives with one kind: processor time per event, 64 runs per core."""
    drives, bricks, runs = [load_drive(name) for name in KINDS], 30, 64 * cores()
    mixed = Mixed(drives, [brick % len(drives) for brick in range(bricks)])

    def run(drive):
        system = System(drive, Declustered(bricks, copies=2), Hashing(), SATF(), slots=outstanding)
        requests = RandomRequests(ExponentialSize(4 * KB), 0.9)
        # with a number for each run, as in sweeps
        scenario, _ = stack([Scenario(system, ClosedLoop(requests, outstanding))], range(runs))
        return engine(scenario, runs, 16)

    works, taken = [run(drives[0]), run(mixed)], []
    for work in works:
        work()  # compiled
    benchmark.pedantic(lambda: taken.append([clocked(work) for work in works]), rounds=9)
    one, four = np.min(taken, axis=0) / (CHUNK * 16 * runs) * 1e9
    ratio = np.median([several / single for single, several in taken])
    text = f"{ratio:.2f} x ({four:.0f} against {one:.0f} ns per event and run)"
    note(f"four kinds on 30 drives over one kind, {outstanding} slots", text)


@pytest.mark.parametrize("bricks", [1, 8])
@pytest.mark.parametrize("outstanding", [16, 64])
def test_buffers(benchmark, note, bricks, outstanding):
    """Compare the speed of Atlas 10Ks with and without their buffers of ten segments; 128 runs."""

    def run(drive):
        system = System(drive, Replicas(bricks), Hashing(), SATF(), slots=outstanding)
        scenario, _ = stack(
            [Scenario(system, ClosedLoop(RandomRequests(FixedSize(4 * KB), 0.9), outstanding))], range(128)
        )
        return engine(scenario, 128, 16)

    without, buffered = run(load_drive("atlas10k")), run(load_buffered("atlas10k"))
    taken = []
    without(), buffered()  # compiled
    benchmark.pedantic(lambda: taken.append([clocked(without), clocked(buffered)]), rounds=9)
    ratio = np.median([none / ten for none, ten in taken])
    none, ten = np.min(taken, axis=0) / (CHUNK * 16 * 128) * 1e9
    text = f"{ratio:.2f} ({ten:.0f} against {none:.0f} ns per event and run)"
    note(f"ten segments over none, {bricks} bricks, {outstanding} slots", text)


@pytest.mark.parametrize("interpretation", INTERPRETATIONS)
def test_histogram(benchmark, note, interpretation):
    """Compare response times in bins with sums alone: processor time, 64 runs per core.

    The bins are counted a million events at a time.
    """
    runs, chunks = 64 * cores(), 16
    stacked, _ = stack([group(DSPTF(LATENCY), interpretation=interpretation)], range(runs))
    plain, noting = (
        Runner(stacked, keys(range(runs)), record) for record in (RECORD, Record(RECORD.sums, ResponseBins()))
    )
    held, taken = [], []

    def counting():
        held.append(noting.advance(chunks)[1][:, :, 0])
        if sum(codes.size for codes in held) > 2**20:
            codes = np.concatenate(held)
            binned(codes, np.ones((len(codes), runs), bool))
            held.clear()

    works = [lambda: plain.advance(chunks), counting]
    for work in works:
        work()  # compiled
    benchmark.pedantic(lambda: taken.append([np.sum([clocked(work) for _ in range(8)]) for work in works]), rounds=9)
    note(f"histogram, {interpretation}", f"{np.median([noted / without for without, noted in taken]):.3f} x")


def test_a_day_of_delayed_writes(against):
    """Compare tables of 10,000 (the paper's) and 64 delayed writes on a day of srarray's Cello base; one run."""
    model, layout, drive = CELLO_BASE, Layout.parse("2x3x1"), paper_drive()
    trace = generate(model, seed=0, stop=24 * 3600)
    placement = placement_of(layout, drive, model.data)
    arrivals = recorded(trace, int(placement.capacity(drive)))

    def day(table):
        system = System(drive, placement, NearestIdle(), RSATF(), Background(table), drives=layout.disks, slots=128)

        def work():
            result = execute(Scenario(system, arrivals), keys([0])[:, 0], len(trace), RECORD)
            return int(result.tally["served"].sum())

        return work

    against("a day of Cello base, a table of 10,000 over one of 64", day(10_000), day(64))


def test_events_and_memory(benchmark, note):
    """Measure the events per second of the batch, and the bytes that each run keeps between chunks."""
    work = engine(group(DSPTF(LATENCY)), RUNS, 16)
    work()
    benchmark.pedantic(work, rounds=5)
    state = sum(leaf.nbytes for leaf in jax.tree.leaves(work.runner.run)) / RUNS
    note("state of a run", f"{state / 1024:.1f} KiB with {SLOTS['receiving brick'][0]} slots")
    if not benchmark.disabled:
        note("events a second, all cores", f"{CHUNK * 16 * RUNS / benchmark.stats.stats.min / 1e6:.2f} M")


def memory(arrays, static, run, devices):
    """Return the bytes that a compiled batch needs in addition to its arguments."""
    lowered = _advance.lower(arrays, static, RECORD, 8, devices, run)
    analysis = lowered.compile().memory_analysis()
    return analysis.temp_size_in_bytes


@pytest.mark.parametrize("interpretation", INTERPRETATIONS)
def test_element_operations(note, interpretation):
    """Count the numbers computed per event and run, which do not depend on the machine's load."""
    for name, dispatch in (("zero delay", central()), ("claims at 50 us", DSPTF(LATENCY))):
        runner = engine(group(dispatch, interpretation=interpretation), 64, 1).runner
        lowered = _advance.lower(runner.arrays, runner.static, RECORD, 8, runner.devices, runner.run)
        # each device has an equal share of the runs
        computed = operations(lowered.compile().as_text(), CHUNK) * runner.devices / 64
        note(f"numbers computed, {name}, {interpretation}", f"{computed:.0f} per run and event")


def test_working_memory(note):
    runner = engine(group(DSPTF(LATENCY)), RUNS, 1).runner
    needed = memory(runner.arrays, runner.static, runner.run, runner.devices) * runner.devices
    note("working memory of a run", f"{needed / RUNS / 1024:.0f} KiB")


CONFIGURATIONS = {
    "central": "central()",
    "D-SPTF, receiving brick": "DSPTF(50e-6)",
    "D-SPTF, all copies": "DSPTF(50e-6), interpretation='all copies'",
    "D-SPTF, at once": "DSPTF(50e-6), interpretation='at once'",
    "hashing": "Hashing()",
    "LARD": "LARD(allocated=1.0)",
    "one disk": "Hashing(), replicas=1, outstanding=64",
}
# in a fresh interpreter: the first chunks, and as many again, which are already compiled
COMPILE = """
import time
from storagekit.dispatch import DSPTF, LARD, Hashing, central
from storagekit.engine import Record, Runner, keys
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.papers.dsfq import bricks as dsfq
from storagekit.papers.dsptf.brick_group import group
runner = None
def first():
    global runner
    runner = Runner(group({}), keys(range(16)), Record(sums_of(STANDARD)))
    runner.advance(8)
def timed(work):
    began = time.perf_counter(); work(); return time.perf_counter() - began
print(timed(first) - timed(lambda: runner.advance(8)))
"""


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_compile_time(benchmark, note, name):
    """Measure compilation without the cache of compiled programs."""
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    code = COMPILE.format(CONFIGURATIONS[name])

    def compile_and_start():
        command = [sys.executable, "-c", code]
        output = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
        note(f"compile, {name}", f"{float(output):.1f} s")

    benchmark.pedantic(compile_and_start, rounds=1)


@pytest.mark.parametrize("module", ["storagekit", "storagekit.simulation", "storagekit.papers.dsptf"])
def test_import_time(benchmark, note, module):
    """Measure the import in a fresh interpreter, minus the start of an empty one."""

    def start(code):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
        return time.perf_counter() - began

    times = []
    benchmark.pedantic(lambda: times.append(start(f"import {module}")), rounds=3)
    note(f"import {module}", f"{np.median(times) - start('pass'):.2f} s")


def test_the_planner(note):
    """Measure the first answer of a process, the next ones, and a grid of questions."""
    code = (
        "import time, numpy as np\n"
        "from storagekit.drive import load_drive\n"
        "from storagekit.plan import MaxThroughput, array, rank_many\n"
        "drive, times = load_drive('cheetah9lp'), []\n"
        "for queue in (8, 9, 10, 11, 12):\n"
        "    began = time.perf_counter()\n"
        "    array(drive, 24, read_share=0.7, queue=queue, objective=MaxThroughput())\n"
        "    times.append(time.perf_counter() - began)\n"
        "draw = np.random.default_rng(0).uniform\n"
        "disks = np.random.default_rng(1).integers(2, 49, 100_000)\n"
        "began = time.perf_counter()\n"
        "rank_many(disks, full_seek=draw(5e-3, 2e-2, 100_000), revolution=draw(4e-3, 12e-3, 100_000),\n"
        "          read_share=draw(0.5, 1, 100_000), queue=draw(1, 32, 100_000), locality=draw(1, 20, 100_000))\n"
        "print(times[0] * 1e3, min(times[1:]) * 1e3, time.perf_counter() - began)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    first, next_one, grid = (float(figure) for figure in result)
    note("a plan, the first of a process, and the next", f"{first:.1f} ms, {next_one:.1f} ms")
    note("100,000 questions to the planner", f"{grid:.2f} s")


def test_swifts_figures(note):
    """Measure figures 3 to 6 of swift with intervals, quick profile, in a fresh interpreter without compiled programs."""
    code = (
        "import time\n"
        "began = time.perf_counter()\n"
        "from storagekit.papers import swift\n"
        "for figure in (swift.fig3, swift.fig4, swift.fig5, swift.fig6):\n"
        "    figure()\n"
        "print(time.perf_counter() - began)\n"
    )
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    note("figures 3 to 6 of swift", f"{float(result.stdout):.1f} s")
