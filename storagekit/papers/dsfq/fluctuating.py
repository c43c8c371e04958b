"""Loads that change over time: figures 13 and 14 (section 4.4), and the findings on their claims."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from storagekit.engine import Scenario
from storagekit.papers.dsfq.bricks import DEPTH, NAMES, QUICK, ShareEffort, StreamThreads, shared_bricks
from storagekit.papers.dsfq.sharing import EQUAL, MINIMUM
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.queue import AbstractDelay, Hybrid, Unlimited
from storagekit.simulation import interval, windows
from storagekit.workload import AbstractCount, OnOff, Sinusoid

A, B, C, D, E = range(5)
F, G, H = range(3)
# Figure 13. THREADS: numbers of threads that each of f and g has on A. ON_B: number of threads of g on B, and of h on B
# while h is on. TURN: seconds for which h is on, and for which it is then off.
THREADS, ON_B, TURN = (20, 30), 10, 10.0
# Depths D; the paper does not give its depth.
DEPTHS = (4, 8, 16, 32)
# Length of a window in seconds, and number of periods of h at the start that are not measured.
WINDOW, SETTLING = 0.25, 1
# Figure 14: period in seconds of the number of threads of each stream on each brick. The paper does not give the
# periods. Here they differ from each other.
PERIODS = {F: {A: 100.0, B: 70.0, C: 55.0}, G: {A: 140.0, D: 85.0, E: 65.0}}
ON_SHARED, ELSEWHERE = (15, 35), (0, 10)
# Length of a run in seconds: two periods of the slowest load. In the first period no stream is nearly shut out of A.
# With this period only, three findings would be different.
SECONDS = 280.0
# Policies in front of the disks. All fair queues have the same delay function with different minimum shares, so that
# they run as one batch: a minimum of 1/2 removes all delays, and a minimum of 0 leaves the delays as they are. The
# hybrid has the minimum share of figure 12, because the paper gives no minimum share for figure 14.
POLICIES: dict[str, AbstractDelay | None] = {
    "none": None,
    "single brick": Hybrid((0.5, 0.5)),
    "total": Hybrid((0.0, 0.0)),
    "hybrid": Hybrid((MINIMUM, MINIMUM)),
}
# Number of windows of figure 14 in a moving average.
SMOOTH = 5
# SHUT_OUT: share of A below which a stream counts as shut out of A. BACKLOGGED: a stream counts as backlogged if it has
# waiting requests for at least this fraction of the time.
SHUT_OUT, BACKLOGGED = MINIMUM, 0.95
# FOLLOWS: correlation that explains half of the variance. FAR: difference of totals that counts as large. MOSTLY:
# fraction that counts as "most".
FOLLOWS, FAR, MOSTLY = 0.5**0.5, 3 * EQUAL, 0.9


def fig13(effort: ShareEffort = QUICK, *, threads: Sequence[int] = THREADS, depth: int = DEPTH) -> xr.Dataset:
    """Return the throughput of three streams with equal weights while one of them starts and stops (figure 13).

    Stream f is on brick A, g is on A and B, and h starts and stops on B.

    Parameters
    ----------
    effort : ShareEffort
        Number and length of the runs.
    threads : sequence of int
        Numbers of threads that each of f and g has on A.
    depth : int
        Depth D of the bricks, which the paper does not give.

    Returns
    -------
    Dataset
        `total` over `threads`, `seed`, `time` and `stream`: total throughput on all bricks, bytes a second. It is a
        mean over the periods of h. `time` is the time since h started, seconds.
    """
    data = _turns(effort, threads, [depth]).sel(depth=depth, drop=True)
    return data.assign_attrs(paper="dsfq", exhibit="dsfq.fig13")


def fig13_depths(effort: ShareEffort = QUICK, *, depths: Sequence[int] = DEPTHS, seeds: int = 4) -> xr.Dataset:
    """Return the delay between the falls of the total throughputs of g and of f in figure 13, for each depth D.

    Parameters
    ----------
    effort : ShareEffort
        Gives the length of the runs and the first seed.
    depths : sequence of int
        Depths D of the bricks.
    seeds : int
        Number of runs.

    Returns
    -------
    Dataset
        `lag`, in seconds, over `depth` and `seed`. After h starts, the total throughputs of g and f fall. `lag` is the
        time from the midpoint of the fall of g to the midpoint of the fall of f.
    """
    data = _turns(replace(effort, seeds=seeds), THREADS, depths)
    return (
        _lag(data.total)
        .mean("threads")
        .to_dataset(name="lag")
        .assign_attrs(data.attrs, paper="dsfq", exhibit="dsfq.fig13_depths")
    )


def _turns(effort: ShareEffort, threads: Sequence[int], depths: Sequence[int]) -> xr.Dataset:
    """Return the total throughputs of figure 13 over `threads`, `depth`, `seed`, `time` and `stream`."""

    def build(threads: int, depth: int) -> Scenario:
        most = max(THREADS)
        groups = [
            StreamThreads(F, (A,), threads, most),
            StreamThreads(G, (A,), threads, most),
            StreamThreads(G, (B,), ON_B, ON_B),
        ]
        groups.append(StreamThreads(H, (B,), OnOff(ON_B, TURN, TURN), ON_B))
        return shared_bricks(groups, weights=(1, 1, 1), depth=depth)

    turns = SETTLING + max(2, round(effort.seconds / (2 * TURN)))
    data = windows(
        build,
        {"threads": list(threads), "depth": list(depths)},
        seconds=turns * 2 * TURN,
        window=WINDOW,
        seeds=effort.seed_list,
        title="figure 13",
    )
    whole = data.service.sum("brick").sel(window=slice(SETTLING * 2 * TURN, None))
    folded = whole.assign_coords(window=whole.window % (2 * TURN)).groupby("window").mean()
    folded = folded.rename(window="time").transpose("threads", "depth", "seed", "time", "stream")
    dataset = folded.to_dataset(name="total").assign_coords(stream=list(NAMES))
    dataset.total.attrs = {"units": "B/s", "long_name": "throughput of all bricks"}
    return dataset.assign_attrs(data.attrs)


def fig14(effort: ShareEffort = QUICK, *, policies: Sequence[str] = tuple(POLICIES)) -> xr.Dataset:
    """Return the service of two streams that share brick A (figure 14).

    The number of threads of each stream on each brick is a sinusoid in time. Each stream also has two bricks that the
    other stream does not use.

    Parameters
    ----------
    effort : ShareEffort
        Gives the first seed. The number of runs is a quarter of its `seeds`, and at least two.
    policies : sequence of str
        Names of `POLICIES`.

    Returns
    -------
    Dataset
        Over `policy`, `seed`, `window` (windows of one second), `stream` and `brick`: `service`, bytes a second;
        `backlog`, the fraction of the window in which requests of the stream wait at the brick. Over `window`, `stream`
        and `brick`: `threads`, the number of active threads.
    """
    seeds = effort.successive(max(2, effort.seeds // 4))
    axes = {"policy": list(policies)}
    data = windows(_sinusoids, axes, seconds=SECONDS, seeds=seeds, backlog=True, title="figure 14")
    data = data[["service", "backlog"]].assign_coords(stream=list(NAMES[:2]))
    on = np.zeros((data.sizes["window"], 2, data.sizes["brick"]))
    for stream, bricks in PERIODS.items():
        for brick in bricks:
            on[:, stream, brick] = _count(stream, brick).at(data.window.values)
    data["threads"] = (("window", "stream", "brick"), on, {"units": "1", "long_name": "threads that are on"})
    return data.assign_attrs(paper="dsfq", exhibit="dsfq.fig14")


def by_second(data: xr.Dataset) -> xr.Dataset:
    """Return the total throughputs of `fig13` as centred moving averages over one second, for a chart.

    Parameters
    ----------
    data : Dataset
        Result of `fig13`.

    Returns
    -------
    Dataset
        `total`, with the dimensions and the unit that it has in `fig13`.
    """
    return data[["total"]].rolling(time=round(1 / WINDOW), center=True, min_periods=1).mean()


def smoothed(data: xr.Dataset) -> xr.Dataset:
    """Return the throughput of each stream of `fig14` on all bricks, as centred moving averages over `SMOOTH` windows.

    Parameters
    ----------
    data : Dataset
        Result of `fig14`.

    Returns
    -------
    Dataset
        `total`, bytes a second, with the dimensions of `service` in `fig14` except `brick`. The attribute `smoothed` is
        the length of the average, s.
    """
    total = data.service.sum("brick").rolling(window=SMOOTH, center=True).mean().dropna("window")
    return total.to_dataset(name="total").assign_attrs(data.attrs, smoothed=float(SMOOTH))


def fig13_findings(data: xr.Dataset, depths: xr.Dataset | None = None) -> list[Measurement]:
    """Return the findings on the claims of figure 13.

    Parameters
    ----------
    data : Dataset
        Result of `fig13`.
    depths : Dataset, optional
        Result of `fig13_depths`, for the note on the delay of f.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsfq.fig13`.
    """
    g, level = data.total.sel(stream="g"), _levels(data.total)
    apart = {name: (one.sel(stream="g") / one.sel(stream="f") - 1).mean("seed") for name, one in level.items()}
    widest = max(float(abs(one).max()) for one in apart.values())
    text = ", ".join(
        f"{float(one.sel(threads=threads)):+.1%} ({threads} threads, h {name})"
        for name, one in apart.items()
        for threads in data.threads.values.tolist()
    )
    lagging = interval(_lag(data.total).mean("threads").to_dataset(name="lag"))["lag"]
    deep = {threads: _undershoot(g.sel(threads=threads), level, threads) for threads in data.threads.values.tolist()}
    few, many = (deep[threads] for threads in (min(deep), max(deep)))
    deeper = interval((many - few).to_dataset(name="deeper"))["deeper"]
    drops = ", ".join(f"{float(one.mean()):.1%} ({threads} threads)" for threads, one in deep.items())
    missing = (level["on"].sel(stream="g") - g.sel(time=slice(0, 5))).mean("time") * 5e-6
    lost = ", ".join(f"{float(missing.sel(threads=threads).mean()):.2f} MB ({threads} threads)" for threads in deep)
    return [
        Measurement(
            "dsfq.fig13.equal",
            widest < EQUAL,
            note=f"The claim holds if the total throughputs of f and g differ by less than {EQUAL:.0%} while h is on "
            f"and while h is off. The total of g divided by the total of f, minus 1, is {text}.",
        ),
        with_interval(
            "dsfq.fig13.follows",
            lagging,
            "After stream h starts on B, the total throughput of g falls first, then the total of f. The value is the "
            "time between the midpoints of the two falls. The total of f does not fall immediately, because equation 5 "
            f"does not delay requests of g that are already in the bricks. The depth D is {DEPTH}; the paper does "
            f"not give it.{_by_depth(depths)}",
        ),
        Measurement(
            "dsfq.fig13.sharper",
            bool(deeper.sel(statistic="low") > 0),
            note=(
                "The claim holds if the undershoot of g is larger with more threads, with 95% confidence. After h "
                "starts, the total throughput of g falls below the value at which it settles later. The undershoot is "
                "the lowest total of g in one second between 6 s and 9 s after the start of h, minus the lowest total "
                f"of g in one second between 0 s and 3 s. Divided by the settled total, the undershoot is {drops}. In "
                f"the first 5 s, g receives less than it would receive at the settled total, by {lost}."
            ),
        ),
    ]


def _levels(total: xr.DataArray) -> dict[str, xr.DataArray]:
    """Return the total throughputs after they have settled, while h is on and while h is off."""
    return {name: total.sel(time=slice(*span)).mean("time") for name, span in {"on": (5, 10), "off": (15, 20)}.items()}


def _lag(total: xr.DataArray) -> xr.DataArray:
    """Return the seconds from the midpoint of the fall of g's total to the midpoint of the fall of f's total.

    Both totals fall after h starts.
    """
    level = _levels(total)
    f, g = (_halfway(total.sel(stream=name), level, name) for name in ("f", "g"))
    return f - g


def _by_depth(depths: xr.Dataset | None) -> str:
    """Return a sentence with the lag of `fig13_depths` for each depth D."""
    if depths is None:
        return ""
    text = ", ".join(f"{float(one):.2f} s with D = {int(one.depth)}" for one in depths.lag.mean("seed"))
    return f" The value depends on D: it is {text}."


def fig14_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 14, from moving averages over `SMOOTH` windows.

    Parameters
    ----------
    data : Dataset
        Result of `fig14`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsfq.fig14`.
    """
    smooth = data.rolling(window=SMOOTH, center=True).mean().dropna("window")
    total, on_a = smooth.service.sum("brick"), smooth.service.sel(brick=A)
    shared = xr.Dataset(
        {
            "apart": abs(total.sel(stream="f") - total.sel(stream="g")) / total.sum("stream") * 2,
            "share": on_a / on_a.sum("stream"),
            "both": (smooth.backlog.sel(brick=A) >= BACKLOGGED).all("stream"),
        }
    )
    return [_follows(smooth), _single(shared), _total(shared), _hybrid(shared)]


def _follows(smooth: xr.Dataset) -> Measurement:
    """Return the finding whether, without scheduling, the throughput follows the number of threads.

    It covers brick A alone, whose threads figure 14(a) shows, and all bricks together.
    """
    none = smooth.sel(policy="none").mean("seed")
    on_a, over_all = (
        [float(np.corrcoef(service.sel(stream=name), threads.sel(stream=name))[0, 1]) for name in NAMES[:2]]
        for service, threads in (
            (none.service.sel(brick=A), none.threads.sel(brick=A)),
            (none.service.sum("brick"), none.threads.sum("brick")),
        )
    )
    note = (
        "The claim holds if every correlation of throughput and number of threads is above "
        f"{FOLLOWS:.2f}, which explains half of the variance. The correlation is {on_a[0]:.2f} (f) and {on_a[1]:.2f} "
        f"(g) on A, and {over_all[0]:.2f} (f) and {over_all[1]:.2f} (g) over all bricks."
    )
    return Measurement("dsfq.fig14.none", min(*on_a, *over_all) > FOLLOWS, note=note)


def _single(shared: xr.Dataset) -> Measurement:
    one = shared.sel(policy="single brick")
    on_a, total = _typical(abs(one.share.sel(stream="g") - 0.5) * 2, one.both), _typical(one.apart, one.both)
    note = (
        f"The claim holds if the throughputs of the two streams differ by less than {EQUAL:.0%} of their mean on A, "
        f"but by more in total. {_seen(one)} they differ by {on_a:.1%} of their mean on A, and by {total:.1%} of "
        "their mean in total (medians). With a depth D of 16 even the smallest number of threads (15) keeps a stream "
        "backlogged. In the paper g was not always backlogged."
    )
    return Measurement("dsfq.fig14.single", on_a < EQUAL < total, note=note)


def _total(shared: xr.Dataset) -> Measurement:
    one = shared.sel(policy="total")
    typical, far = _typical(one.apart, one.both), one.apart > FAR
    shut_out = (one.share < SHUT_OUT).any("stream")
    explained = far & (shut_out | ~one.both)
    part = float(explained.sum() / far.sum()) if bool(far.any()) else 1.0
    note = (
        "The claim holds under two conditions. The median difference of the total throughputs of f and g is below "
        f"{EQUAL:.0%} of their mean. In more than {MOSTLY:.0%} of the windows of time where the totals differ by more "
        f"than {FAR:.0%}, a stream has less than {SHUT_OUT:.1%} of A, or too few threads to be backlogged on A. "
        f"{_seen(one)} the median difference is {typical:.1%}. The totals differ by more than {FAR:.0%} in "
        f"{int(far.sum())} of {far.size} windows of time. The second condition is true of {part:.0%} of these windows."
    )
    return Measurement("dsfq.fig14.total", typical < EQUAL and part > MOSTLY, note=note)


def _hybrid(shared: xr.Dataset) -> Measurement:
    least = {name: float(_of(shared, name).share.where(_of(shared, name).both).min()) for name in ("total", "hybrid")}
    apart = {name: _typical(_of(shared, name).apart, _of(shared, name).both) for name in ("total", "hybrid")}
    note = (
        f"The claim holds if each stream receives its guaranteed minimum share of A, {MINIMUM:.1%}, under HYBRID-DSFQ, "
        f"but not under TOTAL-DSFQ. {_seen(_of(shared, 'hybrid'))} the smallest share of A that a stream receives is "
        f"{least['hybrid']:.1%} under HYBRID-DSFQ, and {least['total']:.1%} under TOTAL-DSFQ. The median difference of "
        f"the total throughputs of f and g is {apart['total']:.1%} of their mean under TOTAL-DSFQ, and "
        f"{apart['hybrid']:.1%} under HYBRID-DSFQ."
    )
    return Measurement("dsfq.fig14.hybrid", least["total"] < MINIMUM <= least["hybrid"], note=note)


def _of(shared: xr.Dataset, policy: str) -> xr.Dataset:
    return shared.sel(policy=policy)


def _typical(values: xr.DataArray, where: xr.DataArray) -> float:
    return float(values.where(where).median())


def _seen(shared: xr.Dataset) -> str:
    return f"Both streams are backlogged on A {float(shared.both.mean()):.0%} of the time. During this time"


def _sinusoids(policy: str) -> Scenario:
    delay = POLICIES[policy]
    groups = [
        StreamThreads(stream, (brick,), _count(stream, brick), ON_SHARED[1] if brick == A else ELSEWHERE[1])
        for stream, bricks in PERIODS.items()
        for brick in bricks
    ]
    return shared_bricks(groups, weights=(1, 1), delay=delay, queue=Unlimited() if delay is None else None)


def _count(stream: int, brick: int) -> AbstractCount:
    return Sinusoid(*(ON_SHARED if brick == A else ELSEWHERE), PERIODS[stream][brick])


def _halfway(total: xr.DataArray, level: dict[str, xr.DataArray], stream: str) -> xr.DataArray:
    """Return the time from the start of h until a stream's total falls below the middle of its two settled levels.

    The total is a mean over one second. The time is in seconds.
    """
    middle = (level["on"] + level["off"]).sel(stream=stream) / 2
    second = _by_second(total)
    first = (second < middle).argmax("time")
    after, before = second.isel(time=first), second.isel(time=np.maximum(first - 1, 0))
    share = ((before - middle) / (before - after)).clip(0, 1)
    return total.time.isel(time=first).drop_vars("time") - WINDOW * (1 - share)


def _undershoot(total: xr.DataArray, level: dict[str, xr.DataArray], threads: int) -> xr.DataArray:
    """Return the undershoot of g's total after h starts, divided by the level at which the total settles.

    The undershoot is the lowest mean over one second from 6 s to 9 s, minus the lowest mean from 0 s to 3 s.
    """
    second = _by_second(total)
    drop, quiet = (second.sel(time=slice(*span)).min("time") for span in ((0, 3), (6, 9)))
    return (quiet - drop) / level["on"].sel(threads=threads, stream="g")


def _by_second(total: xr.DataArray) -> xr.DataArray:
    """Return, for each time, the mean over the following second. The period is cyclic: its start follows its end."""
    count = round(1 / WINDOW)
    return xr.concat([total.roll(time=-ahead, roll_coords=False) for ahead in range(count)], "ahead").mean("ahead")
