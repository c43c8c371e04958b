"""The rows of an exhibit that compares dispatchers: the paper's by name, and a reader's own beside them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import xarray as xr

from storagekit.core.checks import require_kind, shown
from storagekit.core.errors import InputError
from storagekit.dispatch import AbstractDispatch

# what an exhibit is asked for: the name of one of the paper's rows, or a name and the dispatcher that has it
Row = str | tuple[str, AbstractDispatch]
Own = Mapping[str, AbstractDispatch]
NONE_OWN: Own = MappingProxyType({})


class Rows(NamedTuple):
    """The names of rows in their order, and the dispatchers of those that are a reader's own."""

    names: list[str]
    own: Own


def chosen(asked: Sequence[Row], known: Collection[str], what: str = "scheme") -> Rows:
    """The rows that are asked for. known: names of the paper's. what: a row is called.

    Raises InputError where a name is unknown or there twice, and where a row is no pair of a name and a dispatcher.

    >>> from storagekit.dispatch import ShortestQueue
    >>> chosen(["Hashing", ("mine", ShortestQueue(3))], ["D-SPTF", "Hashing"]).names
    ['Hashing', 'mine']
    """
    own: dict[str, AbstractDispatch] = {}
    names = [one if isinstance(one, str) else _own(one, known, own, what) for one in asked]
    for name in names:
        if name not in known and name not in own:
            raise InputError(
                f"{what} {name!r}: unknown; give one of {', '.join(known)}, or a pair of a name and a dispatcher"
            )
        if names.count(name) > 1:
            raise InputError(f"{what} {name!r} twice: give each row a name of its own")
    return Rows(names, own)


def dispatchers(asked: Sequence[Row], known: Mapping[str, AbstractDispatch]) -> dict[str, AbstractDispatch]:
    """The dispatchers of the rows that are asked for, by name, in their order. known: the paper's. Errors as of `chosen`."""
    names, own = chosen(asked, known)
    every = {**known, **own}
    return {name: every[name] for name in names}


Others = ParamSpec("Others")
Found = TypeVar("Found")
Findings = Callable[Concatenate[xr.Dataset, Others], Found]


def judging(dimension: str, names: Collection[str]) -> Callable[[Findings[Others, Found]], Findings[Others, Found]]:
    """Of findings that hold the paper's rows against one another: `names` must be in the first Dataset along `dimension`.

    What it makes raises InputError where one is not, as where only a reader's own rows were run.
    """

    def checking(findings: Findings[Others, Found]) -> Findings[Others, Found]:
        @wraps(findings)
        def checked(data: xr.Dataset, /, *others: Others.args, **named: Others.kwargs) -> Found:
            there = data[dimension].values.tolist()
            lacking = [name for name in names if name not in there]
            if lacking:
                raise InputError(
                    f"{findings.__name__} judges the paper's rows; not run: {', '.join(map(repr, lacking))}; run the "
                    f"exhibit with these besides {', '.join(map(repr, there))}"
                )
            return findings(data, *others, **named)

        return checked

    return checking


def _own(one: object, known: Collection[str], own: dict[str, AbstractDispatch], what: str) -> str:
    """The name of a row of one's own, which is noted in `own`."""
    if not (isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)):
        raise InputError(f"{what} {shown(one)}: give a name, or a pair of a name and a dispatcher")
    name, dispatch = one
    require_kind(f"{what} {name!r}", dispatch, AbstractDispatch, "a dispatcher, as sk.dispatch.Hashing()")
    if name in known:
        raise InputError(f"{what} {name!r}: the paper has that; give a row of your own another name")
    own[name] = dispatch
    return name
