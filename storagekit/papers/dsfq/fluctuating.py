"""Loads that change in time: figures 13 and 14 (section 4.4), and what they show beside the paper's claims."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from storagekit.engine import Scenario
from storagekit.metrics import Measurement, interval, windows, with_interval
from storagekit.papers.dsfq.bricks import NAMES, QUICK, Asking, ShareEffort, shared_bricks
from storagekit.papers.dsfq.sharing import EQUAL, MINIMUM
from storagekit.queue import AbstractDelay, Everything, Hybrid, Single, Total
from storagekit.workload import AbstractCount, OnOff, Sinusoid

A, B, C, D, E = range(5)
F, G, H = range(3)
# figure 13: threads of f and g each on A, and of g and of h on B; h is on as long as it is off
THREADS, ON_B, TURN = (20, 30), 10, 10.0
# seconds of a window, and periods at the start that are left out
WINDOW, SETTLING = 0.25, 1
# Figure 14: seconds of a period of each stream's threads on each of its bricks, which differ and are not given.
PERIODS = {F: {A: 100.0, B: 70.0, C: 55.0}, G: {A: 140.0, D: 85.0, E: 65.0}}
ON_SHARED, ELSEWHERE = (15, 35), (0, 10)
SECONDS = 280.0
# what stands before the disks; the hybrid's minimum is that of figure 12, because none is given
POLICIES: dict[str, AbstractDelay | None] = {
    "none": None,
    "single brick": Single(),
    "total": Total(),
    "hybrid": Hybrid((MINIMUM, MINIMUM)),
}
# windows of figure 14 that are looked at together
SMOOTH = 5
# a share of A that is as good as none, and threads on A that are enough to be backlogged beside the other's
SHUT_OUT, ENOUGH = MINIMUM, 24


def fig13(effort: ShareEffort = QUICK, *, threads: Sequence[int] = THREADS) -> xr.Dataset:
    """Totals of f, on A, g, on A and B, and h, on and off on B, equal weights (figure 13), by `threads` of f and g each on A.

    `total`, bytes a second, over `threads`, `seed`, `time`, seconds since h came on, and `stream`: means over its turns.
    """

    def build(threads: int) -> Scenario:
        most = max(THREADS)
        asking = [Asking(F, (A,), threads, most), Asking(G, (A,), threads, most), Asking(G, (B,), ON_B, ON_B)]
        return shared_bricks([*asking, Asking(H, (B,), OnOff(ON_B, TURN, TURN), ON_B)], weights=(1, 1, 1))

    turns = SETTLING + max(2, round(effort.seconds / (2 * TURN)))
    data = windows(
        build,
        {"threads": list(threads)},
        seconds=turns * 2 * TURN,
        window=WINDOW,
        seeds=effort.seed_list,
        title="figure 13",
    )
    whole = data.service.sum("brick").sel(window=slice(SETTLING * 2 * TURN, None))
    folded = whole.assign_coords(window=whole.window % (2 * TURN)).groupby("window").mean()
    folded = folded.rename(window="time").transpose("threads", "seed", "time", "stream")
    told = folded.to_dataset(name="total").assign_coords(stream=list(NAMES))
    told.total.attrs = {"units": "B/s", "long_name": "throughput of all bricks"}
    return told.assign_attrs(data.attrs | {"paper": "dsfq", "exhibit": "dsfq.fig13"})


def fig14(effort: ShareEffort = QUICK, *, policies: Sequence[str] = tuple(POLICIES)) -> xr.Dataset:
    """Two streams that share A, each with two bricks of its own, their threads sinusoids of time (figure 14), by `policy`.

    Variables over `policy`, `seed`, `window` of a second and `stream`: `service`, bytes a second, by `brick`; `threads` by
    `window`, `stream` and `brick`: how many are on.
    """
    seeds = effort.successive(max(2, effort.seeds // 4))
    found = [
        windows(
            lambda policy=policy: _sinusoids(policy), {}, seconds=SECONDS, seeds=seeds, title=f"figure 14, {policy}"
        )
        for policy in policies
    ]
    data = xr.concat([one[["service"]] for one in found], "policy", combine_attrs="override")
    data = data.assign_coords(policy=list(policies), stream=list(NAMES[:2]))
    on = np.zeros((data.sizes["window"], 2, data.sizes["brick"]))
    for stream, bricks in PERIODS.items():
        for brick in bricks:
            on[:, stream, brick] = _count(stream, brick).at(data.window.values)
    data["threads"] = (("window", "stream", "brick"), on, {"units": "1", "long_name": "threads that are on"})
    return data.assign_attrs(paper="dsfq", exhibit="dsfq.fig14")


def fig13_findings(data: xr.Dataset) -> list[Measurement]:
    """The claims of figure 13. data: of `fig13`."""
    f, g = data.total.sel(stream="f"), data.total.sel(stream="g")
    level = {
        name: data.total.sel(time=slice(*span)).mean("time") for name, span in {"on": (5, 10), "off": (15, 20)}.items()
    }
    apart = {name: (one.sel(stream="g") / one.sel(stream="f") - 1).mean("seed") for name, one in level.items()}
    widest = max(float(abs(one).max()) for one in apart.values())
    told = "; ".join(
        f"{threads} threads, h {name}: {float(one.sel(threads=threads)):+.1%}"
        for name, one in apart.items()
        for threads in data.threads.values.tolist()
    )
    lag = _halfway(f, level, "f") - _halfway(g, level, "g")
    lagging = interval(lag.mean("threads").to_dataset(name="lag"))["lag"]
    deep = {threads: _undershoot(g.sel(threads=threads), level, threads) for threads in data.threads.values.tolist()}
    few, many = (deep[threads] for threads in (min(deep), max(deep)))
    deeper = interval((many - few).to_dataset(name="deeper"))["deeper"]
    drops = ", ".join(f"{threads}: {float(one.mean()):.1%}" for threads, one in deep.items())
    return [
        Measurement("dsfq.fig13.equal", widest < EQUAL, note=f"g's total over f's, less one: {told}"),
        with_interval(
            "dsfq.fig13.follows",
            lagging,
            "between the moments at which g's and f's totals are halfway down, h coming on",
        ),
        Measurement(
            "dsfq.fig13.sharper",
            bool(deeper.sel(statistic="low") > 0),
            note=f"g's lowest second after h comes on, below what it settles at, by threads: {drops}",
        ),
    ]


def fig14_findings(data: xr.Dataset) -> list[Measurement]:
    """The claims of figure 14. data: of `fig14`."""
    smooth = data.rolling(window=SMOOTH, center=True).mean().dropna("window")
    total, on_a = smooth.service.sum("brick"), smooth.service.sel(brick=A)
    share = on_a / on_a.sum("stream")
    apart = abs(total.sel(stream="f") - total.sel(stream="g")) / total.sum("stream") * 2
    off_balance = abs(share.sel(stream="g") - 0.5) * 2
    backlogged = (smooth.threads.sel(brick=A) >= ENOUGH).all("stream")
    shut_out = (share < SHUT_OUT).any("stream")
    threads = smooth.threads.sum("brick")
    follows = [
        float(np.corrcoef(total.sel(policy="none", stream=name).mean("seed"), threads.sel(stream=name))[0, 1])
        for name in NAMES[:2]
    ]
    typical = {
        policy: (
            float(off_balance.sel(policy=policy).where(backlogged).median()),
            float(apart.sel(policy=policy).where(backlogged).median()),
        )
        for policy in data.policy.values.tolist()
    }
    single, summed = typical["single brick"], typical["total"]
    far = (apart.sel(policy="total") > 3 * EQUAL) & backlogged
    explained = float((far & shut_out.sel(policy="total")).sum() / max(float(far.sum()), 1.0))
    least = {policy: float(share.sel(policy=policy).where(backlogged).min()) for policy in ("total", "hybrid")}
    seen = "windows of 5 s in which both have threads enough to be backlogged on A"
    return [
        Measurement(
            "dsfq.fig14.none",
            min(follows) > 0.7,
            note=f"correlation of totals with threads: f {follows[0]:.2f}, g {follows[1]:.2f}",
        ),
        Measurement(
            "dsfq.fig14.single",
            single[0] < EQUAL < single[1],
            note=f"{seen}: streams differ on A by {single[0]:.1%} in the median, in total by {single[1]:.1%}",
        ),
        Measurement(
            "dsfq.fig14.total",
            summed[1] < EQUAL and explained > 0.9,
            note=f"{seen}: totals differ by {summed[1]:.1%} in the median; where by more than {3 * EQUAL:.0%}, a stream has "
            f"less than {SHUT_OUT:.1%} of A in {explained:.0%} of them",
        ),
        Measurement(
            "dsfq.fig14.hybrid",
            least["hybrid"] >= MINIMUM * (1 - 2 * EQUAL) and least["total"] < MINIMUM / 2,
            note=f"{seen}: the least share of A that a stream has is {least['total']:.1%} under total sharing, "
            f"{least['hybrid']:.1%} under the hybrid, {MINIMUM:.1%} being promised",
        ),
    ]


def _sinusoids(policy: str) -> Scenario:
    delay = POLICIES[policy]
    asking = [
        Asking(stream, (brick,), _count(stream, brick), ON_SHARED[1] if brick == A else ELSEWHERE[1])
        for stream, bricks in PERIODS.items()
        for brick in bricks
    ]
    return shared_bricks(asking, weights=(1, 1), delay=delay, queue=Everything() if delay is None else None)


def _count(stream: int, brick: int) -> AbstractCount:
    return Sinusoid(*(ON_SHARED if brick == A else ELSEWHERE), PERIODS[stream][brick])


def _halfway(total: xr.DataArray, level: dict[str, xr.DataArray], stream: str) -> xr.DataArray:
    """Seconds after h comes on at which a stream's total is first halfway from what it was to what it settles at."""
    middle = (level["on"] + level["off"]).sel(stream=stream) / 2
    lower = total < middle
    first = lower.argmax("time")
    after, before = total.isel(time=first), total.isel(time=first - 1)
    share = ((before - middle) / (before - after)).clip(0, 1)
    at = total.time.isel(time=first).drop_vars("time")
    return at - WINDOW * (1 - share)


def _undershoot(total: xr.DataArray, level: dict[str, xr.DataArray], threads: int) -> xr.DataArray:
    """By how much the lowest second within three of h's coming on lies below what a stream settles at, as a share."""
    settled = level["on"].sel(threads=threads, stream="g")
    second = total.rolling(time=round(1 / WINDOW)).mean().sel(time=slice(0.9, 4))
    return 1 - second.min("time") / settled
