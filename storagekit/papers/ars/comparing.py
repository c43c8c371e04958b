"""Comparisons of protocols, paired by seed: with the same seed, all protocols receive the same requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from storagekit.core.units import MS
from storagekit.engine import Scenario
from storagekit.papers.effort import Effort
from storagekit.simulation import ratio, sweep

# The paper does not define "close", "comparable" and "nearly ideal". Our definition, made before the first run of ARS:
# the whole 95% interval of a protocol is within a tenth of the mean of the centralized protocol.
CLOSE = 0.1


def swept(
    build: Callable[..., Scenario], axes: Mapping[str, Sequence[Any]], effort: Effort, exhibit: str
) -> xr.Dataset:
    """Return the measures of the cluster over a grid of scenarios. The first tenth of the requests is not measured.

    Parameters
    ----------
    build : callable
        Returns the scenario for a value of each axis.
    axes : mapping of str to sequence
        The values of each axis.
    effort : Effort
        Number and length of the runs.
    exhibit : str
        Name of the exhibit.

    Returns
    -------
    Dataset
        The standard measures over the axes and `seed`. `response` is NaN where the disks are overloaded. The disks
        count as overloaded if at least 0.1% of the requests wait for a slot.
    """
    data = sweep(
        build,
        axes,
        seeds=effort.seed_list,
        requests=effort.requests,
        warm_up=effort.requests // 10,
        allow_blocked=True,
    )
    steady = (data.blocked / data.requests).mean("seed") < 1e-3
    data["response"] = data.response.where(steady)
    data.attrs |= {"paper": "ars", "exhibit": f"ars.{exhibit}"}
    return data


def beside(data: xr.DataArray, protocol: str, other: str) -> xr.DataArray:
    """Return the values of one protocol divided by the values of another. The ratios are paired by seed.

    Parameters
    ----------
    data : DataArray, shape [protocol, seed, ...]
        The values.
    protocol, other : str
        The protocols of the numerator and of the denominator.

    Returns
    -------
    DataArray, shape [statistic, ...]
        The mean ratio over the seeds, and its 95% interval.
    """
    return ratio(data.sel(protocol=protocol), data.sel(protocol=other))


def close(taken: xr.DataArray) -> bool:
    """Return whether the 95% intervals of all ratios of response times end at or below 1 + `CLOSE`.

    Parameters
    ----------
    taken : DataArray, shape [statistic, ...]
        The ratios, as `beside` returns them.
    """
    return bool((taken.sel(statistic="high") <= 1 + CLOSE).all())


def ahead(data: xr.DataArray, better: str, worse: str) -> bool:
    """Return whether one protocol has smaller values than another in all cases, with 95% confidence.

    Parameters
    ----------
    data : DataArray, shape [protocol, seed, ...]
        The values.
    better, worse : str
        The protocol that must have the smaller values, and the other protocol.
    """
    return bool((beside(data, better, worse).sel(statistic="high") < 1).all())


def milliseconds(data: xr.DataArray) -> str:
    """Return a phrase with the mean response time of each protocol in milliseconds.

    Parameters
    ----------
    data : DataArray, shape [protocol, seed]
        Response times, seconds.
    """
    means = data.mean("seed") / MS
    return ", ".join(f"{name} {float(means.sel(protocol=name)):.1f}" for name in means.protocol.values)


def shown(taken: xr.DataArray, dim: str) -> str:
    """Return a phrase with the mean ratio for each label of a dimension.

    Parameters
    ----------
    taken : DataArray, shape [statistic, dim]
        The ratios.
    dim : str
        The dimension.
    """
    means = taken.sel(statistic="mean")
    return ", ".join(f"{float(means.sel({dim: index})):.2f} ({index})" for index in means[dim].values)


def ranking(data: xr.DataArray) -> list[str]:
    """Return the protocols in ascending order of their means.

    Parameters
    ----------
    data : DataArray, shape [protocol, seed]
        The values.
    """
    means = data.mean("seed")
    return [str(name) for name in means.protocol.values[np.argsort(means.values)]]
