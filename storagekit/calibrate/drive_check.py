"""How near a drive model comes to a stream measured on the drive: by class of requests, and as distributions."""

import numpy as np
import xarray as xr

from storagekit.calibrate.demerit import demerit
from storagekit.core.errors import InputError
from storagekit.core.kinds import a, takes
from storagekit.core.units import MS

SHARES = np.linspace(0, 1, 501)


@takes(stream=a(xr.Dataset, "a stream, as measured_stream makes it"))
def demerit_by_class(stream: xr.Dataset) -> xr.Dataset:
    """The demerit of `all` requests of a stream, of each `read` and each `write` (dimension `kind`).

    stream: by `request`, service times `measured` and `service`, the model's, in seconds, and whether it is a `read`, as
    `measured_stream` makes it or a better model does. Where it says too which requests lie `apart` from those before them,
    so that the drive's buffer could not help, `read apart` is a class of its own.

    For each class: `requests`, the means `measured` and `modelled` and the `demerit`, seconds, and `share`, the demerit over
    the measured mean. NaN where a class has no request. Raises InputError where the stream lacks one of these, or a number.
    """
    if lacking := [name for name in ("measured", "service", "read") if name not in stream]:
        raise InputError(f"a stream without {', '.join(lacking)}: give one, as measured_stream makes it")
    classes = _classes(stream)
    measured, modelled = (np.asarray(stream[name], float) for name in ("measured", "service"))
    rows = [_row(measured[mask], modelled[mask]) for mask in classes.values()]
    said = {
        "requests": ("1", "requests"),
        "measured": ("s", "mean service time that the drive took"),
        "modelled": ("s", "mean service time of the model"),
        "demerit": ("s", "root mean square distance of the two distributions"),
        "share": ("1", "demerit over the measured mean"),
    }
    columns = zip(said.items(), zip(*rows, strict=True), strict=True)
    return xr.Dataset(
        {name: ("kind", list(values), {"units": unit, "long_name": what}) for (name, (unit, what)), values in columns},
        coords={"kind": list(classes)},
        attrs=stream.attrs,
    )


def distributions(stream: xr.Dataset) -> xr.DataArray:
    """Service time below which each `share` of the requests lies, seconds: `[kind, basis, share]`, of reads and writes, as
    measured and modelled. Kinds without a request are left out; stream: as of `demerit_by_class`."""
    times = [np.asarray(stream[name], float) for name in ("measured", "service")]
    masks = {kind: mask for kind, mask in _classes(stream).items() if kind in ("read", "write") and mask.any()}
    return xr.DataArray(
        [[np.quantile(time[mask], SHARES, method="inverted_cdf") for time in times] for mask in masks.values()],
        dims=("kind", "basis", "share"),
        coords={"kind": list(masks), "basis": ["measured", "modelled"], "share": SHARES},
        attrs={"units": "s", "long_name": "service time"} | stream.attrs,
    )


def modelled(stream: xr.Dataset) -> str:
    """What a stream's model takes account of, in a line: its attribute `model`, or of a stream of `measured_stream`, whose
    attributes are its controller's figures, what these say."""
    if "model" in stream.attrs:
        return str(stream.attrs["model"])
    parts = ["arm and platter"]
    figures = {
        name: stream.attrs.get(name, 0.0) / MS for name in ("sector", "read_after_read", "read_after_write", "write")
    }
    if figures["sector"]:
        parts.append(f"{figures['sector']:.3g} ms a sector on the bus")
    before = [figures["read_after_read"], figures["read_after_write"]]
    if any(before):
        parts.append(f"the controller's {before[0]:.3g} ms before a read after a read, {before[1]:.3g} after a write")
    left = "" if figures["write"] else ", no controller's time of writes"
    if figures["write"]:
        parts.append(f"its {figures['write']:.3g} ms before a write")
    return f"{', '.join(parts)}; no buffer (no hits, reading ahead or writing behind){left}"


def _classes(stream: xr.Dataset) -> dict[str, np.ndarray]:
    read = np.asarray(stream["read"], bool)
    classes = {"all": np.ones(read.shape, bool), "read": read, "write": ~read}
    return classes | ({"read apart": read & np.asarray(stream["apart"], bool)} if "apart" in stream else {})


def _row(measured: np.ndarray, modelled: np.ndarray) -> tuple[int, float, float, float, float]:
    if not measured.size:
        return 0, np.nan, np.nan, np.nan, np.nan
    mean, apart = float(measured.mean()), demerit(modelled, measured)
    return measured.size, mean, float(modelled.mean()), apart, apart / mean if mean > 0 else np.nan
