"""Comparison of the synthetic traces with the published statistics of the real traces: table 3."""

import time

import numpy as np
import xarray as xr

from storagekit.core.provenance import ALONE, made_by
from storagekit.core.units import HOUR
from storagekit.papers.measurement import Measurement
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.papers.srarray.disk_array import WORKLOADS
from storagekit.workload.synthetic import compare, generate

QUANTITIES = {
    "gb": ("data_size", 1e9),
    "ios": ("requests", 1.0),
    "hours": ("duration", HOUR),
    "rate": ("rate", 1.0),
    "reads": ("read_share", 1.0),
    "async_writes": ("asynchronous_write_share", 1.0),
    "seek_locality": ("seek_locality", 1.0),
    "read_after_write": ("read_after_write_share", 1.0),
}
COLUMNS = {"cello_base": "Cello base", "cello_disk6": "Cello disk 6", "tpcc": "TPC-C"}


def table3(effort: ArrayEffort = QUICK, *, hours: float | None = None) -> xr.Dataset:
    """Return the statistics of the synthetic traces and the published statistics (table 3).

    Parameters
    ----------
    effort : ArrayEffort
        The seed is `first_seed`. If `requests` is smaller than the number of requests of TPC-C, only a tenth of the
        trace of TPC-C is generated. A tenth is enough, because this trace is equally busy throughout.
    hours : float, optional
        Length of the generated part of each trace, hours, at most the whole trace. By default the whole trace is
        generated, except for TPC-C (see `effort`).

    Returns
    -------
    Dataset
        Over `workload` and `quantity`, in SI units: `target`, the published statistics, and `measured`, the statistics
        of the synthetic traces. If only a part of a trace is generated, counts and durations are scaled to the whole
        trace. Over `workload`: `hours`, the generated length.

    References
    ----------
    srarray, table 3.
    """
    began = time.perf_counter()
    rows, generated, count = {}, [], 0
    for name, model in WORKLOADS.items():
        some = 0.1 if effort.requests < model.requests and not model.dispersion else 1.0
        part = hours if hours is not None else some * model.duration / HOUR
        stop = min(part * HOUR, model.duration)
        compared = compare(model, generate(model, seed=effort.first_seed, stop=stop))
        whole = model.duration / stop
        generated.append(stop / HOUR)
        count += int(compared["requests"].measured)
        rows[name] = {
            quantity: (one.target, one.measured * (whole if quantity in ("requests", "duration") else 1.0))
            for quantity, one in compared.items()
        }
    quantities = list(next(iter(rows.values())))
    values = np.array([[rows[name][quantity] for quantity in quantities] for name in rows])
    data = xr.Dataset(
        {"target": (("workload", "quantity"), values[..., 0]), "measured": (("workload", "quantity"), values[..., 1])}
        | {"hours": ("workload", generated)},
        coords={"workload": list(rows), "quantity": quantities},
    )
    made = made_by("stand-in", [effort.first_seed], time.perf_counter() - began)
    facts = {"drive": ALONE, "scenario": ALONE, "requests": f"{count}, counted"}
    return data.assign_attrs(made | facts, paper="srarray", exhibit="srarray.table3", seed=effort.first_seed)


def table3_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 3 for the synthetic traces, which are generated to match table 3.

    Parameters
    ----------
    data : Dataset
        Result of `table3`.

    Returns
    -------
    list of Measurement
        One finding for each workload and each quantity of table 3.

    References
    ----------
    srarray, table 3.
    """
    found = []
    for key, workload in COLUMNS.items():
        for name, (quantity, unit) in QUANTITIES.items():
            measured = float(data.measured.sel(workload=workload, quantity=quantity)) / unit
            hours = float(data.hours.sel(workload=workload))
            note = (
                "The synthetic trace was generated to match this value. The generated part has a length of "
                f"{hours:.3g} hours."
            )
            found.append(Measurement(f"srarray.table3.{key}[{name}]", measured, basis="stand-in", note=note))
    return found
