"""Lazy loading: names of a package that are imported when they are first used."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from storagekit.core.garbage import uncollected

# Names that a module needs for lazy loading, and does not list.
_TOOLS = {"TYPE_CHECKING", "loader"}


def loader(
    package: str, submodules: Iterable[str], homes: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` for a package.

    Parameters
    ----------
    package : str
        Name of the package.
    submodules : iterable of str
        Names of the submodules that are imported when they are first used.
    homes : mapping of str to str, optional
        For each other name of the package, the submodule that defines it. If the submodule uses a different name, this
        name follows after `:`.

    Returns
    -------
    tuple of callable
        The two functions.
    """
    shown, found_in = frozenset(submodules), dict(homes or {})

    def attribute(name: str) -> Any:
        if name in shown:
            return _imported(f"{package}.{name}")
        if name not in found_in:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, theirs = found_in[name].partition(":")
        found = getattr(_imported(f"{package}.{home}"), theirs or name)
        setattr(sys.modules[package], name, found)  # the next use does not call this function
        return found

    def listing() -> list[str]:
        public = {name for name in vars(sys.modules[package]) if not name.startswith("_")}
        return sorted((public | shown | found_in.keys()) - _TOOLS)

    return attribute, listing


def _imported(name: str) -> ModuleType:
    """Return a module by its name, and import it if necessary."""
    with uncollected():
        return importlib.import_module(name)
