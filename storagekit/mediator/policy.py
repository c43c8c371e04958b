"""Which layout a mediator tries first, and which of the agents that fit it takes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.core.kinds import SECTORS, a, hold
from storagekit.core.units import KB


@dataclass(frozen=True)
class StripeShapes:
    """Layouts without their agents, `[shape]`: agents, data blocks in a stripe, unit in bytes."""

    agents: NDArray
    data: NDArray
    unit: NDArray

    @property
    def count(self) -> int:
        return self.unit.size

    def where(self, chosen: NDArray) -> "StripeShapes":
        return StripeShapes(self.agents[chosen], self.data[chosen], self.unit[chosen])


class Policy(ABC):
    """An order of shapes and an order of agents. Whatever it says, a mediator refuses only if nothing fits."""

    @abstractmethod
    def order(self, shapes: StripeShapes) -> NDArray:
        """Numbers of all shapes, the first to be tried first."""

    def agents(self, fitting: NDArray, busy: NDArray) -> NDArray:
        """The agents that fit, the first to be taken first: those with most free time.

        fitting: their numbers; busy: share of its time that each one's disk is reserved for, in their order.
        """
        return fitting[np.argsort(busy, kind="stable")]


@dataclass(frozen=True)
class Economical(Policy):
    """The least check data, then the fewest agents, then the largest unit: a low rate gets large units on few agents, a high
    one small units on many, as far as the client's buffer has them smaller (swift, section 2)."""

    def order(self, shapes: StripeShapes) -> NDArray:
        return np.lexsort((-shapes.unit, shapes.agents, shapes.agents / shapes.data))


@dataclass(frozen=True)
class Widest(Policy):
    """The most agents, then the largest unit: every session uses all the parallelism there is."""

    def order(self, shapes: StripeShapes) -> NDArray:
        return np.lexsort((-shapes.unit, -shapes.agents))


@dataclass(frozen=True)
class FirstFit(Economical):
    """As economical, but the agents with the lowest numbers: the others stay free for sessions that need many at once."""

    def agents(self, fitting: NDArray, busy: NDArray) -> NDArray:
        return np.sort(fitting)


@dataclass(frozen=True)
class SmallUnits(Economical):
    """As economical, but with units of at most `limit` bytes where any of these fits: where service is in order of arrival, a
    large block of one session stands in the way of others with short periods, at the disks and on the network. Raises
    InputError for a limit that is not a whole number of bytes."""

    limit: int = 256 * KB

    def __post_init__(self):
        hold(self, limit=SECTORS)

    def order(self, shapes: StripeShapes) -> NDArray:
        usual = super().order(shapes)
        return usual[np.argsort(shapes.unit[usual] > self.limit, kind="stable")]


POLICY = a(Policy, "one as Economical()")
