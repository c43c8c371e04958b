"""Rows of an exhibit that compares dispatchers: the paper's rows by name, and your own dispatchers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, shown
from storagekit.dispatch import AbstractDispatch

# A row of an exhibit: the name of a row of the paper, or a pair of a name and a dispatcher.
Row = str | tuple[str, AbstractDispatch]
Own = Mapping[str, AbstractDispatch]
NONE_OWN: Own = MappingProxyType({})


class Rows(NamedTuple):
    """The names of the selected rows in order, and your own dispatchers by name."""

    names: list[str]
    own: Own


def chosen(rows: Sequence[Row], known: Collection[str], what: str = "scheme") -> Rows:
    """Return the names of the selected rows, and your own dispatchers among these rows.

    Parameters
    ----------
    rows : sequence
        Names of `known`, and pairs of another name and a dispatcher.
    known : collection of str
        Names of the paper's rows.
    what : str
        Word for a row in error messages, by default "scheme".

    Raises
    ------
    InputError
        If a name is unknown or given twice, if a pair has a name of `known`, or if a row is neither a name nor a pair
        of a name and a dispatcher.

    Examples
    --------
    >>> from storagekit.dispatch import ShortestQueue
    >>> chosen(["Hashing", ("mine", ShortestQueue(3))], ["D-SPTF", "Hashing"]).names
    ['Hashing', 'mine']
    """
    own: dict[str, AbstractDispatch] = {}
    names = [one if isinstance(one, str) else _own(one, known, own, what) for one in rows]
    for name in names:
        if name not in known and name not in own:
            raise InputError(
                f"{what} {name!r}: unknown; give one of {', '.join(known)}, or a pair of a name and a dispatcher"
            )
        if names.count(name) > 1:
            raise InputError(f"{what} {name!r} is given twice: give each row a different name")
    return Rows(names, own)


def dispatchers(
    rows: Sequence[Row], known: Mapping[str, AbstractDispatch], what: str = "scheme"
) -> dict[str, AbstractDispatch]:
    """Return the dispatchers of the selected rows by name, in the order of the rows.

    Parameters
    ----------
    rows : sequence
        Names of `known`, and pairs of another name and a dispatcher.
    known : mapping of str to AbstractDispatch
        The dispatchers of the paper's rows by name.
    what : str
        Word for a row in error messages, by default "scheme".

    Raises
    ------
    InputError
        In the cases of `chosen`.
    """
    names, own = chosen(rows, known, what)
    every = {**known, **own}
    return {name: every[name] for name in names}


Others = ParamSpec("Others")
Found = TypeVar("Found")
Findings = Callable[Concatenate[xr.Dataset, Others], Found]


def judging(dimension: str, names: Collection[str]) -> Callable[[Findings[Others, Found]], Findings[Others, Found]]:
    """Return a decorator for functions whose findings require all of the paper's rows.

    The decorated function raises InputError if its first Dataset lacks one of these rows. This is the case if an
    exhibit was run only with your own rows.

    Parameters
    ----------
    dimension : str
        Dimension of the Dataset along which the rows lie.
    names : collection of str
        The required rows.
    """

    def checking(findings: Findings[Others, Found]) -> Findings[Others, Found]:
        @wraps(findings)
        def checked(data: xr.Dataset, /, *others: Others.args, **named: Others.kwargs) -> Found:
            there = data[dimension].values.tolist()
            lacking = [name for name in names if name not in there]
            if lacking:
                raise InputError(
                    f"{findings.__name__} needs all rows of the paper, but {', '.join(map(repr, lacking))} did not "
                    f"run; run the exhibit with these rows and {', '.join(map(repr, there))}"
                )
            return findings(data, *others, **named)

        return checked

    return checking


def _own(one: object, known: Collection[str], own: dict[str, AbstractDispatch], what: str) -> str:
    """Return the name of one of your own rows, and add the dispatcher of the row to `own`."""
    if not (isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str)):
        raise InputError(f"{what} {shown(one)}: give a name, or a pair of a name and a dispatcher")
    name, dispatch = one
    instance_of(AbstractDispatch, "a dispatcher, such as sk.dispatch.Hashing()")(f"{what} {name!r}", dispatch)
    if name in known:
        raise InputError(f"{what} {name!r}: the paper has this row; give your row another name")
    own[name] = dispatch
    return name
