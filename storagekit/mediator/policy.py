"""Policies of a mediator: the order of the layouts to try, and the choice among the agents that fit."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from storagekit.core.units import KB
from storagekit.core.validation import Sectors, validate_fields
from storagekit.mediator.stripe_shapes import StripeShapes


class Policy(ABC):
    """Base class of policies, which order the stripe shapes and the agents.

    With any policy, a mediator rejects a request only if no layout fits.
    """

    @abstractmethod
    def order(self, shapes: StripeShapes) -> NDArray:
        """Return the indices of all stripe shapes, in the order in which the mediator tries them."""

    def agents(self, fitting: NDArray, busy: NDArray) -> NDArray:
        """Return the agents that fit, in the order of preference.

        By default, the agent whose disk has the most free time is first.

        Parameters
        ----------
        fitting : ndarray of int
            Numbers of the agents that fit.
        busy : ndarray
            Share of time for which the disk of each fitting agent is reserved, in the order of `fitting`.
        """
        return fitting[np.argsort(busy, kind="stable")]


@dataclass(frozen=True)
class Economical(Policy):
    """Prefer the least check data, then the fewest agents, then the largest unit.

    A session with a low rate receives large units on few agents. A session with a high rate receives many agents, and
    smaller units if the client's buffer requires smaller units (swift, section 2).
    """

    def order(self, shapes: StripeShapes) -> NDArray:
        return np.lexsort((-shapes.unit, shapes.agents, shapes.agents / shapes.data))


@dataclass(frozen=True)
class Widest(Policy):
    """Prefer the most agents, then the largest unit, so that every session uses all available parallelism."""

    def order(self, shapes: StripeShapes) -> NDArray:
        return np.lexsort((-shapes.unit, -shapes.agents))


@dataclass(frozen=True)
class FirstFit(Economical):
    """Order stripe shapes as `Economical` does, but prefer the agents with the lowest numbers.

    The other agents stay free for sessions that need many agents simultaneously.
    """

    def agents(self, fitting: NDArray, busy: NDArray) -> NDArray:
        return np.sort(fitting)


@dataclass(frozen=True)
class SmallUnits(Economical):
    """Order stripe shapes as `Economical` does, but prefer units of at most `limit` bytes over larger units.

    Resources serve in order of arrival. A large block of one session therefore delays sessions with short periods, at
    the disks and on the network.

    Parameters
    ----------
    limit : int
        Largest preferred unit, bytes; 256 KB by default.

    Raises
    ------
    InputError
        If the limit is not a whole number of bytes.
    """

    limit: Sectors = 256 * KB

    def __post_init__(self):
        validate_fields(self)

    def order(self, shapes: StripeShapes) -> NDArray:
        usual = super().order(shapes)
        return usual[np.argsort(shapes.unit[usual] > self.limit, kind="stable")]
