"""Data of the charts of a trace, and the numbers of each device: `Overview`, from parts of the trace in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from storagekit.core.units import KB
from storagekit.workload.trace.reading import by_name
from storagekit.workload.trace.records import RequestTrace

__all__ = ["Overview"]

BARS, POINTS = 80, 1500
"""Least numbers of bars over time, and of points; at most twice as many are kept."""
KINDS = ("reads", "writes")


class Overview:
    """Arrivals over time, a sample of the addresses, the sizes, and the numbers of each device, in constant memory."""

    def __init__(self):
        self._requests, self._every = 0, 1
        self._sampled = np.empty((0, 4))  # time, device, offset, read
        self._step = self._end = 0.0
        self._arrivals = np.zeros((2, 2 * BARS), np.int64)
        self._sizes = np.zeros((2, 64), np.int64)
        self._devices: tuple[str, ...] = ()
        self._by_device = np.zeros((4, 0), np.int64)  # requests, reads, bytes, end

    def add(self, trace: RequestTrace) -> None:
        """Add the next requests of the trace. A device has the same index in all parts."""
        if not len(trace):
            return
        self._add_arrivals(trace)
        self._add_sample(trace)
        power = np.ceil(np.log2(np.maximum(trace.size, 1) / KB)).astype(int)
        for kind, of in enumerate((trace.read, ~trace.read)):
            self._sizes[kind] += np.bincount(power[of] + 16, minlength=64)
        self._add_devices(trace)
        self._requests += len(trace)

    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """Return the data of the charts, see `charts.traces.overview`."""
        return {"arrivals": self.arrivals(), "offsets": self.offsets(), "sizes": self.sizes()}

    def arrivals(self) -> list[dict[str, Any]]:
        """Return the number of requests per second in equal intervals of time; none if all arrive at one time."""
        if not self._end:
            return []
        last = int(np.flatnonzero(self._arrivals.sum(axis=0))[-1])
        return [
            {"at": bar * self._step, "until": (bar + 1) * self._step, "rate": count / self._step, "kind": kind}
            for kind, counts in zip(KINDS, self._arrivals.tolist(), strict=True)
            for bar, count in enumerate(counts[: last + 1])
        ]

    def offsets(self) -> list[dict[str, Any]]:
        """Return the addresses of evenly spaced requests, with the devices end to end in the order of their names."""
        order = [self._devices.index(name) for name in by_name(self._devices)]
        ends = self._by_device[3, order].astype(float)
        starts = np.empty(len(ends))
        starts[order] = np.cumsum(ends) - ends
        return [
            {"at": time, "gb": (starts[int(device)] + offset) / 1e9, "kind": KINDS[0 if read else 1]}
            for time, device, offset, read in self._sampled.tolist()
        ]

    def sizes(self) -> list[dict[str, Any]]:
        """Return the percentage of the requests in each range of sizes. The ranges end at powers of two, in KB."""
        present = np.flatnonzero(self._sizes.sum(axis=0)).tolist()
        return [
            {
                "size": f"{2.0 ** (one - 16):g}",
                "order": one - 16,
                "percent": 100 * int(self._sizes[kind, one]) / self._requests,
                "kind": name,
            }
            for kind, name in enumerate(KINDS)
            for one in present
        ]

    def devices(self) -> dict[str, dict[str, float]]:
        """Return the numbers of each device with requests, by name, the device with the most requests first.

        `requests`, `read_share`, `mean_size` in bytes, and `data_size`, the bytes up to the end of the last request.
        """
        order = np.argsort(-self._by_device[0], kind="stable")
        return {
            self._devices[index]: {
                "requests": requests,
                "read_share": reads / requests,
                "mean_size": size / requests,
                "data_size": end,
            }
            for index, (requests, reads, size, end) in zip(
                order.tolist(), self._by_device[:, order].T.tolist(), strict=True
            )
            if requests
        }

    def _add_arrivals(self, trace: RequestTrace) -> None:
        self._end = end = float(trace.time[-1])
        if not self._step:
            self._step = max(end, 1e-9) / BARS
        while end > self._step * 2 * BARS:
            halves = self._arrivals.reshape(2, BARS, 2).sum(axis=2)
            self._arrivals = np.concatenate([halves, np.zeros_like(halves)], axis=1)
            self._step *= 2
        bar = np.minimum((trace.time / self._step).astype(np.int64), 2 * BARS - 1)
        if end <= self._step * BARS:
            bar = np.minimum(bar, BARS - 1)  # the last bar includes its end
        for kind, of in enumerate((trace.read, ~trace.read)):
            self._arrivals[kind] += np.bincount(bar[of], minlength=2 * BARS)

    def _add_sample(self, trace: RequestTrace) -> None:
        """Keep each request whose number is a multiple of a power of two, which grows with the trace."""
        while (self._requests + len(trace)) // self._every > 2 * POINTS:
            self._sampled, self._every = self._sampled[::2], 2 * self._every
        chosen = trace.take(slice(-self._requests % self._every, None, self._every))
        new = np.stack([chosen.time, chosen.device, chosen.offset, chosen.read], axis=1)
        self._sampled = np.concatenate([self._sampled, new.astype(float)])

    def _add_devices(self, trace: RequestTrace) -> None:
        count = len(trace.devices)
        if count > len(self._devices):
            self._devices = trace.devices
            self._by_device = np.pad(self._by_device, ((0, 0), (0, count - self._by_device.shape[1])))
        weights = (None, trace.read, trace.size)
        for row, weight in enumerate(weights):
            self._by_device[row] += np.bincount(trace.device, weight, minlength=count).astype(np.int64)
        self._by_device[3] = np.maximum(self._by_device[3], trace.ends())
