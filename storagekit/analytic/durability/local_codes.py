"""Count the losses that a local reconstruction code tolerates, and build the Markov chain of its failures and repairs."""

import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from storagekit.analytic.durability.markov import LOSS, MOST_STATES, REPAIRED, Chain, Transition
from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, RATE, Rate, Whole, require, several, validate, validate_fields
from storagekit.faults.reliability import DISK_FAILS

# Largest number of units of a code: the work of a count grows with its third power.
MOST_UNITS = 256
_UNITS = COUNT.up_to(MOST_UNITS)
# Lost units of a code: of each local group, with its parity, and among the global parities.
Losses = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class LocalCode:
    """A local reconstruction code LRC(k, l, g) that tolerates every loss that any code of this form can tolerate.

    Parameters
    ----------
    data : int
        Number k of data units, a multiple of `local_groups`.
    local_groups : int
        Number l of local groups of k / l data units, each with one local parity.
    global_parities : int
        Number g of global parities, which depend on all data.

    Raises
    ------
    InputError
        If a number is out of range, if the data units cannot be divided into the local groups, or if there are more than
        256 units.

    Notes
    -----
    A local parity replaces one lost unit of its group. Global parities replace all further lost units. The data therefore
    survive a loss if and only if the sum of max(a - 1, 0) over the local groups plus b is at most g. Here a is the number
    of lost units of a group with its parity, and b is the number of lost global parities. Codes that restore the data
    from all these losses are called maximally recoverable.

    References
    ----------
    Huang et al., Erasure Coding in Windows Azure Storage, USENIX ATC 2012, section 2.

    Examples
    --------
    >>> from storagekit.analytic.durability import LocalCode
    >>> code = LocalCode(12, 2, 2)
    >>> code.units, code.mean_reads, f"{code.overhead:.2f}", f"{code.tolerated_share(4):.2%}"
    (16, 6.75, '1.33', '86.15%')
    """

    data: Annotated[int, _UNITS]
    local_groups: Annotated[int, _UNITS]
    global_parities: Annotated[int, _UNITS]

    def __post_init__(self):
        validate_fields(self)
        whole_groups = self.data % self.local_groups == 0
        require(whole_groups, "data", self.data, "a multiple of the number of local groups", "units")
        require(self.units <= MOST_UNITS, "size of the code", self.units, f"at most {MOST_UNITS}", "units")

    @property
    def units(self) -> int:
        """Return the number k + l + g of units of a row."""
        return self.data + self.local_groups + self.global_parities

    @property
    def overhead(self) -> float:
        """Return the storage of a row in units of its data: (k + l + g) / k."""
        return self.units / self.data

    @property
    def mean_reads(self) -> float:
        """Return the mean number of units that are read to restore one lost unit, if each unit is lost equally often.

        A data unit or a local parity needs k / l reads, and a global parity k reads.
        """
        local = (self.data + self.local_groups) * self.data / self.local_groups
        return (local + self.global_parities * self.data) / self.units

    @validate
    def tolerated(self, lost: Whole) -> int:
        """Return the number of sets of lost units that the code tolerates.

        Parameters
        ----------
        lost : int
            Number of lost units, at most k + l + g.

        Returns
        -------
        int
            The number of sets of this size whose loss leaves all data.

        Raises
        ------
        InputError
            If the number is out of range.
        """
        require(lost <= self.units, "lost", lost, f"at most {self.units}, the number of units of a row")
        size, most = self.data // self.local_groups + 1, self.global_parities
        # numbers of sets, by lost units and by global parities that replace lost units or are lost themselves
        ways = Counter({(b, b): math.comb(most, b) for b in range(most + 1)})
        for _ in range(self.local_groups):
            further: Counter[tuple[int, int]] = Counter()
            for (units, replaced), count in ways.items():
                for a in range(min(size, most - replaced + 1) + 1):
                    further[units + a, replaced + max(a - 1, 0)] += count * math.comb(size, a)
            ways = further
        return sum(count for (units, _), count in ways.items() if units == lost)

    @validate
    def tolerated_share(self, lost: Whole) -> float:
        """Return the probability that the loss of random units leaves all data.

        Parameters
        ----------
        lost : int
            Number of lost units, at most k + l + g. All sets of this size are equally likely.

        Returns
        -------
        float
            The probability, 0 to 1.

        Raises
        ------
        InputError
            If the number is out of range.
        """
        return self.tolerated(lost) / math.comb(self.units, lost)


@validate
def local_code_chain(
    code: LocalCode, failure_rate: Rate, repair_rates: Annotated[Sequence[float], several(RATE, 1, "rates")]
) -> Chain:
    """Return the Markov chain of the failures and repairs of the disks of one row.

    Parameters
    ----------
    code : LocalCode
        The code. Each unit is on another disk.
    failure_rate : float
        Failure rate of a disk, 1/s.
    repair_rates : sequence of float
        Rate at which the number of lost units decreases by one while 1, 2, ... units are lost, 1/s. The last rate also
        holds for all larger numbers. Each of the lost units is restored next with the same probability.

    Returns
    -------
    Chain
        The chain. A state has the number of lost units of each local group, and of lost global parities.

    Raises
    ------
    InputError
        If a rate is negative or not finite, if no rate is given, or if the chain has more than 1,000 states.

    Examples
    --------
    >>> from storagekit.analytic.durability import LocalCode, local_code_chain
    >>> year = 365.25 * 86400
    >>> chain = local_code_chain(LocalCode(6, 2, 2), 1 / (4 * year), [1 / 3600])
    >>> f"{chain.mttdl / year:.2g} years"
    '2.4e+11 years'
    """
    start: Losses = ((0,) * code.local_groups, 0)
    numbers: dict[Losses, int] = {start: 0}
    waiting, found = deque(numbers), []
    while waiting:
        state = waiting.popleft()
        lost, source = sum(state[0]) + state[1], numbers[state]
        changes = [(failure_rate * working, after, DISK_FAILS) for working, after in _failures(code, state)]
        if lost:
            rate = repair_rates[min(lost, len(repair_rates)) - 1] / lost
            changes += [(rate * units, after, REPAIRED) for units, after in _repairs(state)]
        for rate, after, event in changes:
            if _survives(code, after):
                if after not in numbers:
                    numbers[after] = len(numbers)
                    waiting.append(after)
                target = numbers[after]
            else:
                target = LOSS
            found.append(Transition(source, target, rate, event))
        if len(numbers) > MOST_STATES:
            raise InputError(
                f"the chain has more than {MOST_STATES} states; give fewer local groups or global parities"
            )
    return Chain(found)


def _survives(code: LocalCode, losses: Losses) -> bool:
    return sum(max(a - 1, 0) for a in losses[0]) + losses[1] <= code.global_parities


def _failures(code: LocalCode, losses: Losses) -> list[tuple[int, Losses]]:
    """Return the states that one more failure can cause, each with the number of disks whose failure causes it."""
    groups, lost = losses
    size = code.data // code.local_groups + 1
    found = [(size - a, (_replaced(groups, at, a + 1), lost)) for at, a in enumerate(groups) if a < size]
    return found + [(code.global_parities - lost, (groups, lost + 1))] * (lost < code.global_parities)


def _repairs(losses: Losses) -> list[tuple[int, Losses]]:
    """Return the states that one repair can cause, each with the number of lost units whose repair causes it."""
    groups, lost = losses
    found = [(a, (_replaced(groups, at, a - 1), lost)) for at, a in enumerate(groups) if a]
    return found + [(lost, (groups, lost - 1))] * (lost > 0)


def _replaced(groups: tuple[int, ...], at: int, lost: int) -> tuple[int, ...]:
    """Return the numbers of lost units of the groups, with `lost` for the group `at`.

    The numbers are sorted, because the groups are equal: states that differ only in the order of groups are one state.
    """
    return tuple(sorted([*groups[:at], lost, *groups[at + 1 :]]))
