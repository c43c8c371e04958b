"""The numbers of a scenario: their names, their limits, and copies of the scenario with other numbers."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import jax
import numpy as np
from jax.tree_util import GetAttrKey
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.validation import REAL, instance_of, text, validate, validators_of
from storagekit.engine import Scenario
from storagekit.engine.batch import SCENARIO

# number of field names in an error message
_LISTED = 5


@validate
def numbers_of(scenario: Annotated[Scenario, SCENARIO]) -> dict[str, float]:
    """Return the numbers of a scenario that `sensitivity` can change.

    Parameters
    ----------
    scenario : Scenario
        The scenario.

    Returns
    -------
    dict of str to float
        The numbers, keyed by the path of the field, such as `system.drive.revolution` or `arrivals.rate`. For a
        table of numbers with fractions, such as the seek times `system.drive.seek.times`, the number is a factor of all
        entries, which is 1.

    Raises
    ------
    InputError
        If `scenario` is not a scenario.
    """
    return {name: float(value) if np.ndim(value) == 0 else 1.0 for name, value in _leaves(scenario).items()}


def chosen_numbers(scenario: Scenario, names: Sequence[str]) -> dict[str, float]:
    """Return the numbers of a scenario with the given names.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    names : sequence of str
        Paths of the numbers.

    Returns
    -------
    dict of str to float
        The numbers.

    Raises
    ------
    InputError
        If the scenario has no such number.
    """
    known = numbers_of(scenario)
    for name in names:
        if name not in known:
            raise InputError(f"{name!r} is not a number of the scenario: give {_suggested(name, known)}")
    return {name: known[name] for name in names}


def point_of(label: str, values: Any) -> dict[str, float]:
    """Validate the values of the parameters of a function, and return them.

    Parameters
    ----------
    label : str
        Name of the argument, for the message of the error.
    values : mapping of str to float
        The values.

    Returns
    -------
    dict of str to float
        The values, unchanged.

    Raises
    ------
    InputError
        If `values` is not a mapping from names to finite numbers, or is empty.
    """
    given = instance_of(Mapping, "a mapping from parameters to values, such as {'rate': 50.0}")(label, values)
    if not given:
        raise InputError(f"{label}: no parameters; give at least one")
    return {text(f"a name of {label}", name): float(REAL(name, value)) for name, value in given.items()}


def require_parameters(function: Callable[..., Any], names: Sequence[str]) -> None:
    """Raise InputError unless a function can be called with the given parameters by name.

    Parameters
    ----------
    function : callable
        The function. It may have a parameter `key` in addition.
    names : sequence of str
        Names of the parameters.

    Raises
    ------
    InputError
        If the function cannot be called with these parameters.
    """
    key = ["key"] if takes_key(function) else []
    try:
        inspect.signature(function).bind(**dict.fromkeys([*names, *key]))
    except (TypeError, ValueError) as fault:
        raise InputError(f"subject: it cannot be called with {', '.join(names)}: {fault}") from fault


def takes_key(function: Callable[..., Any]) -> bool:
    """Return whether a function has the parameter `key`, for its random numbers."""
    try:
        return "key" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def is_whole(scenario: Scenario, name: str) -> bool:
    """Return whether the field can only have whole numbers."""
    return _leaves(scenario)[name].dtype.kind in "iu"


def with_numbers(scenario: Scenario, values: Mapping[str, float]) -> Scenario:
    """Return a copy of a scenario in which some fields have other values.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    values : mapping of str to float
        New values, keyed by the path of the field.

    Returns
    -------
    Scenario
        The copy.

    Raises
    ------
    InputError
        If the scenario has no such number, or a value is out of the range of its field.
    """
    chosen_numbers(scenario, list(values))
    paths, tree = jax.tree_util.tree_flatten_with_path(scenario)
    named = [(_name(path), leaf) for path, leaf in paths]
    changed = [_changed(leaf, values[name]) if name in values else leaf for name, leaf in named]
    copy = jax.tree_util.tree_unflatten(tree, changed)
    for path, _ in paths:
        if _name(path) in values:
            _check(copy, path, values[_name(path)])
    return copy


def _changed(leaf: Any, value: float) -> NDArray:
    old = np.asarray(leaf)
    return np.asarray(value * old if old.ndim else value, old.dtype)


def _leaves(scenario: Scenario) -> dict[str, Any]:
    leaves = {_name(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(scenario)}
    return {
        name: leaf
        for name, leaf in leaves.items()
        if leaf.dtype.kind == "f" or (leaf.dtype.kind in "iu" and not leaf.ndim)
    }


def _name(path: tuple[Any, ...]) -> str:
    return jax.tree_util.keystr(path).removeprefix(".")


def _suggested(name: str, known: Mapping[str, Any]) -> str:
    """Return names that contain the last part of a name, or some names if no name contains it."""
    last = name.split(".")[-1]
    close = [one for one in known if last and last in one.split(".")]
    if close:
        return " or ".join(close[:_LISTED])
    return f"one of {len(known)}, such as {', '.join(list(known)[:2])}; see `design.numbers_of(scenario)`"


def _check(scenario: Scenario, path: tuple[Any, ...], value: float) -> None:
    """Raise InputError if the constructor of a node above the field at `path` rejects this value of the field."""
    nodes: list[Any] = [scenario]
    for key in path[:-1]:
        nodes.append(getattr(nodes[-1], key.name) if isinstance(key, GetAttrKey) else nodes[-1][key.idx])
    if isinstance(path[-1], GetAttrKey) and np.ndim(getattr(nodes[-1], path[-1].name)) == 0:
        validators_of(type(nodes[-1])).get(path[-1].name, REAL)(_name(path), value)
    for node in reversed(nodes):
        for kind in type(node).__mro__:
            if "__check_init__" in vars(kind):
                kind.__check_init__(node)
