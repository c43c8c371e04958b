"""Made-up exhibits of ARS in the form that runs have, so that findings and charts can be tested without a simulation."""

from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr

from storagekit.papers.ars.cluster import AT_ONCE, COMPARED, DSPTF, FOUR, SETTINGS, WITHIN

SEEDS = 4
# mean response of each protocol relative to Central, chosen so that every statement of the paper holds
TAKES = {"Randomized": 1.5, "ARS": 1.06, "D-SPTF": 1.03, "Central": 1.0, "Central, heads known": 0.9}
# erasure-coded D-SPTF is slower
CODED = 1.09


def over_seeds(means, dims, coords) -> xr.DataArray:
    """Return means with a dimension `seed`; the deviation of a run is the same at all points."""
    off = 1 + 0.01 * np.arange(SEEDS)
    values = np.asarray(means, float)[..., None] * off
    return xr.DataArray(values, dims=[*dims, "seed"], coords={**coords, "seed": np.arange(SEEDS)})


def spread(dims: dict[str, list], value: Callable[..., float]) -> xr.DataArray:
    """Return `value` at each point of the axes, over seeds."""
    shape = tuple(map(len, dims.values()))
    points = [value(*(axis[at] for axis, at in zip(dims.values(), index, strict=True))) for index in np.ndindex(shape)]
    return over_seeds(np.reshape(points, shape), list(dims), dims)


def taken(protocol: str, volume: str) -> float:
    return 0.01 * (CODED if (protocol, volume) == ("D-SPTF", "erasure-coded") else TAKES[protocol])


@pytest.fixture
def reads() -> xr.Dataset:
    response = spread({"protocol": list(COMPARED), "volume": list(SETTINGS)}, taken)
    return xr.Dataset({"response": response, "utilization": 0 * response + 0.003})


@pytest.fixture
def busy() -> xr.Dataset:
    """ARS is close to Central at 10 times the load, where Randomized overloads a node."""

    def at(protocol: str, volume: str, load: float) -> float:
        if protocol == "Randomized" and load == 10:
            return np.nan
        return taken(protocol, volume) * (1.3 if protocol == "ARS" and load < 10 else 1.0)

    return xr.Dataset({"response": spread({"protocol": list(FOUR), "volume": list(SETTINGS), "load": [1.0, 10.0]}, at)})


@pytest.fixture
def both() -> xr.Dataset:
    axes = {"protocol": list(COMPARED), "trace": ["synthetic", "Financial"]}
    response = spread(axes, lambda protocol, trace: 0.02 * TAKES[protocol])
    return xr.Dataset({"response": response}, attrs={"basis": "stand-in", "financial": "a stand-in"})


@pytest.fixture
def throughput() -> xr.Dataset:
    axes = {"protocol": list(COMPARED), "mix": ["reads", "mixed"]}
    return xr.Dataset({"request_rate": spread(axes, lambda protocol, mix: 2000 / TAKES[protocol])})


@pytest.fixture
def latency() -> xr.Dataset:
    """ARS is flat and D-SPTF rises, and rises more where idle nodes wait."""
    axes = {"protocol": ["ARS", DSPTF, WITHIN, AT_ONCE], "latency": [1e-4, 1e-3, 1e-2]}

    def at(protocol: str, one_way: float) -> float:
        return 0.01 + {"ARS": 0, AT_ONCE: 1, WITHIN: 1, DSPTF: 2}[protocol] * one_way

    return xr.Dataset({"response": spread(axes, at)})


@pytest.fixture
def degraded_reads() -> xr.Dataset:
    """Reads while any two nodes are away: the two other nodes serve each."""
    pairs = ["0, 1", "0, 2", "0, 3", "1, 2", "1, 3", "2, 3"]
    counts = np.zeros((6, 5), int)
    counts[:, 2] = 100
    return xr.Dataset(
        {"reads": (("stopped", "nodes"), counts), "dead": ("stopped", [False] * 6)},
        coords={"stopped": pairs, "nodes": np.arange(5)},
    )


@pytest.fixture
def written() -> xr.Dataset:
    """Return the number of nodes with the data at completion, and in the end.

    At completion it is at least the required number and sometimes larger. In the end all nodes have the data.
    """
    now, later = [[0, 60, 30, 10, 0], [0, 0, 50, 40, 10]], [[0, 0, 0, 100, 0], [0, 0, 0, 0, 100]]
    return xr.Dataset(
        {"completed": (("volume", "nodes"), now), "later": (("volume", "nodes"), later)},
        coords={"volume": ["replicated", "erasure-coded"], "nodes": np.arange(5)},
    )


@pytest.fixture
def extra_nodes() -> xr.Dataset:
    """A node is away for requests 1000 to 2500; with extra nodes a read is sent to more nodes and waits for no timeout."""
    axes = {"extra": [0, 2], "number": np.arange(25, 4000, 50.0).tolist()}

    def away(number: float) -> bool:
        return 1050 < number < 2500

    return xr.Dataset(
        {
            "targets": spread(axes, lambda extra, number: 2 + (extra > 0) * away(number)),
            "response": spread(axes, lambda extra, number: 0.01 + 0.5 * (extra == 0) * away(number)),
        },
        attrs={"away": [1000, 2500]},
    )
