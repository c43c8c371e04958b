"""Test the table of delayed writes against a list: it is dense, written in place, and equal in a batch and alone."""

import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.arbitration import Lossy
from storagekit.core.batching import count, min_row, put
from storagekit.dispatch import DSPTF, NearestIdle
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, keys
from storagekit.engine.record import AccessLog
from storagekit.engine.run import Runner, _advance, int64_enabled
from storagekit.placement import SRMirror
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import replicate, simulate
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import Background
from storagekit.write.table import BLOCK, DelayedWriteTable, empty

LENGTH = 2 * BLOCK


class Row(NamedTuple):
    number: object
    share: object
    mask: object


def row(number, batch=()):
    """Return a row of one number, with every data type of a row."""
    number = jnp.broadcast_to(jnp.asarray(number, jnp.int32), (1, *batch))
    return Row(number, number / jnp.float32(8), (number * 3).astype(jnp.uint32))


def contents(table: DelayedWriteTable) -> list[int]:
    rows = table.in_use()
    np.testing.assert_array_equal(rows.share, rows.number / np.float32(8))
    np.testing.assert_array_equal(rows.mask, rows.number.astype(np.uint32) * 3)
    return rows.number.tolist()


@jax.jit
def changed(table: DelayedWriteTable, at, number, puts, takes):
    batch = table.size.shape[1:]
    followed = table.renumbered(
        jnp.broadcast_to(jnp.arange(LENGTH).reshape(-1, *(1,) * len(batch)), (LENGTH, *batch)), at, takes, -7
    )
    return table.put(at, row(number, batch), puts).without(at, takes), followed


STEPS = st.lists(
    st.tuples(st.sampled_from(["append", "change", "take", "nothing"]), st.integers(0, 99), st.integers(0, 10**6)),
    max_size=60,
)


@settings(max_examples=30, derandomize=True, deadline=None)
@given(STEPS)
def test_the_table_agrees_with_a_list(steps):
    """Use the table in the middle of a batch of three with other operations, and alone."""
    alone, batched, rows = empty(row(0), LENGTH, ()), empty(row(0, (3,)), LENGTH, (3,)), []
    for verb, where, number in steps:
        verb = (
            "nothing"
            if (verb in ("change", "take") and not rows) or (verb == "append" and len(rows) == LENGTH)
            else verb
        )
        at = len(rows) if verb == "append" else where % max(1, len(rows))
        if verb == "append":
            rows.append(number)
        elif verb == "change":
            rows[at] = number
        elif verb == "take":
            rows[at] = rows[-1]
            rows.pop()
        puts, takes = verb in ("append", "change"), verb == "take"
        at = -1 if verb == "nothing" else at
        alone, followed = changed(alone, jnp.array([at]), jnp.array([number]), jnp.array([puts]), jnp.array([takes]))
        others = jnp.array([[0, at, -1]]), jnp.array([[5, number, 6]]), jnp.array([[True, puts, False]])
        batched, _ = changed(batched, *others, jnp.array([[False, takes, False]]))
        element = jax.tree.map(lambda leaf: leaf[..., 1], batched)
        assert contents(alone) == contents(element) == rows
        if takes:
            # every other row is found under its new number
            assert followed[at if at < len(rows) + 1 else 0] == -7
            if at < len(rows):
                assert followed[len(rows)] == at
    assert contents(jax.tree.map(lambda leaf: leaf[..., 2], batched)) == []


@pytest.mark.parametrize("batch", [(), (2,)])
def test_numbers_of_64_bits_are_stored_exactly(batch):
    """Both halves of an address are exact next to numbers of 32 bits: read row by row, folded, and removed."""
    given = [2**45 + 7, 3, -(2**40), 2**31]

    def wide(number):
        address = jnp.full((1, *batch), number, jnp.int64)
        return Row(address, jnp.full((1, *batch), number % 8, jnp.float32), jnp.full((1, *batch), 5, jnp.uint32))

    def listed(found, rows, number, there):
        del number
        return found + jnp.sum(jnp.where(there, rows.number, 0), axis=0, keepdims=True)

    with int64_enabled(True):
        one, always = jnp.zeros((1, *batch), jnp.int32), jnp.ones((1, *batch), bool)
        table = empty(wide(0), LENGTH, batch)
        for at, number in enumerate(given):
            table = table.put(one + at, wide(number), always)
        assert np.all(table.row(one).number == given[0]) and np.all(table.row(one).mask == 5)
        total = table.fold(always, listed, jnp.zeros((1, *batch), jnp.int64))
        assert np.all(total == sum(given))
        table = table.without(one + 1, always)
    single = jax.tree.map(lambda leaf: leaf[..., 0], table) if batch else table
    assert single.in_use().number.tolist() == [given[0], given[3], given[2]]
    assert single.in_use().share.tolist() == [number % 8 for number in (given[0], given[3], given[2])]


@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.lists(st.integers(-1000, 1000), max_size=LENGTH), st.booleans())
def test_a_fold_sees_the_rows_in_use(numbers, needed):
    table = empty(row(0), LENGTH, ())
    for at, number in enumerate(numbers):
        table, _ = changed(table, jnp.array([at]), jnp.array([number]), jnp.array([True]), jnp.array([False]))

    def look(found, block, index, there):
        lowest = min_row(jnp.where(there, block.number, 5000))
        return jnp.minimum(found[0], lowest), found[1] + count(there), found[2] + jnp.sum(jnp.where(there, index, 0))

    start = jnp.full((1,), 5000), jnp.zeros((1,), jnp.int32), jnp.int32(0)
    lowest, seen, indices = table.fold(jnp.array([needed]), look, start)
    inside = numbers if needed else []
    assert (int(lowest[0]), int(seen[0])) == (min(inside, default=5000), len(inside))
    assert int(indices) == sum(range(len(inside)))


DRIVE = ideal_drive(full_seek=4e-3, revolution=6e-3, cylinders=40, sectors_per_track=32)


def written_over(rate, *, table=400, most=500, schedule=None, read_share=0.4):
    """Return a hot spot of writes that overlap or cover one another."""
    system = System(
        DRIVE, SRMirror(1, 2, 2, unit=32), NearestIdle(), schedule or SATF(), Background(table, most=most), slots=64
    )
    locality = int(system.placement.capacity(DRIVE)) / 400
    return Scenario(system, PoissonArrivals(RandomRequests(FixedSize(1024), read_share, locality, alignment=1), rate))


@pytest.mark.parametrize("batch", [pytest.param((), marks=pytest.mark.slow), (3,)])
def test_nothing_copies_the_table(batch):
    """Check one event: a copy of 500 rows costs as much as ten events, and of 10,000 rows as two hundred."""
    scenario = written_over(300)
    key = keys([0])[:, 0] if not batch else keys(range(*batch))
    runner = Runner(scenario, key, Record())
    text = _advance.lower(runner.arrays, runner.static, runner.record, 1, 1, runner.run).compile().as_text()
    words = runner.run.state.write.table.words.size
    size = re.compile(r"s32\[([\d,]+)\]")

    def is_table(line):
        found = size.search(line.partition("=")[2])
        return found is not None and int(np.prod([int(one) for one in found[1].split(",")])) == words

    inside = [line for line in text.splitlines() if is_table(line)]
    assert any("dynamic-update-slice" in line for line in inside), (
        "the table is not in the part of the program that this test checks"
    )
    copies = [line for line in inside if re.search(r"= s32\S* copy\(", line)]
    # one copy is allowed at the start of the program, where the argument may be donated
    assert len(copies) <= 1, copies


@pytest.mark.parametrize("schedule", [SATF(), pytest.param(FCFS(), marks=pytest.mark.slow)], ids=["SATF", "FCFS"])
def test_a_batch_element_equals_its_single_run(schedule):
    """Rows are covered, moved and forced in some runs of the batch only."""
    scenario = written_over(420, table=20, schedule=schedule)
    batch = replicate(scenario, seeds=4, requests=1000, warm_up=200, allow_blocked=True)
    for seed in range(4):
        alone = simulate(scenario, seed=seed, requests=1000, warm_up=200, allow_blocked=True)
        for name in ("throughput", "response", "seek", "rotation"):
            np.testing.assert_allclose(float(batch[name].sel(seed=seed)), float(alone[name]), rtol=2e-4, err_msg=name)


def test_a_write_that_finds_the_table_full_waits_outside():
    """Three rows are too few for the writes, but the slots suffice: with more rows no request waits."""
    few, many = (written_over(900, table=2, most=most, read_share=0.0) for most in (3, 500))
    waited = [float(simulate(one, requests=3000, allow_blocked=True).blocked) for one in (few, many)]
    assert waited[0] > 100 and waited[1] == 0


def test_forced_copies_compete_and_block_no_request():
    """Above its threshold, the table accepts more rows and copies compete with requests.

    It stays short where a table with a larger threshold grows.
    """
    most = []
    for table in (6, 400):
        scenario = written_over(700, table=table)
        assert float(simulate(scenario, requests=4000, allow_blocked=True).blocked) == 0
        runner = Runner(scenario, keys([0])[:, 0], Record())
        sizes = []
        for _ in range(20):
            runner.advance(1)
            sizes.append(int(runner.run.state.write.table.size[0]))
        most.append(max(sizes))
    assert most[0] < 20 < 60 < most[1]


def test_a_write_has_one_first_copy_with_any_loss_of_claims():
    """With lost claims, two drives may write the first copy: the second counts as another copy."""
    system = System(
        DRIVE, SRMirror(1, 1, 3, unit=32), DSPTF(0.0, delivery=Lossy(0.3)), SATF(), Background(most=20_000), slots=64
    )
    loop = ClosedLoop(RandomRequests(FixedSize(1024), 0.3, alignment=1), 16)
    runner = Runner(Scenario(system, loop), keys([3])[:, 0], Record(log=AccessLog()))
    log = [runner.advance(1)[1] for _ in range(12)]
    requested = runner.run.first[0]
    window = loop.window(
        system.placement.capacity(DRIVE), jnp.asarray(keys([3])), jnp.zeros((1, 1), jnp.int32), int(requested)
    )
    numbers = np.unique(np.concatenate([np.ravel(one.number) for one in log]))
    writes = ~np.asarray(window.requests.read).ravel()[numbers[numbers >= 0]]
    assert int(runner.run.state.write.begun[0]) == int(writes.sum()) > 100


@pytest.mark.parametrize("axis", [0, 1])
def test_an_accelerator_gives_the_same_results_as_a_cpu(axis, monkeypatch):
    """The accelerator uses a scatter over the whole batch."""
    draw = np.random.default_rng(axis)
    shape = (5, 7, 3)[1 - axis :]
    values, new = draw.integers(0, 99, shape), draw.integers(100, 199, (5, 1, 3)[1 - axis :])
    index = draw.integers(0, 7, (1, 3))
    values, index, new = (jnp.asarray(one, jnp.int32) for one in (values, index, new))
    ours = put(values, index, new, axis)
    monkeypatch.setattr(jax.lax, "platform_dependent", lambda *given, cpu, default: default(*given))
    np.testing.assert_array_equal(ours, put(values, index, new, axis))
    wanted = np.array(values)
    for element in range(3):
        wanted[..., int(index[0, element]), element] = np.asarray(new)[..., 0, element]
    np.testing.assert_array_equal(ours, wanted)
