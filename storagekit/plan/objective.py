"""Objectives of a plan."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import equations
from storagekit.analytic.array.costs import Costs, Load
from storagekit.analytic.array.positioning import Numbers, Spindle
from storagekit.core.validation import unchecked

# called with validated arguments
_rotation_even, _rotation_write_all = unchecked(equations.rotation_even), unchecked(equations.rotation_write_all)


class Objective(ABC):
    """An objective for the comparison of layouts; a smaller score is better."""

    name: ClassVar[str]

    @abstractmethod
    def score(self, costs: Costs) -> NDArray:
        """Return the score of each layout, seconds."""

    @abstractmethod
    def stroke(self, queue: Numbers) -> Numbers:
        """Return the number of requests in one stroke for the paper's equation 12; 3 selects equation 9."""

    def service(self, spindle: Spindle, load: Load, used: Numbers, replicas: Numbers) -> NDArray:
        """Return the service time of equation 9 or 12, without T_o. used: share of a disk's cylinders that is used."""
        reach = np.asarray(used, float) / load.locality
        stroke = np.asarray(self.stroke(load.queue))
        seek = np.where(
            stroke > equations.SPARSE_QUEUE, spindle.hop(np.minimum(reach / stroke, 1)), spindle.mean_seek(reach)
        )
        p = load.unpropagated
        revolution = np.asarray(spindle.revolution, float)
        rotation = p * _rotation_even(revolution, replicas)
        return seek + rotation + (1 - p) * _rotation_write_all(revolution, replicas)


@dataclass(frozen=True)
class Latency(Objective):
    """Minimize the mean latency of single requests (srarray, equations 9 to 11)."""

    name = "latency"

    def score(self, costs):
        return costs.latency

    def stroke(self, queue):
        return np.full(np.shape(queue), float(equations.SPARSE_QUEUE))


@dataclass(frozen=True)
class Throughput(Objective):
    """Maximize the throughput in requests a second with q outstanding requests for each disk (srarray, section 2.4)."""

    name = "throughput"

    def score(self, costs):
        return costs.disk_time / costs.busy

    def stroke(self, queue):
        return np.maximum(queue, float(equations.SPARSE_QUEUE))
