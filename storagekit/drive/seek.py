"""Seek curves: the time of an arm movement as a function of its distance in cylinders."""

from abc import abstractmethod
from functools import partial
from typing import Annotated, cast

import equinox as eqx
import numpy as np
import numpy.typing as npt
from jaxtyping import Array, Float, Int

from storagekit.core.arrays import AnyArray, namespace
from storagekit.core.batching import named
from storagekit.core.errors import InputError
from storagekit.core.validation import SPAN, TIME, Validator, instance_of, validate, validate_fields

# Limits of the number of cylinders; the upper limit is far above the number of any drive.
CYLINDERS = Validator(least=2, most=10**8, whole=True)


class AbstractSeek(eqx.Module):
    """Time of an arm movement in seconds, as a function of its distance in cylinders. It is 0 at distance 0.

    For a NumPy array, the call returns a NumPy array, without compilation.
    """

    @abstractmethod
    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]: ...


class SeekTable(AbstractSeek):
    """A measured seek curve, including its noise; it need not be monotone.

    Parameters
    ----------
    times : float, `[distance]`
        Times for the distances 0, 1, 2, ... cylinders, seconds.

    Raises
    ------
    InputError
        If a time is impossible, or if `times` does not have one axis.
    """

    times: Float[AnyArray, "distance"] = eqx.field(converter=named("seek times"))

    def __check_init__(self):
        SPAN.each("seek times", self.times)
        if np.ndim(self.times) != 1:
            raise InputError(
                f"seek times: an array with {np.ndim(self.times)} axes; give a list of the times for distances "
                "0, 1, 2, ..."
            )

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return namespace(distance).take(self.times, distance, mode="clip")


class SeekFit(AbstractSeek):
    """A smooth seek curve.

    Parameters
    ----------
    settle, acceleration, coast : float
        Coefficients, seconds, each at least 0.

    Raises
    ------
    InputError
        If a coefficient is impossible.

    Notes
    -----
    For d >= 1 cylinders the time is settle + acceleration * sqrt(d) + coast * d seconds. The square root describes an
    arm that accelerates or brakes during the whole movement. The linear term describes movement at full speed.

    References
    ----------
    Ruemmler and Wilkes, An introduction to disk drive modeling, 1994.
    """

    settle: Annotated[Float[AnyArray, "..."], SPAN.each] = eqx.field(converter=named("settle"))
    acceleration: Annotated[Float[AnyArray, "..."], SPAN.each] = eqx.field(converter=named("acceleration"))
    coast: Annotated[Float[AnyArray, "..."], SPAN.each] = eqx.field(converter=named("coast"))

    def __check_init__(self):
        validate_fields(self)

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        space = namespace(distance)
        far = space.asarray(distance, space.float32)
        time = self.settle + self.acceleration * space.sqrt(far) + self.coast * far
        return space.where(distance > 0, time, space.float32(0))


class LinearSeek(AbstractSeek):
    """A seek time in proportion to distance, as in closed-form models.

    Parameters
    ----------
    full : float
        Time across all cylinders, seconds.
    cylinders : int
        Number of cylinders C. The time for distance d is full * d / (C - 1).

    Raises
    ------
    InputError
        If a value is impossible.
    """

    full: Annotated[Float[AnyArray, "..."], SPAN.each] = eqx.field(converter=named("full"))
    cylinders: int = eqx.field(static=True, converter=partial(CYLINDERS, "cylinders"))

    def __check_init__(self):
        validate_fields(self)

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        space = namespace(distance)
        return space.asarray(distance, space.float32) * (self.full / (self.cylinders - 1))


class ScaledSeek(AbstractSeek):
    """The seek curve `curve` with all times multiplied by `factor`."""

    curve: AbstractSeek
    factor: Float[AnyArray, "..."]

    def __call__(self, distance: int | Int[AnyArray, "*row"]) -> Float[AnyArray, "*row"]:
        return self.curve(distance) * self.factor


def mean_seek(seek: AbstractSeek, cylinders: int) -> float:
    """Return the mean seek time between two independent, uniformly distributed cylinders.

    Parameters
    ----------
    seek : AbstractSeek
        The seek curve.
    cylinders : int
        Number of cylinders C.

    Returns
    -------
    float
        Mean time, seconds.

    Notes
    -----
    Distance d > 0 has probability 2 (C - d) / C^2, and distance 0 has probability 1 / C.
    """
    distance = np.arange(cylinders)
    likely = 2 * (cylinders - distance) / cylinders**2
    likely[0] /= 2
    return float(np.asarray(seek(cast(Array, distance)), float) @ likely)


def seek_table(points: npt.ArrayLike, cylinders: int) -> SeekTable:
    """Return the seek curve through measured points.

    The curve is linear between neighbouring points. Beyond the last point, the last line is continued.

    Parameters
    ----------
    points : array_like, `[point, 2]`
        Distance in cylinders and time in seconds of each point.
    cylinders : int
        Number of cylinders. The table has the distances 0 to `cylinders` - 1.

    Returns
    -------
    SeekTable
        The curve.

    Raises
    ------
    InputError
        If there are fewer than two points, if the distances are not ascending or begin below 1, or if a time is not
        positive.
    """
    known = np.asarray(points, float)
    if known.ndim != 2 or known.shape[0] < 2 or known.shape[1] != 2:
        raise InputError(f"seek curve: an array of shape {known.shape}; give at least two pairs [cylinders, time]")
    if np.any(np.diff(known[:, 0]) <= 0) or known[0, 0] < 1:
        raise InputError(
            "seek curve: distances must increase and start at 1 or more; sort the points and remove duplicates"
        )
    TIME.each("seek curve: time", known[:, 1])
    distance = np.arange(cylinders)
    times = np.interp(distance, known[:, 0], known[:, 1])
    (near, near_time), (far, far_time) = known[-2:]
    beyond = distance > far
    times[beyond] = far_time + (distance[beyond] - far) * (far_time - near_time) / (far - near)
    times[0] = 0.0
    return SeekTable(times)


@validate
def fit_seek(
    table: Annotated[SeekTable, instance_of(SeekTable, "a measured curve, as sk.drive.SeekTable([0.0, 0.001, 0.002])")],
) -> SeekFit:
    """Return the smooth seek curve that fits a measured curve best.

    Parameters
    ----------
    table : SeekTable
        The measured curve.

    Returns
    -------
    SeekFit
        Non-negative least-squares fit to the measured curve, over all distances of 1 or more.

    Raises
    ------
    InputError
        If the curve has distance 0 only.
    """
    from scipy.optimize import nnls  # imported here: it takes half of the time to import drives

    times = np.asarray(table.times, float)[1:]
    if not times.size:
        raise InputError(
            "a seek curve with only the time for distance 0: give the times for distances 0, 1, 2, ..., at least two of them"
        )
    distance = np.arange(1, times.size + 1)
    terms = np.stack([np.ones_like(times), np.sqrt(distance), distance], axis=1)
    coefficients, _ = nnls(terms, times)
    return SeekFit(*coefficients)


def seek_from_three(single: float, average: float, full: float, cylinders: int) -> SeekFit:
    """Return the smooth seek curve through the three seek times of a data sheet.

    Parameters
    ----------
    single, average, full : float
        Track-to-track, average and full-stroke seek time, seconds.
    cylinders : int
        Number of cylinders C.

    Returns
    -------
    SeekFit
        The curve.

    Raises
    ------
    InputError
        If no curve with non-negative terms has these three values.

    Notes
    -----
    The average is over two independent, uniformly distributed cylinders. For the distance d between these cylinders,
    the mean of d is C/3, and the mean of sqrt(d) is 8 sqrt(C)/15.
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
            f"average seek {average:g} s: with {single:g} s track to track and {full:g} s full stroke, it must be "
            f"between about {low:g} and {high:g} s; check the three values"
        )
    return SeekFit(settle, acceleration, coast)
