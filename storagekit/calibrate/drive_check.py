"""Comparison of a drive model with a stream measured on the drive: demerits by class of requests, and distributions."""

from typing import Annotated

import numpy as np
import xarray as xr

from storagekit.calibrate.demerit import demerit
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.core.validation import instance_of, validate

SHARES = np.linspace(0, 1, 501)


@validate
def demerit_by_class(
    stream: Annotated[xr.Dataset, instance_of(xr.Dataset, "a stream from measured_stream")],
) -> xr.Dataset:
    """Return the demerit of a model for all requests of a stream, and for its reads and its writes.

    Parameters
    ----------
    stream : Dataset
        For each `request`: `measured`, the measured service time, seconds; `service`, the service time of the model,
        seconds; and `read`, whether the request is a read. `measured_stream` returns such a dataset. Optional: `apart`,
        whether the request is so far from the requests before it that the drive's buffer could not serve it.

    Returns
    -------
    Dataset
        The classes (dimension `kind`) are `all`, `read` and `write`; `read apart` is added if the stream has `apart`.
        For each class there are `requests`, the number of requests; `measured` and `modelled`, the mean service times,
        seconds; `demerit`, seconds; and `share`, the demerit divided by the measured mean. Times and shares are NaN for
        a class without requests.

    Raises
    ------
    InputError
        If the stream lacks one of these variables, or contains a value that is not a number.
    """
    if lacking := [name for name in ("measured", "service", "read") if name not in stream]:
        raise InputError(f"the stream lacks {', '.join(lacking)}: give a stream from measured_stream")
    classes = _classes(stream)
    measured, modelled = (np.asarray(stream[name], float) for name in ("measured", "service"))
    rows = [_row(measured[mask], modelled[mask]) for mask in classes.values()]
    said = {
        "requests": ("1", "requests"),
        "measured": ("s", "measured mean service time"),
        "modelled": ("s", "modelled mean service time"),
        "demerit": ("s", "root mean square distance between the measured and the modelled distribution"),
        "share": ("1", "demerit divided by the measured mean"),
    }
    columns = zip(said.items(), zip(*rows, strict=True), strict=True)
    return xr.Dataset(
        {name: ("kind", list(values), {"units": unit, "long_name": what}) for (name, (unit, what)), values in columns},
        coords={"kind": list(classes)},
        attrs=stream.attrs,
    )


def distributions(stream: xr.Dataset) -> xr.DataArray:
    """Return the quantiles of measured and modelled service times, for reads and for writes.

    Parameters
    ----------
    stream : Dataset
        A stream, as for `demerit_by_class`.

    Returns
    -------
    DataArray, `[kind, basis, share]`
        Time within which each `share` of the requests completes, seconds. Kinds without requests are left out.
    """
    times = [np.asarray(stream[name], float) for name in ("measured", "service")]
    masks = {kind: mask for kind, mask in _classes(stream).items() if kind in ("read", "write") and mask.any()}
    return xr.DataArray(
        [[np.quantile(time[mask], SHARES, method="inverted_cdf") for time in times] for mask in masks.values()],
        dims=("kind", "basis", "share"),
        coords={"kind": list(masks), "basis": ["measured", "modelled"], "share": SHARES},
        attrs={"units": "s", "long_name": "service time"} | stream.attrs,
    )


def modelled(stream: xr.Dataset) -> str:
    """Return a line that describes the model of a stream.

    If the stream has the attribute `model`, the line is the value of this attribute. Otherwise the line states the
    times of the controller, which are attributes of the result of `measured_stream`.
    """
    if "model" in stream.attrs:
        return str(stream.attrs["model"])
    parts = ["arm and platter"]
    figures = {
        name: stream.attrs.get(name, 0.0) / MS for name in ("sector", "read_after_read", "read_after_write", "write")
    }
    if figures["sector"]:
        parts.append(f"{figures['sector']:.3g} ms of bus transfer per sector")
    before = [figures["read_after_read"], figures["read_after_write"]]
    if any(before):
        parts.append(
            f"a controller time of {before[0]:.3g} ms for a read after a read, {before[1]:.3g} ms for a read after a "
            "write"
        )
    left = "" if figures["write"] else ", no controller time for writes"
    if figures["write"]:
        parts.append(f"a controller time of {figures['write']:.3g} ms for a write")
    return f"{', '.join(parts)}; no buffer (no hits, read-ahead or write-behind){left}"


def _classes(stream: xr.Dataset) -> dict[str, np.ndarray]:
    read = np.asarray(stream["read"], bool)
    classes = {"all": np.ones(read.shape, bool), "read": read, "write": ~read}
    return classes | ({"read apart": read & np.asarray(stream["apart"], bool)} if "apart" in stream else {})


def _row(measured: np.ndarray, modelled: np.ndarray) -> tuple[int, float, float, float, float]:
    if not measured.size:
        return 0, np.nan, np.nan, np.nan, np.nan
    mean, apart = float(measured.mean()), demerit(modelled, measured)
    return measured.size, mean, float(modelled.mean()), apart, apart / mean if mean > 0 else np.nan
