"""Closed loops of sections 2 and 5: figures 1, 5 and 9 and table 1, and the findings on their claims.

Times are in seconds, rates in events a second, shares are fractions. A function below `over_loops` is the loop of one
point. Its documentation describes the exhibit, of which each axis has several values.
"""

import itertools

import xarray as xr

from storagekit.core.units import KB, MS
from storagekit.dispatch import AbstractDispatch, Hashing
from storagekit.engine import Scenario
from storagekit.papers.dsptf.brick_group import (
    JUDGED,
    READINGS,
    SCHEMES,
    dsptf,
    group,
    once_each,
    over_loops,
)
from storagekit.papers.dsptf.claims import FIG1, FOUR, GAINS, TABLE1
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.papers.rows import judging
from storagekit.schedule import FCFS, SATF, AbstractSchedule, ScheduleSwitch
from storagekit.simulation import interval, ratio
from storagekit.workload import FixedSize

# Schemes that are run under every interpretation of write completion.
TWO = {name: SCHEMES[name] for name in ("D-SPTF", "Hashing")}
SCHEDULERS = {name: ScheduleSwitch((FCFS(), SATF()), number) for number, name in enumerate(("FIFO", "SPTF"))}
FIG9_LATENCIES = tuple(ms * MS for ms in (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3))
# Suffixes of the claims of figure 9, by read share: the share of table 1, and the share of figure 5.
FIG9_SHARES = {0.9: "", 0.67: "_67_reads"}
INFERRED = (
    "A write completes when the receiving brick has it on disk. By section 3 a write completes once it is in every NVRAM, "
    "which gives 218 IO/s for D-SPTF and 139 IO/s for hashing. The interpretation was chosen by the throughput of table 1, "
    "and figure 5 supports it."
)

IDLE = dict.fromkeys(
    ("Hashing", "LARD"), "Queued writes keep a brick busy. All interpretations of write completion were tried."
)


@over_loops({"scheduler": SCHEDULERS, "depth": (1, 2, 4, 8, 16, 32, 64)})
def fig1(scheduler: AbstractSchedule, depth: int, *, drive: str = "atlas10k") -> Scenario:
    """Return the throughput of one disk against the number of small random reads outstanding, FIFO and SPTF (figure 1).

    Parameters
    ----------
    scheduler : sequence of str
        Names of `SCHEDULERS`.
    depth : sequence of int
        Numbers of reads outstanding.
    drive : str
        Name of the drive, by default "atlas10k".

    Returns
    -------
    Dataset
        `throughput`, reads a second, and further measures over `scheduler`, `depth` and `seed`.
    """
    return group(
        Hashing(),
        replicas=1,
        outstanding=depth,
        read_share=1.0,
        size=FixedSize(4 * KB),
        reading="all copies",
        schedule=scheduler,
        drive=drive,
        slots=64,
    )


@over_loops({"scheme": SCHEMES, "read_share": (0.6, 0.9, 1.0)})
def table1(
    scheme: AbstractDispatch,
    read_share: float,
    *,
    replicas: int = 8,
    outstanding: int = 16,
    reading: str = JUDGED,
) -> Scenario:
    """Return throughput per brick, idle time and service time of the four schemes (table 1).

    Parameters
    ----------
    scheme : sequence
        Names of `SCHEMES`, and pairs of a name and a dispatcher of your own.
    read_share : sequence of float
        Shares of reads. The table has 90%. Section 5.1.1 gives idle times at 60% and 100% as well.
    replicas : int
        Number of bricks, each with all data, by default 8.
    outstanding : int
        Number of requests outstanding, by default 16.
    reading : str
        When a write completes, a name of `READINGS`, by default `JUDGED`.

    Returns
    -------
    Dataset
        `throughput`, `idle`, `service_time` and further measures over `scheme`, `read_share` and `seed`.

    Raises
    ------
    InputError
        If a scheme or `reading` is unknown.

    Notes
    -----
    Functions that compare schemes select the paper's schemes by their names.

    Examples
    --------
    >>> from storagekit.dispatch import ShortestQueue
    >>> from storagekit.papers.effort import Effort
    >>> table1(Effort(seeds=2, requests=400), scheme=[("mine", ShortestQueue(2))], read_share=[0.9]).scheme.item()
    'mine'
    """
    return group(scheme, replicas=replicas, outstanding=outstanding, read_share=read_share, reading=reading)


@over_loops({"scheme": TWO, "completion": tuple(READINGS)})
def table1_readings(scheme: AbstractDispatch, completion: str) -> Scenario:
    """Return the measures of table 1 under the four interpretations of write completion.

    Parameters
    ----------
    scheme : sequence
        As for `table1`, by default D-SPTF and hashing.
    completion : sequence of str
        Names of `READINGS`.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `completion` and `seed`.
    """
    return group(scheme, reading=completion, among=tuple(READINGS))


@over_loops({"scheme": SCHEMES, "replicas": (2, 3, 4, 5, 6, 7, 8)})
def fig5(
    scheme: AbstractDispatch,
    replicas: int,
    *,
    outstanding: int = 16,
    read_share: float = 0.67,
    reading: str = JUDGED,
) -> Scenario:
    """Return the throughput per brick of the four schemes against the number of replicas (figure 5).

    Parameters
    ----------
    scheme : sequence
        As for `table1`.
    replicas : sequence of int
        Numbers of replicas.
    outstanding : int
        Number of requests outstanding, by default 16.
    read_share : float
        Share of reads, by default 0.67.
    reading : str
        When a write completes, a name of `READINGS`, by default `JUDGED`.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `replicas` and `seed`.
    """
    return group(scheme, replicas=replicas, outstanding=outstanding, read_share=read_share, reading=reading)


@over_loops({"scheme": TWO, "depth": (2, 4, 8, 16), "read_share": (0.67, 0.9, 1.0)}, finish=once_each)
def gains(scheme: AbstractDispatch, depth: int, read_share: float) -> Scenario:
    """Return the throughput of D-SPTF and of hashing by load and share of reads, for the largest gain in the abstract.

    Parameters
    ----------
    scheme : sequence
        As for `table1`, by default D-SPTF and hashing.
    depth : sequence of int
        Numbers of requests outstanding.
    read_share : sequence of float
        Shares of reads.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `depth`, `read_share` and `seed`. A read that two bricks serve
        counts once.
    """
    return group(scheme, outstanding=depth, read_share=read_share)


@over_loops({"scheme": TWO, "completion": tuple(READINGS), "replicas": (2, 3, 8)})
def fig5_readings(scheme: AbstractDispatch, completion: str, replicas: int) -> Scenario:
    """Return the measures of figure 5 under the four interpretations of write completion.

    Parameters
    ----------
    scheme : sequence
        As for `table1`, by default D-SPTF and hashing.
    completion : sequence of str
        Names of `READINGS`.
    replicas : sequence of int
        Numbers of replicas.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `completion`, `replicas` and `seed`.
    """
    return group(scheme, replicas=replicas, read_share=0.67, reading=completion, among=tuple(READINGS))


@over_loops({"latency": FIG9_LATENCIES, "read_share": (0.67, 0.9)}, finish=once_each)
def fig9(latency: float, read_share: float) -> Scenario:
    """Return the throughput per replica of D-SPTF against the one-way network latency, with eight replicas (figure 9).

    Parameters
    ----------
    latency : sequence of float
        One-way latencies, seconds.
    read_share : sequence of float
        Shares of reads.

    Returns
    -------
    Dataset
        `throughput` and further measures over `latency`, `read_share` and `seed`. A read that two bricks serve counts
        once.
    """
    return group(dsptf(latency), read_share=read_share)


# Note on the gain, by number of requests outstanding.
CANDIDATES = {
    16: "With 16 requests outstanding a choice has 15 candidates. DiskSim 4.0 gives 204.4 / 114.6 = 1.78 on this drive."
}


def fig1_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 1.

    Parameters
    ----------
    data : Dataset
        Result of `fig1`.
    """
    sptf, fifo = data.throughput.sel(scheduler="SPTF"), data.throughput.sel(scheduler="FIFO")
    gain = ratio(sptf, fifo)
    means = sptf.mean("seed")
    # With two reads outstanding a choice has one candidate, so that both runs are the same.
    rising = bool((means.diff("depth").sel(depth=slice(4, None)) > 0).all()) and bool(
        means.sel(depth=2) >= 0.995 * means.sel(depth=1)
    )
    return [
        *(with_interval(claim, gain.sel(depth=depth), CANDIDATES.get(depth, "")) for claim, (depth,) in FIG1),
        Measurement(
            "dsptf.fig1.rising",
            rising,
            note="The claim is judged from depth 2 upwards. With 1 or 2 requests outstanding there is no choice.",
        ),
    ]


@judging("scheme", FOUR.values())
def table1_findings(data: xr.Dataset, read_share: float = 0.9) -> list[Measurement]:
    """Return the findings on table 1 at one share of reads, and on the idle times of section 5.1.1 at others.

    Parameters
    ----------
    data : Dataset
        Result of `table1`.
    read_share : float
        Share of reads of the table, by default 0.9.
    """
    summary = interval(data).sel(read_share=read_share)
    over_lard = float(
        (data.throughput.sel(scheme="D-SPTF") / data.throughput.sel(scheme="LARD")).sel(read_share=read_share).mean()
    )
    summary["service_time"] = summary.service_time / MS
    notes = {"throughput": INFERRED, "service_time": INFERRED}
    found = [
        with_interval(claim, summary[quantity].sel(scheme=scheme), notes.get(quantity, IDLE.get(scheme, "")))
        for claim, (scheme, quantity) in TABLE1
    ]
    throughput = data.throughput.sel(read_share=read_share)
    gain = ratio(throughput.sel(scheme="D-SPTF"), throughput.sel(scheme="Hashing"))
    idle = interval(data).idle.sel(scheme="Hashing")
    lard = interval(data).idle.sel(scheme="LARD", statistic="mean")
    depth_reads = float(data.queue_length.sel(scheme="D-SPTF", read_share=1.0).mean())
    seen = summary.candidates.sel(statistic="mean")
    depths = {name: float(seen.sel(scheme=name)) for name in ("D-SPTF", "Hashing")}
    return [
        *found,
        with_interval(
            "dsptf.table1.gain", gain, f"The gain is over hashing. The gain over LARD is {over_lard:.3f}. {INFERRED}"
        ),
        with_interval(
            "dsptf.table1.depth_dsptf",
            summary.queue_length.sel(scheme="D-SPTF"),
            "Section 5.1.1 counts the waiting requests without the chosen one, and computes 8. With the chosen request and "
            f"copies of completed writes the value is {depths['D-SPTF']:.1f}. With reads only, without the chosen request, "
            f"it is {depth_reads:.1f}.",
        ),
        with_interval(
            "dsptf.table1.depth_hashing",
            summary.queue_length.sel(scheme="Hashing"),
            "Section 5.1.1 counts the waiting requests without the chosen one, and computes 2.4. With the chosen request "
            f"and copies of completed writes the value is {depths['Hashing']:.1f}.",
        ),
        with_interval(
            "dsptf.table1.idle_read_only",
            idle.sel(read_share=1.0),
            f"The value is for hashing. For LARD it is {float(lard.sel(read_share=1.0)):.3f}.",
        ),
        with_interval(
            "dsptf.table1.idle_60_reads",
            idle.sel(read_share=0.6),
            f"The value is for hashing. For LARD it is {float(lard.sel(read_share=0.6)):.4f}. Queued writes keep a brick "
            "busy.",
        ),
    ]


@judging("scheme", FOUR.values())
def fig5_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 5.

    Parameters
    ----------
    data : Dataset
        Result of `fig5`.
    """
    throughput = data.throughput
    dsptf, hashing, lard = (throughput.sel(scheme=name) for name in ("D-SPTF", "Hashing", "LARD"))
    gain = ratio(dsptf, hashing)
    means = gain.sel(statistic="mean")
    central = (dsptf / throughput.sel(scheme="Central SPTF")).mean("seed")
    over_lard = ratio(dsptf, lard).sel(statistic="mean")
    return [
        *(
            with_interval(
                claim,
                gain.sel(replicas=count),
                f"{INFERRED} The gain over LARD is {over_lard.sel(replicas=count):.3f}.",
            )
            for claim, (count,) in GAINS
        ),
        with_interval("dsptf.fig5.gain_3", gain.sel(replicas=3), "The share of reads is 67%. " + INFERRED),
        Measurement(
            "dsptf.fig5.growing",
            bool((means.diff("replicas") > 0).all()),
            note="The mean gain is judged at every step from 2 to 8 replicas.",
        ),
        Measurement(
            "dsptf.fig5.near_central",
            bool((central > 0.98).all()),
            note=f"The smallest ratio of D-SPTF to Central SPTF over 2 to 8 replicas is {float(central.min()):.4f}.",
        ),
    ]


def gain_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the finding on the largest gain over hashing in any setting.

    Parameters
    ----------
    data : Dataset
        Result of `gains`.
    """
    throughput = data.throughput
    gain = ratio(throughput.sel(scheme="D-SPTF"), throughput.sel(scheme="Hashing"))
    means = gain.sel(statistic="mean", drop=True)
    largest = gain.isel(means.argmax(["depth", "read_share"]))
    deepest = float(means.isel(depth=-1).max())
    return [
        with_interval(
            "dsptf.abstract.max_gain",
            largest,
            f"The gain is the largest of {means.size} settings with eight replicas. It occurs with {int(largest.depth)} "
            f"outstanding and {float(largest.read_share):.0%} reads. With {int(means.depth[-1])} outstanding the gain is at "
            f"most {deepest:.2f}. The interval covers this setting only.",
        )
    ]


def fig9_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on figure 9 for the shares of reads of section 5.1.1 with eight replicas (`FIG9_SHARES`).

    Parameters
    ----------
    data : Dataset
        Result of `fig9`.
    """
    kept = data.throughput / data.throughput.sel(latency=0.0)
    summary = interval(kept.to_dataset(name="kept")).kept
    spent = data[["idle", "service_time", "extra_services"]]
    shares = [share for share in data.read_share.values.tolist() if share in FIG9_SHARES]
    return [
        row
        for share in shares
        for row in _fig9_rows(summary.sel(read_share=share), spent.sel(read_share=share), share, FIG9_SHARES[share])
    ]


def _fig9_rows(summary: xr.DataArray, spent: xr.Dataset, share: float, ending: str) -> list[Measurement]:
    """Return the findings on figure 9 at one share of reads.

    summary: throughput over the throughput without delay. spent: idle time, service time and reads served twice.
    ending: suffix of the identifiers.
    """
    means = summary.sel(statistic="mean")

    def at(ms: float) -> float:
        return float(means.sel(latency=ms * MS, method="nearest"))

    flat = min(at(ms) for ms in (0.25, 0.5, 0.75, 1))
    beyond = [at(ms) for ms in (1.75, 2, 2.5, 3)]
    row = summary.sel(latency=1.75 * MS, method="nearest")
    mean, low, high = (float(row.sel(statistic=name)) for name in ("mean", "low", "high"))
    near, far = (spent.sel(latency=delay, method="nearest").mean("seed") for delay in (0.0, 1.75 * MS))
    why = (
        f"The share of reads is {share:.0%}. The figure has the system and workload of section 5.1.1, which has 90% reads in "
        "table 1 and 67% in figure 5. The figure can only have 67% reads, because with 90% no interpretation of write "
        "completion keeps more than 0.92 of the throughput at 1.75 ms. At 1.75 ms an access takes "
        f"{float(far.service_time / near.service_time - 1):.1%} longer, disks are idle for "
        f"{100 * float(far.idle - near.idle):.1f} points of the time more, and two bricks serve "
        f"{float(far.extra_services):.1%} of the reads, which count once."
    )
    return [
        Measurement(
            f"dsptf.fig9.flat_to_1ms{ending}",
            flat > 0.98,
            note=f"Up to 1 ms D-SPTF keeps at least {flat:.3f} of its throughput without delay. {why}",
        ),
        Measurement(f"dsptf.fig9.at_1_75{ending}", mean, low, high, note=why, holds=mean > 0.95),
        Measurement(
            f"dsptf.fig9.falls{ending}",
            all(later < sooner for sooner, later in itertools.pairwise(beyond)),
            note=f"The claim is judged from 1.75 to 3 ms with {share:.0%} reads.",
        ),
    ]
