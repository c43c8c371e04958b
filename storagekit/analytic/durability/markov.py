"""Solve absorbing Markov chains in continuous time without subtractions, so that small probabilities keep their digits.

State 0 is the start. Absorption is the loss of data. All methods add, multiply and divide nonnegative numbers only.
Therefore a probability of 1e-20 has almost as many correct digits as a probability of 0.5.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from storagekit.core.errors import InputError
from storagekit.core.namespaces import as_number, is_zero, listed, namespace_of, quotient, repeated, stacked, value_of
from storagekit.core.validation import RATE, Share, Span, numbers, require, text, traced, validate

# Number of the target state of a transition to loss.
LOSS = -1
# Events that are left out of a path, because they do not bring the data closer to their loss.
REPAIRED, SPARE = "disk rebuilt", "spare arrives"
# Largest number of states: a solution takes some seconds.
MOST_STATES = 1000
# Terms of a power series over one step of the uniformized chain: 1 / 30! is below the precision of float64.
TERMS = 30
# Number of doublings of a step for rates that JAX traces: a duration of up to 2^64 events.
MOST_DOUBLINGS = 64
# limit of the number of prefixes of paths that are examined
MOST_PREFIXES = 300


class Transition(NamedTuple):
    """A transition of a chain.

    Parameters
    ----------
    source, target : int
        Numbers of the states; the target of a loss is `LOSS`.
    rate : float
        Transition rate, 1/s.
    event : str
        The event that causes the transition.
    """

    source: int
    target: int
    rate: float
    event: str


class LossPath(NamedTuple):
    """A sequence of events that leads to data loss, and its share of all losses.

    Parameters
    ----------
    events : tuple of str
        The events since all disks worked. Events whose effect was repaired before the loss are left out.
    share : float
        Share of the losses that have this path, 0 to 1.
    """

    events: tuple[str, ...]
    share: float


def _transitions(label: str, value: Iterable[Transition]) -> tuple[Transition, ...]:
    """Return the transitions with a positive rate. Raises InputError if a number of a state or a rate is invalid."""
    found = []
    try:
        given = [Transition(*one) for one in value]
    except TypeError:
        raise InputError(f"{label}: give a list of Transition(source, target, rate, event)") from None
    for source, target, rate, event in given:
        for state, least in ((source, 0), (target, LOSS)):
            whole = isinstance(state, int | np.integer) and not isinstance(state, bool)
            if not whole or not least <= state < MOST_STATES:
                raise InputError(f"{label}: state {state!r:.40} of a transition; give a number from {least} on")
        # a rate that JAX traces may be above 0
        if not is_zero(RATE("rate of a transition", rate)) and source != target:
            found.append(Transition(int(source), int(target), as_number(rate), text("event of a transition", event)))
    if not found:
        raise InputError(f"{label}: give at least one transition with a rate above 0 between different states")
    return tuple(found)


@dataclass(frozen=True)
class Chain:
    """An absorbing Markov chain in continuous time. It starts in state 0.

    Parameters
    ----------
    transitions : sequence of Transition
        The transitions. Several transitions may connect the same states.

    Raises
    ------
    InputError
        If a state or a rate is invalid, or there is no transition.

    Examples
    --------
    A mirror of two disks with failure rate 1 and repair rate 100 has MTTDL = (3 + 100) / 2.

    >>> from storagekit.analytic.durability import LOSS, Chain
    >>> mirror = Chain([(0, 1, 2.0, "fails"), (1, 0, 100.0, "disk rebuilt"), (1, LOSS, 1.0, "fails")])
    >>> mirror.mttdl
    51.5
    """

    transitions: Annotated[Sequence[Transition], _transitions]

    def __post_init__(self):
        object.__setattr__(self, "transitions", _transitions("transitions", self.transitions))

    @cached_property
    def states(self) -> int:
        """Return the number of states, without the absorbing state."""
        return 1 + max(max(one.source, one.target) for one in self.transitions)

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """Return the events that end in a loss."""
        return tuple(dict.fromkeys(one.event for one in self.transitions if one.target == LOSS))

    @cached_property
    def _rates(self) -> NDArray:
        """Return the rates between states, followed by one column of rates of loss for each cause."""
        shape, given = (self.states, self.states + len(self.causes)), [one.rate for one in self.transitions]
        sources = np.array([one.source for one in self.transitions])
        columns = (
            self.states + self.causes.index(one.event) if one.target == LOSS else one.target for one in self.transitions
        )
        index, space = (sources, np.array([*columns])), namespace_of(given)
        if space is not np:
            found: Any = space.zeros(shape)
            return found.at[index].add(stacked(given))
        rates = np.zeros(shape)
        np.add.at(rates, index, given)
        return rates

    @cached_property
    def _reduced(self) -> tuple[float, NDArray]:
        """Return the results of `_eliminated` for state 0 after all other states are eliminated.

        They are the entry of `times`, and the rates from state 0 to loss, by cause.
        """
        rates, times = _eliminated(self._rates, range(self.states - 1, 0, -1))
        return times[0], rates[0, self.states :]

    @property
    def mttdl(self) -> float:
        """Return the mean time to data loss, seconds; infinite if a loss is impossible."""
        time, losses = self._reduced
        return as_number(quotient(time, losses.sum(), math.inf))

    @property
    def loss_by_cause(self) -> dict[str, float]:
        """Return the probability of each cause of the loss."""
        losses = self._reduced[1]
        if is_zero(losses.sum()):
            return {}
        return dict(zip(self.causes, listed(quotient(losses, losses.sum())), strict=True))

    @property
    def loss_in_cycle(self) -> float:
        """Return the probability that the chain is absorbed before it returns to state 0, after it has left state 0."""
        return as_number(self._reduced[1].sum() / self._rates[0].sum())

    @validate
    def loss_probability(self, duration: Span) -> float:
        """Return the probability of a loss within a duration.

        Parameters
        ----------
        duration : float
            Duration in seconds.

        Returns
        -------
        float
            The probability.

        Raises
        ------
        InputError
            If the duration is negative or not finite.

        Notes
        -----
        The transition probabilities of a short step are a power series with positive terms (uniformization). They are
        squared until the step is the duration. Each row is divided by its sum, which is 1.
        """
        states, space = self.states, namespace_of(self._rates, duration)
        within, lost = self._rates[:, :states], self._rates[:, states:].sum(axis=1, keepdims=True)
        rates = space.pad(within, ((0, 1), (0, 1))) + space.pad(lost, ((0, 1), (states, 0)))
        fastest = rates.sum(axis=1).max()
        doublings = _doublings(fastest * duration)
        step = fastest * (duration / 2.0**doublings)
        uniform, identity = rates / fastest, np.identity(states + 1)
        uniform = uniform + identity * (1 - uniform.sum(axis=1, keepdims=True).clip(max=1))

        def longer(order: Any, found: tuple[NDArray, NDArray]) -> tuple[NDArray, NDArray]:
            term = found[1] @ uniform * (step / (order + 1))
            return found[0] + term, term

        def doubled(number: Any, moved: NDArray) -> NDArray:
            twice = moved @ moved
            twice = twice / twice.sum(axis=1, keepdims=True)
            return space.where(number < doublings, twice, moved) if traced(doublings) else twice

        # A path to loss takes at most as many transitions as there are states.
        start = (space.asarray(identity), space.asarray(identity))
        moved, _ = repeated(TERMS + min(states, TERMS) - 1, start, longer)
        moved = moved / moved.sum(axis=1, keepdims=True)
        moved = repeated(MOST_DOUBLINGS if traced(doublings) else doublings, moved, doubled)
        return as_number(moved[0, -1])

    @validate
    def paths(self, covered: Share = 0.99) -> tuple[LossPath, ...]:
        """Return the paths to a loss, the most frequent first.

        A path begins when all disks work. Loops are erased from it: if the chain returns to an earlier state of the
        path, the events since then are left out.

        Parameters
        ----------
        covered : float
            Share of the losses after which no further paths are searched, by default 0.99.

        Returns
        -------
        tuple of LossPath
            The paths. Those with the same events are one path. Their shares add to less than 1 if the search has ended
            early.

        Raises
        ------
        InputError
            If the share is not between 0 and 1.

        Notes
        -----
        The paths are sorted by their shares, so JAX cannot trace the rates.

        The probability of a loop-erased path s_0, s_1, ... is proportional to the product of rate(s_j, s_j+1) / e_j,
        where e_j is the rate at which the chain leaves s_j for s_0 ... s_(j-1) or a loss, directly or through other
        states, before it returns to s_j.

        References
        ----------
        Lawler, Intersections of Random Walks, 1991, chapter 7.
        """
        if traced(*(one.rate for one in self.transitions), covered):
            raise InputError(
                "paths: JAX cannot trace the rates, because the search sorts shares; give rates as numbers"
            )
        outgoing: dict[int, list[Transition]] = {}
        for one in self.transitions:
            outgoing.setdefault(one.source, []).append(one)
        total = self._reduced[1].sum()
        found: dict[tuple[str, ...], float] = {}
        order = count()
        # Prefixes of paths by their share of the losses: its negative, a number, the weight / e_j, states and events.
        waiting: list[tuple[float, int, float, tuple[int, ...], tuple[str, ...]]] = []
        if total > 0:
            waiting = [(-1.0, next(order), 1 / total, (0,), ())]
        for _ in range(MOST_PREFIXES):
            if not waiting or sum(found.values()) >= covered:
                break
            _, _, weight, visited, events = heapq.heappop(waiting)
            after = self._after(visited, {one.target for one in outgoing[visited[-1]]} - {LOSS, *visited})
            for one in outgoing[visited[-1]]:
                share = weight * one.rate
                longer = events if one.event in (REPAIRED, SPARE) else (*events, one.event)
                if one.target == LOSS:
                    found[longer] = found.get(longer, 0.0) + share
                elif one.target in after:
                    back, lost = after[one.target]
                    if share * lost > 0:
                        total_share = share * lost / (back + lost)
                        states = (*visited, one.target)
                        heapq.heappush(waiting, (-total_share, next(order), share / (back + lost), states, longer))
        ranked = sorted(found.items(), key=lambda path: -path[1])
        return tuple(LossPath(events, float(share)) for events, share in ranked)

    def _after(self, visited: tuple[int, ...], following: set[int]) -> dict[int, tuple[float, float]]:
        """Return, for each following state, the rates from this state to the visited states and to loss.

        The chain may pass through other states on the way, but does not return to the following state.
        """
        others = [state for state in range(self.states) if state not in visited and state not in following]
        rates, _ = _eliminated(self._rates, others)
        found = {}
        for state in following:
            own = _eliminated(rates, following - {state})[0][state]
            found[state] = float(own[list(visited)].sum()), float(own[self.states :].sum())
        return found


def _eliminated(rates: NDArray, states: Iterable[int]) -> tuple[NDArray, NDArray]:
    """Eliminate states from a chain (Grassmann, Taksar and Heyman, Operations Research 33(5), 1985).

    Parameters
    ----------
    rates : array, shape `[state, target]`
        Transition rates. Targets after the last state are absorbing.
    states : iterable of int
        The states to eliminate, in this order.

    Returns
    -------
    rates : array, shape `[state, target]`
        Rates through the eliminated states, without returns to the same state.
    times : array, shape `[state]`
        Mean time in a state and the eliminated states after it, multiplied by the rate of leaving the state.
    """
    if traced(rates):
        return _eliminated_traced(rates, np.array([*states], int))
    rates, times = rates.copy(), np.ones(len(rates))
    for state in states:
        leaving = rates[state].sum()
        entering = rates[:, state].copy()
        rates[:, state] = 0
        if leaving == 0:
            if entering.any():
                raise InputError(f"transitions: no transition leaves state {state}, and it is not a loss")
            continue
        rates += np.outer(entering / leaving, rates[state])
        times += entering / leaving * times[state]
        # a return to the same state is no departure
        rates[np.arange(len(rates)), np.arange(len(rates))] = 0
    return rates, times


def _eliminated_traced(rates: NDArray, states: NDArray) -> tuple[NDArray, NDArray]:
    """Return the results of `_eliminated` from one loop of JAX. No state without departures must be entered."""
    space = namespace_of(rates)
    rows, columns = np.ogrid[: rates.shape[0], : rates.shape[1]]
    order = space.asarray(states)

    def without_one(number: Any, found: tuple[NDArray, NDArray]) -> tuple[NDArray, NDArray]:
        rates, times = found
        state = order[number]
        share = quotient(rates[:, state], rates[state].sum())
        rates = space.where(columns == state, 0.0, rates)
        rates = rates + share[:, None] * rates[state][None]
        # a return to the same state is no departure
        return space.where(rows == columns, 0.0, rates), times + share * times[state]

    return repeated(states.size, (rates, space.ones(rates.shape[0])), without_one)


def _doublings(events: Any) -> Any:
    """Return how often a step is doubled, so that at most one event is expected in the step. events: in the duration."""
    if traced(events):
        space = namespace_of(events)
        tiny = np.finfo(events.dtype).tiny
        return space.clip(space.ceil(space.log2(space.maximum(value_of(events), tiny))), 0, MOST_DOUBLINGS)
    return max(0, math.ceil(math.log2(max(events, 1e-300))))


@validate
def birth_death(up: Annotated[ArrayLike, RATE.each], down: Annotated[ArrayLike, RATE.each]) -> Chain:
    """Return the chain of a number of failed disks that changes by one at a time.

    Parameters
    ----------
    up : array of float, shape `[state]`
        Rates from i to i + 1 failed disks, for i = 0 ... r, 1/s. The last one leads to loss.
    down : array of float, shape `[state - 1]`
        Rates from i to i - 1 failed disks, for i = 1 ... r, 1/s.

    Returns
    -------
    Chain
        The chain.

    Raises
    ------
    InputError
        If a rate is negative or not finite, or the lengths do not match.

    Examples
    --------
    >>> from storagekit.analytic.durability import birth_death
    >>> birth_death([2.0, 1.0], [100.0]).mttdl
    51.5
    """
    up, down = (namespace_of(rates).atleast_1d(numbers(label, rates)) for label, rates in (("up", up), ("down", down)))
    require(up.ndim == down.ndim == 1, "up and down: number of axes", max(up.ndim, down.ndim), "1")
    require(len(down) == len(up) - 1, "down: number of rates", len(down), f"{len(up) - 1}, one less than up has")
    last = len(up) - 1
    rising = [Transition(i, i + 1 if i < last else LOSS, rate, "disk fails") for i, rate in enumerate(listed(up))]
    return Chain([*rising, *(Transition(i + 1, i, rate, REPAIRED) for i, rate in enumerate(listed(down)))])
