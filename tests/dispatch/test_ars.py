"""ARS and the protocols it is compared with: routing by hand, and frequencies against their probabilities."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.component.events import AccessEnded, RequestAdmitted, RequestCompleted, StateSizes
from storagekit.core.system_facts import SystemFacts
from storagekit.dispatch import ARS, Central, Randomized, View, WeightedHashing
from storagekit.dispatch.unit_interval import FREE, HALF, inclusion, lengths
from storagekit.drive import ideal_drive
from storagekit.engine import Record, Scenario, System, execute, keys
from storagekit.faults import FaultSchedule, Slowdown
from storagekit.placement import AbstractPlacement, Bricks, Coded, Grouping, Location, Node, Replicas, Segments, Volume
from storagekit.placement.bricks import Inside
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import FixedSize, PoissonArrivals, RandomRequests, Requests

BLOCK = 128
SLOTS = 4


def requests_for(sector=0, *, read=True, client=0, receiving=0, address_hash=0, number=0, runs=1) -> Requests:
    """One request in each of `runs` runs."""

    def row(value, kind):
        return jnp.broadcast_to(jnp.asarray(value, kind), (1, runs))

    return Requests(
        row(number, jnp.int32),
        row(sector, jnp.int32),
        row(8, jnp.int32),
        row(read, bool),
        row(receiving, jnp.uint32),
        row(address_hash, jnp.uint32),
        row(False, bool),
        row(0, jnp.int32),
        row(client, jnp.int32),
    )


def not_called():
    raise AssertionError("positioning times are not used here")


def view_of(
    placement: AbstractPlacement, nodes: int, *, first=0, runs=1, waiting=(), busy=0, time_until_idle=0.0
) -> View:
    """The view of nodes with one drive each. busy, time_until_idle: per node. waiting: the parts of waiting requests on the
    first nodes, one bit each."""
    at = jnp.broadcast_to(jnp.asarray([*waiting, 0], jnp.uint32)[:, None], (len(waiting) + 1, runs))
    working = jnp.broadcast_to(jnp.reshape(jnp.asarray(busy, bool), (-1, 1)), (nodes, runs))
    left = jnp.broadcast_to(jnp.reshape(jnp.asarray(time_until_idle, jnp.float32), (-1, 1)), (nodes, runs))
    location = Location(None, jnp.full((1, runs), first, jnp.int32))
    locations = Location(None, jnp.zeros(at.shape, jnp.int32))
    bricks = Grouping((1,) * nodes)
    word = jnp.zeros((1, runs), jnp.uint32)
    return View(at, locations, working, left, ~working, location, placement, bricks, not_called, not_called, word)


def initial(dispatch: ARS, nodes: int, runs: int = 1):
    return dispatch.init(StateSizes(SLOTS, nodes, (runs,), bricks=nodes))


def with_metrics(dispatch: ARS, metrics, runs: int, operation: int = 0):
    """The state in which every client has seen these metrics of the nodes."""
    private = initial(dispatch, len(metrics), runs)
    each = len(private.observed.metric) // 2
    rows = np.zeros((2 * each, runs), np.float32)
    rows[operation * each : (operation + 1) * each] = np.tile(metrics, each // len(metrics))[:, None]
    return private._replace(observed=private.observed._replace(metric=jnp.asarray(rows)))


@eqx.filter_jit
def routed(dispatch, private, request: Requests, view: View, enters=True):
    return dispatch.route(private, request, jnp.full(request.number.shape, enters), view)


def parts_of(mask) -> list[int]:
    """The parts in a mask of one run."""
    return [part for part in range(32) if int(np.ravel(mask)[0]) >> part & 1]


def ended(node, seconds, *, sectors=8, read=True, client=0, awaited=True, slot=0, number=0) -> AccessEnded:
    def row(value, kind=jnp.int32):
        return jnp.full((1, 1), value, kind)

    none = row(0)
    return AccessEnded(
        row(node),
        row(slot),
        row(number),
        none,
        None,
        row(0, jnp.float32),
        Replicas(3),
        row(True, bool),
        row(not read, bool),
        row(awaited, bool),
        row(node),
        row(read, bool),
        row(client),
        row(sectors),
        row(seconds, jnp.float32),
    )


@eqx.filter_jit
def access_ended(dispatch, private, event: AccessEnded):
    return dispatch.on_access_ended(private, event)


@eqx.filter_jit
def elapsed(dispatch, private, seconds):
    return dispatch.elapse(private, jnp.full((1, 1), seconds, jnp.float32))


def after_a_window(dispatch, private, *events):
    """The state one window later, after these accesses ended in the window."""
    for event in events:
        private = access_ended(dispatch, private, event)
    return elapsed(dispatch, private, jnp.asarray(dispatch.window, jnp.float32))


def metrics(private) -> list[float]:
    return np.asarray(private.observed.metric)[:, 0].tolist()


def keys_of(private) -> list[int]:
    """The keys in the pool, without free entries."""
    return [key for key in np.asarray(private.pool.key)[:, 0].tolist() if key]


def shares(dispatch: ARS, private, key: int, nodes: int, client: int = 0) -> list[float]:
    """Shares of the interval under a key, relative to the mapped half."""
    entry = private.pool.entry(jnp.full((1, 1), key, jnp.uint32), jnp.full((1, 1), client, jnp.int32), dispatch.pool)
    assert bool(entry.found[0, 0])
    return (np.asarray(lengths(entry.interval, nodes))[:, 0] / HALF).tolist()


def assert_frequencies(found, expected, sample: int):
    """The frequencies agree within four standard deviations of a binomial."""
    expected = np.asarray(expected)
    assert np.all(np.abs(np.asarray(found) - expected) <= 4 * np.sqrt(expected * (1 - expected) / sample))


def frequencies(mask, parts: int) -> list[float]:
    return [float(np.mean(np.asarray(mask) >> part & 1)) for part in range(parts)]


@pytest.mark.slow
def test_with_fixed_metrics_ars_has_the_shares_of_weighted_hashing():
    runs, weights = 20_000, [3.0, 1.0, 2.0]
    sectors = np.random.default_rng(1).permutation(2**20)[:runs] * BLOCK
    hashes = np.random.default_rng(2).integers(0, 2**32, runs, dtype=np.uint32)
    view, request = view_of(Replicas(3), 3, runs=runs), requests_for(sectors, address_hash=hashes, runs=runs)
    ars = ARS()
    ours, _ = routed(ars, with_metrics(ars, weights, runs), request, view)
    theirs, _ = routed(WeightedHashing(weights), None, request, view)
    for mask in (ours, theirs):
        assert_frequencies(frequencies(mask, 3), np.asarray(weights) / 6, runs)
    assert set(np.unique(ours)) == {1, 2, 4}


@pytest.mark.slow
def test_a_code_uses_the_needed_parts_by_successive_sampling():
    """Writes follow the metrics of writes."""
    runs, weights = 20_000, [8.0, 4.0, 2.0, 1.0]
    sectors = np.random.default_rng(3).permutation(2**20)[:runs] * BLOCK
    ars, view = ARS(), view_of(Coded(2, 4), 4, runs=runs)
    for operation, read in enumerate((True, False)):
        private = with_metrics(ars, weights, runs, operation)
        mask, _ = routed(ars, private, requests_for(sectors, read=read, runs=runs), view)
        assert set(np.bitwise_count(np.asarray(mask)).ravel().tolist()) == {2}
        assert_frequencies(frequencies(mask, 4), inclusion(np.asarray(weights), 2), runs)
        other, _ = routed(ars, private, requests_for(sectors, read=not read, runs=runs), view)
        assert_frequencies(frequencies(other, 4), [0.5] * 4, runs)


def test_requests_in_one_block_go_to_one_node():
    """This holds for any first request, until the metrics change."""
    runs = 3000
    first = np.random.default_rng(4).permutation(2**20)[:runs] * BLOCK
    ars, view = ARS(), view_of(Replicas(3), 3, runs=runs)
    begin, private = routed(ars, with_metrics(ars, [3.0, 1.0, 2.0], runs), requests_for(first, runs=runs), view)
    for sector in (first, first + 1, first + BLOCK - 1):
        again, private = routed(ars, private, requests_for(sector, runs=runs), view)
        np.testing.assert_array_equal(again, begin)
    beyond, _ = routed(ars, private, requests_for(first + BLOCK, runs=runs), view)
    chance = (9 + 1 + 4) / 36
    assert np.mean(np.asarray(beyond) == np.asarray(begin)) == pytest.approx(chance, abs=4 * np.sqrt(0.25 / runs))


def test_metrics_are_sectors_over_seconds_of_a_window():
    """The window is 1 s, with two clients and three nodes. Node 0 sends 8 sectors after 4 ms and 16 after 8 ms: 24 / 12
    ms = 2000 per second. Node 1 sends 8 after 8 ms, 1000, and 8 that no request awaits. Node 2 takes a write of 8
    sectors in 16 ms: 500, for writes. Then node 0 sends 8 after 8 ms, 1000; the other metrics do not change."""
    ars = ARS(clients=2, window=1.0)
    private = initial(ars, 3)
    for event in (
        ended(0, 4e-3),
        ended(0, 8e-3, sectors=16),
        ended(1, 8e-3),
        ended(1, 1e-3, awaited=False),
        ended(2, 16e-3, read=False),
    ):
        private = elapsed(ars, ars.on_access_ended(private, event), 0.1)
    assert metrics(private) == [0] * 12
    private = elapsed(ars, private, 0.6)
    expected = [2000, 1000, *[0] * 6, 500, *[0] * 3]
    assert metrics(private) == pytest.approx(expected)
    # the second window ends at two seconds, not one second after the last event
    private = elapsed(ars, ars.on_access_ended(elapsed(ars, private, 0.85), ended(0, 8e-3)), 0.02)
    assert metrics(private) == pytest.approx(expected)
    private = elapsed(ars, private, 0.04)
    assert metrics(private) == pytest.approx([1000, *expected[1:]])
    assert metrics(elapsed(ars, private, 7.0)) == pytest.approx([1000, *expected[1:]])


def test_lengths_follow_the_metrics_and_unseen_nodes_have_an_equal_share():
    """Metrics are 2000 and 1000 sectors per second, and one is missing. That node has a third, and the others share the
    rest 2:1."""
    ars = ARS()
    _, private = routed(ars, initial(ars, 3), requests_for(), view_of(Replicas(3), 3))
    assert shares(ars, private, 0b111, 3) == pytest.approx([1 / 3] * 3, abs=1e-6)
    private = after_a_window(ars, private, ended(0, 4e-3), ended(1, 8e-3))
    assert shares(ars, private, 0b111, 3) == pytest.approx([1 / 3] * 3, abs=1e-6)
    _, private = routed(ars, private, requests_for(), view_of(Replicas(3), 3))
    assert shares(ars, private, 0b111, 3) == pytest.approx([4 / 9, 2 / 9, 1 / 3], abs=1e-5)


def test_an_interval_is_tuned_only_for_newer_values_of_its_nodes():
    """Copies are on nodes 0 and 1, and on 2 and 3. A new value of nodes 2 and 3 does not change the interval of 0 and
    1."""
    ars = ARS()
    near, far = (view_of(Replicas(2), 4, first=first) for first in (0, 2))
    _, private = routed(ars, initial(ars, 4), requests_for(), near)
    clock = int(private.clock[0, 0])
    _, private = routed(ars, private, requests_for(BLOCK), near)
    assert int(private.clock[0, 0]) == clock
    private = after_a_window(ars, private, ended(2, 4e-3))
    _, after = routed(ars, private, requests_for(), near)
    assert np.array_equal(after.pool.tuned, private.pool.tuned)
    _, after = routed(ars, after, requests_for(), far)
    private = after_a_window(ars, after, ended(1, 4e-3))
    _, after = routed(ars, private, requests_for(), near)
    assert np.sum(np.asarray(after.pool.tuned) != np.asarray(private.pool.tuned)) == 1
    # no request enters, so nothing changes
    _, unchanged = routed(ars, private, requests_for(), near, jnp.asarray(False))
    same = jax.tree.map(np.array_equal, unchanged, private)
    assert all(jax.tree.leaves(same))


def test_a_full_pool_replaces_its_oldest_interval():
    """Pools have two entries. The interval of nodes 2 and 3 replaces the oldest one. That is 0 and 1 at first, and 1
    and 2 after 0 and 1 is tuned again."""
    ars = ARS(pool=2, clients=2)
    views = [view_of(Replicas(2), 4, first=first) for first in range(3)]
    _, private = routed(ars, initial(ars, 4), requests_for(), views[0])
    _, private = routed(ars, private, requests_for(), views[1])
    assert keys_of(private) == [0b0011, 0b0110]
    _, replaced = routed(ars, private, requests_for(), views[2])
    assert sorted(keys_of(replaced)) == [0b0110, 0b1100]
    _, private = routed(ars, after_a_window(ars, private, ended(0, 4e-3)), requests_for(), views[0])
    _, private = routed(ars, private, requests_for(), views[2])
    assert sorted(keys_of(private)) == [0b0011, 0b1100]
    # another client has a separate pool and writes an interval there
    _, private = routed(ars, private, requests_for(client=1), views[1])
    _, private = routed(ars, private, requests_for(client=1, read=False), views[1])
    assert sorted(keys_of(private)) == [0b0011, 0b0110, 0b1100, 0b0110 | 1 << 31]


def test_an_interval_that_replaces_another_starts_afresh():
    """The interval of nodes 1 and 2 replaces the one of 0 and 1. Node 1 starts again with the first subregion."""
    ars = ARS(pool=1)
    _, private = routed(ars, initial(ars, 4), requests_for(), view_of(Replicas(2), 4, first=0))
    _, private = routed(ars, private, requests_for(), view_of(Replicas(2), 4, first=1))
    none = jnp.zeros((1, 1), jnp.int32)
    owner = private.pool.entry(none.astype(jnp.uint32) + 0b0110, none, 1).interval.owner
    assert np.asarray(owner)[:, 0].tolist() == [1, 1, 2, 2, FREE, FREE, FREE, FREE]


@pytest.mark.parametrize(("shared", "expected"), [(False, 0.5), (True, 2 / 3)])
def test_clients_have_separate_metrics_unless_they_share(shared, expected):
    """Node 0 serves client 3 twice as fast as node 1. Client 8 counts as client 3; client 1 does not."""
    ars, view = ARS(shared=shared), view_of(Replicas(2), 2)
    private = after_a_window(ars, initial(ars, 2), ended(0, 4e-3, client=3), ended(1, 8e-3, client=8))
    for client, its in ((3, 2 / 3), (8, 2 / 3), (1, expected)):
        _, after = routed(ars, private, requests_for(client=client), view)
        assert shares(ars, after, 0b11, 2, client % 5 * (not shared))[0] == pytest.approx(its, abs=1e-5)


def admitted(dispatch, private, request: Requests, view: View, slot: int):
    """The target parts of a request, and the state after it is routed and in a slot."""
    mask, private = routed(dispatch, private, request, view)
    into = jnp.arange(SLOTS)[:, None] == slot
    event = RequestAdmitted(
        into, jnp.ones((1, 1), bool), request, view.placement, view.location, mask, None, jnp.zeros((1, 1))
    )
    return parts_of(mask), dispatch.on_admitted(private, event)


def completed(dispatch, private, number: int):
    none = jnp.zeros((1, 1), jnp.int32)
    said = RequestCompleted(none + number, jnp.zeros((1, 1)), none == 0, none == 1, jnp.zeros((1, 1)), none, none, none)
    return dispatch.on_completed(private, said)


def test_reads_go_to_more_nodes_while_a_node_is_silent():
    """The patience is 0.5 s, and two of three parts are needed. One node is silent for 0.4 s, and then longer. So reads
    are sent to three nodes until that node completes an access; writes still go to two."""
    ars, view = ARS(patience=0.5, extra=2), view_of(Coded(2, 3), 3)
    targets, private = admitted(ars, initial(ars, 3), requests_for(), view, 0)
    assert len(targets) == 2
    slow, fast = targets
    private = ars.on_access_ended(elapsed(ars, private, 0.4), ended(fast, 0.4))
    assert len(parts_of(routed(ars, private, requests_for(BLOCK), view)[0])) == 2
    private = elapsed(ars, private, 0.2)
    assert parts_of(routed(ars, private, requests_for(BLOCK), view)[0]) == [0, 1, 2]
    assert len(parts_of(routed(ars, private, requests_for(BLOCK, read=False), view)[0])) == 2
    # the request completes with other parts, and the node has still completed none
    private = elapsed(ars, completed(ars, private, 0), 5.0)
    assert len(parts_of(routed(ars, private, requests_for(BLOCK), view)[0])) == 3
    assert len(parts_of(routed(ars, private, requests_for(BLOCK, client=1), view)[0])) == 2
    private = ars.on_access_ended(private, ended(slow, 0.1, slot=1, number=7))
    assert len(parts_of(routed(ars, private, requests_for(BLOCK), view)[0])) == 2


def test_a_node_that_serves_others_or_is_not_awaited_is_not_silent():
    ars, view = ARS(patience=0.5, extra=1), view_of(Coded(2, 3), 3)
    targets, private = admitted(ars, initial(ars, 3), requests_for(), view, 0)
    later = elapsed(ars, private, 0.6)
    for node in targets:
        later = ars.on_access_ended(later, ended(node, 0.1, slot=2, number=5))
    assert len(parts_of(routed(ars, later, requests_for(), view)[0])) == 2
    # the request completes before the patience ends, so no node owes it a part any more
    private = elapsed(ars, completed(ars, elapsed(ars, private, 0.4), 0), 1.0)
    assert len(parts_of(routed(ars, private, requests_for(), view)[0])) == 2


def test_extra_nodes_are_limited_by_extra_and_by_the_number_of_nodes():
    ars, view = ARS(patience=0.5, extra=1), view_of(Coded(1, 4), 4)
    private = initial(ars, 4)
    for number, sector in enumerate((0, 1, 2, 3)):
        _, private = admitted(ars, private, requests_for(sector * BLOCK, number=number), view, number)
    private = elapsed(ars, private, 1.0)
    assert len(parts_of(routed(ars, private, requests_for(), view)[0])) == 2
    assert ARS().withdraws is True and ars.withdraws is False


@pytest.mark.parametrize(("extra", "slots", "expected"), [(0, 64, 3864), (2, 64, 3864 + 1128)])
def test_the_bytes_of_a_run_are_as_documented(extra, slots, expected):
    private = ARS(extra=extra).init(StateSizes(slots, 4, (10,), bricks=4))
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(private)) == 10 * expected


def test_a_slow_node_gets_the_share_of_its_speed():
    """Three nodes are nearly idle, and one takes twice as long, so it receives a fifth. The ratios come from noisy
    windows: 3%."""
    system = System(
        ideal_drive(full_seek=0.0, revolution=6e-3),
        Replicas(3),
        ARS(clients=1, window=5.0),
        FCFS(),
        faults=FaultSchedule(Slowdown(2, 0.5, 0, 10**6)),
        slots=16,
    )
    arrivals = PoissonArrivals(RandomRequests(FixedSize(4096), 1.0), 20.0)
    outcome = execute(Scenario(system, arrivals), keys(range(16)), 4000, Record(sums_of(STANDARD)))
    served = outcome.tally["served"].sum(axis=(0, 2))
    assert served / served.sum() == pytest.approx([0.4, 0.4, 0.2], abs=0.03)


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_randomized_chooses_all_nodes_with_equal_probability(needed):
    runs = 20_000
    words = np.random.default_rng(5).integers(0, 2**32, runs, dtype=np.uint32)
    view = view_of(Coded(needed, 4), 4, runs=runs)
    mask, _ = routed(Randomized(), None, requests_for(receiving=words, runs=runs), view)
    assert set(np.bitwise_count(np.asarray(mask)).ravel().tolist()) == {needed}
    sets, counts = np.unique(mask, return_counts=True)
    expected = {1: 4, 2: 6, 3: 4}[needed]
    assert len(sets) == expected
    assert_frequencies(counts / runs, [1 / expected] * expected, runs)


def test_randomized_depends_only_on_the_word():
    """Neither the request nor the load matters; another word gives another choice."""
    runs = 500
    words = np.random.default_rng(6).integers(0, 2**32, runs, dtype=np.uint32)
    idle = view_of(Coded(2, 4), 4, runs=runs)
    busy = view_of(Coded(2, 4), 4, runs=runs, waiting=[0b1] * 9, busy=[1, 1, 0, 0])
    once, _ = routed(Randomized(), None, requests_for(receiving=words, runs=runs), idle)
    again, _ = routed(Randomized(), None, requests_for(77, receiving=words, read=False, client=3, runs=runs), busy)
    other, _ = routed(Randomized(), None, requests_for(receiving=words + 1, runs=runs), idle)
    np.testing.assert_array_equal(once, again)
    assert np.mean(np.asarray(once) == np.asarray(other)) == pytest.approx(1 / 6, abs=4 * np.sqrt(0.14 / runs))


@pytest.mark.parametrize(
    ("waiting", "busy", "needed", "expected"),
    [
        # with one more request at each node: 10, 4 and 5 ms
        ([], [0, 0, 0], 1, [1]),
        ([], [0, 0, 0], 2, [1, 2]),
        # node 1 serves one request: 10, 8, 5
        ([], [0, 1, 0], 1, [2]),
        # node 2 serves one as well, and one waits at node 1: 10, 12, 10; ties go to the lowest
        ([0b010], [0, 1, 1], 1, [0]),
        ([0b010], [0, 1, 1], 2, [0, 2]),
    ],
)
def test_central_chooses_the_nodes_that_complete_first(waiting, busy, needed, expected):
    """Mean service times are 10, 4 and 5 ms; those of writes are 1, 4 and 5 ms."""
    central = Central((10e-3, 4e-3, 5e-3), (1e-3, 4e-3, 5e-3))
    view = view_of(Coded(needed, 3), 3, waiting=waiting, busy=busy)
    assert parts_of(routed(central, None, requests_for(), view)[0]) == expected
    assert 0 in parts_of(routed(central, None, requests_for(read=False), view)[0])


def test_exact_central_waits_for_nodes_that_are_free_soon():
    """Mean service times are 10 ms. Node 0 is free and takes 9 or 12 ms. Node 1 ends in 1 ms, 11 ms in all. Node 2 ends
    in 0.5 ms, but one request waits there."""
    central = Central((10e-3,) * 3, exact=True)
    view = view_of(Replicas(3), 3, waiting=[0b100], busy=[0, 1, 1], time_until_idle=[0, 1e-3, 0.5e-3])
    for access_time, expected in ((9e-3, 0), (12e-3, 1)):
        now = view._replace(
            access_time=lambda drive, access_time=access_time: jnp.full(drive.shape, access_time, jnp.float32)
        )
        assert parts_of(routed(central, None, requests_for(), now)[0]) == [expected]


def test_central_counts_parity_with_its_data():
    """One node is a RAID 5 of three disks, 4 ms; the other is a disk, 5 ms. While a parity disk is busy, a write there
    takes 8 ms."""
    nodes, drive = (Node(3, raid5=True), Node(1)), ideal_drive(full_seek=8e-3, revolution=7e-3)
    layout = Segments(nodes, [Volume(1024, 512, parts=2)]).for_drive(drive)
    location = layout.locate(drive, requests_for(read=False))
    data = jnp.zeros((1, 1), jnp.int32)
    parity = layout.drive_of(layout.sibling(data, location), location)
    assert layout.brick_of(parity)[0, 0] == 0 and layout.drive_of(data, location) != parity
    central = Central((4e-3, 5e-3))
    for working, chosen in ((False, 0), (True, 1)):
        busy = (jnp.arange(4)[:, None] == parity) & working
        view = view_of(layout, 4)._replace(location=location, locations=location, bricks=Grouping((3, 1)), busy=busy)
        node = [int(layout.brick_of(layout.drive_of(jnp.full((1, 1), part), location))[0, 0]) for part in range(2)]
        [part] = parts_of(routed(central, None, requests_for(read=False), view)[0])
        assert node[part] == chosen
        [part] = parts_of(routed(central, None, requests_for(), view)[0])
        assert node[part] == 0


def test_central_counts_the_queue_of_the_drive_with_the_part():
    """Two bricks have two disks each. The request is on disk 1 of both. At brick 0 two requests wait at disk 0, at
    brick 1 one waits at disk 1."""
    layout = Bricks(Replicas(2), 2)
    waiting = jnp.asarray([[0b01], [0b01], [0b10], [0]], jnp.uint32)
    disk = jnp.asarray([[0], [0], [1], [0]], jnp.int32)
    locations = Inside(Location(None, jnp.zeros((4, 1), jnp.int32)), disk)
    location = Inside(Location(None, jnp.zeros((1, 1), jnp.int32)), jnp.ones((1, 1), jnp.int32))
    idle = jnp.zeros((4, 1), bool)
    still = jnp.zeros((4, 1), jnp.float32)
    of_two, word = Grouping((2, 2)), jnp.zeros((1, 1), jnp.uint32)
    view = View(waiting, locations, idle, still, ~idle, location, layout, of_two, not_called, not_called, word)
    central = Central((5e-3, 5e-3))
    central.check(SystemFacts(bricks=2))
    assert parts_of(routed(central, None, requests_for(), view)[0]) == [0]
    other = view._replace(location=location._replace(disk=jnp.zeros((1, 1), jnp.int32)))
    assert parts_of(routed(central, None, requests_for(), other)[0]) == [1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: ARS(window=0.0), "a window of 0 s: it must be above 0 and finite"),
        (lambda: ARS(window=np.inf), "a window of inf s: it must be above 0 and finite"),
        (lambda: ARS(patience=-1.0), "a patience of -1 s: it must be above 0 and finite"),
        (lambda: ARS(block=0), "sectors per block 0: give a whole number, between 1"),
        (lambda: ARS(pool=0), "intervals in a pool 0: give a whole number, between 1"),
        (lambda: ARS(clients=0), "clients 0: give a whole number, between 1"),
        (lambda: ARS(extra=-1), "extra nodes -1: give a whole number, between 0 and 31"),
        (lambda: ARS().check(SystemFacts(bricks=32)), "unit intervals of 32 bricks: at most 31"),
        (lambda: Central((1e-3, 0.0)), "a mean service time of 0 s: it must be above 0 and finite"),
        (lambda: Central((1e-3,), (-1e-3,)), "a mean write service time of -0.001 s"),
        (lambda: Central((1e-3, 1e-3), (1e-3,)), "mean write service times 1: it must be 2, one for each brick, or 0"),
        (lambda: Central((1e-3,)).check(SystemFacts(bricks=2)), "1 mean service times for 2 bricks: give one for each"),
    ],
)
def test_impossible_settings_are_rejected(build, message):
    assert_refused(build, message)


@pytest.mark.parametrize(
    ("targets", "alive", "expected"), [(0b0011, 0b1110, [2, 3]), (0b0001, 0b0110, [1, 2]), (0b1111, 0b0101, [0, 2])]
)
def test_after_a_time_out_the_read_goes_to_the_remaining_nodes(targets, alive, expected):
    words = [jnp.full((1, 1), word, jnp.uint32) for word in (alive, targets)]
    assert parts_of(ARS().retry_targets(*words)) == expected
