"""Declaration of an exhibit: its axes, and a function that returns the scenario of one point."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.validation import one_of, shown
from storagekit.dispatch import AbstractDispatch
from storagekit.engine import Scenario
from storagekit.papers.effort import Effort
from storagekit.papers.rows import dispatchers

# The values of an axis, or a mapping from labels to values.
Axis = Sequence[Any] | Mapping[str, Any]
AnEffort = TypeVar("AnEffort", bound=Effort)
Runs = Callable[[Callable[..., Scenario], dict[str, list[Any]], AnEffort], xr.Dataset]


def over_axes(
    runs: Callable[[str], Runs[AnEffort]], axes: Mapping[str, Axis], quick: AnEffort
) -> Callable[[Callable[..., Scenario]], Callable[..., xr.Dataset]]:
    """Return a decorator that turns a function for the scenario of one point into an exhibit over a grid of points.

    The exhibit is a function with the name and the documentation of the decorated function. Its arguments are an
    `Effort` (the number and length of the runs), the labels of each axis, and the parameters of the decorated
    function that are not axes. All of these arguments have defaults.

    Parameters
    ----------
    runs : callable
        Takes the name of an exhibit, and returns the function that simulates a grid. The arguments of that function are
        the function for one point, the labels of each axis, and the effort.
    axes : mapping of str to sequence or mapping
        The default labels of each axis. The function for one point receives a label of a sequence, or the value of a
        label of a mapping. A call of the exhibit may give other labels, or a single label. For a mapping, the labels
        are its names, and pairs of another name and a dispatcher.
    quick : Effort
        The default number and length of the runs.

    Examples
    --------
    >>> def count(scenario, axes, effort):
    ...     return [scenario(depth=depth) for depth in axes["depth"]]
    >>> @over_axes(lambda name: count, {"depth": (1, 2)}, Effort())
    ... def loop(depth, size=4):
    ...     return depth * size
    >>> loop(), loop(depth=[3, 4], size=1), loop(depth=3)
    ([4, 8], [3, 4], [12])
    """

    def declared(scenario: Callable[..., Scenario]) -> Callable[..., xr.Dataset]:
        simulate = runs(scenario.__name__)

        @wraps(scenario)
        def exhibit(*effort: AnEffort, **given: Any) -> xr.Dataset:
            arguments = signature.bind(*effort, **given)
            arguments.apply_defaults()
            fixed = dict(arguments.arguments)
            chosen = fixed.pop("effort")
            grid = {name: _by_label(name, fixed.pop(name), known) for name, known in axes.items()}

            def point(**labels: Any) -> Scenario:
                return scenario(**{name: grid[name][label] for name, label in labels.items()}, **fixed)

            return simulate(point, {name: list(values) for name, values in grid.items()}, chosen)

        signature = _signature(scenario, axes, quick)
        exhibit.__signature__ = signature  # type: ignore[attr-defined]
        return exhibit

    return declared


def _signature(scenario: Callable[..., Scenario], axes: Mapping[str, Axis], quick: Effort) -> inspect.Signature:
    """Return the signature of an exhibit: the effort, the axes, and the remaining parameters of `scenario`."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    effort = inspect.Parameter("effort", either, default=quick, annotation=type(quick))
    grid = [inspect.Parameter(name, keyword, default=tuple(labels)) for name, labels in axes.items()]
    others = [one for name, one in inspect.signature(scenario).parameters.items() if name not in axes]
    fixed = [one.replace(kind=keyword) for one in others]
    return inspect.Signature([effort, *grid, *fixed], return_annotation=xr.Dataset)


def _by_label(axis: str, labels: Any, known: Axis) -> dict[Any, Any]:
    """Return, for each label of an axis, the value that the function for one point receives."""
    pair = isinstance(labels, tuple) and len(labels) == 2 and isinstance(labels[1], AbstractDispatch)
    several = [labels] if pair or isinstance(labels, str | int | float | np.generic) else list(labels)
    if isinstance(known, Mapping) and any(isinstance(value, AbstractDispatch) for value in known.values()):
        return dispatchers(several, known, axis)
    values = (known[one_of(*known)(axis, label)] if isinstance(known, Mapping) else label for label in several)
    found = dict(zip(several, values, strict=True))
    if len(found) < len(several):
        raise InputError(f"{axis} {shown(several)}: give each label once")
    return found
