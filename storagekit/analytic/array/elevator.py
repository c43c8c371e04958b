"""Calculate the mean positioning time of the next request under a scheduler, where formulas exist."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array.positioning import ALONE, Numbers, Spindle
from storagekit.core.namespaces import namespace_of
from storagekit.core.validation import MOST_COUNTED, Validator, validate


class Scheduler(ABC):
    """A scheduler of one disk that accesses the nearest replica of each request (srarray, section 2.4)."""

    name: ClassVar[str]
    assumption: ClassVar[str]

    @abstractmethod
    def positioning(
        self, spindle: Spindle, reach: NDArray, arc: NDArray, waiting: Numbers, crowding: Numbers = ALONE
    ) -> NDArray:
        """Return the mean positioning time of the request that is served next, in seconds: seek and rotation.

        Parameters
        ----------
        spindle : Spindle
            Timing of the drive.
        reach : array of float
            Share of the cylinders in use, divided by the locality.
        arc : array of float
            Time from one replica to the next, seconds.
        waiting : float or array of float
            Number of waiting requests, at least 1; it may be a fraction.
        crowding : float or array of float
            Density of requests ahead of an elevator, relative to the density elsewhere (`crowding_of`); 3/2 by default.

        Returns
        -------
        array of float
            Mean positioning time, seconds.
        """


@dataclass(frozen=True)
class RLOOK(Scheduler):
    """The elevator: serve the next cylinder in the direction of travel, at the nearest replica."""

    name = "RLOOK"
    assumption = "with n waiting requests, the mean seek is 2/(3(n + 1)) of the seek range (equation 12 has 1/n)"

    def positioning(self, spindle, reach, arc, waiting, crowding=ALONE):
        return spindle.stroke(reach, waiting, crowding) + arc / 2


@dataclass(frozen=True)
class RSATF(Scheduler):
    """Shortest access time first, over all replicas: serve the request that arm and platter reach first.

    Requests that were not chosen are farther away than random locations. The positioning times of a disk are therefore
    5% to 25% longer than in this model, equally in all layouts.
    """

    name = "RSATF"
    assumption = "the drive serves the nearest of n requests, with n independent random seeks and angles"

    def positioning(self, spindle, reach, arc, waiting, crowding=ALONE):
        return spindle.least(reach, arc, namespace_of(waiting).broadcast_to(waiting, np.shape(reach)))


@validate
def crowding_of(heads: Annotated[Numbers, Validator(least=1, most=MOST_COUNTED).each]) -> NDArray:
    """Return the density of requests ahead of an elevator relative to the density elsewhere.

    Parameters
    ----------
    heads : float or array of float
        Number h of elevators that serve the same requests, at least 1.

    Returns
    -------
    array of float
        Relative density c: 3/2 for one elevator, 6/5 for two, 1 for many.

    Raises
    ------
    InputError
        If the number is below 1.

    Notes
    -----
    The number of requests at a location is proportional to the time since the last visit of an elevator. An elevator on
    its way up last visited location u (0 to 1) a time of 2u ago; on its way down, a time of 2(1 - u) ago. It finds the
    requests that have arrived at u in this time, unless another elevator has visited u since then. The probability that
    an independent elevator has visited u within t is the probability that an interval of 2u or 2(1 - u) has ended. The
    relative density c is the mean over u of the density ahead of an elevator, divided by the mean density anywhere:

        c = (h + 1)(h + 2) / (h (h + 3))
    """
    heads = namespace_of(heads).asarray(heads, float)
    return (heads + 1) * (heads + 2) / (heads * (heads + 3))
