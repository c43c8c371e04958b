"""Seek curves: seconds of arm movement by distance in cylinders."""

from abc import abstractmethod
from functools import partial
from typing import cast

import equinox as eqx
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Int

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import named
from storagekit.core.checks import require_each_positive
from storagekit.core.errors import InputError
from storagekit.core.kinds import SPAN, Kind, a, hold, takes

# what an arm can move over, and far more than drives have
CYLINDERS = Kind(least=2, most=10**8, whole=True)


class AbstractSeek(eqx.Module):
    """Seconds of arm movement over a distance; 0 at distance 0. Of a NumPy array, a NumPy array: no compilation."""

    @abstractmethod
    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]: ...


class SeekTable(AbstractSeek):
    """A measured curve, one entry for each distance from 0 up, kept with its noise (it need not be monotone)."""

    times: Float[AnyArray, "distance"] = eqx.field(converter=named("seek times"))

    def __check_init__(self):
        SPAN.each("seek times", self.times)
        if np.ndim(self.times) != 1:
            raise InputError(
                f"seek times of {np.ndim(self.times)} axes: give a time for each distance from 0 up, in a list"
            )

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return namespace(distance).take(self.times, distance, mode="clip")


class SeekFit(AbstractSeek):
    """A smooth curve: settle + acceleration * sqrt(d) + coast * d seconds for d >= 1 cylinders.

    The square root is the part in which the arm accelerates all the way, the line the part at full speed
    (Ruemmler and Wilkes, An introduction to disk drive modeling, 1994).
    """

    settle: Float[AnyArray, "..."] = eqx.field(converter=named("settle"))
    acceleration: Float[AnyArray, "..."] = eqx.field(converter=named("acceleration"))
    coast: Float[AnyArray, "..."] = eqx.field(converter=named("coast"))

    def __check_init__(self):
        hold(self, settle=SPAN.each, acceleration=SPAN.each, coast=SPAN.each)

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        space = namespace(distance)
        far = space.asarray(distance, space.float32)
        time = self.settle + self.acceleration * space.sqrt(far) + self.coast * far
        return space.where(distance > 0, time, space.float32(0))


class LinearSeek(AbstractSeek):
    """The formulas' arm: `full` seconds across `cylinders` cylinders and in proportion below."""

    full: Float[AnyArray, "..."] = eqx.field(converter=named("full"))
    cylinders: int = eqx.field(static=True, converter=partial(CYLINDERS, "cylinders"))

    def __check_init__(self):
        hold(self, full=SPAN.each)

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        space = namespace(distance)
        return space.asarray(distance, space.float32) * (self.full / (self.cylinders - 1))


class ScaledSeek(AbstractSeek):
    """Another curve times `factor`."""

    curve: AbstractSeek
    factor: Float[AnyArray, "..."]

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return self.curve(distance) * self.factor


def mean_seek(seek: AbstractSeek, cylinders: int) -> float:
    """Mean seconds between two independent, uniform cylinders of so many: distance d has probability 2 (C - d) / C^2, no
    distance 1 / C."""
    distance = np.arange(cylinders)
    likely = 2 * (cylinders - distance) / cylinders**2
    likely[0] /= 2
    return float(np.asarray(seek(cast(Array, distance)), float) @ likely)


def seek_table(points: npt.ArrayLike, cylinders: int) -> SeekTable:
    """A table for distances 0 to cylinders-1 from measured points `[(cylinders, seconds), ...]`.

    Piecewise linear between points and beyond the last. Raises InputError unless distances rise from 1 and times are
    positive.
    """
    known = np.asarray(points, float)
    if known.ndim != 2 or known.shape[0] < 2 or known.shape[1] != 2:
        raise InputError(f"seek curve: {known.shape} values; give at least two pairs [cylinders, time]")
    if np.any(np.diff(known[:, 0]) <= 0) or known[0, 0] < 1:
        raise InputError("seek curve: distances must rise from 1 cylinder; sort the points and drop repeats")
    require_each_positive("seek curve: time", known[:, 1], "s")
    distance = np.arange(cylinders)
    times = np.interp(distance, known[:, 0], known[:, 1])
    (near, near_time), (far, far_time) = known[-2:]
    beyond = distance > far
    times[beyond] = far_time + (distance[beyond] - far) * (far_time - near_time) / (far - near)
    times[0] = 0.0
    return SeekTable(times)


@takes(table=a(SeekTable, "a measured curve, as sk.drive.SeekTable([0.0, 0.001, 0.002])"))
def fit_seek(table: SeekTable) -> SeekFit:
    """The smooth curve nearest a measured one (non-negative least squares over all distances). Raises InputError for a curve
    of no distance."""
    from scipy.optimize import nnls  # half of what importing drives would take

    times = np.asarray(table.times, float)[1:]
    if not times.size:
        raise InputError("a seek curve of distance 0 alone: give a time for each distance from 0 up, at least two")
    distance = np.arange(1, times.size + 1)
    terms = np.stack([np.ones_like(times), np.sqrt(distance), distance], axis=1)
    coefficients, _ = nnls(terms, times)
    return SeekFit(*coefficients)


def seek_from_three(single: float, average: float, full: float, cylinders: int) -> SeekFit:
    """The smooth curve through a data sheet's track-to-track, average and full-stroke seek (seconds).

    The average is over independent uniform cylinders, whose distance d among C has E d = C/3 and E sqrt(d) = 8 sqrt(C)/15.
    Raises InputError where no curve with non-negative terms has these three values.
    """
    longest = cylinders - 1
    terms = np.array(
        [
            [1.0, 1.0, 1.0],
            [1.0, 8.0 / 15.0 * np.sqrt(longest), longest / 3.0],
            [1.0, np.sqrt(longest), longest],
        ]
    )
    settle, acceleration, coast = np.linalg.solve(terms, [single, average, full])
    if not min(settle, acceleration, coast) >= 0:
        low = single + (full - single) / 3.0
        high = single + (full - single) * 8.0 / 15.0
        raise InputError(
            f"average seek {average:g} s: with {single:g} s track to track and {full:g} s full stroke it must lie "
            f"between about {low:g} and {high:g} s; check the three figures"
        )
    return SeekFit(settle, acceleration, coast)
