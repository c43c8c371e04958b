"""A request's way drawn: the disk from above at any moment of it, and its parts as a timeline."""

from collections.abc import Iterable

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.theme import COLOURS, WIDTH, finished

_MS = 1e3
# parts of an access by the names of their variables: what the legend says, the colour
PARTS = {
    "overhead": ("command", "#8c8c8c"),
    "move": ("arm moves", COLOURS[0]),
    "settle": ("settles to write", COLOURS[3]),
    "rotation": ("waits for the sector", COLOURS[4]),
    "transfer": ("data pass", COLOURS[2]),
}
# radii in those of the platter, and pixels of that; where the arm turns
INNER, HUB, RADIUS = 0.42, 0.2, 150
PIVOT = (0.72, -1.22)
ACROSS, DOWN = [-1.1, 1.2], [-1.36, 1.1]
# of the timeline, pixels
SPAN = 330
# the slider goes over the way in so many steps; the least that is drawn of a track, turns; points of a curve
STEPS, SHORTEST, POINTS = 200, 0.012, 220
_NOW = "datum.total * way / 100"
_TURNED = f"(datum.platter + {_NOW} / datum.revolution)"


def request_way(way: xr.Dataset) -> alt.TopLevelMixin:
    """The disk from above with its arm and the replicas of a request, and under it the parts of the way to each; a slider goes
    through time. way: of `lab.tour.request_way`."""
    slider = alt.binding_range(min=0, max=100, step=100 / STEPS, name="Time, % of the way ")
    moment = alt.param(name="way", value=0, bind=slider)
    both = alt.vconcat(_disk(way), _timeline(way), spacing=16).resolve_scale(color="independent").add_params(moment)
    return finished(both, "One request's way", "the disk from above; under it, the way to each replica")


def _disk(way: xr.Dataset) -> alt.LayerChart:
    shown = [*_platter(way), _trail(way), *_replicas(way), *_arm(way), *_saying(way)]
    size = {"width": RADIUS * (ACROSS[1] - ACROSS[0]), "height": RADIUS * (DOWN[1] - DOWN[0])}
    return alt.layer(*shown).properties(**size).resolve_scale(color="independent")


def radius(cylinder: np.ndarray | float, cylinders: int) -> np.ndarray:
    """Where a cylinder is drawn, 1 being the outermost."""
    return 1 - (1 - INNER) * np.asarray(cylinder, float) / max(cylinders - 1, 1)


def head_at(way: xr.Dataset, seconds: np.ndarray) -> np.ndarray:
    """The radius of the head so long after the request was taken: it speeds up and slows down evenly, where the model says
    only when the arm leaves and when it is there."""
    one = way.sel(replica=way.taken)
    begin, takes = float(one.overhead), float(one.move)
    share = np.clip((seconds - begin) / takes, 0, 1) if takes > 0 else np.ones_like(seconds)
    left, there = (radius(float(at), way.attrs["cylinders"]) for at in (way.attrs["arm"], one.cylinder))
    return left + (there - left) * share**2 * (3 - 2 * share)


def _times(way: xr.Dataset) -> dict[str, float]:
    """What every row needs to know to be where it is at a moment of the way, ms and turns."""
    total = float(sum(way[part] for part in PARTS).sel(replica=way.taken))
    return {
        "total": total * _MS,
        "platter": way.attrs["platter"],
        "revolution": way.attrs["revolution"] * _MS,
    }


def _turning(chart: alt.Chart) -> alt.Chart:
    """Rows at (`radius`, `angle`) on the platter, as it has turned: against the clock, what comes is below the head."""
    angle = f"2 * PI * (datum.angle - {_TURNED})"
    return chart.transform_calculate(x=f"datum.radius * cos({angle})", y=f"-datum.radius * sin({angle})")


def _place(x: str = "x:Q", y: str = "y:Q") -> dict[str, alt.X | alt.Y]:
    return {
        "x": alt.X(x, scale=alt.Scale(domain=ACROSS, nice=False), axis=None),
        "y": alt.Y(y, scale=alt.Scale(domain=DOWN, nice=False), axis=None),
    }


def _platter(way: xr.Dataset) -> Iterable[alt.Chart]:
    zones = radius(way.attrs["zones"], way.attrs["cylinders"])
    rings = pd.DataFrame(
        [(1.0, "#e9ecef", "#adb5bd"), (INNER, "#f8f9fa", "#adb5bd"), (HUB, "#ced4da", "#868e96")],
        columns=["radius", "fill", "stroke"],
    ).assign(x=0.0, y=0.0)
    size = alt.Size("across:Q", scale=None, legend=None)
    across = f"pow(2 * {RADIUS} * datum.radius, 2)"
    yield (
        alt.Chart(rings)
        .transform_calculate(across=across)
        .mark_point(shape="circle", opacity=1)
        .encode(
            **_place(),
            size=size,
            fill=alt.Fill("fill:N", scale=None, legend=None),
            stroke=alt.Stroke("stroke:N", scale=None, legend=None),
        )
    )
    yield (
        alt.Chart(pd.DataFrame({"radius": zones}).assign(x=0.0, y=0.0))
        .transform_calculate(across=across)
        .mark_point(shape="circle", filled=False, stroke="#ced4da", strokeWidth=0.7)
        .encode(**_place(), size=size)
    )
    index = pd.DataFrame({"radius": [INNER, 1.0], "angle": 0.0, "order": [0, 1]}).assign(**_times(way))
    yield (
        _turning(alt.Chart(index))
        .mark_line(stroke="#868e96", strokeDash=[3, 3], strokeWidth=1)
        .encode(**_place(), order="order:O")
    )


def _replicas(way: xr.Dataset) -> Iterable[alt.Chart]:
    taken = int(way.taken)
    long = np.clip(way.transfer.values / way.attrs["revolution"], SHORTEST, 1.0)
    at = radius(way.cylinder.values, way.attrs["cylinders"])
    steps = np.linspace(0, 1, 13)
    rows = pd.DataFrame(
        [
            {"replica": f"replica {number}", "radius": at[number], "angle": angle + step * long[number], "order": order}
            for number, angle in enumerate(way.angle.values)
            for order, step in enumerate(steps)
        ]
    ).assign(**_times(way))
    rows["colour"] = np.where(rows.replica == f"replica {taken}", COLOURS[1], "#495057")
    base = _turning(alt.Chart(rows))
    yield base.mark_line(strokeWidth=7, strokeCap="butt").encode(
        **_place(), order="order:O", detail="replica:N", stroke=alt.Stroke("colour:N", scale=None, legend=None)
    )
    said = rows.loc[rows.order == 0, :].assign(radius=at - 0.085, number=way.replica.values)
    yield (
        _turning(alt.Chart(said))
        .mark_text(fontSize=11, fontWeight="bold")
        .encode(**_place(), text="number:N", color=alt.Color("colour:N", scale=None, legend=None))
    )


def _trail(way: xr.Dataset) -> alt.Chart:
    """Where the head has been over the platter, in the colour of what it was doing."""
    pieces, begin = [], 0.0
    for part, seconds in _spans(way, int(way.taken)):
        moments = np.linspace(begin, begin + seconds, max(int(POINTS * seconds / _times(way)["total"] * _MS), 2))
        pieces.append(pd.DataFrame({"at": moments, "part": PARTS[part][0]}))
        begin += seconds
    rows = pd.concat(pieces, ignore_index=True)
    rows["radius"] = head_at(way, rows["at"].to_numpy())
    rows["angle"] = way.attrs["platter"] + rows["at"] / way.attrs["revolution"]
    rows["at"] = rows["at"] * _MS
    return (
        _turning(alt.Chart(rows.assign(**_times(way))).transform_filter(f"datum.at <= {_NOW}"))
        .mark_line(strokeWidth=2, opacity=0.75)
        .encode(**_place(), order="at:Q", color=alt.Color("part:N", scale=_colours(), legend=None))
    )


def _spans(way: xr.Dataset, replica: int) -> list[tuple[str, float]]:
    """The parts of the way to a replica that take any time, seconds."""
    one = way.sel(replica=replica)
    return [(part, float(one[part])) for part in PARTS if float(one[part]) > 0]


def _arm(way: xr.Dataset) -> Iterable[alt.Chart]:
    one = way.sel(replica=way.taken)
    cylinders = way.attrs["cylinders"]
    row = _times(way) | {
        "begin": float(one.overhead) * _MS,
        "takes": max(float(one.move) * _MS, 1e-9),
        "left": float(radius(way.attrs["arm"], cylinders)),
        "there": float(radius(float(one.cylinder), cylinders)),
    }
    share = f"clamp(({_NOW} - datum.begin) / datum.takes, 0, 1)"
    base = alt.Chart(pd.DataFrame([row | {"px": PIVOT[0], "py": PIVOT[1], "y": 0.0}])).transform_calculate(
        share=share, x="datum.left + (datum.there - datum.left) * datum.share * datum.share * (3 - 2 * datum.share)"
    )
    yield base.mark_rule(strokeWidth=9, stroke="#5c636a", opacity=0.55, strokeCap="round").encode(
        **_place("px:Q", "py:Q"), x2="x:Q", y2="y:Q"
    )
    yield base.mark_point(shape="circle", size=600, filled=True, fill="#5c636a", opacity=1).encode(
        **_place("px:Q", "py:Q")
    )
    yield base.mark_point(shape="circle", size=70, filled=True, fill="black", opacity=1).encode(**_place())


def _saying(way: xr.Dataset) -> Iterable[alt.Chart]:
    """What happens at this moment, in the corner."""
    rows, begin = [], 0.0
    for part, seconds in _spans(way, int(way.taken)):
        rows.append({"part": PARTS[part][0], "begin": begin * _MS, "end": (begin + seconds) * _MS})
        begin += seconds
    rows[-1]["end"] = np.finfo(np.float32).max
    chart = (
        alt.Chart(pd.DataFrame(rows).assign(**_times(way), x=ACROSS[0], y=DOWN[0] + 0.04))
        .transform_filter(f"datum.begin <= {_NOW} && {_NOW} < datum.end")
        .transform_calculate(words=f"format({_NOW}, '.2f') + ' ms: ' + datum.part")
    )
    yield chart.mark_text(align="left", fontSize=13, fontWeight="bold").encode(**_place(), text="words:N")


def _colours() -> alt.Scale:
    return alt.Scale(domain=[said for said, _ in PARTS.values()], range=[colour for _, colour in PARTS.values()])


def _timeline(way: xr.Dataset) -> alt.LayerChart:
    rows = pd.DataFrame(_bars(way)).assign(**_times(way))
    y = alt.Y("replica:N", title=None, sort=None, axis=alt.Axis(labelLimit=200, domain=False, ticks=False))
    axis = alt.Axis(title="Time since the request was taken (ms)", tickCount=6)
    colour = alt.Color(
        "part:N", scale=_colours(), legend=alt.Legend(title=None, orient="bottom", columns=3, labelLimit=200)
    )
    fade = alt.Opacity("shown:Q", scale=None, legend=None)
    bars = (
        alt.Chart(rows)
        .mark_bar(height=20)
        .encode(alt.X("begin:Q", axis=axis), x2="end:Q", y=y, color=colour, opacity=fade)
    )
    ends = rows.loc[rows["last"], :]
    label = alt.Chart(ends).mark_text(align="left", dx=6).encode(x="end:Q", y=y, text="says:N", opacity=fade)
    now = alt.Chart(ends.iloc[:1]).transform_calculate(now=_NOW)
    rule = now.mark_rule(stroke="black", strokeWidth=1.5).encode(x="now:Q")
    return alt.layer(bars, label, rule).properties(width=SPAN, height=alt.Step(34))


def _bars(way: xr.Dataset) -> Iterable[dict[str, object]]:
    taken = int(way.taken)
    for number in way.replica.values.tolist():
        begin, spans = 0.0, _spans(way, number)
        for part, seconds in spans:
            end, last = begin + seconds, part == spans[-1][0]
            yield {
                "replica": f"replica {number}, head {int(way['head'][number])}",
                "part": PARTS[part][0],
                "begin": begin * _MS,
                "end": end * _MS,
                "last": last,
                "says": f"{end * _MS:.2f}{' (taken)' if number == taken else ''}" if last else "",
                "shown": 1.0 if number == taken else 0.35,
            }
            begin = end


def waits(data: xr.Dataset) -> alt.TopLevelMixin:
    """Arm and wait by replicas, stacked, with what the formula has for the wait. data: of `lab.tour.waits`."""
    named = {"seek": PARTS["move"][0], "rotation": PARTS["rotation"][0]}
    rows = pd.concat(
        [
            pd.DataFrame(
                {"replicas": data.replicas.values, "ms": data[part].values * _MS, "part": said, "order": order}
            )
            for order, (part, said) in enumerate(named.items())
        ]
    )
    x = alt.X("replicas:O", title="Replicas of each block on its disk", axis=alt.Axis(labelAngle=0))
    y = alt.Y("ms:Q", title="Positioning of a random read (ms)")
    colour = alt.Color("part:N", title=None, scale=_colours(), legend=alt.Legend(values=list(named.values())))
    bars = alt.Chart(rows).mark_bar(width={"band": 0.6}).encode(x, y, color=colour, order="order:O")
    said = pd.DataFrame({"replicas": data.replicas.values, "ms": (data.seek + data.formula).values * _MS})
    tick = alt.Chart(said).mark_tick(thickness=2.5, width={"band": 0.8}, color="black").encode(x, y)
    return finished(
        alt.layer(bars, tick).properties(width=WIDTH, height=240),
        f"What rotational replicas buy: {data.attrs['drive']}",
        "reads at random, nothing else waiting; the black line is the arm and R / 2D, half a turn over the replicas",
    )
