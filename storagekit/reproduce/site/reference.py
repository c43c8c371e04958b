"""The reference: a page for each room, of what its docstrings say."""

import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from storagekit.core.resources import PACKAGE

# files that are rooms of their own
_FILES = ("units", "resources", "comparing", "analytic.headtracking", "analytic.queueing")
_HIDDEN = ("reproduce",)


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls: writes the pages before it looks for sources."""
    app.add_config_value("storagekit_rooms", [], "env", list)
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx, config: Config) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir()
    for name, text in pages(list(config.storagekit_rooms) or rooms()).items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def rooms() -> list[str]:
    """The public packages of storagekit, itself first, and the files that are rooms too, by their full names."""
    packages = [one.name for one in pkgutil.walk_packages([str(PACKAGE)], "storagekit.") if one.ispkg]
    shown = [name for name in packages if not any(part.startswith("_") or part in _HIDDEN for part in name.split("."))]
    return ["storagekit", *sorted([*shown, *(f"storagekit.{name}" for name in _FILES)])]


def pages(rooms: list[str]) -> dict[str, str]:
    """The pages in reStructuredText by the names of the rooms.

    What several rooms show is described where it lives: in the deepest of them that its file is in, else in the first. The
    others name it and lead there.
    """
    shown = {room: dict(_names(room)) for room in rooms}
    homes: dict[int, str] = {}
    for names in shown.values():
        for name, what in names.items():
            if id(what) not in homes:
                homes[id(what)] = _home([room for room in rooms if shown[room].get(name) is what], what)
    return {room: _page(room, shown[room], homes) for room in rooms}


def _names(room: str) -> Iterator[tuple[str, Any]]:
    """The public classes and functions of storagekit that a room shows, by name: of a package also those it takes in."""
    module = import_module(room)
    for name in sorted(dir(module), key=str.lower):
        what = None if name.startswith("_") else getattr(module, name)
        theirs = getattr(what, "__module__", None) or ""
        shown = theirs.partition(".")[0] == "storagekit" if hasattr(module, "__path__") else theirs == room
        if shown and callable(what) and inspect.getdoc(what):
            yield name, what


def _home(candidates: list[str], what: Any) -> str:
    around = [room for room in candidates if f"{what.__module__}.".startswith(f"{room}.")]
    return max(around, key=len) if around else candidates[0]


def _page(room: str, names: Mapping[str, Any], homes: Mapping[int, str]) -> str:
    """What a room is, the list of its names, and each of those that live there."""
    own = {name: what for name, what in names.items() if homes[id(what)] == room}
    title = room.removeprefix("storagekit.")
    parts = [f"{title}\n{'=' * len(title)}", f".. automodule:: {room}"]
    if names:
        listed = [f":py:obj:`{name} <{homes[id(what)]}.{name}>`" for name, what in names.items()]
        parts += [f".. rubric:: {len(names)} names", ", ".join(listed)]
    parts += [_entry(room, name, what) for name, what in own.items()]
    return "\n\n".join(parts) + "\n"


def _entry(room: str, name: str, what: Any) -> str:
    if not inspect.isclass(what):
        return f".. autofunction:: {room}.{name}"
    return f".. autoclass:: {room}.{name}\n   :members:"
