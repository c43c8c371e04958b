"""The rows of an exhibit that compares dispatchers: the paper's by name, and a reader's own beside them."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from storagekit.checks import require_kind, shown
from storagekit.dispatch import AbstractDispatch
from storagekit.errors import InputError

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
