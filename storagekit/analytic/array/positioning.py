"""What the formulas ask of a drive: the mean, the square and the best of the seeks within a reach.

A reach is a distance as a share of the full stroke: the cylinders that hold data, divided by the locality.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from storagekit.analytic.array import nearest_of_several
from storagekit.analytic.array.equations import seek_striped
from storagekit.core.checks import require_not_negative, require_positive, require_seconds
from storagekit.core.errors import InputError
from storagekit.core.kinds import SPAN, TIME, hold, text, unchecked
from storagekit.drive import Drive

Numbers = float | NDArray
_SPANS, _TIMES = SPAN.each, TIME.each
# asked with what has been looked at
_distances, _seek_striped = unchecked(nearest_of_several.distances), unchecked(seek_striped)
_least_linear, _most_linear = unchecked(nearest_of_several.least_linear), unchecked(nearest_of_several.most_linear)
_least_sampled, _most_sampled = unchecked(nearest_of_several.least_sampled), unchecked(nearest_of_several.most_sampled)
# how much denser requests are before an elevator that has them for itself than elsewhere
ALONE = 1.5


@dataclass(frozen=True)
class DriveFigures:
    """A drive as the formulas see it, times in seconds, where no more is known of it; `spindle` is their view of a `Drive`.

    full_seek: S, a seek end to end, linear in distance; revolution: R; overhead: T_o, all that an access takes besides
    seek and rotation (processing, transfer, track switch, acceleration); write_settle: added to a write's seek;
    capacity: in any unit that the drives of one population share.
    """

    full_seek: float
    revolution: float
    overhead: float = 0.0
    write_settle: float = 0.0
    capacity: float = 1.0
    name: str = "linear seek"

    def __post_init__(self):
        hold(self, name=text)
        for label in ("full_seek", "revolution", "capacity"):
            require_positive(label, getattr(self, label))
        for label in ("overhead", "write_settle"):
            require_not_negative(label, getattr(self, label))
        meanings = {"full_seek": "seek", "revolution": "revolution", "overhead": "overhead", "write_settle": "settling"}
        for label, meaning in meanings.items():
            require_seconds(label, getattr(self, label), meaning)


class Spindle(ABC):
    """A drive's timing. `revolution`, `overhead` and `write_settle` are seconds."""

    revolution: Numbers
    overhead: Numbers
    write_settle: Numbers
    assumption: str

    def reach(self, share: Numbers) -> NDArray:
        """Cylinders, as a share of all, that hold the first `share` of the data."""
        return np.asarray(share, float)

    @abstractmethod
    def hop(self, reach: Numbers) -> NDArray:
        """Seek over exactly that distance, seconds."""

    @abstractmethod
    def mean_seek(self, reach: Numbers) -> NDArray:
        """Mean seek between uniform places within a reach, seconds."""

    @abstractmethod
    def mean_square_seek(self, reach: Numbers) -> NDArray:
        """Mean square of such a seek."""

    @abstractmethod
    def stroke(self, reach: Numbers, waiting: Numbers, crowding: Numbers = ALONE) -> NDArray:
        """Mean seek, seconds, of an elevator to the next of `waiting` (1 or more) places that keep their number.

        Going up, it finds at u the requests of the time since it was there last, in proportion to u; going down, to 1 - u.
        So there are always a third as many as are served on a round of twice the reach: 2/3n of the reach from one to the
        next where n are many, and 1/3 where n is 1. 2/3(n + 1) has both, and is at most 7% low between. crowding: that 3/2,
        or c in its place (`elevator.crowding_of`): 1/(c (n - 1) + 3) of the reach.
        """

    @abstractmethod
    def least(self, reach: NDArray, arc: NDArray, copies: NDArray, idle: Numbers = 1.0) -> NDArray:
        """Mean positioning of a request at the first of `copies` heads to get there, each idle with a probability.

        Also of one head that takes the nearest of so many requests. `copies` may be no whole number where all are idle.
        """

    @abstractmethod
    def most(self, reach: NDArray, arc: NDArray, copies: NDArray) -> NDArray:
        """Mean positioning of the last of `copies` heads to get there."""


@dataclass(frozen=True)
class Linear(Spindle):
    """Seeks linear in distance; figures may be arrays, one drive for each question.

    Raises InputError where one is below 0, or a revolution 0.
    """

    full_seek: Numbers
    revolution: Numbers
    overhead: Numbers
    write_settle: Numbers = 0.0

    assumption = "seek time is linear in distance"

    def __post_init__(self):
        hold(self, full_seek=_SPANS, revolution=_TIMES, overhead=_SPANS, write_settle=_SPANS)

    def hop(self, reach):
        return np.multiply(self.full_seek, reach)

    def mean_seek(self, reach):
        return _seek_striped(self.hop(reach), 1)

    def mean_square_seek(self, reach):
        return self.hop(reach) ** 2 / 6

    def stroke(self, reach, waiting, crowding=ALONE):
        return self.hop(reach) / (crowding * (np.asarray(waiting) - 1) + 3)

    def least(self, reach, arc, copies, idle=1.0):
        return _least_linear(self.hop(reach), arc, copies, idle)

    def most(self, reach, arc, copies):
        return _most_linear(self.hop(reach), arc, copies)


@dataclass(frozen=True)
class Curve(Spindle):
    """A seek curve, `times[d]` seconds for d cylinders, linear between whole distances.

    `inner` is its first and `outer` its second integral from 0: with both ends uniform within X cylinders a distance has
    the density 2 (X - d) / X^2, so that the mean seek is 2 outer(X) / X^2. held: shares of the data in the first of so many
    equal parts of the cylinders; outer zones hold more.
    """

    times: NDArray
    inner: NDArray
    outer: NDArray
    held: NDArray
    revolution: float
    overhead: float
    write_settle: float

    assumption = "seeks follow the drive's curve over the cylinders, first to last, of the data divided by the locality"

    def reach(self, share):
        return np.interp(share, self.held, np.linspace(0, 1, self.held.size))

    def hop(self, reach):
        distance = np.clip(self._distance(reach), 0, self.times.size - 1)
        whole = np.minimum(distance.astype(int), self.times.size - 2)
        start = self.times[whole]
        return start + (distance - whole) * (self.times[whole + 1] - start)

    def mean_seek(self, reach):
        distance = self._distance(reach)
        whole = np.minimum(distance.astype(int), self.times.size - 2)
        part = distance - whole
        start, slope = self.times[whole], self.times[whole + 1] - self.times[whole]
        total = self.outer[whole] + part * (self.inner[whole] + part * (start / 2 + part * slope / 6))
        return 2 * total / distance**2

    def mean_square_seek(self, reach):
        return (self._samples(reach) ** 2).mean(axis=-1)

    def stroke(self, reach, waiting, crowding=ALONE):
        # distances with the density (1 - d)^k: the mean is the elevator's, and exact for one request
        samples = _distances(crowding * (np.asarray(waiting, float) - 1) + 2)
        return self.hop(np.asarray(reach, float)[..., None] * samples).mean(axis=-1)

    def least(self, reach, arc, copies, idle=1.0):
        # one head has no choice, and its mean is exact
        found = np.array(np.broadcast_to(self.mean_seek(reach) + arc / 2, copies.shape))
        idle = np.broadcast_to(idle, copies.shape)
        many = copies > 1
        if many.any():
            found[many] = _least_sampled(self._samples(reach[many]), arc[many], copies[many], idle[many])
        return found

    def most(self, reach, arc, copies):
        found = np.array(np.broadcast_to(self.mean_seek(reach) + arc / 2, copies.shape))
        many = copies > 1
        if many.any():
            found[many] = _most_sampled(self._samples(reach[many]), arc[many], copies[many])
        return found

    def _distance(self, reach) -> NDArray:
        return np.asarray(reach, float) * (self.times.size - 1)

    def _samples(self, reach) -> NDArray:
        return self.hop(np.asarray(reach, float)[..., None] * _distances())


def spindle(drive: Drive | DriveFigures, overhead: float | None = None) -> Linear | Curve:
    """The planner's view of a drive; `overhead` seconds in the place of the drive's own, where given.

    Raises InputError for what is neither a mechanical drive nor `DriveFigures`, and for an impossible overhead.
    """
    if overhead is not None:
        require_not_negative("overhead", overhead, "s")
    if isinstance(drive, DriveFigures):
        own = drive.overhead if overhead is None else overhead
        return Linear(drive.full_seek, drive.revolution, own, drive.write_settle)
    if not isinstance(drive, Drive):
        raise InputError(
            f"drive {drive!r}: give a drive with an arm and a platter, as load_drive(name) does, or DriveFigures"
        )
    times = np.asarray(drive.seek(cast(Array, np.arange(drive.cylinders))), float)
    inner = np.concatenate([[0.0], np.cumsum((times[:-1] + times[1:]) / 2)])
    outer = np.concatenate([[0.0], np.cumsum(inner[:-1] + times[:-1] / 3 + times[1:] / 6)])
    own = float(drive.overhead) if overhead is None else overhead
    return Curve(times, inner, outer, _held(drive), float(drive.revolution), own, float(drive.write_settle))


def _held(drive: Drive) -> NDArray:
    """Share of the sectors before each of evenly spaced cylinders."""
    sectors = np.linspace(0, drive.capacity - 1, 513).astype(np.int64)
    place = drive.locate(cast(Array, sectors), cast(Array, np.ones_like(sectors)))
    return np.interp(np.linspace(0, 1, 513), np.asarray(place.cylinder) / (drive.cylinders - 1), sectors / sectors[-1])
