"""Closed loops of sections 2 and 5: figures 1, 5 and 9 and table 1, with the findings.

Times are in seconds, rates are in events a second, and shares are fractions. A function with the decorator `over_loops`
returns one loop, and has the parameters of one loop. The decorator turns the function into an exhibit over several
values of each parameter. The docstring of the function describes this exhibit.
"""

import itertools

import xarray as xr

from storagekit.core.units import KB, MS
from storagekit.dispatch import AbstractDispatch, Hashing
from storagekit.engine import Scenario
from storagekit.papers.dsptf.brick_group import (
    INTERPRETATIONS,
    JUDGED,
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
# Suffix of the claims of figure 9 by share of reads. Table 1 has 90% reads, and figure 5 has 67%.
FIG9_SHARES = {0.9: "", 0.67: "_67_reads"}
INFERRED = (
    "In this simulation a write completes when the receiving brick has it on disk. We chose this interpretation by "
    "comparison with the throughput of table 1, and figure 5 supports it. By section 3 of the paper, a write completes "
    "once it is in every NVRAM. With the rule of section 3, our table 1 would have 218 IO/s for D-SPTF and 139 IO/s "
    "for hashing."
)

IDLE = dict.fromkeys(
    ("Hashing", "LARD"), "Under every interpretation of write completion, queued writes keep a brick busy."
)


@over_loops({"scheduler": SCHEDULERS, "depth": (1, 2, 4, 8, 16, 32, 64)})
def fig1(scheduler: AbstractSchedule, depth: int, *, drive: str = "atlas10k") -> Scenario:
    """Return the throughput of one disk under FIFO and SPTF by the number of small random reads outstanding (figure 1).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
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
        interpretation="all copies",
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
    interpretation: str = JUDGED,
) -> Scenario:
    """Return the throughput per brick, the idle time and the service time of the four schemes (table 1).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    scheme : sequence
        Names of `SCHEMES`, and pairs of a name and a dispatcher of your own.
    read_share : sequence of float
        Shares of reads. The table has 90%. Section 5.1.1 gives idle times at 60% and 100% as well.
    replicas : int
        Number of bricks, each with all data, by default 8.
    outstanding : int
        Number of requests outstanding, by default 16.
    interpretation : str
        When a write completes, a name of `INTERPRETATIONS`, by default `JUDGED`.

    Returns
    -------
    Dataset
        `throughput`, `idle`, `service_time` and further measures over `scheme`, `read_share` and `seed`.

    Raises
    ------
    InputError
        If a scheme or `interpretation` is unknown.

    Notes
    -----
    Functions that compare schemes select the paper's schemes by name.

    Examples
    --------
    >>> from storagekit.dispatch import ShortestQueue
    >>> from storagekit.papers.effort import Effort
    >>> table1(Effort(seeds=2, requests=400), scheme=[("mine", ShortestQueue(2))], read_share=[0.9]).scheme.item()
    'mine'
    """
    return group(
        scheme, replicas=replicas, outstanding=outstanding, read_share=read_share, interpretation=interpretation
    )


@over_loops({"scheme": TWO, "completion": tuple(INTERPRETATIONS)})
def table1_interpretations(scheme: AbstractDispatch, completion: str) -> Scenario:
    """Return the measures of table 1 under the four interpretations of write completion.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    scheme : sequence
        As for `table1`, by default D-SPTF and hashing.
    completion : sequence of str
        Names of `INTERPRETATIONS`.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `completion` and `seed`.
    """
    return group(scheme, interpretation=completion, among=tuple(INTERPRETATIONS))


@over_loops({"scheme": SCHEMES, "replicas": (2, 3, 4, 5, 6, 7, 8)})
def fig5(
    scheme: AbstractDispatch,
    replicas: int,
    *,
    outstanding: int = 16,
    read_share: float = 0.67,
    interpretation: str = JUDGED,
) -> Scenario:
    """Return the throughput per brick of the four schemes for each number of replicas (figure 5).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    scheme : sequence
        As for `table1`.
    replicas : sequence of int
        Numbers of replicas.
    outstanding : int
        Number of requests outstanding, by default 16.
    read_share : float
        Share of reads, by default 0.67.
    interpretation : str
        When a write completes, a name of `INTERPRETATIONS`, by default `JUDGED`.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `replicas` and `seed`.
    """
    return group(
        scheme, replicas=replicas, outstanding=outstanding, read_share=read_share, interpretation=interpretation
    )


@over_loops({"scheme": TWO, "depth": (2, 4, 8, 16), "read_share": (0.67, 0.9, 1.0)}, finish=once_each)
def gains(scheme: AbstractDispatch, depth: int, read_share: float) -> Scenario:
    """Return the throughput of D-SPTF and of hashing by load and fraction of reads.

    The abstract of the paper gives the largest gain of D-SPTF over hashing.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
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


@over_loops({"scheme": TWO, "completion": tuple(INTERPRETATIONS), "replicas": (2, 3, 8)})
def fig5_interpretations(scheme: AbstractDispatch, completion: str, replicas: int) -> Scenario:
    """Return the measures of figure 5 under the four interpretations of write completion.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    scheme : sequence
        As for `table1`, by default D-SPTF and hashing.
    completion : sequence of str
        Names of `INTERPRETATIONS`.
    replicas : sequence of int
        Numbers of replicas.

    Returns
    -------
    Dataset
        `throughput` and further measures over `scheme`, `completion`, `replicas` and `seed`.
    """
    return group(scheme, replicas=replicas, read_share=0.67, interpretation=completion, among=tuple(INTERPRETATIONS))


@over_loops({"latency": FIG9_LATENCIES, "read_share": (0.67, 0.9)}, finish=once_each)
def fig9(latency: float, read_share: float) -> Scenario:
    """Return the throughput per replica of D-SPTF for each one-way network latency, with eight replicas (figure 9).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
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
    16: "The value is the throughput with SPTF divided by the throughput with FIFO. With 16 requests outstanding, SPTF "
    "chooses among 15 requests. On this drive, the simulator DiskSim 4.0 gives 204.4 IO/s with SPTF and 114.6 IO/s "
    "with FIFO, a ratio of 1.78."
}


def fig1_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 1.

    Parameters
    ----------
    data : Dataset
        Result of `fig1`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsptf.fig1`.
    """
    sptf, fifo = data.throughput.sel(scheduler="SPTF"), data.throughput.sel(scheduler="FIFO")
    gain = ratio(sptf, fifo)
    means = sptf.mean("seed")
    # With two reads outstanding SPTF has one candidate at each choice. The throughput need not rise from one to two
    # reads, but must not fall by more than 0.5%.
    rising = bool((means.diff("depth").sel(depth=slice(4, None)) > 0).all()) and bool(
        means.sel(depth=2) >= 0.995 * means.sel(depth=1)
    )
    return [
        *(with_interval(claim, gain.sel(depth=depth), CANDIDATES.get(depth, "")) for claim, (depth,) in FIG1),
        Measurement(
            "dsptf.fig1.rising",
            rising,
            note="The claim holds if the throughput rises with each step above 2 requests outstanding. From 1 to 2 it "
            "need not rise, because SPTF then has only one request to choose from.",
        ),
    ]


@judging("scheme", FOUR.values())
def table1_findings(data: xr.Dataset, read_share: float = 0.9) -> list[Measurement]:
    """Return the findings on table 1, and on the idle times of section 5.1.1 with 60% and 100% reads.

    Parameters
    ----------
    data : Dataset
        Result of `table1`.
    read_share : float
        Share of reads of table 1, by default 0.9.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsptf.table1`.

    Raises
    ------
    InputError
        If `data` lacks one of the four schemes.
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
            "dsptf.table1.gain",
            gain,
            "The value is the throughput of D-SPTF divided by the throughput of hashing. Divided by the throughput "
            f"of LARD, the throughput of D-SPTF is {over_lard:.3f}. {INFERRED}",
        ),
        with_interval(
            "dsptf.table1.depth_dsptf",
            summary.queue_length.sel(scheme="D-SPTF"),
            "The value is the mean number of requests that wait at a brick, without the request that the brick "
            "chooses. Section 5.1.1 counts in the same way, and computes 8. With the chosen request and the copies of "
            f"completed writes, our number is {depths['D-SPTF']:.1f}. With reads only, and without the chosen request, "
            f"our number is {depth_reads:.1f}.",
        ),
        with_interval(
            "dsptf.table1.depth_hashing",
            summary.queue_length.sel(scheme="Hashing"),
            "The value is the mean number of requests that wait at a brick, without the request that the brick "
            "chooses. Section 5.1.1 counts in the same way, and computes 2.4. With the chosen request and the copies "
            f"of completed writes, our number is {depths['Hashing']:.1f}.",
        ),
        with_interval(
            "dsptf.table1.idle_read_only",
            idle.sel(read_share=1.0),
            f"The value is for hashing. For LARD the value is {float(lard.sel(read_share=1.0)):.3f}.",
        ),
        with_interval(
            "dsptf.table1.idle_60_reads",
            idle.sel(read_share=0.6),
            f"The value is for hashing. For LARD the value is {float(lard.sel(read_share=0.6)):.4f}. Queued writes "
            "keep a brick busy.",
        ),
    ]


@judging("scheme", FOUR.values())
def fig5_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 5.

    Parameters
    ----------
    data : Dataset
        Result of `fig5`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsptf.fig5`, except `dsptf.abstract.max_gain`.

    Raises
    ------
    InputError
        If `data` lacks one of the four schemes.
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
                "The value is the throughput of D-SPTF divided by the throughput of hashing. Divided by the throughput "
                f"of LARD, the throughput of D-SPTF is {over_lard.sel(replicas=count):.3f}. {INFERRED}",
            )
            for claim, (count,) in GAINS
        ),
        with_interval(
            "dsptf.fig5.gain_3",
            gain.sel(replicas=3),
            "The value is the throughput of D-SPTF divided by the throughput of hashing, with 67% reads. " + INFERRED,
        ),
        Measurement(
            "dsptf.fig5.growing",
            bool((means.diff("replicas") > 0).all()),
            note="The claim holds if the mean gain grows at every step from 2 to 8 replicas.",
        ),
        Measurement(
            "dsptf.fig5.near_central",
            bool((central > 0.98).all()),
            note="The claim holds if the throughput of D-SPTF divided by the throughput of Central SPTF is above 0.98 "
            f"for each number of replicas. The ratio is at least {float(central.min()):.4f}.",
        ),
    ]


def gain_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the finding on the largest gain over hashing in any setting.

    Parameters
    ----------
    data : Dataset
        Result of `gains`.

    Returns
    -------
    list of Measurement
        The finding on `dsptf.abstract.max_gain`.
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
            "The value is the largest ratio of the throughput of D-SPTF to the throughput of hashing among "
            f"{means.size} settings with eight replicas. It occurs with {int(largest.depth)} requests outstanding and "
            f"{float(largest.read_share):.0%} reads. With {int(means.depth[-1])} requests outstanding, the ratio is at "
            f"most {deepest:.2f}. The interval is the interval of the setting with the largest ratio.",
        )
    ]


def fig9_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on figure 9 for the two fractions of reads of section 5.1.1 (`FIG9_SHARES`).

    Parameters
    ----------
    data : Dataset
        Result of `fig9`.

    Returns
    -------
    list of Measurement
        The findings on `dsptf.fig9`, for the fractions of reads in `data`.
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

    summary: throughput divided by the throughput without delay. spent: idle time, service time and further services.
    ending: suffix of the identifiers of claims.
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
        f"The loop has {share:.0%} reads. The paper's figure has the system and workload of section 5.1.1, which "
        "has 90% reads in table 1 and 67% in figure 5. The figure can only have 67% reads, because with 90% no "
        "interpretation of write completion keeps more than 0.92 of the throughput at 1.75 ms. Compared with no "
        f"delay, at 1.75 ms an access takes {float(far.service_time / near.service_time - 1):.1%} longer, the idle "
        f"time of disks is {100 * float(far.idle - near.idle):.1f} percentage points higher, and two bricks serve "
        f"{float(far.extra_services):.1%} of the reads. Such a read counts once in the throughput."
    )
    return [
        Measurement(
            f"dsptf.fig9.flat_to_1ms{ending}",
            flat > 0.98,
            note="The claim holds if up to 1 ms D-SPTF keeps more than 0.98 of its throughput without delay. It keeps "
            f"at least {flat:.3f}. {why}",
        ),
        Measurement(
            f"dsptf.fig9.at_1_75{ending}",
            mean,
            low,
            high,
            note="The value is the throughput of D-SPTF at 1.75 ms divided by its throughput without delay. The claim "
            f"holds if the value is above 0.95. {why}",
            holds=mean > 0.95,
        ),
        Measurement(
            f"dsptf.fig9.falls{ending}",
            all(later < sooner for sooner, later in itertools.pairwise(beyond)),
            note="The claim holds if the throughput falls with each step of the latency from 1.75 to 3 ms. The loop "
            f"has {share:.0%} reads.",
        ),
    ]
