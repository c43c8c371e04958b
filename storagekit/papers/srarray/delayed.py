"""Delayed writes under a load that leaves the disks almost no idle time (section 3.4).

A closed loop writes small blocks to a small part of a 2 x 3 SR-Array. The foreground queues are seldom empty. Most
delayed copies are therefore written only because the table of delayed writes is full. Blocks are overwritten before all
of their copies are written.
"""

import time
from collections.abc import Sequence

import equinox as eqx
import jax
import numpy as np
import xarray as xr
from jaxtyping import Array, Int, UInt32

from storagekit.core.provenance import made_by
from storagekit.core.units import KB
from storagekit.dispatch import NearestIdle
from storagekit.engine import AccessLog, Record, Runner, Scenario, System, stack
from storagekit.papers.measurement import Measurement
from storagekit.papers.srarray.disk import PAPERS_TABLE, QUICK, ArrayEffort, paper_drive
from storagekit.placement import SRMirror
from storagekit.schedule import RSATF
from storagekit.simulation import pending
from storagekit.simulation.standard_measures import SERVED
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.write import Background, Pending, recovery

REPLICAS = 3
DISKS = 6
OUTSTANDING = 24
SLOTS = 64
# Number of chunks of events with a full table, after which `full_table` ends.
AFTER = 16
# Number of requests whose addresses are drawn together.
DRAWN = 4_096
# Share of the data that receives the writes. It is so small that blocks are overwritten while their copies are pending.
HOT = 1 / 20_000


def delayed_writes(
    effort: ArrayEffort = QUICK, *, tables: Sequence[int] = (1, 32, 128), hot: Sequence[float] = (HOT, 1.0)
) -> xr.Dataset:
    """Return the numbers of copies and of table entries, and the share of recovered blocks, in a closed loop of writes.

    Parameters
    ----------
    effort : ArrayEffort
        The number of runs is a quarter of `seeds`, and at least two. Every run completes at least half of
        `loop_requests`.
    tables : sequence of int
        Sizes of the table of delayed writes, entries, by default 1, 32 and 128. If the table is full, delayed writes
        move to the foreground queues.
    hot : sequence of float
        Fractions of the data that receive the writes, by default `HOT` and 1.

    Returns
    -------
    Dataset
        Variables over `table`, `hot` and `seed`. `copies`: number of replicas that are written for each completed
        write; it is D_r if every copy is written. `pending`: largest number of entries in the table at any of the
        sampled times. `recovered`: fraction of the blocks that are whole after a crash at one of the sampled times (see
        `Disks.crash`); NaN if `hot` is 1, because the whole data set has too many blocks to follow.

    References
    ----------
    srarray, section 3.4.
    """
    began = time.perf_counter()
    points = [(table, share) for table in tables for share in hot]
    seeds = effort.successive(max(2, effort.seeds // 4))
    scenario, keys = stack([_loop(table, share) for table, share in points], seeds)
    runs = keys.shape[1]
    runner = Runner(scenario, keys, Record((SERVED,), AccessLog()))
    followed = {run: Disks() for run in range(runs) if points[run // len(seeds)][1] < 1}
    addresses = _addresses(scenario, keys, 0)
    accesses, completed, most, moments = np.zeros(runs), np.zeros(runs), np.zeros(runs), 0
    while completed.min() < effort.loop_requests // 2:
        tally, log = runner.advance(4)
        moments += 1
        # The first two chunks are left out, because a table that is filling is no steady state.
        if moments > 2:
            accesses += tally["served"].sum(axis=(0, 1))
            completed += tally["completed"][:, 0].sum(axis=0)
        while len(addresses) < int(runner.run.first.max()):
            addresses = np.concatenate([addresses, _addresses(scenario, keys, len(addresses) // DRAWN)])
        for run in range(runs):
            table = pending(runner.run.state, scenario.system.placement, run)
            most[run] = max(most[run], _entries(table))
            if run in followed:
                followed[run].replay(
                    jax.tree.map(lambda kept, run=run: kept[..., 0, run].ravel(), log), addresses[:, run]
                )
                followed[run].crash(table)
    recovered = [followed[run].recovered if run in followed else np.nan for run in range(runs)]
    values = {"copies": accesses / completed, "pending": most, "recovered": np.array(recovered)}
    shape = (len(tables), len(hot), len(seeds))
    return xr.Dataset(
        {name: (("table", "hot", "seed"), value.reshape(shape)) for name, value in values.items()},
        coords={"table": list(tables), "hot": list(hot), "seed": seeds},
        attrs=made_by("simulated", seeds, time.perf_counter() - began)
        | {"paper": "srarray", "exhibit": "srarray.delayed_writes", "crashes": moments * len(followed)},
    )


def full_table(effort: ArrayEffort = QUICK, *, table: int = PAPERS_TABLE) -> xr.Dataset:
    """Return how often copies are written before and after the paper's table of delayed writes becomes full.

    The load consists of writes to all of the data, without idle time.

    Parameters
    ----------
    effort : ArrayEffort
        Gives the first of two seeds.
    table : int
        Size of the table of delayed writes, entries, by default 10,000. If the table is full, delayed writes move to
        the foreground queues.

    Returns
    -------
    Dataset
        Variables over `seed`. `filling`: number of replicas that are written for each completed write until the table
        is full. `late`: of the accesses after the table is full, the fraction that write delayed copies.
        `pending`: largest number of entries in the table at any of the sampled times.

    References
    ----------
    srarray, section 3.4.
    """
    began = time.perf_counter()
    seeds = effort.successive(2)
    scenario, keys = stack([_loop(table, 1.0)], seeds)
    runner = Runner(scenario, keys, Record((SERVED,)))
    sums, most, after = np.zeros((2, 2, len(seeds))), np.zeros(len(seeds)), np.zeros(len(seeds))
    while after.min() < AFTER:
        state = runner.run.state
        most = np.maximum(most, np.asarray(state.write.table.size)[0])
        full = np.asarray(state.write.moved)[0] > 0
        after += full
        tally, _ = runner.advance(1)
        done = np.array([tally["served"].sum(axis=(0, 1)), tally["completed"][:, 0].sum(axis=0)])
        sums += np.where(full, np.stack([0 * done, done]), np.stack([done, 0 * done]))
    filling, late = sums[0, 0] / sums[0, 1], 1 - sums[1, 1] / sums[1, 0]
    return xr.Dataset(
        {"filling": ("seed", filling), "late": ("seed", late), "pending": ("seed", most)},
        coords={"seed": seeds},
        attrs=made_by("simulated", seeds, time.perf_counter() - began)
        | {"paper": "srarray", "exhibit": "srarray.delayed_writes", "table": table},
    )


class Disks:
    """Model of the contents of the disks: the newest version on each replica of each block.

    A write makes a new version of a whole block. Versions are numbered by the time at which their first copy reaches a
    disk. A delayed copy has the newest version of the block.
    """

    def __init__(self):
        self.held: dict[int, np.ndarray] = {}
        self.version: dict[int, int] = {}
        self.acknowledged: dict[int, int] = {}
        self.whole = self.looked_at = 0

    @property
    def recovered(self) -> float:
        """Return the fraction of the blocks that were whole after a crash."""
        return self.whole / self.looked_at

    def replay(self, log, sector: np.ndarray) -> None:
        """Update the contents of the disks with the accesses and completions in a log of events.

        Parameters
        ----------
        log : Accesses
            The log of the events, in arrays of shape `[event]`.
        sector : ndarray of int, shape `[request]`
            First sector of each request.
        """
        for number, replica, answer in zip(log.number, log.replica, log.completed.number, strict=True):
            if number >= 0:
                held = self.held.setdefault(int(sector[number]), np.zeros(REPLICAS, int))
                if number not in self.version:
                    self.version[number] = len(self.version) + 1
                    held[replica] = self.version[number]
                else:
                    held[replica] = held.max()
            if answer >= 0:
                block = int(sector[answer])
                self.acknowledged[block] = max(self.acknowledged.get(block, 0), self.version[answer])

    def crash(self, table: Pending) -> None:
        """Simulate a crash and the recovery from it, and count the blocks that are whole afterwards.

        A crash loses the memory, and interrupts the accesses in progress. `recovery` restores each block from the table
        alone. A block is whole if all its replicas have the same version, and this version is not older than the last
        acknowledged version of the block.

        Parameters
        ----------
        table : Pending
            The metadata table at the time of the crash.
        """
        for block, held in self.held.items():
            source, left = recovery(table, block, REPLICAS)
            after = [held[source] if left >> replica & 1 else held[replica] for replica in range(REPLICAS)]
            self.looked_at += 1
            self.whole += len(set(after)) == 1 and after[0] >= self.acknowledged.get(block, 0)


def delayed_findings(data: xr.Dataset, full: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims about delayed writes in section 3.4.

    Parameters
    ----------
    data : Dataset
        Result of `delayed_writes`.
    full : Dataset
        Result of `full_table`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.delayed_writes`.

    Notes
    -----
    `tests/engine/test_delayed.py` checks the same claims with a model of the disks' contents.

    References
    ----------
    srarray, section 3.4.
    """
    cold, hot = data.sel(hot=1.0), data.isel(hot=0)
    forced = float(cold.copies.mean("seed").min())
    table, most_full = int(full.attrs["table"]), float(full.pending.max())
    filling, late = float(full.filling.mean()), float(full.late.mean())
    bounded = 0.98 * table <= most_full <= table + DISKS + OUTSTANDING and bool(
        (cold.pending <= data.table + DISKS + OUTSTANDING).all()
    )
    dropped = float(hot.copies.mean("seed").min())
    sound = float(data.recovered.min())
    most = ", ".join(f"{int(table)}: {float(cold.pending.sel(table=table).max()):.0f}" for table in data.table)
    return [
        Measurement(
            "srarray.delayed_writes.table",
            late,
            holds=bounded and filling < (1 + REPLICAS) / 2 and late > 1 - 1 / REPLICAS,
            note=(
                "The claim holds if fewer than 2 replicas are written for each write until the table is full, if more "
                "than two thirds of the later accesses write delayed copies, and if the number of entries stays near "
                f"the size of the table. Until the table of {table:,} entries is full, {filling:.2f} replicas are "
                f"written for each write. After the table is full, {late:.1%} of the accesses write delayed copies, "
                f"which compete with the new writes. The table has at most {most_full:,.0f} entries. For smaller "
                f"tables the largest numbers of entries are, by table size, {most}."
            ),
        ),
        Measurement(
            "srarray.delayed_writes.discard",
            dropped,
            holds=dropped < forced,
            note=(
                "The value is the mean number of replicas that are written for each write to hot blocks, with the "
                f"table size for which it is smallest. For cold blocks the smallest number is {forced:.2f}. The claim "
                "holds if the number for hot blocks is lower. The reason is that newer writes of a block replace "
                "pending copies that are not yet written."
            ),
        ),
        Measurement(
            "srarray.delayed_writes.recovery",
            sound,
            holds=sound == 1.0,
            note=(
                "The value is the fraction of blocks that recovery from the table alone restores, the smallest of all "
                "runs. The claim holds if all blocks are restored. A block is restored if every replica has "
                "the same version, at least as new as the last acknowledged version. There are "
                f"{int(data.attrs['crashes'])} crashes in all runs, simulated on a model of the disks."
            ),
        ),
    ]


def _entries(table: Pending) -> int:
    """Return the number of writes in a table whose first copy is on disk."""
    return int((table.order > 0).sum())


def _addresses(scenario: Scenario, keys: np.ndarray, block: int) -> np.ndarray:
    """Return the first sector of each of `DRAWN` requests, shape `[request, *batch]`.

    block: number of the group of `DRAWN` requests; group 0 has the first requests of the run.
    """
    capacity = scenario.system.placement.capacity(scenario.system.drive)
    first = np.full((1, keys.shape[1]), block * DRAWN, np.int32)
    return np.asarray(_sectors(scenario.arrivals, capacity, keys, first))


@eqx.filter_jit
def _sectors(
    arrivals: ClosedLoop,
    capacity: int,
    keys: UInt32[Array | np.ndarray, "2 run"],
    first: Int[Array | np.ndarray, "1 run"],
) -> Int[Array, "request run"]:
    return arrivals.window(capacity, keys, first, DRAWN).requests.sector


def _loop(table: int, hot: float) -> Scenario:
    """Return a closed loop of writes of 4 KB to a fraction `hot` of the data, with a table of `table` entries."""
    system = System(
        paper_drive(),
        SRMirror(DISKS // REPLICAS, REPLICAS),
        NearestIdle(),
        RSATF(),
        Background(table),
        drives=DISKS,
        slots=SLOTS,
    )
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(4 * KB), 0.0, 1 / hot), OUTSTANDING))
