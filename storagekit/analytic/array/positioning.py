"""Calculate mean seek times within a reach, and mean positioning times of the first and the last of several heads.

A reach is a distance as a share of the full stroke: the share of the cylinders that hold data, divided by the locality.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, cast

import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from storagekit.analytic.array import nearest_of_several
from storagekit.analytic.array.equations import seek_striped
from storagekit.core.errors import InputError
from storagekit.core.namespaces import interpolated, namespace_of
from storagekit.core.validation import SPAN, TIME, Amount, Positive, require_seconds, traced, unchecked, validate_fields
from storagekit.drive import Drive

Numbers = float | NDArray
_SPANS, _TIMES = SPAN.each, TIME.each
# versions without validation, for arguments that have been validated
_distances, _seek_striped = unchecked(nearest_of_several.distances), unchecked(seek_striped)
_least_linear, _most_linear = unchecked(nearest_of_several.least_linear), unchecked(nearest_of_several.most_linear)
_least_sampled, _most_sampled = unchecked(nearest_of_several.least_sampled), unchecked(nearest_of_several.most_sampled)
# density of requests ahead of a single elevator, relative to the density elsewhere
ALONE = 1.5


@dataclass(frozen=True)
class DriveFigures:
    """A drive with only a few known parameters.

    `spindle` returns the timing that the formulas use, from a `Drive` or from these parameters.

    Parameters
    ----------
    full_seek : float
        Seek time S from end to end, linear in distance, seconds.
    revolution : float
        Time R of a revolution, seconds.
    overhead : float
        Time T_o of an access without seek and rotation, seconds; 0 by default. It includes processing, transfer, track
        switch and acceleration.
    write_settle : float
        Additional seek time of a write, compared with a read, seconds; 0 by default.
    capacity : float
        Capacity, in any unit; 1 by default. All drives of an array must use the same unit.
    name : str
        Name of the drive.

    Raises
    ------
    InputError
        If `full_seek`, `revolution` or `capacity` is not above 0, or another time is below 0.
    """

    full_seek: Positive
    revolution: Positive
    overhead: Amount = 0.0
    write_settle: Amount = 0.0
    capacity: Positive = 1.0
    name: str = "linear seek"

    def __post_init__(self):
        validate_fields(self)
        meanings = {"full_seek": "seek", "revolution": "revolution", "overhead": "overhead", "write_settle": "settling"}
        for label, meaning in meanings.items():
            require_seconds(label, getattr(self, label), meaning)


class Spindle(ABC):
    """Timing of a drive. `revolution`, `overhead` and `write_settle` are seconds."""

    revolution: Numbers
    overhead: Numbers
    write_settle: Numbers
    assumption: str

    def reach(self, share: Numbers) -> NDArray:
        """Return the share of the cylinders that the first `share` of the data occupies."""
        return namespace_of(share).asarray(share, float)

    @abstractmethod
    def hop(self, reach: Numbers) -> NDArray:
        """Return the time in seconds of a seek over the distance `reach`."""

    @abstractmethod
    def mean_seek(self, reach: Numbers) -> NDArray:
        """Return the mean seek time in seconds between two uniform locations within a reach."""

    @abstractmethod
    def mean_square_seek(self, reach: Numbers) -> NDArray:
        """Return the mean square of the seek time between two uniform locations within a reach, in seconds squared."""

    @abstractmethod
    def stroke(self, reach: Numbers, waiting: Numbers, crowding: Numbers = ALONE) -> NDArray:
        """Return the mean seek time of an elevator to the next request, in seconds.

        Parameters
        ----------
        reach : float or array of float
            Reach, as a share of the full stroke.
        waiting : float or array of float
            Number of waiting requests, at least 1. The number is constant.
        crowding : float or array of float
            Density c of requests ahead of the elevator, relative to the density elsewhere (`elevator.crowding_of`);
            3/2 by default.

        Returns
        -------
        array of float
            Mean seek time, seconds.

        Notes
        -----
        At position u the elevator finds the requests that have arrived since its last visit. Their number is
        proportional to u on the way up, and to 1 - u on the way down. In a round, the elevator covers twice the reach.
        The number of waiting requests is therefore always a third of the number of requests served in a round. The
        distance to the next request is 2/(3n) of the reach if the number n of waiting requests is large, and 1/3 if n
        is 1. The formula 2/(3 (n + 1)) has both limits, and is at most 7% too low between the limits. With a relative
        density of c instead of 3/2, the distance as a share of the reach is

            1/(c (n - 1) + 3)
        """

    @abstractmethod
    def least(self, reach: NDArray, arc: NDArray, copies: NDArray, idle: Numbers = 1.0) -> NDArray:
        """Return the mean positioning time of the first of several heads to arrive, in seconds.

        The result is also the mean positioning time of one head that serves the nearest of `copies` requests.

        Parameters
        ----------
        reach : array of float
            Reach, as a share of the full stroke.
        arc : array of float
            Time from one replica to the next, seconds.
        copies : array
            Number of heads, or of requests. It may be a fraction if all heads are idle.
        idle : float or array of float
            Probability that a head is idle; 1 by default.

        Returns
        -------
        array of float
            Mean positioning time, seconds.
        """

    @abstractmethod
    def most(self, reach: NDArray, arc: NDArray, copies: NDArray) -> NDArray:
        """Return the mean positioning time of the last of several heads to arrive, in seconds.

        Parameters
        ----------
        reach : array of float
            Reach, as a share of the full stroke.
        arc : array of float
            Time from one replica to the next, seconds.
        copies : array of int
            Number of heads.

        Returns
        -------
        array of float
            Mean positioning time, seconds.
        """


@dataclass(frozen=True)
class Linear(Spindle):
    """Timing of a drive whose seek times are linear in distance. Fields may be arrays with one element for each drive.

    Parameters
    ----------
    full_seek : float or array of float
        Seek time from end to end, seconds.
    revolution : float or array of float
        Time of a revolution, seconds, above 0.
    overhead : float or array of float
        Time of an access without seek and rotation, seconds.
    write_settle : float or array of float
        Additional seek time of a write, compared with a read, seconds; 0 by default.

    Raises
    ------
    InputError
        If a time is below 0, or a revolution is 0.
    """

    full_seek: Annotated[Numbers, _SPANS]
    revolution: Annotated[Numbers, _TIMES]
    overhead: Annotated[Numbers, _SPANS]
    write_settle: Annotated[Numbers, _SPANS] = 0.0

    assumption = "seek time is linear in distance"

    def __post_init__(self):
        validate_fields(self)

    def hop(self, reach):
        return namespace_of(self.full_seek, reach).multiply(self.full_seek, reach)

    def mean_seek(self, reach):
        return _seek_striped(self.hop(reach), 1)

    def mean_square_seek(self, reach):
        return self.hop(reach) ** 2 / 6

    def stroke(self, reach, waiting, crowding=ALONE):
        return self.hop(reach) / (crowding * (namespace_of(waiting).asarray(waiting) - 1) + 3)

    def least(self, reach, arc, copies, idle=1.0):
        return _least_linear(self.hop(reach), arc, copies, idle)

    def most(self, reach, arc, copies):
        return _most_linear(self.hop(reach), arc, copies)


@dataclass(frozen=True)
class Curve(Spindle):
    """Timing of a drive with a seek curve. Between whole numbers of cylinders, the curve is linear.

    Parameters
    ----------
    times : array of float, shape `[distance]`
        Seek times for the distances 0, 1, 2, ... cylinders, seconds.
    inner : array of float, shape `[distance]`
        Integral of the seek time over the distance, from 0 to each distance.
    outer : array of float, shape `[distance]`
        Integral of `inner` over the distance, from 0 to each distance.
    held : array of float, shape `[boundary]`
        For each of evenly spaced cylinders, the share of the data that is on the cylinders before it. Outer cylinders
        hold more data than inner cylinders.
    revolution : float
        Time of a revolution, seconds.
    overhead : float
        Time of an access without seek and rotation, seconds.
    write_settle : float
        Additional seek time of a write, compared with a read, seconds.

    Notes
    -----
    If both ends of a seek are uniform within X cylinders, the distance d of the seek has the density 2 (X - d) / X^2.
    The mean seek time is therefore 2 `outer`[X] / X^2.
    """

    times: NDArray
    inner: NDArray
    outer: NDArray
    held: NDArray
    revolution: float
    overhead: float
    write_settle: float

    assumption = "seek times follow the drive's curve; seeks span the cylinders of the data, divided by the locality"

    def reach(self, share):
        return interpolated(share, self.held, np.linspace(0, 1, self.held.size))

    def hop(self, reach):
        space = namespace_of(reach, self.times)
        times, distance = space.asarray(self.times), space.clip(self._distance(reach), 0, self.times.size - 1)
        whole = space.minimum(distance.astype(int), self.times.size - 2)
        start = times[whole]
        return start + (distance - whole) * (times[whole + 1] - start)

    def mean_seek(self, reach):
        space, distance = namespace_of(reach, self.times), self._distance(reach)
        times, inner, outer = map(space.asarray, (self.times, self.inner, self.outer))
        whole = space.minimum(distance.astype(int), times.size - 2)
        part = distance - whole
        start, slope = times[whole], times[whole + 1] - times[whole]
        total = outer[whole] + part * (inner[whole] + part * (start / 2 + part * slope / 6))
        return 2 * total / distance**2

    def mean_square_seek(self, reach):
        return (self._samples(reach) ** 2).mean(axis=-1)

    def stroke(self, reach, waiting, crowding=ALONE):
        # Distances with the density (1 - d)^k have the mean distance of the elevator, and are exact for one request.
        samples = _distances(crowding * (namespace_of(waiting).asarray(waiting, float) - 1) + 2)
        return self.hop(namespace_of(reach).asarray(reach, float)[..., None] * samples).mean(axis=-1)

    def least(self, reach, arc, copies, idle=1.0):
        idle = namespace_of(idle).broadcast_to(idle, copies.shape)
        return self._of_several(_least_sampled, reach, arc, copies, idle)

    def most(self, reach, arc, copies):
        return self._of_several(_most_sampled, reach, arc, copies)

    def _of_several(self, sampled: Callable, reach: NDArray, arc: NDArray, copies: NDArray, *more: NDArray) -> NDArray:
        """Return the mean time of several heads. A single head has no choice, and its mean is exact."""
        space = namespace_of(reach, arc, copies, *more)
        alone = space.broadcast_to(self.mean_seek(reach) + arc / 2, copies.shape)
        # a number of heads that JAX traces may be above 1
        if not traced(copies) and not np.any(copies > 1):
            return alone

        def several(reach: NDArray, *given: NDArray) -> NDArray:
            return sampled(self._samples(reach.ravel()), *(one.ravel() for one in given)).reshape(reach.shape)

        if space is not np:
            return space.where(copies > 1, several(reach, arc, copies, *more), alone)
        found, many = np.array(alone), copies > 1
        found[many] = several(*(one[many] for one in (reach, arc, copies, *more)))
        return found

    def _distance(self, reach) -> NDArray:
        return namespace_of(reach).asarray(reach, float) * (self.times.size - 1)

    def _samples(self, reach) -> NDArray:
        samples, space = _distances(), namespace_of(reach)
        reach = space.asarray(reach, float)[..., None]
        return self.hop(reach * samples.reshape((1,) * (reach.ndim - 1) + (-1,)))


def spindle(drive: Drive | DriveFigures, overhead: float | None = None) -> Linear | Curve:
    """Return the timing of a drive for the formulas.

    Parameters
    ----------
    drive : Drive or DriveFigures
        A mechanical drive, or its parameters.
    overhead : float, optional
        Overhead of an access, seconds, which replaces the drive's own overhead.

    Returns
    -------
    Linear or Curve
        `Linear` for `DriveFigures`, `Curve` for a `Drive`.

    Raises
    ------
    InputError
        If `drive` has another type, or the overhead is impossible.
    """
    if overhead is not None:
        SPAN("overhead", overhead)
    if isinstance(drive, DriveFigures):
        own = drive.overhead if overhead is None else overhead
        return Linear(drive.full_seek, drive.revolution, own, drive.write_settle)
    if not isinstance(drive, Drive):
        raise InputError(
            f"drive {drive!r}: give a drive with an arm and a platter, for example load_drive(name), or "
            "DriveFigures(...)"
        )
    curve = next((known for one, known in _CURVES if one is drive), None)
    if curve is None:
        curve = _curve(drive)
        _CURVES.append((drive, curve))
    return curve if overhead is None else replace(curve, overhead=overhead)


# curves of the last drives, because questions about one drive follow each other, and a curve has 10^5 distances
_CURVES: deque[tuple[Drive, Curve]] = deque(maxlen=8)


def _curve(drive: Drive) -> Curve:
    times = np.asarray(drive.seek(cast(Array, np.arange(drive.cylinders))), float)
    inner = np.concatenate([[0.0], np.cumsum((times[:-1] + times[1:]) / 2)])
    outer = np.concatenate([[0.0], np.cumsum(inner[:-1] + times[:-1] / 3 + times[1:] / 6)])
    turn, own, settle = float(drive.revolution), float(drive.overhead), float(drive.write_settle)
    return Curve(times, inner, outer, _held(drive), turn, own, settle)


def _held(drive: Drive) -> NDArray:
    """Return, for each of evenly spaced cylinders, the share of the sectors that are on the cylinders before it."""
    sectors = np.linspace(0, drive.capacity - 1, 513).astype(np.int64)
    location = drive.locate(cast(Array, sectors), cast(Array, np.ones_like(sectors)))
    return np.interp(
        np.linspace(0, 1, 513), np.asarray(location.cylinder) / (drive.cylinders - 1), sectors / sectors[-1]
    )
