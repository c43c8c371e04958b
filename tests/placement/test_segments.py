"""Test segments on nodes of unequal disks.

Parts lie at the locations of a program that places one request after the other.
"""

import itertools
import math
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers import assert_refused, requests_at, responses
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.core.units import MB, SECTOR
from storagekit.dispatch import ARS, Broadcast
from storagekit.drive import Mixed, RateServer, ideal_drive, load_drive
from storagekit.engine import Record, Scenario, System, execute, stack
from storagekit.engine.run import int64_enabled
from storagekit.placement import RAID5, Bricks, Node, Segments, Volume, cut, laid_out
from storagekit.schedule import FCFS, SATF
from storagekit.simulation import STANDARD, replay, simulate
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests, Requests, VolumeRequests
from storagekit.workload.trace import request_trace

# A track is so long that a drive has four of them, without skew: cylinder and angle give the address.
TRACK, SECOND = 2**13, 1e-4
DRIVE = ideal_drive(full_seek=1e-3, revolution=TRACK * SECOND, cylinders=4, sectors_per_track=TRACK)
# JAX compiles for every length, so requests are padded to one length
LENGTH = 64
UNIT = 128

plain = st.builds(Node, st.integers(1, 3), sectors=st.integers(1000, DRIVE.capacity))
raids = st.builds(Node, st.integers(3, 5), st.just(True), sectors=st.integers(1000, DRIVE.capacity))
clusters = st.lists(plain | raids, min_size=1, max_size=4).map(tuple)


@st.composite
def volumes_on(draw, nodes: tuple[Node, ...]) -> tuple[Volume, ...]:
    """Draw one to three volumes that may be larger than the nodes."""

    def volume() -> Volume:
        parts = draw(st.integers(1, len(nodes)))
        needed = draw(st.integers(1, parts))
        block = needed * draw(st.integers(1, 40))
        return Volume(block * draw(st.integers(1, 60)), block * draw(st.integers(1, 12)), parts, needed, block)

    return tuple(volume() for _ in range(draw(st.integers(1, 3))))


class ReferenceLayout:
    """Compute the layout by hand, one segment and one request after the other."""

    def __init__(self, nodes, volumes, wraps: bool, whole_blocks: bool):
        self.nodes, self.volumes, self.wraps, self.whole_blocks = nodes, volumes, wraps, whole_blocks
        self.cursors = [[0] * (1 if node.raid5 else node.disks) for node in nodes]
        self.count = [0] * len(nodes)
        self.locations = {}
        most_parts_first = sorted(range(len(volumes)), key=lambda v: (-volumes[v].parts, v))
        for v in most_parts_first:
            for segment in range(math.ceil(volumes[v].sectors / volumes[v].segment)):
                self.locations[v, segment] = self.put(v, segment)

    def usable_sectors(self, node: Node) -> int:
        return (node.disks - 1) * UNIT * (node.sectors // UNIT - 1) if node.raid5 else node.sectors

    def rank(self, v: int, segment: int, n: int) -> float:
        word = int(np.random.Philox(key=[v, n]).random_raw(segment + 1)[segment])
        held = self.usable_sectors(self.nodes[n]) * len(self.cursors[n])
        return -math.log(((word >> 11) + 0.5) / 2**53) / held

    def put(self, v: int, segment: int) -> list[tuple[int, int, int]]:
        """Return node, disk and first sector of each part."""
        size = self.volumes[v].segment // self.volumes[v].needed
        able = []
        for n, node in enumerate(self.nodes):
            disk = self.count[n] % len(self.cursors[n])
            left = self.usable_sectors(node) - (0 if self.wraps else self.cursors[n][disk])
            if size <= left:
                able.append((self.rank(v, segment, n), n))
        if len(able) < self.volumes[v].parts:
            raise InputError("full")
        chosen = sorted(n for _, n in sorted(able)[: self.volumes[v].parts])
        locations = []
        for n in chosen:
            disk = self.count[n] % len(self.cursors[n])
            if self.cursors[n][disk] + size > self.usable_sectors(self.nodes[n]):
                self.cursors[n][disk] = 0
            locations.append((n, disk, self.cursors[n][disk]))
            self.cursors[n][disk] += size
            self.count[n] += 1
        return locations

    def find(self, sector: int, sectors: int, read: bool):
        """Return m, and for each part its drive, address, length, and the drive of its parity or None."""
        v = 0
        while sector >= self.volumes[v].sectors:
            sector, v = sector - self.volumes[v].sectors, v + 1
        volume = self.volumes[v]
        segment, inside = divmod(sector, volume.segment)
        end = min(inside + sectors, volume.segment, volume.sectors - segment * volume.segment)
        m = volume.needed
        if self.whole_blocks and m > 1:
            blocks = sorted({at // volume.block for at in range(inside, end)})
            first, count = blocks[0] * (volume.block // m), len(blocks) * (volume.block // m)
        else:
            first, count = inside // m, math.ceil((end - inside) / m)
        return m, [
            (*self.on_disk(n, disk, begin + first, read), count) for n, disk, begin in self.locations[v, segment]
        ]

    def on_disk(self, n: int, disk: int, address: int, read: bool):
        node, before = self.nodes[n], sum(node.disks for node in self.nodes[:n])
        if not node.raid5:
            return before + disk, address, None
        row, rest = divmod(address, UNIT * (node.disks - 1))
        drives = [(node.disks - 1 - row + 1 + index) % node.disks for index in range(node.disks)]
        return before + drives[rest // UNIT], row * UNIT + rest % UNIT, None if read else before + drives[-1]


def address(target) -> np.ndarray:
    return np.asarray(target.cylinder) * TRACK + np.rint(np.asarray(target.angle) * TRACK).astype(int) % TRACK


@settings(max_examples=6, derandomize=True)
@given(
    clusters.flatmap(lambda nodes: st.tuples(st.just(nodes), volumes_on(nodes))),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_every_part_lies_where_the_reference_finds_it(both, wraps, whole_blocks, data):
    nodes, volumes = both
    layout = Segments(nodes, volumes, wraps, whole_blocks)
    try:
        program = ReferenceLayout(nodes, volumes, wraps, whole_blocks)
    except InputError:
        assert_refused(lambda: layout.capacity(DRIVE), "volume ., segment .*: fewer than . nodes have space")
        return
    capacity = int(layout.capacity(DRIVE))
    assert capacity == sum(volume.sectors for volume in volumes)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    sector = random.integers(0, capacity, LENGTH).astype(np.int32)
    sectors = random.integers(1, 300, LENGTH).astype(np.int32)
    read = random.random(LENGTH) < 0.5
    most = max(volume.parts for volume in volumes)

    def found_by(layout: Segments, requests: Requests) -> tuple:
        location = layout.locate(DRIVE, requests)
        parts, numbers = layout.parts_of(location), [jnp.full(LENGTH, part) for part in range(int(layout.parts))]
        return (
            parts,
            layout.needed_of(location),
            [layout.drive_of(number, location) for number in numbers],
            [layout.target_on(number, location) for number in numbers],
            [layout.part_on(jnp.full(LENGTH, drive), location) for drive in range(int(layout.drives))],
            layout.sectors_of(jnp.zeros(LENGTH, jnp.int32), location, requests.sectors),
            layout.companions(parts & jnp.uint32(2**most - 1), location),
        )

    requests = requests_at(sector)._replace(sectors=sectors, read=read)
    parts, needed, drives, there, on, sizes, with_them = jax.tree.map(
        np.asarray, jax.jit(partial(found_by, layout))(requests)
    )
    targets = [(address(target), np.rint(target.transfer / SECOND)) for target in there]
    for i in range(LENGTH):
        m, found = program.find(int(sector[i]), int(sectors[i]), bool(read[i]))
        assert needed[i] == m <= int(layout.needed)
        expected = {part: (drive, at) for part, (drive, at, _, _) in enumerate(found)}
        parity = {most + part: (other, at) for part, (_, at, other, _) in enumerate(found) if other is not None}
        assert int(parts[i]) == sum(1 << part for part in expected | parity)
        assert int(with_them[i]) == sum(1 << part for part in parity)
        held = dict.fromkeys(range(int(layout.drives)), -1)
        for part, (drive, at) in (expected | parity).items():
            assert (drives[part][i], targets[part][0][i]) == (drive, at)
            assert targets[part][1][i] == sizes[i] == found[0][3]
            held[drive] = part
        assert [int(of[i]) for of in on] == list(held.values())


@settings(max_examples=6, derandomize=True)
@given(clusters.flatmap(lambda nodes: st.tuples(st.just(nodes), volumes_on(nodes))))
def test_no_two_parts_share_a_sector(both):
    """Every sector of every part has a drive and an address of its own, outside parity and within the drive."""
    nodes, volumes = both
    layout = Segments(nodes, volumes)
    try:
        capacity = int(layout.capacity(DRIVE))
    except InputError:
        assume(False)
    length = 2**13

    @jax.jit
    def located(requests: Requests) -> tuple:
        location = layout.locate(DRIVE, requests)
        return [
            layout.drive_of(jnp.full(length, part), location) for part in range(int(layout.parts))
        ], location.targets

    taken, parity = set(), set()
    begin, expected = 0, 0
    for volume in volumes:
        # one request for each sector of a fragment
        every = begin + np.arange(0, volume.sectors, volume.needed)
        begin += volume.sectors
        expected += every.size * volume.parts
        requests = requests_at(np.resize(every, length))
        found, targets = located(requests._replace(read=np.zeros(length, bool)))
        on = np.asarray(found)
        at = np.asarray([address(target) for target in targets])
        for part in range(volume.parts):
            taken |= set(zip(on[part, : every.size].tolist(), at[part, : every.size].tolist(), strict=True))
        for part in range(len(targets), int(layout.parts)):
            both_of = zip(on[part, : every.size].tolist(), at[part - len(targets), : every.size].tolist(), strict=True)
            parity |= {where for where in both_of if where[0] < int(layout.drives)}
    assert begin == capacity and len(taken) == expected
    assert not taken & parity
    ends = [node.sectors for node in nodes for _ in range(node.disks)]
    assert all(at < ends[drive] for drive, at in taken | parity)


@pytest.mark.parametrize("batch", [1, 3])
def test_locations_have_the_shape_of_the_requests(batch):
    """Requests of shape `[chunk, *batch]` and `[1, *batch]` get the same locations as one request after the other."""
    layout = Segments([Node(2), Node(3, True), Node(1)], [Volume(2048, 512, 2), Volume(4096, 512, 3, 2)])
    sector = np.arange(4 * batch, dtype=np.int32).reshape(4, batch) * 7 * 70 % 6000
    locate = jax.jit(lambda requests: layout.locate(DRIVE, requests))
    many = locate(requests_at(sector, 9))
    for row in range(4):
        for element in range(batch):
            alone = locate(requests_at(sector[row, element], 9))
            row_of_one = locate(requests_at(sector[row : row + 1], 9))
            for every, one, single in zip(*map(jax.tree.leaves, (many, row_of_one, alone)), strict=True):
                assert every.shape == (4, batch) and one.shape == (1, batch)
                assert every[row, element] == one[0, element] == single[0]


def included(weights: list[float], count: int) -> np.ndarray:
    """Return the probability of each item to be among the first `count` of successive sampling.

    Items are drawn in proportion to their weights, without replacement. The function sums over all sequences.
    """
    chance = np.zeros(len(weights))
    for drawn in itertools.permutations(range(len(weights)), count):
        left, likely = sum(weights), 1.0
        for one in drawn:
            likely *= weights[one] / left
            left -= weights[one]
        chance[list(drawn)] += likely
    return chance


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3])
def test_nodes_are_drawn_in_proportion_to_their_capacity(count):
    """Place 10,000 segments on nodes of 16, 24 (RAID 5, less one unit per drive), 80 and 40 thousand sectors.

    Shares agree with successive sampling within four standard errors. Another volume draws other nodes.
    """
    nodes = [Node(2, sectors=8000), Node(3, True, sectors=12_160), Node(8, sectors=10_000), Node(5, sectors=8000)]
    weights = [16_000, 2 * (12_160 - UNIT), 80_000, 40_000]
    volume = Volume(80_000, 8, count, block=8)
    layout = Segments(nodes, [volume, volume], wraps=True)
    for first in (0, 80_000):
        location = layout.locate(DRIVE, requests_at(first + np.arange(0, 80_000, 8)))
        ends = np.cumsum(layout.brick_sizes)
        on = np.searchsorted(
            ends, [layout.drive_of(jnp.full(10_000, part), location) for part in range(count)], "right"
        )
        share = np.asarray([np.mean(np.any(on == node, axis=0)) for node in range(4)])
        expected = included(weights, count)
        assert expected.sum() == pytest.approx(count)
        assert np.all(abs(share - expected) <= 4 * np.sqrt(expected * (1 - expected) / 10_000))
        first_sets = on if first == 0 else first_sets
    assert np.mean(np.all(on == first_sets, axis=0)) < 0.9


NAMES, DISKS = ("atlas10k", "ibm18es", "deskstar7k400", "cheetah4lp"), (2, 9, 1, 18)
PAPER = Mixed([load_drive(name) for name in NAMES], np.repeat(range(4), DISKS))
NODES = tuple(Node(disks, raid5=disks == 9) for disks in DISKS)


def of_table_ii(scale: float = 1.0) -> tuple[Volume, Volume]:
    whole = [round(size * scale * 1e9 / SECTOR / UNIT) * UNIT for size in (100, 200)]
    return Volume(whole[0], 128 * MB // SECTOR, 3), Volume(whole[1], 512 * MB // SECTOR, 4, 2)


def test_the_volumes_of_the_paper_fit_scaled_or_wrapped():
    """Use Tables I and II. Scaled to 18.2 and 36.4 GB, the fragments fill node 0.

    A segment has one fragment on each node, and its copies are on the three others. No two share sectors of a disk, and
    the disks of a node are used equally. At full size the volumes need wrapping.
    """
    assert_refused(
        lambda: Segments(NODES, of_table_ii()).capacity(PAPER),
        "volume 1, segment .*: fewer than 4 nodes have space; node 0 has",
    )
    layout = Segments(NODES, of_table_ii(0.182)).for_drive(PAPER)
    assert [node.sectors for node in layout.nodes] == [drive.capacity for drive in PAPER.drives]
    copies, fragments = layout.volumes
    taken: dict[int, list[tuple[int, int]]] = {drive: [] for drive in range(30)}
    for volume, start, nodes in ((copies, 0, {1, 2, 3}), (fragments, copies.sectors, {0, 1, 2, 3})):
        begins = jnp.arange(start, start + volume.sectors, volume.segment, dtype=jnp.int32)
        location = layout.locate(PAPER, jax.tree.map(jnp.asarray, requests_at(begins)))
        on = np.asarray([layout.drive_of(jnp.full_like(begins, part), location) for part in range(volume.parts)])
        of_node = np.searchsorted(np.cumsum(DISKS), on, "right")
        assert np.all(np.sort(of_node, axis=0) == np.sort(list(nodes))[:, None])
        for drives, target in zip(on, location.targets, strict=False):
            for drive, at in zip(drives.tolist(), np.asarray(target.sector).tolist(), strict=True):
                taken[drive].append((at, at + volume.part))
    # a part on the RAID 5 is not contiguous
    for drive in (drive for drive in taken if not 2 <= drive < 11):
        spans = sorted(taken[drive])
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
        assert spans[-1][1] <= PAPER.capacity_of(drive)
    for drives in (range(2), range(12, 30)):
        counts = [len(taken[drive]) for drive in drives]
        assert max(counts) - min(counts) <= 1
    wrapped = Segments(NODES, of_table_ii(), wraps=True).for_drive(PAPER)
    assert int(wrapped.capacity(PAPER)) * SECTOR == pytest.approx(300e9, rel=1e-6)


@pytest.mark.slow
def test_a_raid_5_node_equals_a_raid_5_layout():
    """Put one volume of one part on one node: drives and addresses of data and parity agree."""
    ours, theirs = Segments([Node(5, True)], [Volume(2**14, 2**12, 1)]), RAID5(5)
    sector = np.arange(0, 2**14, 61)
    for read in (True, False):
        requests = requests_at(sector, 5)._replace(read=np.full(sector.shape, read))
        mine, others = ours.locate(DRIVE, requests), theirs.locate(DRIVE, requests)
        np.testing.assert_array_equal(ours.parts_of(mine), theirs.parts_of(others))
        for part in range(1 if read else 2):
            number = jnp.full(sector.shape, part)
            np.testing.assert_array_equal(ours.drive_of(number, mine), theirs.drive_of(number, others))
            same = ours.target_on(number, mine), theirs.target_on(number, others)
            jax.tree.map(np.testing.assert_array_equal, *same)


@settings(max_examples=25, derandomize=True)
@given(clusters.flatmap(lambda nodes: st.tuples(st.just(nodes), volumes_on(nodes))), st.booleans())
def test_a_serial_node_holds_the_same_parts_on_one_drive(both, wraps):
    """With the same nodes, addresses on a disk are equal; a RAID 5 of n disks has 1/(n-1) of the data on each."""
    nodes, volumes = both
    serial = tuple(replace(node, serial=True) for node in nodes)
    try:
        separate = laid_out(nodes, volumes, wraps)
        together = laid_out(serial, volumes, wraps)
    except InputError as fault:
        assume("of a serial node" not in str(fault) and "on a serial node" not in str(fault))
        assert_refused(lambda: laid_out(serial, volumes, wraps), "nodes have space")
        return
    ends = np.cumsum([node.disks for node in nodes])
    for part in range(len(separate) // 3):
        drive, begin, disks = separate[3 * part : 3 * part + 3]
        node = np.searchsorted(ends, drive, "right")
        there = node < len(nodes)
        np.testing.assert_array_equal(together[3 * part], node)
        size = np.repeat([volume.part for volume in volumes], [volume.segments for volume in volumes])
        room = np.append([one.room // max(one.disks - 1, 1) if one.raid5 else one.room for one in nodes], 0)[node]
        expected = np.minimum(np.where(disks > 0, begin // np.maximum(disks - 1, 1), begin), room - size)
        np.testing.assert_array_equal(together[3 * part + 1][there], expected[there])
        assert not together[3 * part + 2].any()


@settings(max_examples=25, derandomize=True)
@given(clusters.flatmap(lambda nodes: st.tuples(st.just(nodes), volumes_on(nodes))), st.booleans())
def test_spread_parts_are_in_the_same_order_and_reach_the_end_of_the_disk(both, serial):
    """No two parts share a sector if they did not before, and the last one ends at the end of the disk."""
    nodes, volumes = both
    nodes = tuple(replace(node, serial=serial) for node in nodes)
    try:
        packed, spread = laid_out(nodes, volumes, False), laid_out(nodes, volumes, False, True)
    except InputError:
        assume(False)
    ends = np.cumsum([node.drives for node in nodes])
    size = np.repeat([volume.part for volume in volumes], [volume.segments for volume in volumes])
    for at, node in enumerate(nodes):
        here = np.searchsorted(ends, packed[::3], "right") == at
        if not here.any():
            continue
        before, after, sizes = packed[1::3][here], spread[1::3][here], np.broadcast_to(size, here.shape)[here]
        room = node.room // (node.disks - 1) if serial and node.raid5 else node.room
        assert np.all(np.diff(after[np.argsort(before, kind="stable")]) >= 0)
        assert after.max() <= room - sizes.min() and (after + sizes).max() <= room
        if not serial:
            of_drive = packed[::3][here]
            for drive in set(of_drive.tolist()):
                order = np.argsort(after[of_drive == drive])
                begin, end = after[of_drive == drive][order], (after + sizes)[of_drive == drive][order]
                assert np.all(begin[1:] >= end[:-1])
            last = (before + sizes).argmax()
            assert room - (after + sizes)[last] <= 1 + sizes[last] * (room / (before + sizes)[last] - 1)


def test_a_serial_node_takes_the_time_of_its_disks_one_at_a_time():
    """Random reads of three disks in a closed loop of one request take the same mean time within four standard errors.

    This holds if each disk has an arm and if one drive represents all of them. A write on RAID 5 takes one more
    revolution.
    """
    volume = Volume(3 * DRIVE.capacity // UNIT * UNIT // 2, 2**10, 1)
    means = {}
    for serial in (False, True):
        layout = Segments([Node(3, serial=serial)], [volume], spread=True)
        system = System(DRIVE, layout, Broadcast(), FCFS(), slots=1)
        loop = ClosedLoop(RandomRequests(FixedSize(512), 1.0), 1)
        runs = [simulate(Scenario(system, loop), requests=2000, seed=seed).service_time for seed in range(8)]
        means[serial] = xr.concat(runs, "seed")
    separate, together = means[False], means[True]
    error = float(np.sqrt((separate.var() + together.var()) / 8))
    assert abs(float(separate.mean() - together.mean())) < 4 * error
    raid = Segments([Node(4, raid5=True, serial=True)], [Volume(2**14, 2**10, 1)])
    assert int(raid.parts) == 1 and raid.brick_sizes == (1,)
    np.testing.assert_allclose(raid.sweep(DRIVE, jnp.zeros(1, jnp.int32)), DRIVE.revolution)


def test_a_part_larger_than_one_disk_raises():
    nodes = (Node(4, raid5=True, sectors=1024, serial=True),)
    assert_refused(
        lambda: laid_out(nodes, (Volume(2560, 2560, 1),), False),
        "a part of 2560 sectors on a serial node whose disks hold 896 sectors: use smaller segments",
    )


def test_the_properties_of_a_layout():
    """Copies replace one another, unless one of them has parity.

    The number of spare parts is the smallest over all volumes.
    """
    copies, coded = Volume(512, 512, 2), Volume(512, 512, 4, 2)
    four, raid = [Node(2)] * 4, [Node(3, True), *[Node(1)] * 3]
    for nodes, volumes, alike, parts, needed, spare in (
        (four, [copies], True, 2, 1, 1),
        (four, [coded], False, 4, 2, 2),
        (four, [copies, coded], False, 4, 2, 1),
        (raid, [copies], False, 4, 1, 1),
        (raid, [copies, coded], False, 8, 2, 1),
    ):
        layout = Segments(nodes, volumes)
        assert (layout.is_replicated, layout.needs_several) == (alike, not alike)
        assert (int(layout.parts), int(layout.needed), int(layout.spare)) == (parts, needed, spare)
        assert layout.most_parts == parts and layout.brick_sizes == tuple(node.disks for node in nodes)


def test_only_drives_of_a_raid_5_write_twice():
    layout = Segments([Node(2), Node(3, True), Node(1), Node(4, True)], [Volume(2048, 512, 4)])
    turns = np.asarray(layout.sweep(DRIVE, jnp.arange(10, dtype=jnp.int32))) / float(DRIVE.revolution)
    assert turns.tolist() == [0, 0, 1, 1, 1, 0, 1, 1, 1, 1]
    assert not np.any(Segments([Node(2)], [Volume(512, 512, 1)]).sweep(DRIVE, jnp.zeros(1, jnp.int32)))


@pytest.mark.slow
def test_in_the_engine_a_raid_5_node_equals_a_raid_5_layout(unfold, recorded):
    """Run two reads, and two writes of data and parity each, with platters at 0.

    Responses equal those of RAID5. A node reads and writes in one access; RAID5 has two, one revolution apart, because the
    platters read the old data and the old parity at the same time.
    """
    arrivals = {read: recorded([0.0, 0.3], sector=[1000, 300], sectors=4, read=read) for read in (True, False)}
    layouts = Segments([Node(4, True)], [Volume(2**14, 2**12, 1)]), RAID5(4)
    for arrival in arrivals.values():
        results = []
        for layout in layouts:
            system = System(DRIVE, layout, Broadcast(), FCFS(), slots=4)
            tally, reports = unfold(Scenario(system, arrival), phase=np.zeros(4))
            results.append((responses(reports), tally.served.ravel()))
        (ours, once), (theirs, accesses) = results
        assert ours == pytest.approx(theirs, rel=1e-5) and len(ours) == 2
        assert (accesses == (1 if arrival.requests.read[0] else 2) * once).all()


@pytest.mark.slow
@pytest.mark.parametrize("read", [True, False], ids=["reads", "writes"])
def test_nodes_of_unequal_drives_serve_them(read):
    """Use Tables I and II, wrapped, in a loop of eight.

    A read takes an access to one copy or to two fragments, and a write one to each part, with parity. The counts agree
    within four standard errors and the requests still under way.
    """
    layout = Segments(NODES, of_table_ii(), wraps=True)
    loop = ClosedLoop(RandomRequests(FixedSize(8 * SECTOR), float(read)), 8)
    system = System(PAPER, layout, Broadcast(), SATF(), slots=16)
    tally = execute(*stack([Scenario(system, loop)], [3]), 1500, Record(sums_of(STANDARD))).tally
    sums = {name: values.sum(axis=0, dtype=float)[..., 0] for name, values in tally.items()}
    count = float((sums["reads"] + sums["writes"]).sum())
    sector = jnp.asarray(np.random.default_rng(1).integers(0, int(layout.capacity(PAPER)), 20_000), jnp.int32)
    requests = requests_at(sector)._replace(read=np.full(sector.shape, read))
    location = layout.locate(PAPER, jax.tree.map(jnp.asarray, requests))
    each = layout.needed_of(location) if read else jax.lax.population_count(layout.parts_of(location))
    each = np.asarray(each, float)
    assert count >= 1500
    error = each.std() * np.sqrt(1 / count + 1 / each.size)
    assert abs(sums["served"].sum() / count - each.mean()) <= 4 * error + 8 * 8 / count
    assert np.all(sums["served"] > 0)


def test_a_trace_is_cut_where_segments_end():
    """The first volume has three segments, of 4, 4 and 2 KB, and the second one of 8 KB: 18 KB in all.

    Worked by hand: a request across all segments, one within a segment, one that ends with a segment, one beyond the
    end, which wraps, and one across the end, which loses 1 KB.
    """
    block = 2
    layout = Segments([Node(1)], [Volume(20, 8, 1, block=block), Volume(16, 16, 1, block=block)])
    offset, size = np.array([0, 1, 3, 18 + 4, 17]) * 1024, np.array([18, 2, 1, 3, 2]) * 1024
    trace = request_trace(np.arange(5.0), np.zeros(5, int), offset, size, [True, False, True, False, True])
    found, whose = cut(trace, layout)
    assert (found.offset // 1024).tolist() == [0, 4, 8, 10, 1, 3, 4, 17]
    assert (found.size // 1024).tolist() == [4, 4, 2, 8, 2, 1, 3, 1]
    assert found.time.tolist() == [0, 0, 0, 0, 1, 2, 3, 4] and found.read.tolist() == [True] * 4 + [
        False,
        True,
        False,
        True,
    ]
    assert whose.tolist() == [0, 0, 0, 0, 1, 2, 3, 4]
    again, _ = cut(found, layout)
    assert np.array_equal(again.offset, found.offset) and np.array_equal(again.size, found.size)


PAIR = (Node(1), Node(1))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Node(0), "disks of a node 0: give a whole number, between 1"),
        (lambda: Node(2, True), "RAID 5 of 2 drives: give at least 3"),
        (lambda: Node(1, sectors=0), "sectors of a node's disk 0"),
        (lambda: Volume(0, 128, 1), "sectors of a volume 0"),
        (lambda: Volume(128, 128, 3, 0), "parts needed to read 0: give a whole number"),
        (lambda: Volume(128, 128, 3, 4), "a read that needs 4 of 3 parts: give at most 3 as `needed`"),
        (lambda: Volume(256, 100, 1), "a segment of 100 sectors in blocks of 128"),
        (lambda: Volume(100, 128, 1), "a volume of 100 sectors in blocks of 128"),
        (
            lambda: Volume(256, 128, 3, 3),
            "a segment of 128 sectors cannot be divided into 3 equal data fragments; give a segment size",
        ),
        (
            lambda: Segments(Node(2), [Volume(128, 128, 1)]),
            "Node of storagekit.placement: give a tuple of nodes",
        ),
        (
            lambda: Segments(PAIR, Volume(128, 128, 1)),
            "Volume of storagekit.placement: give a tuple of nodes",
        ),
        (lambda: Segments([2], [Volume(128, 128, 1)]), "nodes: given 2; give a Node"),
        (lambda: Segments(PAIR, [128]), "volumes: given 128; give a Volume"),
        (lambda: Segments([Volume(128, 128, 1)], PAIR), "nodes: given Volume of storagekit.placement; give a Node"),
        (lambda: Segments([], [Volume(128, 128, 1)]), "1 volumes on 0 nodes: give at least one volume and one node"),
        (lambda: Segments(PAIR, []), "0 volumes on 2 nodes"),
        (
            lambda: Segments(PAIR, [Volume(128, 128, 3)]),
            "3 parts of a segment on 2 nodes: give at most one part for each node",
        ),
        (
            lambda: Segments([Node(3, True)] * 17, [Volume(128, 128, 17)]),
            "34 parts of a request, including parity: give at most 32",
        ),
        (
            lambda: Segments([Node(1)] * 3, [Volume(384, 384, 3, 3)], whole_blocks=True),
            "a block of 128 sectors cannot be divided into 3 equal data fragments; give a block size that is a multiple of 3 "
            "sectors, or whole_blocks=False",
        ),
        (
            lambda: Segments(PAIR, [Volume(17 * 2**12, 2**12, 1)]).capacity(DRIVE),
            "volume 0, segment 16: fewer than 1 nodes have space; node 0 has 32768 of 32768 sectors in use",
        ),
        (lambda: fitted([Node(1, sectors=2**16)]), "node 0 uses 65536 sectors of disks with 32768 sectors"),
        (
            lambda: fitted([Node(1)] * 3, drives=5),
            "bricks with 3 drives in total, in a system of 5 drives: omit `drives`",
        ),
    ],
)
def test_impossible_segments_raise(unchecked, build, message):
    assert_refused(build, message)


def fitted(nodes, **more) -> System:
    return System(DRIVE, Segments(nodes, [Volume(1280, 128, 1)]), Broadcast(), FCFS(), slots=4, **more)


def test_the_limit_of_a_node_is_that_of_addresses():
    """Accept a node of 2^52 - 512 sectors of data, and reject a node of one more row of stripe units."""
    large = RateServer(1e6, 2**50)
    assert int(Segments([Node(5, True)], [Volume(128, 128, 1)]).capacity(large)) == 128
    for node, held in ((Node(5, True, 2**50 + 128), 2**52), (Node(6, True), 5 * (2**50 - 128)), (Node(1), 2**52)):
        drive = RateServer(1e6, max(node.sectors or 0, 2**52 if node.disks == 1 else 2**50))
        assert_refused(
            lambda node=node, drive=drive: Segments([node], [Volume(128, 128, 1)]).capacity(drive),
            f"node 0 has {held} sectors of data: use fewer disks, or limit their `sectors`, so that a node has at most "
            "4503599627370495 sectors",
        )


class Addressed(RateServer):
    """A drive whose locations are the addresses themselves."""

    def locate(self, sector, count):
        return super().locate(sector, count)._replace(sector=sector, count=count)


TWENTY_TB = Addressed(1e6, 39_062_500_000)
PLENTY = tuple(Node(disks, raid5=disks == 4, sectors=TWENTY_TB.capacity) for disks in (2, 4, 2, 1))
LARGE_PARTS = (2, 1), (3, 2)


@st.composite
def large_volumes(draw) -> tuple[Volume, ...]:
    """Draw copies and fragments in up to 12 segments, each with parts of 10 GB to 2 TB, which the nodes hold."""

    def volume(parts: int, needed: int, most: int) -> Volume:
        block = needed * draw(st.integers(1, 2**12))
        least, largest = -(-2 * 10**7 // (block // needed)), 4 * 10**9 // (block // needed)
        segment = block * draw(st.integers(least, largest))
        blocks = (draw(st.integers(0, most - 1)) * segment + block * draw(st.integers(1, segment // block))) // block
        return Volume(block * blocks, segment, parts, needed, block)

    # A drive holds at least nine parts, and the fourth node has one drive.
    return tuple(volume(*parts, most) for parts, most in zip(LARGE_PARTS, (5, 4), strict=True))


@jax.jit
def located_on_large(layout: Segments, requests: Requests) -> tuple:
    location = layout.locate(TWENTY_TB, requests)
    numbers = [jnp.full(requests.sector.shape, part, jnp.int32) for part in range(int(layout.parts))]
    drives = [layout.drive_of(number, location) for number in numbers]
    targets = [layout.target_on(number, location) for number in numbers]
    return layout.parts_of(location), drives, [one.sector for one in targets], [one.count for one in targets]


@settings(max_examples=40, derandomize=True)
@given(large_volumes(), st.booleans(), st.integers(0, 2**32))
def test_parts_on_nodes_of_20_tb_drives_lie_where_plain_integers_find_them(volumes, whole_blocks, seed):
    """Drives and addresses agree for random sectors and for the first and the last block of each segment."""
    layout = Segments(PLENTY, volumes, whole_blocks=whole_blocks)
    reference = ReferenceLayout(PLENTY, volumes, False, whole_blocks)
    draw, capacity = np.random.default_rng(seed), int(layout.capacity(TWENTY_TB))
    edges = np.cumsum([0, *(size for volume in volumes for size in segment_sizes(volume))])
    sector = np.append(edges[:-1], edges[1:] - 1)
    sector = np.append(sector, draw.integers(0, capacity, LENGTH - sector.size))
    sectors, read = draw.integers(1, 300, LENGTH).astype(np.int32), draw.random(LENGTH) < 0.5
    with int64_enabled(True):
        requests = requests_at(sector, dtype=np.int64)._replace(sectors=sectors, read=read)
        parts, drives, addresses, counts = map(np.asarray, located_on_large(layout.tabulated(TWENTY_TB), requests))
    most = max(volume.parts for volume in volumes)
    for i in range(LENGTH):
        _, found = reference.find(int(sector[i]), int(sectors[i]), bool(read[i]))
        data = {part: (drive, at, count) for part, (drive, at, _, count) in enumerate(found)}
        parity = {most + part: (one[2], *one[1::2]) for part, one in enumerate(found) if one[2] is not None}
        there = {part for part in range(2 * most) if int(parts[i]) >> part & 1}
        assert {part: (drives[part, i], addresses[part, i], counts[part, i]) for part in there} == data | parity
        assert all(at >= 0 and at + count <= TWENTY_TB.capacity for _, at, count in data.values())


def segment_sizes(volume: Volume) -> list[int]:
    """Return the number of sectors of each segment."""
    return [min(volume.segment, volume.sectors - first) for first in range(0, volume.sectors, volume.segment)]


@settings(max_examples=40, derandomize=True)
@given(large_volumes(), st.booleans(), st.booleans())
def test_no_two_parts_on_nodes_of_20_tb_drives_share_a_sector(volumes, spread, serial):
    """Every part lies within its drive, or within the data of its RAID 5, and begins where plain integers put it."""
    nodes = tuple(replace(node, serial=serial and not node.raid5) for node in PLENTY)
    packed, table = laid_out(nodes, volumes, False), laid_out(nodes, volumes, False, spread)
    ends = np.cumsum([node.drives for node in nodes])
    size = np.repeat([volume.part for volume in volumes], [volume.segments for volume in volumes])
    for at, node in enumerate(nodes):
        here = np.searchsorted(ends, packed[::3], "right") == at
        before, sizes = packed[1::3][here].tolist(), np.broadcast_to(size, here.shape)[here].tolist()
        last = max((begin + length for begin, length in zip(before, sizes, strict=True)), default=0)
        expected = [begin * node.room // last if spread else begin for begin in before]
        if node.serial:
            # All disks of the node are one drive, so that parts on different disks may share addresses.
            expected = [min(begin, node.room - length) for begin, length in zip(expected, sizes, strict=True)]
        assert table[1::3][here].tolist() == expected
        spans = sorted(zip(table[::3][here].tolist(), expected, sizes, strict=True))
        assert all(begin >= 0 and begin + length <= node.room for _, begin, length in spans)
        for (drive, begin, length), (other, follows, _) in itertools.pairwise(spans):
            assert node.serial or drive != other or begin + length <= follows


def test_the_type_of_a_table_is_that_of_its_addresses():
    """A part that ends at sector 2^31 - 1 has an address of 32 bits; one more sector needs 64 bits."""
    for end, kind in ((2**31 - 1, np.int32), (2**31, np.int64)):
        assert laid_out((Node(1, sectors=end),), (Volume(end, end, 1, block=1),), False).dtype == kind
        # Little data at the start of a larger drive need no more.
        assert laid_out((Node(1, sectors=2**40),), (Volume(end, end, 1, block=1),), False).dtype == kind


DESKSTARS = Mixed([load_drive("deskstar7k400")], [0] * 18)


@pytest.mark.parametrize("spread", [False, True])
def test_addresses_have_64_bits_if_the_data_of_a_raid_5_reach_so_far(spread):
    """Nine drives of 400 GB are a RAID 5 of 3.2 TB; addresses within it exceed 32 bits if the data are spread over it."""
    layout = Segments([Node(9, True)] * 2, [Volume(2**22, 2**18, 2)], spread=spread)
    assert System(DESKSTARS, layout, Broadcast(), FCFS()).long_addresses == spread
    assert System(DESKSTARS, Bricks(layout, 1), Broadcast(), FCFS()).long_addresses == spread


def test_a_raid_5_with_more_data_than_its_drives_have_addresses_serves_the_end_of_its_data():
    """The first and the last sectors of spread data lie on different drives, whose arms start at cylinder 0."""
    deskstar, volume = load_drive("deskstar7k400"), Volume(2**22, 2**18, 1)
    layout = Segments([Node(9, True)], [volume], spread=True)
    begin = laid_out(layout.for_drive(DESKSTARS).nodes, layout.volumes, False, True)[1].tolist()
    assert begin[0] == 0 and max(begin) == begin[-1] > 2**32
    last = begin[-1] + volume.segment - 16
    row, rest = divmod(last, 8 * UNIT)
    drive = (9 - 1 - row + 1 + rest // UNIT) % 9
    there = deskstar.locate(np.int64(row * UNIT + rest % UNIT), np.int64(8))
    trace = request_trace([0.0, 9.0], [0, 0], [0, (volume.sectors - 16) * SECTOR], [4096, 4096], [True, True])
    seen = replay(trace, System(DESKSTARS, layout, Broadcast(), FCFS()))
    stroke = float(deskstar.seek(there.cylinder)) + 2 * float(deskstar.overhead)
    assert float(seen.seek) == pytest.approx(stroke / 2, rel=1e-3)
    assert np.nonzero(seen.utilization.values > 0)[0].tolist() == sorted({0, drive})


TWELVE = tuple(Node(2) for _ in range(12))
NEARLINE = load_drive("toshiba_mg10_20tb")


def full_of(drive, parts: int = 4, **more) -> Segments:
    """Return 12 nodes of two drives, which are full of segments in one part."""
    segment = drive.capacity // parts // UNIT * UNIT
    return Segments(TWELVE, [Volume(24 * parts * segment, segment, 1)], **more)


def test_requests_reach_the_end_of_each_drive_of_twelve_large_nodes():
    """A request is at the start of a drive, and the next is at the end of the same drive, a full stroke away."""
    layout = full_of(NEARLINE).for_drive(NEARLINE)
    assert int(layout.capacity(NEARLINE)) * SECTOR > 479e12
    table, segment = laid_out(layout.nodes, layout.volumes, False), layout.volumes[0].segment
    assert table[1].max() > 2**34
    for drive in (0, 11, 23):
        (here,) = np.nonzero(table[0] == drive)
        first, last = here[np.argmin(table[1][here])], here[np.argmax(table[1][here])]
        offset = [int(first) * segment * SECTOR, (int(last + 1) * segment - 16) * SECTOR]
        trace = request_trace([0.0, 9.0], [0, 0], offset, [4096, 4096], [True, True])
        seen = replay(trace, System(NEARLINE, layout, Broadcast(), FCFS()))
        stroke = float(NEARLINE.seek(NEARLINE.cylinders - 1)) + float(NEARLINE.overhead)
        assert float(seen.seek) == pytest.approx((stroke + float(NEARLINE.overhead)) / 2, rel=1e-3)
        assert np.nonzero(seen.utilization.values > 0)[0].tolist() == [drive]


# each part is tested above and in engine/test_long_addresses.py
@pytest.mark.slow
def test_twelve_large_nodes_complete_their_requests():
    """Copies and fragments of 180 TB on 12 nodes of two 20 TB drives, dispatched by ARS: every drive works."""
    segment = 2**25
    copies, coded = Volume(3500 * segment, segment, 3), Volume(7000 * segment, segment, 4, 2)
    layout = Segments(TWELVE, [copies, coded], spread=True)
    its = System(NEARLINE, layout, ARS(clients=4), FCFS(), slots=32)
    assert its.long_addresses and int(layout.capacity(NEARLINE)) * SECTOR > 180e12
    volumes = [copies.sectors, coded.sectors]
    requests = VolumeRequests(FixedSize(64 * 1024), 0.7, volumes=volumes, shares=[0.5, 0.5], clients=4)
    seen = simulate(Scenario(its, ClosedLoop(requests, 16)), requests=2000)
    assert float(seen.requests) >= 1900 and np.all(seen.utilization > 0)
    assert 6e-3 < float(seen.seek) < 9e-3
