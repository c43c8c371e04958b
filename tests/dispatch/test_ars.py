"""ARS and the protocols beside it: whom they ask, worked by hand, and how often, against the chances they should have."""

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


def asking(sector=0, *, read=True, client=0, receiving=0, address_hash=0, number=0, lanes=1) -> Requests:
    """One request in each of so many lanes."""

    def row(value, kind):
        return jnp.broadcast_to(jnp.asarray(value, kind), (1, lanes))

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


def nothing_known():
    raise AssertionError("nobody asks how long a head takes")


def seen(placement: AbstractPlacement, nodes: int, *, first=0, lanes=1, waiting=(), busy=0, falls_free=0.0) -> View:
    """What a dispatcher sees of nodes of one drive each; busy and falls_free: of each. waiting: parts of requests that lie
    on the first nodes, one bit each."""
    at = jnp.broadcast_to(jnp.asarray([*waiting, 0], jnp.uint32)[:, None], (len(waiting) + 1, lanes))
    working = jnp.broadcast_to(jnp.reshape(jnp.asarray(busy, bool), (-1, 1)), (nodes, lanes))
    left = jnp.broadcast_to(jnp.reshape(jnp.asarray(falls_free, jnp.float32), (-1, 1)), (nodes, lanes))
    place = Location(None, jnp.full((1, lanes), first, jnp.int32))
    places = Location(None, jnp.zeros(at.shape, jnp.int32))
    bricks = Grouping((1,) * nodes)
    word = jnp.zeros((1, lanes), jnp.uint32)
    return View(at, places, working, left, ~working, place, placement, bricks, nothing_known, nothing_known, word)


def begun(dispatch: ARS, nodes: int, lanes: int = 1):
    return dispatch.init(StateSizes(SLOTS, nodes, (lanes,), bricks=nodes))


def knowing(dispatch: ARS, metrics, lanes: int, operation: int = 0):
    """Its state where every client has seen these metrics of the nodes."""
    private = begun(dispatch, len(metrics), lanes)
    each = len(private.observed.metric) // 2
    rows = np.zeros((2 * each, lanes), np.float32)
    rows[operation * each : (operation + 1) * each] = np.tile(metrics, each // len(metrics))[:, None]
    return private._replace(observed=private.observed._replace(metric=jnp.asarray(rows)))


@eqx.filter_jit
def routed(dispatch, private, request: Requests, view: View):
    return dispatch.route(private, request, jnp.ones(request.number.shape, bool), view)


def parts_of(mask) -> list[int]:
    """The parts in a mask of one lane."""
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


def elapsed(dispatch, private, seconds):
    return dispatch.elapse(private, jnp.full((1, 1), seconds, jnp.float32))


def after_a_window(dispatch, private, *moments):
    """Its state a window later, these accesses having ended in it."""
    for moment in moments:
        private = dispatch.ended(private, moment)
    return elapsed(dispatch, private, float(dispatch.window))


def metrics(private) -> list[float]:
    return np.asarray(private.observed.metric)[:, 0].tolist()


def kept(private) -> list[int]:
    """The keys in the pool, but for those that are free."""
    return [key for key in np.asarray(private.pool.key)[:, 0].tolist() if key]


def shares(dispatch: ARS, private, key: int, nodes: int, client: int = 0) -> list[float]:
    """Of the interval under a key, of the mapped half."""
    entry = private.pool.entry(jnp.full((1, 1), key, jnp.uint32), jnp.full((1, 1), client, jnp.int32), dispatch.pool)
    assert bool(entry.found[0, 0])
    return (np.asarray(lengths(entry.interval, nodes))[:, 0] / HALF).tolist()


def assert_frequencies(found, expected, sample: int):
    """Within four standard deviations of a binomial."""
    expected = np.asarray(expected)
    assert np.all(np.abs(np.asarray(found) - expected) <= 4 * np.sqrt(expected * (1 - expected) / sample))


def frequencies(mask, parts: int) -> list[float]:
    return [float(np.mean(np.asarray(mask) >> part & 1)) for part in range(parts)]


@pytest.mark.slow
def test_with_fixed_metrics_its_shares_are_those_of_weighted_hashing():
    lanes, weights = 20_000, [3.0, 1.0, 2.0]
    sectors = np.random.default_rng(1).permutation(2**20)[:lanes] * BLOCK
    hashes = np.random.default_rng(2).integers(0, 2**32, lanes, dtype=np.uint32)
    view, request = seen(Replicas(3), 3, lanes=lanes), asking(sectors, address_hash=hashes, lanes=lanes)
    ars = ARS()
    ours, _ = routed(ars, knowing(ars, weights, lanes), request, view)
    theirs, _ = routed(WeightedHashing(weights), None, request, view)
    for mask in (ours, theirs):
        assert_frequencies(frequencies(mask, 3), np.asarray(weights) / 6, lanes)
    assert set(np.unique(ours)) == {1, 2, 4}


@pytest.mark.slow
def test_of_a_code_as_many_as_it_needs_by_successive_sampling():
    """For writes by what is seen of writes."""
    lanes, weights = 20_000, [8.0, 4.0, 2.0, 1.0]
    sectors = np.random.default_rng(3).permutation(2**20)[:lanes] * BLOCK
    ars, view = ARS(), seen(Coded(2, 4), 4, lanes=lanes)
    for operation, read in enumerate((True, False)):
        private = knowing(ars, weights, lanes, operation)
        mask, _ = routed(ars, private, asking(sectors, read=read, lanes=lanes), view)
        assert set(np.bitwise_count(np.asarray(mask)).ravel().tolist()) == {2}
        assert_frequencies(frequencies(mask, 4), inclusion(np.asarray(weights), 2), lanes)
        other, _ = routed(ars, private, asking(sectors, read=not read, lanes=lanes), view)
        assert_frequencies(frequencies(other, 4), [0.5] * 4, lanes)


def test_what_is_in_one_block_goes_to_one_node():
    """Whoever asks first, until metrics change."""
    lanes = 3000
    first = np.random.default_rng(4).permutation(2**20)[:lanes] * BLOCK
    ars, view = ARS(), seen(Replicas(3), 3, lanes=lanes)
    begin, private = routed(ars, knowing(ars, [3.0, 1.0, 2.0], lanes), asking(first, lanes=lanes), view)
    for sector in (first, first + 1, first + BLOCK - 1):
        again, private = routed(ars, private, asking(sector, lanes=lanes), view)
        np.testing.assert_array_equal(again, begin)
    beyond, _ = routed(ars, private, asking(first + BLOCK, lanes=lanes), view)
    chance = (9 + 1 + 4) / 36
    assert np.mean(np.asarray(beyond) == np.asarray(begin)) == pytest.approx(chance, abs=4 * np.sqrt(0.25 / lanes))


def test_metrics_are_sectors_over_seconds_of_a_window():
    """A window of 1 s, two clients, three nodes. Node 0 sends 8 sectors after 4 ms and 16 after 8 ms: 24 / 12 ms = 2000 a
    second. Node 1 8 after 8 ms, 1000, and 8 that nobody waits for. Node 2 takes a write of 8 sectors in 16 ms: 500, but of
    writes. Then node 0 sends 8 after 8 ms, 1000; the others keep what they have."""
    ars = ARS(clients=2, window=1.0)
    private = begun(ars, 3)
    for moment in (
        ended(0, 4e-3),
        ended(0, 8e-3, sectors=16),
        ended(1, 8e-3),
        ended(1, 1e-3, awaited=False),
        ended(2, 16e-3, read=False),
    ):
        private = elapsed(ars, ars.ended(private, moment), 0.1)
    assert metrics(private) == [0] * 12
    private = elapsed(ars, private, 0.6)
    expected = [2000, 1000, *[0] * 6, 500, *[0] * 3]
    assert metrics(private) == pytest.approx(expected)
    # the second window ends after two seconds, not one after the last event
    private = elapsed(ars, ars.ended(elapsed(ars, private, 0.85), ended(0, 8e-3)), 0.02)
    assert metrics(private) == pytest.approx(expected)
    private = elapsed(ars, private, 0.04)
    assert metrics(private) == pytest.approx([1000, *expected[1:]])
    assert metrics(elapsed(ars, private, 7.0)) == pytest.approx([1000, *expected[1:]])


def test_lengths_follow_the_metrics_and_who_has_not_answered_has_an_equal_share():
    """2000 and 1000 sectors a second and one that is not known: a third for that, and two to one of the rest."""
    ars = ARS()
    _, private = routed(ars, begun(ars, 3), asking(), seen(Replicas(3), 3))
    assert shares(ars, private, 0b111, 3) == pytest.approx([1 / 3] * 3, abs=1e-6)
    private = after_a_window(ars, private, ended(0, 4e-3), ended(1, 8e-3))
    assert shares(ars, private, 0b111, 3) == pytest.approx([1 / 3] * 3, abs=1e-6)
    _, private = routed(ars, private, asking(), seen(Replicas(3), 3))
    assert shares(ars, private, 0b111, 3) == pytest.approx([4 / 9, 2 / 9, 1 / 3], abs=1e-5)


def test_an_interval_is_tuned_where_a_value_of_its_nodes_is_newer():
    """Copies on nodes 0 and 1, and on 2 and 3: who answers at the latter leaves the interval of the former alone."""
    ars = ARS()
    near, far = (seen(Replicas(2), 4, first=first) for first in (0, 2))
    _, private = routed(ars, begun(ars, 4), asking(), near)
    clock = int(private.clock[0, 0])
    _, private = routed(ars, private, asking(BLOCK), near)
    assert int(private.clock[0, 0]) == clock
    private = after_a_window(ars, private, ended(2, 4e-3))
    _, after = routed(ars, private, asking(), near)
    assert np.array_equal(after.pool.tuned, private.pool.tuned)
    _, after = routed(ars, after, asking(), far)
    private = after_a_window(ars, after, ended(1, 4e-3))
    _, after = routed(ars, private, asking(), near)
    assert np.sum(np.asarray(after.pool.tuned) != np.asarray(private.pool.tuned)) == 1
    # nobody enters: nothing changes
    _, nobody = ars.route(private, asking(), jnp.zeros((1, 1), bool), near)
    same = jax.tree.map(np.array_equal, nobody, private)
    assert all(jax.tree.leaves(same))


def test_a_pool_keeps_to_its_bound_and_the_oldest_goes():
    """Pools of two: that of nodes 0 and 1 goes for that of 2 and 3; but once it is tuned again, that of 1 and 2 does."""
    ars = ARS(pool=2, clients=2)
    views = [seen(Replicas(2), 4, first=first) for first in range(3)]
    _, private = routed(ars, begun(ars, 4), asking(), views[0])
    _, private = routed(ars, private, asking(), views[1])
    assert kept(private) == [0b0011, 0b0110]
    _, replaced = routed(ars, private, asking(), views[2])
    assert sorted(kept(replaced)) == [0b0110, 0b1100]
    _, private = routed(ars, after_a_window(ars, private, ended(0, 4e-3)), asking(), views[0])
    _, private = routed(ars, private, asking(), views[2])
    assert sorted(kept(private)) == [0b0011, 0b1100]
    # another client has a pool of its own, and writes an interval of theirs
    _, private = routed(ars, private, asking(client=1), views[1])
    _, private = routed(ars, private, asking(client=1, read=False), views[1])
    assert sorted(kept(private)) == [0b0011, 0b0110, 0b1100, 0b0110 | 1 << 31]


def test_an_interval_that_takes_the_place_of_another_begins_afresh():
    """Of nodes 1 and 2, where there was one of 0 and 1: node 1 begins with the first subregion again."""
    ars = ARS(pool=1)
    _, private = routed(ars, begun(ars, 4), asking(), seen(Replicas(2), 4, first=0))
    _, private = routed(ars, private, asking(), seen(Replicas(2), 4, first=1))
    none = jnp.zeros((1, 1), jnp.int32)
    owner = private.pool.entry(none.astype(jnp.uint32) + 0b0110, none, 1).interval.owner
    assert np.asarray(owner)[:, 0].tolist() == [1, 1, 2, 2, FREE, FREE, FREE, FREE]


@pytest.mark.parametrize(("shared", "expected"), [(False, 0.5), (True, 2 / 3)])
def test_clients_see_for_themselves_unless_they_share(shared, expected):
    """Node 0 answers client 3 twice as fast as node 1; client 8 counts as that one, client 1 does not."""
    ars, view = ARS(shared=shared), seen(Replicas(2), 2)
    private = after_a_window(ars, begun(ars, 2), ended(0, 4e-3, client=3), ended(1, 8e-3, client=8))
    for client, its in ((3, 2 / 3), (8, 2 / 3), (1, expected)):
        _, after = routed(ars, private, asking(client=client), view)
        assert shares(ars, after, 0b11, 2, client % 5 * (not shared))[0] == pytest.approx(its, abs=1e-5)


def entering(dispatch, private, request: Requests, view: View, slot: int):
    """Its state once a request is routed and in a slot, and the parts that it asks."""
    mask, private = routed(dispatch, private, request, view)
    into = jnp.arange(SLOTS)[:, None] == slot
    moment = RequestAdmitted(
        into, jnp.ones((1, 1), bool), request, view.placement, view.place, mask, None, jnp.zeros((1, 1))
    )
    return parts_of(mask), dispatch.entered(private, moment)


def answered(dispatch, private, number: int):
    none = jnp.zeros((1, 1), jnp.int32)
    said = RequestCompleted(none + number, jnp.zeros((1, 1)), none == 0, none == 1, jnp.zeros((1, 1)), none, none, none)
    return dispatch.answered(private, said)


def test_more_are_asked_while_a_node_is_silent():
    """Patience of 0.5 s, two of three. What one asks for does not answer for 0.4 s, and then not at all: so three are asked,
    until it answers something; a write asks two all the same."""
    ars, view = ARS(patience=0.5, extra=2), seen(Coded(2, 3), 3)
    asked, private = entering(ars, begun(ars, 3), asking(), view, 0)
    assert len(asked) == 2
    slow, fast = asked
    private = ars.ended(elapsed(ars, private, 0.4), ended(fast, 0.4))
    assert len(parts_of(routed(ars, private, asking(BLOCK), view)[0])) == 2
    private = elapsed(ars, private, 0.2)
    assert parts_of(routed(ars, private, asking(BLOCK), view)[0]) == [0, 1, 2]
    assert len(parts_of(routed(ars, private, asking(BLOCK, read=False), view)[0])) == 2
    # it is answered by others, and still the node has not been heard of
    private = elapsed(ars, answered(ars, private, 0), 5.0)
    assert len(parts_of(routed(ars, private, asking(BLOCK), view)[0])) == 3
    assert len(parts_of(routed(ars, private, asking(BLOCK, client=1), view)[0])) == 2
    private = ars.ended(private, ended(slow, 0.1, slot=1, number=7))
    assert len(parts_of(routed(ars, private, asking(BLOCK), view)[0])) == 2


def test_a_node_that_answers_others_or_is_not_waited_for_is_not_silent():
    ars, view = ARS(patience=0.5, extra=1), seen(Coded(2, 3), 3)
    asked, private = entering(ars, begun(ars, 3), asking(), view, 0)
    heard = elapsed(ars, private, 0.6)
    for node in asked:
        heard = ars.ended(heard, ended(node, 0.1, slot=2, number=5))
    assert len(parts_of(routed(ars, heard, asking(), view)[0])) == 2
    # answered before patience is over: what it still waited for is owed by nobody
    private = elapsed(ars, answered(ars, elapsed(ars, private, 0.4), 0), 1.0)
    assert len(parts_of(routed(ars, private, asking(), view)[0])) == 2


def test_no_more_are_asked_than_extra_and_than_there_are():
    ars, view = ARS(patience=0.5, extra=1), seen(Coded(1, 4), 4)
    private = begun(ars, 4)
    for number, sector in enumerate((0, 1, 2, 3)):
        _, private = entering(ars, private, asking(sector * BLOCK, number=number), view, number)
    private = elapsed(ars, private, 1.0)
    assert len(parts_of(routed(ars, private, asking(), view)[0])) == 2
    assert ARS().withdraws is True and ars.withdraws is False


@pytest.mark.parametrize(("extra", "slots", "expected"), [(0, 64, 3864), (2, 64, 3864 + 1128)])
def test_bytes_of_a_lane_are_as_documented(extra, slots, expected):
    private = ARS(extra=extra).init(StateSizes(slots, 4, (10,), bricks=4))
    assert sum(leaf.nbytes for leaf in jax.tree.leaves(private)) == 10 * expected


def test_a_slow_node_gets_the_share_of_its_speed():
    """Three nodes, nearly idle, one of which takes twice as long: it has a fifth. Ratios of noisy windows, 3%."""
    system = System(
        ideal_drive(full_seek=0.0, revolution=6e-3),
        Replicas(3),
        ARS(clients=1, window=5.0),
        FCFS(),
        condition=FaultSchedule(Slowdown(2, 0.5, 0, 10**6)),
        slots=16,
    )
    arrivals = PoissonArrivals(RandomRequests(FixedSize(4096), 1.0), 20.0)
    outcome = execute(Scenario(system, arrivals), keys(range(16)), 4000, Record(sums_of(STANDARD)))
    served = outcome.tally["served"].sum(axis=(0, 2))
    assert served / served.sum() == pytest.approx([0.4, 0.4, 0.2], abs=0.03)


@pytest.mark.parametrize("needed", [1, 2, 3])
def test_randomized_takes_any_nodes_alike(needed):
    lanes = 20_000
    words = np.random.default_rng(5).integers(0, 2**32, lanes, dtype=np.uint32)
    view = seen(Coded(needed, 4), 4, lanes=lanes)
    mask, _ = routed(Randomized(), None, asking(receiving=words, lanes=lanes), view)
    assert set(np.bitwise_count(np.asarray(mask)).ravel().tolist()) == {needed}
    sets, counts = np.unique(mask, return_counts=True)
    expected = {1: 4, 2: 6, 3: 4}[needed]
    assert len(sets) == expected
    assert_frequencies(counts / lanes, [1 / expected] * expected, lanes)


def test_randomized_heeds_nothing_else():
    """Neither what is asked nor who is busy; another word is another draw."""
    lanes = 500
    words = np.random.default_rng(6).integers(0, 2**32, lanes, dtype=np.uint32)
    idle = seen(Coded(2, 4), 4, lanes=lanes)
    busy = seen(Coded(2, 4), 4, lanes=lanes, waiting=[0b1] * 9, busy=[1, 1, 0, 0])
    once, _ = routed(Randomized(), None, asking(receiving=words, lanes=lanes), idle)
    again, _ = routed(Randomized(), None, asking(77, receiving=words, read=False, client=3, lanes=lanes), busy)
    other, _ = routed(Randomized(), None, asking(receiving=words + 1, lanes=lanes), idle)
    np.testing.assert_array_equal(once, again)
    assert np.mean(np.asarray(once) == np.asarray(other)) == pytest.approx(1 / 6, abs=4 * np.sqrt(0.14 / lanes))


@pytest.mark.parametrize(
    ("waiting", "busy", "needed", "expected"),
    [
        # one more at each: 10, 4 and 5 ms
        ([], [0, 0, 0], 1, [1]),
        ([], [0, 0, 0], 2, [1, 2]),
        # node 1 serves one: 10, 8, 5
        ([], [0, 1, 0], 1, [2]),
        # node 2 serves one as well, and one waits at 1: 10, 12, 10, of equals the lowest
        ([0b010], [0, 1, 1], 1, [0]),
        ([0b010], [0, 1, 1], 2, [0, 2]),
    ],
)
def test_central_takes_those_that_complete_first(waiting, busy, needed, expected):
    """Mean service times of 10, 4 and 5 ms, of writes of 1, 4 and 5."""
    central = Central((10e-3, 4e-3, 5e-3), (1e-3, 4e-3, 5e-3))
    view = seen(Coded(needed, 3), 3, waiting=waiting, busy=busy)
    assert parts_of(routed(central, None, asking(), view)[0]) == expected
    assert 0 in parts_of(routed(central, None, asking(read=False), view)[0])


def test_central_that_knows_positions_waits_for_those_that_are_soon_free():
    """Means of 10 ms. Node 0 is free and would be done after 9 or 12 ms; node 1 ends in 1 ms, 11 in all; node 2 in half of
    one, but one waits there."""
    central = Central((10e-3,) * 3, exact=True)
    view = seen(Replicas(3), 3, waiting=[0b100], busy=[0, 1, 1], falls_free=[0, 1e-3, 0.5e-3])
    for takes, expected in ((9e-3, 0), (12e-3, 1)):
        now = view._replace(takes=lambda drive, takes=takes: jnp.full(drive.shape, takes, jnp.float32))
        assert parts_of(routed(central, None, asking(), now)[0]) == [expected]


def test_central_counts_parity_with_what_it_protects():
    """A RAID 5 of three, 4 ms, and a disk, 5 ms. While a parity disk works, a write there takes 8."""
    nodes, drive = (Node(3, raid5=True), Node(1)), ideal_drive(full_seek=8e-3, revolution=7e-3)
    layout = Segments(nodes, [Volume(1024, 512, parts=2)]).on(drive)
    place = layout.locate(drive, asking(read=False))
    data = jnp.zeros((1, 1), jnp.int32)
    parity = layout.drive_of(layout.sibling(data, place), place)
    assert layout.brick_of(parity)[0, 0] == 0 and layout.drive_of(data, place) != parity
    central = Central((4e-3, 5e-3))
    for working, chosen in ((False, 0), (True, 1)):
        busy = (jnp.arange(4)[:, None] == parity) & working
        view = seen(layout, 4)._replace(place=place, places=place, bricks=Grouping((3, 1)), busy=busy)
        node = [int(layout.brick_of(layout.drive_of(jnp.full((1, 1), part), place))[0, 0]) for part in range(2)]
        [part] = parts_of(routed(central, None, asking(read=False), view)[0])
        assert node[part] == chosen
        [part] = parts_of(routed(central, None, asking(), view)[0])
        assert node[part] == 0


def test_central_counts_the_queue_of_the_drive_that_holds_the_part():
    """Two bricks of two disks. The request is on disk 1 of both; at brick 0 two wait at disk 0, at brick 1 one at disk 1."""
    layout = Bricks(Replicas(2), 2)
    waiting = jnp.asarray([[0b01], [0b01], [0b10], [0]], jnp.uint32)
    disk = jnp.asarray([[0], [0], [1], [0]], jnp.int32)
    places = Inside(Location(None, jnp.zeros((4, 1), jnp.int32)), disk)
    place = Inside(Location(None, jnp.zeros((1, 1), jnp.int32)), jnp.ones((1, 1), jnp.int32))
    idle = jnp.zeros((4, 1), bool)
    still = jnp.zeros((4, 1), jnp.float32)
    of_two, word = Grouping((2, 2)), jnp.zeros((1, 1), jnp.uint32)
    view = View(waiting, places, idle, still, ~idle, place, layout, of_two, nothing_known, nothing_known, word)
    central = Central((5e-3, 5e-3))
    central.check(SystemFacts(bricks=2))
    assert parts_of(routed(central, None, asking(), view)[0]) == [0]
    other = view._replace(place=place._replace(disk=jnp.zeros((1, 1), jnp.int32)))
    assert parts_of(routed(central, None, asking(), other)[0]) == [1]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: ARS(window=0.0), "a window of 0 s: it must be above 0 and finite"),
        (lambda: ARS(window=np.inf), "a window of inf s: it must be above 0 and finite"),
        (lambda: ARS(patience=-1.0), "a patience of -1 s: it must be above 0 and finite"),
        (lambda: ARS(block=0), "sectors of a block 0: give a whole number, between 1"),
        (lambda: ARS(pool=0), "intervals in a pool 0: give a whole number, between 1"),
        (lambda: ARS(clients=0), "clients 0: give a whole number, between 1"),
        (lambda: ARS(extra=-1), "extra nodes -1: give a whole number, between 0 and 31"),
        (lambda: ARS().check(SystemFacts(bricks=32)), "unit intervals of 32 bricks: at most 31"),
        (lambda: Central((1e-3, 0.0)), "a mean service time of 0 s: it must be above 0 and finite"),
        (lambda: Central((1e-3,), (-1e-3,)), "a mean write service time of -0.001 s"),
        (lambda: Central((1e-3, 1e-3), (1e-3,)), "mean write service times 1: it must be 2, or none"),
        (lambda: Central((1e-3,)).check(SystemFacts(bricks=2)), "1 mean service times for 2 bricks: give one for each"),
    ],
)
def test_impossible_settings_are_refused(build, says):
    assert_refused(build, says)


@pytest.mark.parametrize(
    ("asked", "alive", "expected"), [(0b0011, 0b1110, [2, 3]), (0b0001, 0b0110, [1, 2]), (0b1111, 0b0101, [0, 2])]
)
def test_after_a_time_out_the_remaining_nodes_are_asked(asked, alive, expected):
    words = [jnp.full((1, 1), word, jnp.uint32) for word in (alive, asked)]
    assert parts_of(ARS().again(*words)) == expected
