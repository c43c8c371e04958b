"""Names that a package shows without importing them until they are used."""

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

from storagekit.core.garbage import uncollected

# what a module needs for this, and shows nobody
_TOOLS = {"TYPE_CHECKING", "loader"}


def loader(
    package: str, rooms: Iterable[str], homes: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for the module `package`.

    rooms: its submodules that are imported when they are first used. homes: for each other name the submodule it comes from,
    with `:` and what it is called there if that is something else.
    """
    shown, found_in = frozenset(rooms), dict(homes or {})

    def attribute(name: str) -> Any:
        if name in shown:
            return _imported(f"{package}.{name}")
        if name not in found_in:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, _, theirs = found_in[name].partition(":")
        found = getattr(_imported(f"{package}.{home}"), theirs or name)
        setattr(sys.modules[package], name, found)  # asked for only once
        return found

    def listing() -> list[str]:
        public = {name for name in vars(sys.modules[package]) if not name.startswith("_")}
        return sorted((public | shown | found_in.keys()) - _TOOLS)

    return attribute, listing


def _imported(name: str) -> ModuleType:
    """The module of that name, imported where it is not yet."""
    with uncollected():
        return importlib.import_module(name)
