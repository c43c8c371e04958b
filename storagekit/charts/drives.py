"""Charts of a drive: seek curve, zones, and a comparison of measured and modelled service times."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

import altair as alt
import pandas as pd
import xarray as xr

from storagekit.charts.marks import Layered, from_zero
from storagekit.charts.panels import headed
from storagekit.charts.theme import COLOURS, HEIGHT, WIDTH, finished

_MS, _MB, _GB = 1e3, 1e-6, 1e-9
# the panel of short seeks shows this share of the longest distance, and at least this number of cylinders
SHORT, SHORTEST = 0.05, 20
# the axis ends at the service time that this share of the requests does not exceed; a longer axis would compress them
SHOWN = 0.995


def seek_curve(curve: xr.Dataset) -> alt.TopLevelMixin:
    """Return a chart of the seek time against the distance for reads and writes (`calibrate.seek_curve`).

    One panel shows all distances, the other panel shows short distances.
    """
    wide = (curve[["read", "write"]] * _MS).to_dataframe().reset_index()
    rows = wide.melt("distance", ["read", "write"], "kind", "ms")
    short = rows.loc[rows.distance <= max(SHORT * rows.distance.max(), SHORTEST), :]
    panels = [_seeks(part, heading) for part, heading in ((rows, "All distances"), (short, "Short distances"))]
    average = f"The mean seek of a read over all pairs of cylinders is {curve.attrs['average_seek'] * _MS:.2f} ms."
    return finished(_row(panels), f"Seek curve: {curve.attrs['drive']}", average)


def zone_map(zones: xr.Dataset) -> alt.TopLevelMixin:
    """Return a chart of the transfer rates by address, within a track and over whole cylinders.

    zones: a result of `calibrate.zone_map`.
    """
    ends = zones.first_byte + zones["size"]
    named = {"media_rate": "within a track", "sustained_rate": "over whole cylinders"}
    # each zone is a level line from its beginning to its end; a step joins neighbouring zones
    steps = [
        pd.DataFrame({"at": at.values * _GB, "rate": zones[name].values * _MB, "kind": said, "zone": zones.zone.values})
        for name, said in named.items()
        for at in (zones.first_byte, ends)
    ]
    rows = pd.concat(steps).sort_values(["zone", "at"], kind="stable")
    rows["order"] = range(len(rows))
    whole = alt.Scale(domain=[0, float(ends[-1]) * _GB], nice=False)
    drawn = _lines(
        rows,
        alt.X("at:Q", title="Address (GB)", scale=whole),
        alt.Y("rate:Q", title="Rate (MB/s)", scale=from_zero(float(rows.rate.max()))),
        _Series("kind", list(named.values())),
        alt.Order("order:Q"),
    ).properties(width=WIDTH)
    lengths = list(dict.fromkeys(f"{int(zones.sectors_per_track[end]):,}" for end in (0, -1)))
    count = f"{len(zones.zone)} zone{'s' if len(zones.zone) > 1 else ''}"
    ends = list(dict.fromkeys(f"{float(zones.media_rate[end]) * _MB:.1f}" for end in (0, -1)))
    found = f"The rate within a track is {' to '.join(ends)} MB/s."
    return finished(
        drawn,
        f"Zones: {zones.attrs['drive']}",
        found,
        f"The drive has {count}, with {' to '.join(lengths)} sectors of 512 bytes per track.",
    )


def service_times(times: xr.DataArray) -> alt.TopLevelMixin:
    """Return a chart of the cumulative distributions of measured and modelled service times (`calibrate.measured_drive`)."""
    rows = (times * _MS).rename("ms").reset_coords(drop=True).to_dataframe().reset_index()
    rows["percent"] = 100 * rows.share
    last = float(times.sel(share=SHOWN, method="nearest").max()) * _MS

    def panel(kind: str) -> Layered:
        named = f"{kind.capitalize()}s"
        drawn = _lines(
            rows.loc[rows.kind == kind, :],
            alt.X("ms:Q", title="Service time (ms)", scale=alt.Scale(domain=[0, last])),
            alt.Y("percent:Q", title=f"{named} with at most this service time (%)", scale=alt.Scale(domain=[0, 100])),
            _Series("basis", ["measured", "modelled"]),
            alt.Order("share:Q"),
        )
        return headed(drawn, named)

    heading = f"Measured and modelled service times: {PurePath(times.attrs['trace']).name}"
    panels = [panel(kind) for kind in times.kind.values.tolist()]
    half = times.sel(share=0.5, method="nearest") * _MS
    found = "; ".join(
        f"median of the {kind}s: {float(half.sel(kind=kind, basis='measured')):.2f} ms measured, "
        f"{float(half.sel(kind=kind, basis='modelled')):.2f} ms modelled"
        for kind in times.kind.values.tolist()
    )
    return finished(_row(panels), heading, found, f"The modelled times are from the model of {times.attrs['drive']}.")


class _Series(NamedTuple):
    """The lines of a panel: the column that distinguishes lines, the names of the lines, and the legend's title."""

    field: str
    names: list[str]
    title: str | None = None


def _seeks(rows: pd.DataFrame, heading: str) -> Layered:
    across = alt.Scale(domain=[0, int(rows.distance.max())], nice=False)
    whole = alt.Axis(format=",d", tickCount=6, tickMinStep=1)
    drawn = _lines(
        rows,
        alt.X("distance:Q", title="Distance (cylinders)", scale=across, axis=whole),
        alt.Y("ms:Q", title="Seek time (ms)", scale=from_zero(float(rows.ms.max()))),
        _Series("kind", ["read", "write"], "Seek of a"),
    )
    return headed(drawn, heading)


def _lines(rows: pd.DataFrame, x: alt.X, y: alt.Y, series: _Series, *order: alt.Order) -> Layered:
    """Return one line for each series. Each line has its own dash pattern, because lines may coincide."""
    same = {"shorthand": f"{series.field}:N", "title": series.title, "sort": series.names}
    colour = alt.Color(**same, scale=alt.Scale(domain=series.names, range=COLOURS[:2]))
    dash = alt.StrokeDash(**same, scale=alt.Scale(domain=series.names, range=[[1, 0], [6, 3]]))
    line = alt.Chart(rows).mark_line(strokeWidth=2, clip=True).encode(x, y, colour, dash, *order)
    return alt.layer(line).properties(height=HEIGHT)


def _row(panels: Sequence[Layered]) -> alt.HConcatChart:
    return alt.hconcat(*panels, spacing=30).resolve_scale(color="shared", strokeDash="shared")
