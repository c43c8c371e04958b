"""Results of a replay: sums, response times of each request, and quantiles, collected while the replay runs."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from storagekit.core.streaming_quantiles import StreamingQuantiles
from storagekit.simulation.measures import Measure, measured
from storagekit.simulation.overload import PARTS, part_length
from storagekit.simulation.quantiles import ALL, READS, WRITES, from_streams


class ReplayResults:
    """Results of the requests that a replay has completed so far.

    Parameters
    ----------
    requests : int
        Number of requests of the trace.
    read : array of bool, shape `[request]`, or None
        Whether each request is a read; None for a trace that stays in its file, whose response times are not stored one
        by one.
    """

    def __init__(self, requests: int, read: np.ndarray | None):
        self._read, self._each = read, part_length(requests)
        self._totals: dict[str, np.ndarray] = {}
        self._quantiles = {name: StreamingQuantiles() for name in (ALL, READS, WRITES)}
        # sums of the response times of each part of the requests, and numbers of requests
        self._parts = np.zeros((2, PARTS))
        self._response = None if read is None else np.full(requests, np.nan)

    @property
    def completed(self) -> int:
        """Number of completed requests."""
        return int(self._totals["completed"].item()) if self._totals else 0

    @property
    def waited(self) -> float:
        """Number of requests that waited for a slot."""
        return float(self._totals["blocked"].item()) if self._totals else 0.0

    def add_sums(self, tally: Mapping[str, np.ndarray]) -> None:
        """Add the sums of further events.

        Parameters
        ----------
        tally : mapping of str to array, shape `[chunk, row]` or `[chunk, row, run]`
            Sums by name.
        """
        for name, sums in tally.items():
            total = sums.sum(axis=0, dtype=np.float64)
            self._totals[name] = self._totals.get(name, 0.0) + (total if total.ndim == 1 else total.sum(axis=1))

    def add_responses(
        self, number: np.ndarray, response: np.ndarray, read: np.ndarray, asynchronous: np.ndarray
    ) -> None:
        """Add the response times of further requests.

        Parameters
        ----------
        number : array of int, shape `[request]`
            Numbers of the requests.
        response : array of float, shape `[request]`
            Response times, seconds.
        read, asynchronous : array of bool, shape `[request]`
            Whether each request is a read, and whether no client waits for it.
        """
        if self._response is not None:
            self._response[number] = response
        waited_for = ~asynchronous
        times, read, part = response[waited_for].astype(np.float64), read[waited_for], number[waited_for] // self._each
        self._parts += [np.bincount(part, weights, PARTS) for weights in (times, None)]
        for name, some in ((ALL, times), (READS, times[read]), (WRITES, times[~read])):
            self._quantiles[name].add(some)

    def data(self, bricks: int, measures: Sequence[Measure]) -> xr.Dataset:
        """Return the measures, and `part_response`, the mean response times of successive parts of the trace.

        Parameters
        ----------
        bricks : int
            Number of bricks.
        measures : sequence of Measure
            The measures.

        Returns
        -------
        Dataset
            The measures.
        """
        totals = {name: total[:, None] for name, total in self._totals.items()}
        data = measured(totals, np.asarray([bricks]), measures).isel(run=0).isel(brick=slice(0, bricks))
        if self._response is not None:
            described = {"units": "s", "long_name": "response time of each request"}
            data["response_time"] = ("request", self._response, described)
            data["read"] = ("request", self._read, {"long_name": "whether a request is a read"})
        total, count = self._parts
        data["part_response"] = ("part", np.divide(total, count, out=np.full(PARTS, np.nan), where=count > 0))
        return data.merge(from_streams(self._quantiles))

    def state(self) -> dict[str, np.ndarray]:
        """Return everything from which `resume` continues, as arrays by name."""
        found = {f"total {name}": total for name, total in self._totals.items()} | {"parts": self._parts}
        for name, quantiles in self._quantiles.items():
            found |= {f"{name} {key}": values for key, values in quantiles.state().items()}
        return found if self._response is None else found | {"response": self._response}

    def resume(self, saved: Mapping[str, np.ndarray]) -> None:
        """Continue from the result of `state`, which may contain further arrays."""
        self._totals, self._parts = under(saved, "total"), saved["parts"]
        for name, quantiles in self._quantiles.items():
            quantiles.resume(under(saved, name))
        if self._response is not None:
            self._response = saved["response"]


def under(saved: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with a prefix and a space, keyed and sorted by the rest of the name."""
    start = f"{prefix} "
    return {name.removeprefix(start): saved[name] for name in sorted(saved) if name.startswith(start)}
