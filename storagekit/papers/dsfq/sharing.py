"""Two streams that share bricks: figures 8 to 12 (sections 4.1 to 4.3), and the findings on their claims."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import xarray as xr

from storagekit.analytic.fairness import largest_drop, shortfall, water_level
from storagekit.core.provenance import made_jointly
from storagekit.core.units import SECTOR
from storagekit.engine import Scenario
from storagekit.papers.dsfq.bricks import (
    DEPTH,
    LARGE,
    NAMES,
    QUICK,
    SMALL,
    ShareEffort,
    StreamThreads,
    postmark,
    shared_bricks,
    shared_servers,
)
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.queue import AbstractDelay, FairQueue, Hybrid, InTurn
from storagekit.simulation import Timed, by_stream, interval, joint_backlog, logs, ratio, sweep, together, windows
from storagekit.workload import UniformSize

MB_S = 1e6
A, B, C = range(3)
F, G = 0, 1
# THREADS: number of threads on the shared brick, of f in figures 8 to 11, and of g in figures 9 and 11. HYBRID_THREADS:
# number of threads of each stream on the shared brick in figure 12.
THREADS, HYBRID_THREADS = 30, 20
ON_B = (0, 2, 5, 10, 20, 30)
# Figure 10: total numbers of threads of g. Each thread sends requests to three bricks in turn.
OVER_THREE = (3, 6, 9, 12, 15, 21, 30)
COORDINATORS = (1, 2, 4)
# Section 4.3: the minimum share of g on A. Stream f is served only on A, so that it is never delayed.
MINIMUM = 1 / 12
# Throughput of A and of B in figure 9(b), bytes a second. For A it is the total throughput of f and g while g has no
# threads on B. For B it is the throughput of g with the largest number of threads on B.
CALIBRATED = (200e6, 175e6)
# Section 4.3: throughput of a brick, MB/s.
PAPER_BRICK = 6.0
# Length of the warm-up, seconds.
WARM_UP = 3.0
# Differences that count as equal and as roughly equal in the figures, and the fraction of a level that counts as
# reached.
EQUAL, ROUGHLY, REACHED = 0.05, 0.1, 0.97


def fig8(
    effort: ShareEffort = QUICK, *, threads: Sequence[int] = tuple(range(21)), depths: Sequence[int] = (4, DEPTH, 64)
) -> xr.Dataset:
    """Return the throughput of streams f and g on one brick (figure 8).

    Stream f has weight 1 and 30 threads, and stream g has weight 2. All requests are reads.

    Parameters
    ----------
    effort : ShareEffort
        Number and length of the runs.
    threads : sequence of int
        Numbers of threads of g, by default 0 to 20.
    depths : sequence of int
        Depths D of the fair queue of the brick.

    Returns
    -------
    Dataset
        Variables over `threads`, `depth`, `seed` and `stream`. `throughput`: bytes a second. `rate`: requests a second.
        `response`: mean response time, seconds.
    """

    def build(threads: int, depth: int) -> Scenario:
        groups = [StreamThreads(F, (A,), THREADS, THREADS), StreamThreads(G, (A,), threads, 20)]
        return shared_bricks(groups, weights=(1, 2), depth=depth, requests=postmark(read_share=1.0))

    axes = {"threads": list(threads), "depth": list(depths)}
    measures = by_stream(2)
    data = sweep(
        build, axes, seeds=effort.seed_list, seconds=effort.seconds, warm_up=effort.seconds / 10, measures=measures
    )
    kept = data[[measure.name for measure in measures]].rename(
        stream_throughput="throughput", stream_rate="rate", stream_response="response"
    )
    return _named(kept, "fig8")


def fig9(
    effort: ShareEffort = QUICK, *, threads: Sequence[int] = ON_B, through: xr.Dataset | None = None
) -> xr.Dataset:
    """Return the throughput of f on brick A, and of g on A and B, by the number of threads of g on B (figure 9).

    In panel (a) files have up to 16 KB, and f and g have equal weights. In panel (b) files have up to 1 MB, f has
    weight 1 and g weight 4, and the bricks have the throughput of the paper's bricks, so a single thread saturates B.

    Parameters
    ----------
    effort : ShareEffort
        Number and length of the runs.
    threads : sequence of int
        Threads of g on B.
    through : Dataset, optional
        Result of `fig11` for the same `threads`. It contains panel (a), which is then not simulated again.

    Returns
    -------
    Dataset
        Variables over `panel`, `threads` and `seed`. `total`, over `stream` too: throughput on all bricks, bytes a
        second. `service`, over `stream` and `brick` too: throughput on one brick, bytes a second. `spread`: standard
        deviation of the difference of the totals of g and f in the seconds of a run. Each total is divided by the
        weight of its stream before the subtraction.
    """

    def servers(threads: int) -> Scenario:
        return shared_servers(_f_and_g(threads), CALIBRATED, weights=(1, 4), requests=postmark(UniformSize(*LARGE)))

    alike = _two_bricks(effort, threads, (1,)) if through is None else through
    small = alike.sel(coordinators=1, threads=list(threads)).drop_vars("coordinators")
    large = _shares(servers, {"threads": list(threads)}, effort, "fig9")
    both = xr.concat([small, large], "panel", combine_attrs=made_jointly).assign_coords(panel=["a", "b"])
    return both.assign_attrs(exhibit="dsfq.fig9")


def fig10(effort: ShareEffort = QUICK, *, threads: Sequence[int] = OVER_THREE) -> xr.Dataset:
    """Return the throughput of f on brick A, and of g striped over A, B and C, with equal weights (figure 10).

    Each thread of g sends requests to the three bricks in turn. At any time most threads of g have a request at A,
    because A delays the requests of g.

    Parameters
    ----------
    effort : ShareEffort
        Number and length of the runs.
    threads : sequence of int
        Total numbers of threads of g.

    Returns
    -------
    Dataset
        The variables of `fig9` over `threads`, `seed`, `stream` and `brick`.
    """

    def build(threads: int) -> Scenario:
        groups = [StreamThreads(F, (A,), THREADS, THREADS), StreamThreads(G, (A, B, C), threads, max(OVER_THREE))]
        return shared_bricks(groups, weights=(1, 1))

    return _shares(build, {"threads": list(threads)}, effort, "fig10")


def fig11(
    effort: ShareEffort = QUICK, *, threads: Sequence[int] = ON_B, coordinators: Sequence[int] = COORDINATORS
) -> xr.Dataset:
    """Return the throughput of figure 9(a) if g sends its requests through several coordinators in turn (figure 11).

    Parameters
    ----------
    effort : ShareEffort
        Number and length of the runs.
    threads : sequence of int
        Threads of g on B.
    coordinators : sequence of int
        Numbers of coordinators.

    Returns
    -------
    Dataset
        The variables of `fig9`. The dimension `coordinators` replaces `panel`.
    """
    return _two_bricks(effort, threads, coordinators).assign_attrs(exhibit="dsfq.fig11")


def fig12(effort: ShareEffort = QUICK, *, threads: Sequence[int] = ON_B) -> xr.Dataset:
    """Return the throughput of figure 9(a) if g has a minimum share of 1/12 of A (figure 12).

    Each stream has 20 threads on A.

    Parameters
    ----------
    effort : ShareEffort
        Number and length of the runs.
    threads : sequence of int
        Threads of g on B.

    Returns
    -------
    Dataset
        The variables of `fig11`, with one coordinator, and with two coordinators in turn. `behind`, over `threads` and
        `coordinators`: the largest shortfall of g below its minimum share while it is backlogged at A, divided by the
        shortfall that `fairness.floor` allows, in one run.
    """
    delay = Hybrid((1 / 2, MINIMUM))
    data = _two_bricks(effort, threads, (1, 2), delay=delay, on_a=HYBRID_THREADS, exhibit="fig12")
    points = [_sharing(count, coordinators, delay, HYBRID_THREADS) for count in threads for coordinators in (1, 2)]
    behind = np.reshape(_behind(points, effort), (len(threads), 2))
    data["behind"] = (
        ("threads", "coordinators"),
        behind,
        {"units": "1", "long_name": "shortfall divided by the allowed shortfall"},
    )
    return data


def fig8_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 8.

    Parameters
    ----------
    data : Dataset
        Result of `fig8`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsfq.fig8`.
    """
    paper = data.sel(depth=DEPTH)
    depths = {f"D = {depth}": _reached(data.sel(depth=depth)) for depth in data.depth.values.tolist()}
    limits = {f"{limit:.0%} of two thirds": _reached(paper, limit) for limit in (0.95, 0.99)}
    text = ", ".join(f"{float(count.mean()):.1f} ({name})" for name, count in {**depths, **limits}.items())
    at = interval(_reached(paper).to_dataset(name="at"))["at"]
    first = float(np.ceil(at.sel(statistic="high")))
    until, beyond = paper.sel(threads=slice(1, first / 2)), paper.sel(threads=slice(first, None))
    rises = {name: _change(beyond.throughput.sel(stream=name)) for name in NAMES[:2]}
    waits = {name: _change(beyond.response.sel(stream=name)) for name in NAMES[:2]}
    before = _change(until.response.sel(stream="g"))
    levels = all(abs(change) < EQUAL for change in (*rises.values(), waits["f"])) and waits["g"] > EQUAL
    ends = f"From {first:.0f} to {float(beyond.threads[-1]):.0f} threads of g"
    note = (
        "The claim holds if, after g has reached its share, the throughput of both streams and the response time of f "
        f"change by less than {EQUAL:.0%} with further threads of g, and the response time of g rises by more. "
        f"{ends}, the throughput changes by {rises['g']:+.1%} (g) and {rises['f']:+.1%} (f), and the response time by "
        f"{waits['g']:+.0%} (g) and {waits['f']:+.1%} (f). From 1 to {first / 2:g} threads of g, the response time of "
        f"g changes by {before:+.1%}."
    )
    reached = (
        f"The value is the smallest number of threads at which g receives {REACHED:.0%} of its share of two thirds "
        "(mean over runs). It depends on the depth D, which the paper does not give, and on the limit of "
        f"{REACHED:.0%}. For several depths and limits, the value is {text}."
    )
    return [
        with_interval("dsfq.fig8.share_at", at, reached),
        Measurement("dsfq.fig8.then_level", levels, note=note),
    ]


B_RATIO = (
    "The value is the total throughput of f divided by the total throughput of g. Each total is a mean over the "
    "numbers of threads of g on B. One thread is enough to saturate B."
)


def fig9_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 9.

    Parameters
    ----------
    data : Dataset
        Result of `fig9`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsfq.fig9`.
    """
    small, large = (data.sel(panel=panel) for panel in data.panel)
    apart = _apart(small).mean("seed")
    widest = float(abs(apart).max())
    equal_note = (
        "The claim holds if in panel (a) the total throughputs of f and g differ by less than "
        f"{ROUGHLY:.0%} of their mean for every number of threads of g on B. The total of g minus the total of f, "
        f"divided by their mean, is {float(apart.min()):+.1%} to {float(apart.max()):+.1%}. B has a higher throughput "
        "than A. With the largest number of threads on B, the totals therefore cannot become equal."
    )
    shares = ratio(large.total.sel(stream="f").mean("threads"), large.total.sel(stream="g").mean("threads"))
    end, start = (large.service.isel(threads=index) / MB_S for index in (-1, 0))
    input_note = (
        "In panel (b) A has a throughput of 200 MB/s and B has 175 MB/s, as in the paper. The weights and the delays "
        "decide the shares of f and g on A."
    )
    ends = {"f_A": ("f", A), "g_A": ("g", A), "g_B": ("g", B)}
    starts = {"f": ("f", A), "g_A": ("g", A)}

    def rows(claim: str, at: xr.DataArray, wanted: dict[str, tuple[str, int]]) -> list[Measurement]:
        found = {name: _mean(at.sel(stream=stream, brick=brick)) for name, (stream, brick) in wanted.items()}
        return [with_interval(f"dsfq.fig9.{claim}[{name}]", row, input_note) for name, row in found.items()]

    few, many = (small.isel(threads=index) for index in (1, -1))
    wider = _mean((many.spread - few.spread) / MB_S)
    gaps = [float(abs(_apart(one)).mean()) for one in (few, many)]
    first, last = (int(one.threads) for one in (few, many))
    looser = (
        "The total throughput of g minus the total of f varies from second to second. The claim holds if with more "
        "threads on B the standard deviation of this difference is larger, with 95% confidence, and the mean totals "
        f"differ more. The standard deviation is {float(few.spread.mean()) / MB_S:.3f} MB/s with {first} threads on B, "
        f"and {float(many.spread.mean()) / MB_S:.3f} MB/s with {last} threads. The second minus the first is "
        f"{_span(wider)} (95% interval in brackets). The mean totals differ by {gaps[0]:.1%} with {first} threads, "
        f"and by {gaps[1]:.1%} with {last} threads."
    )
    return [
        Measurement("dsfq.fig9.total_equal", widest < ROUGHLY, note=equal_note),
        with_interval("dsfq.fig9.b_ratio", shares, B_RATIO),
        *rows("b_end", end, ends),
        *rows("b_start", start, starts),
        Measurement("dsfq.fig9.looser", bool(wider.sel(statistic="low") > 0 and gaps[1] > gaps[0]), note=looser),
    ]


def fig10_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 10.

    Parameters
    ----------
    data : Dataset
        Result of `fig10`.

    Returns
    -------
    list of Measurement
        The finding on `dsfq.fig10.balanced_from`.
    """
    short = (-_apart(data)).mean("seed")
    on_a = float(data.threads[_first_below(short.values, EQUAL)]) / 3
    text = ", ".join(
        f"{float(short.sel(threads=threads)):.1%} ({threads / 3:.0f})" for threads in data.threads.values.tolist()
    )
    note = (
        "The value is the smallest number of threads of g per brick with which the total throughput of g is within "
        f"{EQUAL:.0%} of the total of f. The threads of g access three bricks in turn. The total of g is below the "
        f"total of f by {text} (number of threads per brick in brackets). The value depends on the depth D, here "
        f"{DEPTH}, because g needs a quarter of the D requests that A serves at a time."
    )
    return [Measurement("dsfq.fig10.balanced_from", on_a, note=note)]


def fig11_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 11.

    Parameters
    ----------
    data : Dataset
        Result of `fig11`.

    Returns
    -------
    list of Measurement
        The finding on `dsfq.fig11.tighter`.
    """
    busy = data.sel(threads=slice(1, None))
    spread, gap = busy.spread.mean("threads") / MB_S, abs(_apart(busy)).mean("threads") * 100
    fewest, most = data.coordinators.values[[0, -1]].tolist()
    changes = [_mean(one.sel(coordinators=most) - one.sel(coordinators=fewest)) for one in (spread, gap)]
    counts = data.coordinators.values.tolist()
    seconds, means = (
        ", ".join(f"{float(one.sel(coordinators=count).mean()):.3f} with {count}" for count in counts)
        for one in (spread, gap)
    )
    note = (
        "The total throughput of g minus the total of f varies from second to second. The claim holds if with the most "
        "coordinators both the standard deviation of this difference and the difference of the mean totals are smaller "
        "than with the fewest coordinators, with 95% confidence. By number of coordinators, the standard deviation in "
        f"MB/s is {seconds}. The last of these values minus the first is {_span(changes[0])} (95% interval in "
        f"brackets). By number of coordinators, the difference of the mean totals in % is {means}. The last of these "
        f"values minus the first is {_span(changes[1])}."
    )
    tighter = all(bool(change.sel(statistic="high") < 0) for change in changes)
    return [Measurement("dsfq.fig11.tighter", tighter, note=note)]


def fig12_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on the claims of figure 12.

    Parameters
    ----------
    data : Dataset
        Result of `fig12`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `dsfq.fig12`.
    """
    one = data.sel(coordinators=1)
    made = float(one.service.sel(brick=A).sum("stream").mean())
    on_b = one.service.sel(stream="g", brick=B).mean("seed") / MB_S
    apart = _apart(one).mean("seed").values
    # Figure 9 shows totals of the same kind, which the paper calls roughly equal.
    at = {limit: _last_below(on_b.values, apart, limit) for limit in (ROUGHLY, EQUAL)}
    scaled = {limit: None if found is None else found * PAPER_BRICK / (made / MB_S) for limit, found in at.items()}
    stricter = scaled[EQUAL]
    note = (
        f"The value is the throughput of g on B at which the total throughput of g is {ROUGHLY:.0%} above the total of "
        "f. This is the tolerance of figure 9. Brick A has a throughput of 6 MB/s in the paper and of "
        f"{made / MB_S:.2f} MB/s in the simulation. The value is therefore multiplied by 6 MB/s divided by "
        f"{made / MB_S:.2f} MB/s."
        + ("" if stricter is None else f" With a tolerance of {EQUAL:.0%} the value is {stricter:.1f} MB/s.")
        + (
            " HYBRID-DSFQ caps the delay of a request at ten times its size. Requests of mean size reach the cap at 5 "
            "MB/s on B, and smaller requests reach it at a lower throughput."
        )
    )
    beyond = data.isel(threads=-1)
    worst = float(data.behind.max())
    share = beyond.service.sel(stream="g", brick=A) / beyond.service.sel(brick=A).sum("stream")
    lowest = float(share.min())
    floor = (
        "The value is the largest shortfall of g below a twelfth of A in any interval, divided by the largest "
        "shortfall that the bound allows. The claim holds if the value is at most 1. Only intervals where g is "
        f"backlogged on A count. With {int(beyond.threads)} threads on B, g receives at least {lowest:.1%} of A over a "
        f"run. The minimum share is {MINIMUM:.1%}."
    )
    return [
        Measurement("dsfq.fig12.balanced_below", scaled[ROUGHLY], note=note),
        Measurement("dsfq.fig12.floor", worst, note=floor, holds=worst <= 1),
    ]


def theorem3_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the finding on theorem 3 at the shared brick of figure 9.

    The total rate of each stream is compared with its rate by theorem 3: the water level that follows from the service
    of both streams at the other brick. Only runs with service of g on both bricks count. The theorem holds if
    every rate is within 5% of the rate by the theorem.

    Parameters
    ----------
    data : Dataset
        Result of `fig9`.

    Returns
    -------
    list of Measurement
        The finding on `dsfq.theorem3.levels`.
    """
    worst = {}
    for panel, weights in (("a", (1.0, 1.0)), ("b", (1.0, 4.0))):
        mean = data.sel(panel=panel).isel(threads=slice(1, None)).mean("seed")
        other = mean.service.sel(brick=B).values / weights
        level = water_level(other, weights, mean.service.sel(brick=A).sum("stream").values)
        worst[panel] = float(np.max(abs(mean.total.values / weights / level.rates - 1)))
    text = " and ".join(f"{error:.1%} in figure 9({panel})" for panel, error in worst.items())
    note = (
        f"The claim holds if the total rate of each stream differs by less than {EQUAL:.0%} from its rate by theorem "
        f"3. The largest difference is {text}."
    )
    return [Measurement("dsfq.theorem3.levels", max(worst.values()), note=note, holds=max(worst.values()) < EQUAL)]


def _f_and_g(threads: int, on_a: int = THREADS) -> list[StreamThreads]:
    """Return the threads of f on brick A, and of g on A and B, as in figure 3."""
    return [
        StreamThreads(F, (A,), on_a, on_a),
        StreamThreads(G, (A,), on_a, on_a),
        StreamThreads(G, (B,), threads, max(ON_B)),
    ]


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
        return _sharing(threads, coordinators, delay, on_a)

    return _shares(build, {"threads": list(threads), "coordinators": list(coordinators)}, effort, exhibit)


def _sharing(threads: int, coordinators: int, delay: AbstractDelay | None, on_a: int) -> Scenario:
    in_turn = InTurn(coordinators, most=max(COORDINATORS))
    return shared_bricks(_f_and_g(threads, on_a), weights=(1, 1), delay=delay, coordinators=in_turn)


def _behind(scenarios: Sequence[Scenario], effort: ShareEffort) -> list[float]:
    """Return, for one run of each scenario, the variable `behind` of `fig12`."""
    pieces = list(logs(scenarios, [effort.first_seed], effort.seconds, backlog=True))
    return [_fallen(_run(pieces, run, effort.seconds)) for run in range(len(scenarios))]


def _run(pieces: Sequence[Timed], run: int, seconds: float) -> Timed:
    """Return the log of the run `run`, up to the end of the run; other runs of its batch may take longer."""
    mine = [piece for piece in pieces if piece.runs.start <= run < piece.runs.stop]
    more = 1 + sum(bool(piece.end[-1, run - piece.runs.start] < seconds) for piece in mine)
    here = slice(run - mine[0].runs.start, run - mine[0].runs.start + 1)
    return together([Timed(here, *jax.tree.map(lambda part: part[..., here], tuple(one[1:]))) for one in mine[:more]])


def _fallen(timed: Timed) -> float:
    log = timed.log
    at_a: Any = np.where(log.brick == A, log.sectors, 0)
    waits, gap = joint_backlog(timed, A, (G,))
    of_g: Any = np.where(log.stream == G, at_a, 0)
    fallen = largest_drop(of_g, at_a, MINIMUM, waits, gap)
    largest = SMALL[1] / SECTOR
    return float(np.max(fallen / shortfall(MINIMUM, largest, largest, DEPTH)))


def _shares(build: Callable[..., Scenario], axes: dict, effort: ShareEffort, exhibit: str) -> xr.Dataset:
    """Return the mean throughputs over a run, and the `spread` of the totals; see `fig9`."""
    data = windows(build, axes, seconds=effort.seconds + WARM_UP, seeds=effort.seed_list, title=f"figure {exhibit[3:]}")
    data = data.sel(window=slice(WARM_UP, None))
    service, total = data.service, data.service.sum("brick")
    weights = xr.DataArray(np.asarray(_weights(build, axes)), dims="stream")
    apart = (total / weights).diff("stream").isel(stream=0)
    dataset = xr.Dataset(
        {
            "total": total.mean("window").assign_attrs(units="B/s", long_name="throughput of all bricks"),
            "service": service.mean("window").assign_attrs(units="B/s", long_name="throughput of a brick"),
            "spread": apart.std("window").assign_attrs(
                units="B/s",
                long_name=("standard deviation over seconds of the difference of the totals divided by the weights"),
            ),
        },
        attrs=data.attrs,
    )
    return _named(dataset, exhibit)


def _weights(build: Callable[..., Scenario], axes: dict) -> list[float]:
    queue = build(**{name: values[0] for name, values in axes.items()}).system.queue
    assert isinstance(queue, FairQueue)
    return [float(weight) for weight in queue.weights]


def _named(data: xr.Dataset, exhibit: str) -> xr.Dataset:
    named = data.assign_coords(stream=list(NAMES[: data.sizes["stream"]]))
    return named.assign_attrs(paper="dsfq", exhibit=f"dsfq.{exhibit}")


def _apart(data: xr.Dataset) -> xr.DataArray:
    """Return the total of g minus the total of f, divided by the mean of both totals."""
    f, g = (data.total.sel(stream=stream) for stream in NAMES[:2])
    return (g - f) / (g + f) * 2


def _reached(data: xr.Dataset, limit: float = REACHED) -> xr.DataArray:
    """Return, for each seed, the smallest number of threads with which g has its share of the brick's throughput.

    limit: fraction of the share of two thirds that counts as the share.
    """
    rising = data.throughput.sel(stream="g")
    short = 1 - rising / data.throughput.sum("stream") / (2 / 3)
    first = [_first_below(short.sel(seed=seed).values, 1 - limit) for seed in short.seed]
    return xr.DataArray(rising.threads.values[first].astype(float), {"seed": short.seed}, ("seed",))


def _first_below(values: np.ndarray, limit: float) -> int:
    """Return the first index from which on no value is above the limit; the last index if there is no such index."""
    above = np.flatnonzero(values > limit)
    return min(int(above[-1]) + 1, len(values) - 1) if above.size else 0


def _last_below(at: np.ndarray, values: np.ndarray, limit: float) -> float | None:
    """Return the position in `at`, interpolated, after which all values are above a limit.

    The result is None if there is no such position.
    """
    below = np.flatnonzero(values < limit)
    if not below.size or below[-1] == len(at) - 1:
        return None
    index = int(below[-1])
    share = (limit - values[index]) / (values[index + 1] - values[index])
    return float(at[index] + share * (at[index + 1] - at[index]))


def _change(values: xr.DataArray) -> float:
    """Return the relative change from the first number of threads to the last."""
    means = values.mean("seed")
    return float(means.isel(threads=-1) / means.isel(threads=0) - 1)


def _mean(values: xr.DataArray) -> xr.DataArray:
    return interval(values.to_dataset(name="value", promote_attrs=False))["value"]


def _span(row: xr.DataArray) -> str:
    mean, low, high = (float(row.sel(statistic=name)) for name in ("mean", "low", "high"))
    return f"{mean:+.3f} ({low:+.3f} to {high:+.3f})"
