"""Charts of the path of a request: the disk from above at any moment, and a timeline of the parts."""

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import xarray as xr

from storagekit.charts.live import FilledDashboard, Template
from storagekit.charts.marks import Layered
from storagekit.charts.theme import COLOURS, WIDTH, finished

_MS = 1e3
# parts of an access by the names of their variables: text of the legend, colour
PARTS = {
    "overhead": ("command", "#8c8c8c"),
    "move": ("arm moves", COLOURS[0]),
    "settle": ("head settles", COLOURS[3]),
    "rotation": ("platter rotates", COLOURS[4]),
    "transfer": ("data transfer", COLOURS[2]),
}
TAKEN, OTHER = COLOURS[1], "#495057"
# radii relative to the platter, and size of the platter in pixels; pivot of the arm; extent of the picture
INNER, HUB, RADIUS = 0.42, 0.2, 150
PIVOT = (0.72, -1.22)
RINGS = ((1.0, "#e9ecef", "#adb5bd"), (INNER, "#f8f9fa", "#adb5bd"), (HUB, "#ced4da", "#868e96"))
ACROSS, DOWN = [-1.1, 1.2], [-1.36, 1.1]
# size of the timeline, pixels
SPAN = 330
# steps of the slider; shortest arc that is drawn, turns; points of a curve
STEPS, SHORTEST, POINTS = 200, 0.012, 220
_NOW = "datum.total * way / 100"
_TURNED = f"(datum.platter + {_NOW} / datum.revolution)"


def request_way(way: xr.Dataset) -> FilledDashboard:
    """Return a chart of the disk from above, with its arm and the replicas of a request, and a timeline below.

    The timeline has the parts of the access to each replica. A slider selects the moment. way: from `lab.tour.request_way`.
    """
    common = _common(way)
    rows = {
        "rings": [{"radius": edge, "fill": fill, "stroke": stroke} for edge, fill, stroke in RINGS],
        "zones": [{"radius": one} for one in radius(way.attrs["zones"], way.attrs["cylinders"]).tolist()],
        "index": [{"radius": one, "angle": 0.0, "order": order} for order, one in enumerate((INNER, 1.0))],
        "trail": _trail(way),
        "replicas": _replicas(way),
        "arm": [_arm(way)],
        "saying": _saying(way),
        "bars": list(_bars(way)),
    }
    return FilledDashboard(_CHART.spec, {name: [one | common for one in some] for name, some in rows.items()})


def radius(cylinder: np.ndarray | float, cylinders: int) -> np.ndarray:
    """Return the radius of a cylinder in the chart; the outermost cylinder has radius 1."""
    return 1 - (1 - INNER) * np.asarray(cylinder, float) / max(cylinders - 1, 1)


def head_at(way: xr.Dataset, seconds: np.ndarray) -> np.ndarray:
    """Return the radius of the head at a time after the start of the request.

    The model gives only the start and the end of the movement. The movement between them is drawn as a smooth curve.
    """
    arm = _arm(way)
    share = np.clip((seconds * _MS - arm["begin"]) / arm["takes"], 0, 1)
    return arm["left"] + (arm["there"] - arm["left"]) * share**2 * (3 - 2 * share)


def _common(way: xr.Dataset) -> dict[str, float]:
    """Return the columns with which every row computes its position at the selected time, in ms and turns."""
    total = sum(seconds for _, seconds in _spans(way, int(way.taken)))
    return {
        "total": total * _MS,
        "platter": way.attrs["platter"],
        "revolution": way.attrs["revolution"] * _MS,
    }


def _spans(way: xr.Dataset, replica: int) -> list[tuple[str, float]]:
    """Return the parts of the access to a replica that take time, with their durations in seconds."""
    each = [(part, float(way[part].values[replica])) for part in PARTS]
    return [(part, seconds) for part, seconds in each if seconds > 0]


def _arm(way: xr.Dataset) -> dict[str, float]:
    """Return the start and the duration of the arm movement in ms, and its first and last radius."""
    taken, cylinders = int(way.taken), way.attrs["cylinders"]
    return {
        "begin": float(way.overhead.values[taken]) * _MS,
        "takes": max(float(way.move.values[taken]) * _MS, 1e-9),
        "left": float(radius(way.attrs["arm"], cylinders)),
        "there": float(radius(float(way.cylinder.values[taken]), cylinders)),
    }


def _replicas(way: xr.Dataset) -> list[dict[str, object]]:
    """Return the track of each replica's data, as points along it."""
    long = np.clip(way.transfer.values / way.attrs["revolution"], SHORTEST, 1.0)
    at = radius(way.cylinder.values, way.attrs["cylinders"])
    return [
        {
            "replica": number,
            "radius": float(at[number]),
            "angle": float(angle + step * long[number]),
            "order": order,
            "colour": TAKEN if number == int(way.taken) else OTHER,
        }
        for number, angle in enumerate(way.angle.values)
        for order, step in enumerate(np.linspace(0, 1, 13))
    ]


def _trail(way: xr.Dataset) -> list[dict[str, object]]:
    """Return points on the path of the head over the platter, each with the activity of the drive at that time."""
    rows, begin, total = [], 0.0, _common(way)["total"] / _MS
    for part, seconds in _spans(way, int(way.taken)):
        moments = np.linspace(begin, begin + seconds, max(int(POINTS * seconds / total), 2))
        angles = way.attrs["platter"] + moments / way.attrs["revolution"]
        points = zip(moments * _MS, head_at(way, moments), angles, strict=True)
        rows += [
            {"at": float(at), "radius": float(away), "angle": float(angle), "part": PARTS[part][0]}
            for at, away, angle in points
        ]
        begin += seconds
    return rows


def _saying(way: xr.Dataset) -> list[dict[str, object]]:
    """Return each activity of the drive with its begin and end in ms. The last activity does not end."""
    rows, begin = [], 0.0
    for part, seconds in _spans(way, int(way.taken)):
        rows.append({"part": PARTS[part][0], "begin": begin * _MS, "end": (begin + seconds) * _MS})
        begin += seconds
    return [*rows[:-1], rows[-1] | {"end": 1e9}]


def _bars(way: xr.Dataset) -> Iterable[dict[str, object]]:
    taken = int(way.taken)
    for number in way.replica.values.tolist():
        begin, spans = 0.0, _spans(way, number)
        for part, seconds in spans:
            end, last = begin + seconds, part == spans[-1][0]
            yield {
                "replica": f"replica {number}, head {int(way['head'].values[number])}",
                "part": PARTS[part][0],
                "begin": begin * _MS,
                "end": end * _MS,
                "last": last,
                "says": f"{end * _MS:.2f}{' (selected)' if number == taken else ''}",
                "shown": 1.0 if number == taken else 0.35,
            }
            begin = end


def _drawing() -> alt.TopLevelMixin:
    slider = alt.binding_range(min=0, max=100, step=100 / STEPS, name="Time (% of the service time) ")
    moment = alt.param(name="way", value=0, bind=slider)
    layers = [*_platter(), _way(), *_data(), *_moving_arm(), _said()]
    size = {"width": RADIUS * (ACROSS[1] - ACROSS[0]), "height": RADIUS * (DOWN[1] - DOWN[0])}
    disk = alt.layer(*layers).properties(**size).resolve_scale(color="independent")
    both = alt.vconcat(disk, _timeline(), spacing=16).resolve_scale(color="independent").add_params(moment)
    return finished(
        both,
        "Path of one request",
        "The picture shows the disk from above. The bars below it show the service time for each replica.",
    )


def _over(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name=name))


def _turning(name: str) -> alt.Chart:
    """Return the layer of the rows `name`, positioned by `radius` and `angle` on the platter, which turns anticlockwise."""
    angle = f"2 * PI * (datum.angle - {_TURNED})"
    return _over(name).transform_calculate(x=f"datum.radius * cos({angle})", y=f"-datum.radius * sin({angle})")


def _position(x: str = "x:Q", y: str = "y:Q") -> dict[str, Any]:
    return {
        "x": alt.X(x, scale=alt.Scale(domain=ACROSS, nice=False), axis=None),
        "y": alt.Y(y, scale=alt.Scale(domain=DOWN, nice=False), axis=None),
    }


def _ring(chart: alt.Chart, **look: Any) -> alt.Chart:
    """Return a layer with a circle around the spindle for each row, at the row's `radius`."""
    across = f"pow(2 * {RADIUS} * datum.radius, 2)"
    size = alt.Size("across:Q", scale=None, legend=None)
    positioned = chart.transform_calculate(across=across, x="0", y="0")
    return positioned.mark_point(shape="circle", opacity=1, **look).encode(**_position(), size=size)


def _platter() -> Iterable[alt.Chart]:
    fill = alt.Fill("fill:N", scale=None, legend=None)
    yield _ring(_over("rings")).encode(fill=fill, stroke=alt.Stroke("stroke:N", scale=None, legend=None))
    yield _ring(_over("zones").transform_filter("datum.radius < 1"), filled=False, stroke="#ced4da", strokeWidth=0.7)
    index = _turning("index").mark_line(stroke="#868e96", strokeDash=[3, 3], strokeWidth=1)
    yield index.encode(**_position(), order="order:O")


def _data() -> Iterable[alt.Chart]:
    line = _turning("replicas").mark_line(strokeWidth=7, strokeCap="butt")
    stroke = alt.Stroke("colour:N", scale=None, legend=None)
    yield line.encode(**_position(), order="order:O", detail="replica:N", stroke=stroke)
    first = _over("replicas").transform_filter("datum.order == 0")
    inside = first.transform_calculate(radius="datum.radius - 0.085")
    angle = f"2 * PI * (datum.angle - {_TURNED})"
    positioned = inside.transform_calculate(x=f"datum.radius * cos({angle})", y=f"-datum.radius * sin({angle})")
    colour = alt.Color("colour:N", scale=None, legend=None)
    yield positioned.mark_text(fontSize=11, fontWeight="bold").encode(**_position(), text="replica:N", color=colour)


def _way() -> alt.Chart:
    line = _turning("trail").transform_filter(f"datum.at <= {_NOW}").mark_line(strokeWidth=2, opacity=0.75)
    return line.encode(**_position(), order="at:Q", color=alt.Color("part:N", scale=_colours(), legend=None))


def _moving_arm() -> Iterable[alt.Chart]:
    share = f"clamp(({_NOW} - datum.begin) / datum.takes, 0, 1)"
    head = "datum.left + (datum.there - datum.left) * datum.share * datum.share * (3 - 2 * datum.share)"
    base = _over("arm").transform_calculate(share=share, px=str(PIVOT[0]), py=str(PIVOT[1]), y="0")
    base = base.transform_calculate(x=head)
    pivot = _position("px:Q", "py:Q")
    arm = base.mark_rule(strokeWidth=9, stroke="#5c636a", opacity=0.55, strokeCap="round")
    yield arm.encode(**pivot, x2="x:Q", y2="y:Q")
    yield base.mark_point(shape="circle", size=600, filled=True, fill="#5c636a", opacity=1).encode(**pivot)
    yield base.mark_point(shape="circle", size=70, filled=True, fill="black", opacity=1).encode(**_position())


def _said() -> alt.Chart:
    """Return the layer that writes the current activity of the drive into the corner."""
    current = _over("saying").transform_filter(f"datum.begin <= {_NOW} && {_NOW} < datum.end")
    words = current.transform_calculate(
        words=f"format({_NOW}, '.2f') + ' ms: ' + datum.part", x=str(ACROSS[0]), y=str(DOWN[0] + 0.04)
    )
    return words.mark_text(align="left", fontSize=13, fontWeight="bold").encode(**_position(), text="words:N")


def _colours() -> alt.Scale:
    return alt.Scale(domain=[said for said, _ in PARTS.values()], range=[colour for _, colour in PARTS.values()])


def _timeline() -> Layered:
    y = alt.Y("replica:N", title=None, sort=None, axis=alt.Axis(labelLimit=200, domain=False, ticks=False))
    x = alt.X("begin:Q", axis=alt.Axis(title="Time since the start of service (ms)", tickCount=6))
    legend = alt.Legend(title=None, orient="bottom", columns=3, labelLimit=200)
    colour = alt.Color("part:N", scale=_colours(), legend=legend)
    fade = alt.Opacity("shown:Q", scale=None, legend=None)
    bars = _over("bars").mark_bar(height=20).encode(x, x2="end:Q", y=y, color=colour, opacity=fade)
    ends = _over("bars").transform_filter("datum.last").mark_text(align="left", dx=6)
    label = ends.encode(x="end:Q", y=y, text="says:N", opacity=fade)
    rule = _over("arm").transform_calculate(now=_NOW).mark_rule(stroke="black", strokeWidth=1.5).encode(x="now:Q")
    return alt.layer(bars, label, rule).properties(width=SPAN, height=alt.Step(34))


_CHART = Template(_drawing)


def waits(data: xr.Dataset) -> alt.TopLevelMixin:
    """Return a stacked chart of seek and rotation against the number of replicas, with a line for the paper's formula.

    data: from `lab.tour.waits`.
    """
    named = {"seek": PARTS["move"][0], "rotation": PARTS["rotation"][0]}
    rows = pd.concat(
        [
            pd.DataFrame(
                {"replicas": data.replicas.values, "ms": data[part].values * _MS, "part": said, "order": order}
            )
            for order, (part, said) in enumerate(named.items())
        ]
    )
    x = alt.X("replicas:O", title="Replicas of each block on a disk", axis=alt.Axis(labelAngle=0))
    y = alt.Y("ms:Q", title="Positioning time of a random read (ms)")
    colour = alt.Color("part:N", title=None, scale=_colours(), legend=alt.Legend(values=list(named.values())))
    bars = alt.Chart(rows).mark_bar(width={"band": 0.6}).encode(x, y, color=colour, order="order:O")
    said = pd.DataFrame({"replicas": data.replicas.values, "ms": (data.seek + data.formula).values * _MS})
    tick = alt.Chart(said).mark_tick(thickness=2.5, width={"band": 0.8}, color="black").encode(x, y)
    return finished(
        alt.layer(bars, tick).properties(width=WIDTH, height=240),
        f"Gain of rotational replicas: {data.attrs['drive']}",
        "Reads are random, and each read is alone in the system. The black line is the positioning time by the paper's "
        "formula: the seek plus R/2D, half a revolution divided by the number of replicas.",
    )
