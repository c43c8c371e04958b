"""How a disk orders what waits at it, as far as formulas go: the mean positioning of what it takes next."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.positioning import ALONE, Numbers, Spindle
from storagekit.core.kinds import MOST_COUNTED, Kind, takes


class Scheduler(ABC):
    """A scheduler of one disk that takes the nearest replica of whatever it takes (srarray, section 2.4)."""

    name: ClassVar[str]
    assumption: ClassVar[str]

    @abstractmethod
    def positioning(
        self, spindle: Spindle, reach: NDArray, arc: NDArray, waiting: Numbers, crowding: Numbers = ALONE
    ) -> NDArray:
        """Mean seek and rotation of the request taken, seconds, among `waiting` (at least 1; need not be whole).

        reach: the cylinders in use, as a share of all, divided by the locality; arc: seconds from one replica to the next.
        crowding: see `crowding_of`.
        """


@dataclass(frozen=True)
class RLOOK(Scheduler):
    """The elevator: the next cylinder in the direction of travel, at its nearest replica."""

    name = "RLOOK"
    assumption = "an elevator crosses 2/3(n + 1) of the reach to the next of n places (equation 12 has 1/n)"

    def positioning(self, spindle, reach, arc, waiting, crowding=ALONE):
        return spindle.stroke(reach, waiting, crowding) + arc / 2


@dataclass(frozen=True)
class RSATF(Scheduler):
    """Whatever its arm and platter reach first, replicas counted.

    Requests that were passed over are farther than random places are, so that a disk takes 5% to 25% more positioning
    time than said here; all layouts alike.
    """

    name = "RSATF"
    assumption = "the nearest of n places is taken, n random seeks and angles"

    def positioning(self, spindle, reach, arc, waiting, crowding=ALONE):
        return spindle.least(reach, arc, np.broadcast_to(waiting, np.shape(reach)))


@takes(heads=Kind(least=1, most=MOST_COUNTED).each)
def crowding_of(heads: Numbers) -> NDArray:
    """How much denser requests are before an elevator than elsewhere, of h elevators that take from among the same.

    Requests are as many at a place as the time since one was there. An elevator finds, going up, those of the time 2u since
    it was at u (of 2(1 - u) going down), unless another has been there since; one that moves independently has been within t
    with the chance that an interval of 2u or 2(1 - u) had ended. Means over u, before an elevator over anywhere:

        c = (h + 1)(h + 2) / h(h + 3): 3/2 of one alone, 6/5 of two, 1 of many
    """
    heads = np.asarray(heads, float)
    return (heads + 1) * (heads + 2) / (heads * (heads + 3))
