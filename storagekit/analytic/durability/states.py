"""Build the exact Markov chain of a reliability model."""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

from storagekit.analytic.durability.markov import LOSS, MOST_STATES, REPAIRED, SPARE, Chain, Transition
from storagekit.core.errors import InputError
from storagekit.core.namespaces import is_zero
from storagekit.core.validation import validate
from storagekit.faults import ReliabilityModel
from storagekit.faults.reliability import DISK_FAILS, READ_ERROR

# Event of a path that only the formulas have. The simulation has the same other events.
DETECTED = "detected"
# Conditions of a disk.
WORKING, UNDETECTED, QUEUED, REBUILDING = range(4)
# The condition of a group: nested tuples, one level for each kind of failure domain, of conditions of disks. Disks or
# domains that could be exchanged are sorted, so that equivalent conditions are one state.
Tree = Any


@validate
def chain_of(model: ReliabilityModel) -> Chain:
    """Return the Markov chain of one group or pool.

    Parameters
    ----------
    model : ReliabilityModel
        The model.

    Returns
    -------
    Chain
        The chain. Its states distinguish undetected, queued and rebuilt disks, their failure domains, and ordered
        spares, as far as the model has them.

    Raises
    ------
    InputError
        If a distribution is not exponential, or the chain has more than 1,000 states.

    Examples
    --------
    >>> from storagekit.analytic.durability import chain_of
    >>> from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair
    >>> raid6 = ReliabilityModel(Redundancy(8, 2), Failures(0.02), Repair(time=24 * 3600.0, at_once=1))
    >>> f"{chain_of(raid6).mttdl / (365.25 * 86400):.3g} years"
    '2.25e+07 years'
    """
    if not model.exponential:
        raise InputError(
            "shape of lifetimes or rebuild times: a Markov chain needs 1, exponential times; call "
            "sk.simulation.data_loss for other distributions"
        )
    return _declustered(model) if model.redundancy.declustered else Chain(_explored(model))


def _declustered(model: ReliabilityModel) -> Chain:
    """Return the chain of a declustered pool, in which the number of failed disks changes by one at a time."""
    disks, last, failures = model.redundancy.disks, model.redundancy.parities, model.failures
    found = []
    for failed in range(last + 1):
        rate = (disks - failed) * failures.rate * (failures.acceleration if failed else 1.0)
        found.append(Transition(failed, failed + 1 if failed < last else LOSS, rate, DISK_FAILS))
        if failed:
            repairs = 1 / (model.repair.detection + model.rebuild_time(failed))
            lost = model.read_error if failed == last else 0.0
            found.append(Transition(failed, failed - 1, repairs * (1 - lost), REPAIRED))
            found.append(Transition(failed, LOSS, repairs * lost, READ_ERROR))
    return Chain(found)


def _explored(model: ReliabilityModel) -> list[Transition]:
    """Return the transitions of all states that can be reached from the state in which all disks work."""
    levels = [1, *(domain.count for domain in model.domains), model.redundancy.disks]
    tree: Tree = WORKING
    for inner, outer in zip(levels[:0:-1], levels[-2::-1], strict=True):
        tree = (tree,) * (inner // outer)
    numbers = {(tree, 0): 0}
    waiting = deque(numbers)
    found = []
    while waiting:
        state = waiting.popleft()
        for rate, target, event in _changes(model, *state):
            if target is not None and target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
                if len(numbers) > MOST_STATES:
                    raise InputError(
                        f"the chain has more than {MOST_STATES} states; give fewer parities or failure domains, or call "
                        "sk.simulation.data_loss"
                    )
            found.append(Transition(numbers[state], LOSS if target is None else numbers[target], rate, event))
    return found


def _changes(model: ReliabilityModel, tree: Tree, orders: int) -> Iterator[tuple[float, Any, str]]:
    """Yield the rate, the new state (None for a loss) and the event of each transition from a state."""
    repair, parities, leaf = model.repair, model.redundancy.parities, len(model.domains) + 1
    failed = _count(tree, UNDETECTED, QUEUED, REBUILDING)
    disk_rate = model.failures.rate * (model.failures.acceleration if failed else 1.0)
    kinds = [(disk_rate, DISK_FAILS)] + [
        (domain.failures.rate, f"{domain.name} fails") for domain in model.domains[::-1]
    ]
    for above, (rate, event) in enumerate(kinds):
        for times, new in _replaced(tree, leaf - above, _destroyed):
            if _count(new, UNDETECTED, QUEUED, REBUILDING) > parities:
                yield times * rate, None, event
            elif not is_zero(repair.detection):
                yield times * rate, (new, orders), event
            else:
                for share, settled in _detected(model, new, orders):
                    yield times * rate * share, settled, event
    if not is_zero(repair.detection):
        for times, new in _replaced(tree, leaf, _from_to(UNDETECTED, QUEUED)):
            for share, settled in _started(model, new, orders + repair.limited):
                yield times * share / repair.detection, settled, DETECTED
    lost = model.read_error if failed == parities else 0.0
    for times, new in _replaced(tree, leaf, _from_to(REBUILDING, WORKING)):
        yield times * lost / repair.time, None, READ_ERROR
        for share, settled in _started(model, new, orders):
            yield times * share * (1 - lost) / repair.time, settled, REPAIRED
    if orders:
        for share, settled in _started(model, tree, orders - 1):
            yield orders * share / repair.refill, settled, SPARE


def _detected(model: ReliabilityModel, tree: Tree, orders: int) -> Iterator[tuple[float, tuple[Tree, int]]]:
    """Yield the probabilities and states after all failures have been detected at once."""
    detected = _mapped(tree, lambda disk: QUEUED if disk == UNDETECTED else disk)
    new = _count(tree, UNDETECTED)
    return _started(model, detected, orders + new * model.repair.limited)


def _started(model: ReliabilityModel, tree: Tree, orders: int) -> Iterator[tuple[float, tuple[Tree, int]]]:
    """Yield the probabilities and states after the start of all possible rebuilds, of queued disks in random order."""
    queued, rebuilding = _count(tree, QUEUED), _count(tree, REBUILDING)
    # Each detected failure has taken a spare or ordered one. Orders beyond the number of spares are still awaited.
    without_spare = max(0, orders - (model.repair.spares or 0)) if model.repair.limited else 0
    most = min(model.repair.at_once or queued + rebuilding, queued + rebuilding - without_spare)
    if not queued or rebuilding >= most:
        yield 1.0, (tree, orders)
        return
    for times, new in _replaced(tree, len(model.domains) + 1, _from_to(QUEUED, REBUILDING)):
        for share, state in _started(model, new, orders):
            yield times / queued * share, state


def _replaced(tree: Tree, level: int, change: Callable[[Tree], Tree | None]) -> Iterator[tuple[int, Tree]]:
    """Yield each tree in which one part at `level` has changed, with the number of equivalent parts."""
    if level == 0:
        new = change(tree)
        if new is not None:
            yield 1, new
        return
    for child, times in Counter(tree).items():
        for more, new in _replaced(child, level - 1, change):
            rest = list(tree)
            rest.remove(child)
            yield times * more, tuple(sorted([*rest, new]))


def _from_to(old: int, new: int) -> Callable[[Tree], Tree | None]:
    return lambda disk: new if disk == old else None


def _destroyed(part: Tree) -> Tree | None:
    """Return a part whose working disks have failed, or None if there is none."""
    new = _mapped(part, lambda disk: UNDETECTED if disk == WORKING else disk)
    return None if new == part else new


def _mapped(tree: Tree, change: Callable[[int], int]) -> Tree:
    return tuple(sorted(_mapped(part, change) for part in tree)) if isinstance(tree, tuple) else change(tree)


def _count(tree: Tree, *conditions: int) -> int:
    return sum(_count(part, *conditions) for part in tree) if isinstance(tree, tuple) else int(tree in conditions)
