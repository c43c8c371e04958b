"""Quantiles of numbers that arrive in parts, in constant memory."""

from collections.abc import Mapping

import numpy as np


class StreamingQuantiles:
    """Quantiles of positive numbers: exact up to `EXACT` numbers, and accurate to 0.1% beyond."""

    EXACT = 2**22
    BINS_PER_DOUBLING = 512
    DOUBLINGS = 2048

    def __init__(self):
        self._values: list[np.ndarray] = []
        self._count, self._sum = 0, 0.0
        self._bins: np.ndarray | None = None
        self._zeros = 0

    def add(self, values: np.ndarray) -> None:
        """Add further numbers, at least 0."""
        self._count += len(values)
        self._sum += float(values.sum())
        if self._bins is not None:
            self._bin(values)
            return
        self._values.append(values)
        if self._count > self.EXACT:
            self._bins = np.zeros(self.BINS_PER_DOUBLING * self.DOUBLINGS, np.int64)
            for part in self._values:
                self._bin(part)
            self._values = []

    def _bin(self, values: np.ndarray) -> None:
        assert self._bins is not None
        positive = values[values > 0]
        self._zeros += len(values) - len(positive)
        index = np.floor(np.log2(positive) * self.BINS_PER_DOUBLING).astype(np.int64)
        low = index.min(initial=0)
        counts = np.bincount(index - low)
        start = int(low) + len(self._bins) // 2
        self._bins[start : start + len(counts)] += counts

    def state(self) -> dict[str, np.ndarray]:
        """Return the state as arrays, from which `resume` continues."""
        values = np.concatenate([np.empty(0), *self._values])
        found = {"values": values, "count": np.array([self._count, self._zeros]), "sum": np.array(self._sum)}
        return found if self._bins is None else found | {"bins": self._bins}

    def resume(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from a state."""
        self._count, self._zeros = state["count"].tolist()
        self._sum, self._values, self._bins = float(state["sum"]), [state["values"]], state.get("bins")

    @property
    def mean(self) -> float:
        """The mean of the numbers."""
        return self._sum / self._count

    def at(self, *levels: float) -> tuple[float, ...]:
        """Return the quantiles at some levels between 0 and 1; NaN without numbers."""
        if self._bins is None:
            values = np.concatenate([np.empty(0), *self._values])
            return tuple(np.quantile(values, levels).tolist() if self._count else [float("nan")] * len(levels))
        total = np.cumsum(self._bins) + self._zeros
        index = np.searchsorted(total, np.asarray(levels) * self._count)
        middle = (index - len(self._bins) // 2 + 0.5) / self.BINS_PER_DOUBLING
        zero = np.asarray(levels) * self._count <= self._zeros
        return tuple(float(one) for one in np.where(zero, 0.0, 2.0**middle))
