"""Protocols beside each other: paired, since all of them get the same requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from storagekit.core.units import MS
from storagekit.engine import Scenario
from storagekit.papers.effort import Effort
from storagekit.simulation import ratio, sweep

# "close", "comparable" and "nearly ideal" are not explained; said before ARS was run here: within a tenth of the centralized
# protocol's mean, 95% interval included
CLOSE = 0.1


def swept(
    build: Callable[..., Scenario], axes: Mapping[str, Sequence[Any]], effort: Effort, exhibit: str
) -> xr.Dataset:
    """A sweep of the cluster after a warm-up of a tenth; responses are NaN where arrivals outrun the disks, and wait outside
    for a slot."""
    data = sweep(
        build,
        axes,
        seeds=effort.seed_list,
        requests=effort.requests,
        warm_up=effort.requests // 10,
        allow_held_up=True,
    )
    steady = (data.held_up / data.requests).mean("seed") < 1e-3
    data["response"] = data.response.where(steady)
    data.attrs |= {"paper": "ars", "exhibit": f"ars.{exhibit}"}
    return data


def beside(data: xr.DataArray, protocol: str, other: str) -> xr.DataArray:
    """What of `other`'s a protocol takes, with its interval: paired by seed."""
    return ratio(data.sel(protocol=protocol), data.sel(protocol=other))


def close(taken: xr.DataArray) -> bool:
    """Whether all of these ratios of response times are within `CLOSE` of one, for certain."""
    return bool((taken.sel(statistic="high") <= 1 + CLOSE).all())


def ahead(data: xr.DataArray, better: str, worse: str) -> bool:
    """Whether one protocol takes less than another everywhere, for certain."""
    return bool((beside(data, better, worse).sel(statistic="high") < 1).all())


def milliseconds(data: xr.DataArray) -> str:
    """The mean responses of the protocols, in words."""
    means = data.mean("seed") / MS
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.1f}" for name in means.protocol.values)


def shown(taken: xr.DataArray, dim: str) -> str:
    """Ratios by their place along a dimension, in words."""
    means = taken.sel(statistic="mean")
    return ", ".join(f"{place} {float(means.sel({dim: place})):.2f}" for place in means[dim].values)


def ranking(data: xr.DataArray) -> list[str]:
    """The protocols, the one of least mean first."""
    means = data.mean("seed")
    return [str(name) for name in means.protocol.values[np.argsort(means.values)]]
