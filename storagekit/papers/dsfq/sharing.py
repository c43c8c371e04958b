"""Two streams that share bricks: figures 8 to 12 (sections 4.1 to 4.3), and what they show beside the paper's claims."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from storagekit.analytic.fairness import water_level
from storagekit.engine import Scenario
from storagekit.metrics import Measurement, by_stream, interval, ratio, sweep, windows, with_interval
from storagekit.papers.dsfq.bricks import (
    DEPTH,
    LARGE,
    NAMES,
    QUICK,
    Asking,
    ShareEffort,
    postmark,
    shared_bricks,
    shared_servers,
)
from storagekit.queue import AbstractDelay, FairQueue, Hybrid, InTurn
from storagekit.workload import UniformSize

MB_S = 1e6
A, B, C = range(3)
F, G = 0, 1
# threads of each stream on the shared brick in figures 8 to 11, and in figure 12
THREADS, HYBRID_THREADS = 30, 20
ON_B = (0, 2, 5, 10, 20, 30)
# figure 10: threads of g in all, each of which goes round three bricks
OVER_THREE = (3, 6, 9, 12, 15, 21, 30)
COORDINATORS = (1, 2, 4)
# section 4.3: the minimum share of g on A; f, which is served nowhere else, is never delayed
MINIMUM = 1 / 12
# Of figure 9(b), in bytes a second: what f and g get of A together where g has nothing on B, and what g gets of B at the end.
CALIBRATED = (200e6, 175e6)
# section 4.3: what a brick makes there
PAPER_BRICK = 6.0
# seconds before anything is counted
WARM_UP = 3.0
# shares that a reader of the figures would call equal, and a share that would be called reached
EQUAL, REACHED = 0.05, 0.97


def fig8(
    effort: ShareEffort = QUICK, *, threads: Sequence[int] = tuple(range(21)), depths: Sequence[int] = (4, DEPTH, 64)
) -> xr.Dataset:
    """What f, with 30 threads, and g get of one brick with weights 1 to 2 (figure 8). Both read.

    `throughput`, bytes a second, `rate` and `response` over `threads` of g, `depth` D of the brick, `seed` and `stream`.
    """

    def build(threads: int, depth: int) -> Scenario:
        asking = [Asking(F, (A,), THREADS, THREADS), Asking(G, (A,), threads, 20)]
        return shared_bricks(asking, weights=(1, 2), depth=depth, requests=postmark(read_share=1.0))

    axes = {"threads": list(threads), "depth": list(depths)}
    measures = by_stream(2)
    data = sweep(
        build, axes, seeds=effort.seed_list, seconds=effort.seconds, warm_up=effort.seconds / 10, measures=measures
    )
    kept = data[[measure.name for measure in measures]].rename(
        stream_throughput="throughput", stream_rate="rate", stream_response="response"
    )
    return _named(kept, "fig8")


def fig9(effort: ShareEffort = QUICK, *, threads: Sequence[int] = ON_B) -> xr.Dataset:
    """What f, on A, and g, on A and B, get by `threads` of g on B and `panel` (figure 9).

    (a): files up to 16 KB, weights 1 to 1. (b): files up to 1 MB, weights 1 to 4, on bricks that make what the paper's made.
    Variables over these, `seed` and `stream`: `total`, bytes a second of all bricks, `service`, by `brick`; `spread`, the
    deviation of g's total less f's, normalized, over windows of a second, as a share of their sum.
    """

    def servers(threads: int) -> Scenario:
        return shared_servers(_f_and_g(threads), CALIBRATED, weights=(1, 4), requests=postmark(UniformSize(*LARGE)))

    small = _two_bricks(effort, threads, (1,)).sel(coordinators=1, drop=True)
    large = _shares(servers, {"threads": list(threads)}, effort, "fig9")
    both = xr.concat([small, large], "panel", combine_attrs="drop_conflicts").assign_coords(panel=["a", "b"])
    return both.assign_attrs(exhibit="dsfq.fig9")


def fig10(effort: ShareEffort = QUICK, *, threads: Sequence[int] = OVER_THREE) -> xr.Dataset:
    """What f, on A, and g, whose volumes are striped over A, B and C, get with equal weights (figure 10).

    By `threads` of g in all, of which a third is on A at any moment. Variables as of figure 9.
    """

    def build(threads: int) -> Scenario:
        asking = [Asking(F, (A,), THREADS, THREADS), Asking(G, (A, B, C), threads, max(OVER_THREE))]
        return shared_bricks(asking, weights=(1, 1))

    return _shares(build, {"threads": list(threads)}, effort, "fig10")


def fig11(
    effort: ShareEffort = QUICK, *, threads: Sequence[int] = ON_B, coordinators: Sequence[int] = COORDINATORS
) -> xr.Dataset:
    """Figure 9(a) with g through several coordinators in turn (figure 11), by `threads` and `coordinators`."""
    return _two_bricks(effort, threads, coordinators).assign_attrs(exhibit="dsfq.fig11")


def fig12(effort: ShareEffort = QUICK, *, threads: Sequence[int] = ON_B) -> xr.Dataset:
    """Figure 9(a) with 20 threads each on A and a minimum share of a twelfth of A for g (figure 12), by `threads` on B and
    `coordinators`, one or two in turn."""
    return _two_bricks(effort, threads, (1, 2), delay=Hybrid((1 / 2, MINIMUM)), on_a=HYBRID_THREADS, exhibit="fig12")


def fig8_findings(data: xr.Dataset) -> list[Measurement]:
    """The claims of figure 8. data: of `fig8`."""
    paper = data.sel(depth=DEPTH)
    depths = {f"D {depth}": _reached(data.sel(depth=depth)) for depth in data.depth.values.tolist()}
    limits = {f"{limit:.0%} of it": _reached(paper, limit) for limit in (0.95, 0.99)}
    told = ", ".join(f"{name}: {float(count.mean()):.1f}" for name, count in {**depths, **limits}.items())
    at = interval(_reached(paper).to_dataset(name="at"))["at"]
    beyond = paper.sel(threads=slice(15, None))
    ends = beyond.isel(threads=[0, -1])
    g_level = float(_change(ends.throughput.sel(stream="g")))
    f_level = float(_change(ends.throughput.sel(stream="f")))
    waits = float(_change(ends.response.sel(stream="g")))
    levels = abs(g_level) < EQUAL and abs(f_level) < EQUAL and waits > EQUAL
    first, last = (int(end) for end in ends.threads.values)
    throughput = f"g's throughput {g_level:+.1%}, its response {waits:+.0%}, f's throughput {f_level:+.1%}"
    note = f"from {first} to {last} threads {throughput}"
    reached = (
        f"the fewest threads with {REACHED:.0%} of what g has with the most, mean over runs; the depth D is not given, and "
        f"decides: {told}"
    )
    return [
        with_interval("dsfq.fig8.share_at", at, reached),
        Measurement("dsfq.fig8.then_level", levels, note=note),
    ]


def fig9_findings(data: xr.Dataset) -> list[Measurement]:
    """The claims of figure 9. data: of `fig9`."""
    small, large = (data.sel(panel=panel) for panel in data.panel)
    apart = _apart(small).mean("seed")
    widest = float(abs(apart).max())
    equal_note = f"g's total less f's, of their mean: {float(apart.min()):+.1%} to {float(apart.max()):+.1%}"
    shares = ratio(large.total.sel(stream="f").mean("threads"), large.total.sel(stream="g").mean("threads"))
    end, start = (large.service.isel(threads=place) / MB_S for place in (-1, 0))
    input_note = "A makes 200 MB/s and B 175, the paper's own figures; how A is split is predicted"
    ends = {"f_A": ("f", A), "g_A": ("g", A), "g_B": ("g", B)}
    starts = {"f": ("f", A), "g_A": ("g", A)}

    def rows(claim: str, at: xr.DataArray, wanted: dict[str, tuple[str, int]]) -> list[Measurement]:
        found = {name: _mean(at.sel(stream=stream, brick=brick)) for name, (stream, brick) in wanted.items()}
        return [with_interval(f"dsfq.fig9.{claim}[{name}]", row, input_note) for name, row in found.items()]

    few, many = (small.spread.sel(threads=threads) for threads in (ON_B[1], ON_B[-1]))
    wider = _mean(many - few)
    looser = (
        f"deviation of g's total less f's over seconds, of their sum: {float(few.mean()):.2%} with {ON_B[1]} threads on B, "
        f"{float(many.mean()):.2%} with {ON_B[-1]}"
    )
    return [
        Measurement("dsfq.fig9.total_equal", widest < 3 * EQUAL, note=equal_note),
        with_interval("dsfq.fig9.b_ratio", shares, "mean over all numbers of threads on B"),
        *rows("b_end", end, ends),
        *rows("b_start", start, starts),
        Measurement("dsfq.fig9.looser", bool(wider.sel(statistic="low") > 0), note=looser),
    ]


def fig10_findings(data: xr.Dataset) -> list[Measurement]:
    """The claim of figure 10. data: of `fig10`."""
    short = (-_apart(data)).mean("seed")
    on_a = float(data.threads[_first_below(short.values, EQUAL)]) / 3
    told = ", ".join(
        f"{threads / 3:.0f}: {float(short.sel(threads=threads)):.1%}" for threads in data.threads.values.tolist()
    )
    note = f"fewest threads of g a brick with which its total is within {EQUAL:.0%} of f's; behind f by threads: {told}"
    return [Measurement("dsfq.fig10.balanced_from", on_a, note=note)]


def fig11_findings(data: xr.Dataset) -> list[Measurement]:
    """The claim of figure 11. data: of `fig11`."""
    busy = data.spread.sel(threads=slice(ON_B[1], None)).mean("threads")
    fewest, most = data.coordinators.values[[0, -1]].tolist()
    change = _mean(busy.sel(coordinators=most) - busy.sel(coordinators=fewest))
    told = ", ".join(
        f"{count}: {float(busy.sel(coordinators=count).mean()):.2%}" for count in data.coordinators.values.tolist()
    )
    what = "deviation of g's total less f's over seconds, of their sum, by coordinators"
    note = f"{what}: {told}; difference {_span(change, 1e-4)}"
    return [Measurement("dsfq.fig11.tighter", bool(change.sel(statistic="high") < 0), note=note)]


def fig12_findings(data: xr.Dataset) -> list[Measurement]:
    """The claims of figure 12. data: of `fig12`."""
    one = data.sel(coordinators=1)
    made = float(one.service.sel(brick=A).sum("stream").mean())
    on_b = one.service.sel(stream="g", brick=B).mean("seed") / MB_S
    apart = _apart(one).mean("seed").values
    at = {limit: _last_below(on_b.values, apart, limit) for limit in (EQUAL, 2 * EQUAL)}
    scaled = {limit: None if found is None else found * PAPER_BRICK / (made / MB_S) for limit, found in at.items()}
    wider = scaled[2 * EQUAL]
    note = (
        f"where g's total is {EQUAL:.0%} above f's, times 6 MB/s over the {made / MB_S:.2f} that A makes here"
        + ("" if wider is None else f" ({wider:.1f} where it is {2 * EQUAL:.0%} above)")
        + "; the cap is ten times a request's own size, so that small requests meet it before the mean does, at 5 MB/s"
    )
    beyond = data.isel(threads=-1)
    share = beyond.service.sel(stream="g", brick=A) / beyond.service.sel(brick=A).sum("stream")
    lowest = float(share.min())
    floor = (
        f"share of A that g keeps with {ON_B[-1]} threads on B: {lowest:.2%} in the least of {data.sizes['seed']} runs each; "
        f"promised {MINIMUM:.2%}"
    )
    return [
        Measurement("dsfq.fig12.balanced_below", scaled[EQUAL], note=note),
        Measurement("dsfq.fig12.floor", lowest, note=floor, holds=lowest >= MINIMUM * (1 - EQUAL)),
    ]


def theorem3_findings(data: xr.Dataset) -> list[Measurement]:
    """Theorem 3 at the shared brick of figure 9: each stream's total rate beside the level that what it gets elsewhere gives.

    data: of `fig9`. Settings in which g is served on both bricks; rates within a twentieth hold.
    """
    worst = {}
    for panel, weights in (("a", (1.0, 1.0)), ("b", (1.0, 4.0))):
        mean = data.sel(panel=panel).isel(threads=slice(1, None)).mean("seed")
        other = mean.service.sel(brick=B).values / weights
        level = water_level(other, weights, mean.service.sel(brick=A).sum("stream").values)
        worst[panel] = float(np.max(abs(mean.total.values / weights / level.rates - 1)))
    told = ", ".join(f"figure 9({panel}) {error:.1%}" for panel, error in worst.items())
    note = f"largest difference of a stream's total rate from the level: {told}"
    return [Measurement("dsfq.theorem3.levels", max(worst.values()), note=note, holds=max(worst.values()) < EQUAL)]


def _f_and_g(threads: int, on_a: int = THREADS) -> list[Asking]:
    """f on A, g on A and B, as in figure 3."""
    return [Asking(F, (A,), on_a, on_a), Asking(G, (A,), on_a, on_a), Asking(G, (B,), threads, max(ON_B))]


def _two_bricks(
    effort: ShareEffort,
    threads: Sequence[int],
    coordinators: Sequence[int],
    *,
    delay: AbstractDelay | None = None,
    on_a: int = THREADS,
    exhibit: str = "fig11",
) -> xr.Dataset:
    def build(threads: int, coordinators: int) -> Scenario:
        in_turn = InTurn(coordinators, most=max(COORDINATORS))
        return shared_bricks(_f_and_g(threads, on_a), weights=(1, 1), delay=delay, coordinators=in_turn)

    return _shares(build, {"threads": list(threads), "coordinators": list(coordinators)}, effort, exhibit)


def _shares(build: Callable[..., Scenario], axes: dict, effort: ShareEffort, exhibit: str) -> xr.Dataset:
    """Means over a run, and how far the streams' totals are apart from second to second."""
    data = windows(build, axes, seconds=effort.seconds + WARM_UP, seeds=effort.seed_list, title=f"figure {exhibit[3:]}")
    data = data.sel(window=slice(WARM_UP, None))
    service, total = data.service, data.service.sum("brick")
    weights = xr.DataArray(np.asarray(_weights(build, axes)), dims="stream")
    apart = (total / weights).diff("stream").isel(stream=0)
    told = xr.Dataset(
        {
            "total": total.mean("window").assign_attrs(units="B/s", long_name="throughput of all bricks"),
            "service": service.mean("window").assign_attrs(units="B/s", long_name="throughput of a brick"),
            "spread": (apart.std("window") / (total / weights).mean("window").sum("stream")).assign_attrs(
                units="1", long_name="deviation of the difference of totals over seconds, of their sum"
            ),
        },
        attrs=data.attrs,
    )
    return _named(told, exhibit)


def _weights(build: Callable[..., Scenario], axes: dict) -> list[float]:
    queue = build(**{name: values[0] for name, values in axes.items()}).system.queue
    assert isinstance(queue, FairQueue)
    return [float(weight) for weight in queue.weights]


def _named(data: xr.Dataset, exhibit: str) -> xr.Dataset:
    named = data.assign_coords(stream=list(NAMES[: data.sizes["stream"]]))
    return named.assign_attrs(paper="dsfq", exhibit=f"dsfq.{exhibit}")


def _apart(data: xr.Dataset) -> xr.DataArray:
    """g's total less f's, as a share of their mean."""
    f, g = (data.total.sel(stream=stream) for stream in NAMES[:2])
    return (g - f) / (g + f) * 2


def _reached(data: xr.Dataset, limit: float = REACHED) -> xr.DataArray:
    """The fewest threads with which g has that share of what it has with the most of them, by seed."""
    rising = data.throughput.sel(stream="g")
    short = 1 - rising / rising.isel(threads=slice(-3, None)).mean("threads")
    places = [_first_below(short.sel(seed=seed).values, 1 - limit) for seed in short.seed]
    return xr.DataArray(rising.threads.values[places].astype(float), {"seed": short.seed}, ("seed",))


def _first_below(values: np.ndarray, limit: float) -> int:
    """The first place from which on all values are at most the limit, the last one where none is."""
    above = np.flatnonzero(values > limit)
    return min(int(above[-1]) + 1, len(values) - 1) if above.size else 0


def _last_below(at: np.ndarray, values: np.ndarray, limit: float) -> float | None:
    """Where rising values pass a limit for good, between two points; None where they do not."""
    below = np.flatnonzero(values < limit)
    if not below.size or below[-1] == len(at) - 1:
        return None
    place = int(below[-1])
    share = (limit - values[place]) / (values[place + 1] - values[place])
    return float(at[place] + share * (at[place + 1] - at[place]))


def _change(ends: xr.DataArray) -> xr.DataArray:
    """From the first of two numbers of threads to the other, as a share."""
    means = ends.mean("seed")
    return means.isel(threads=1) / means.isel(threads=0) - 1


def _mean(values: xr.DataArray) -> xr.DataArray:
    return interval(values.to_dataset(name="value", promote_attrs=False))["value"]


def _span(row: xr.DataArray, unit: float) -> str:
    mean, low, high = (float(row.sel(statistic=name)) / unit for name in ("mean", "low", "high"))
    return f"{mean:+.1f} ({low:+.1f} to {high:+.1f}) in {unit:g}"
