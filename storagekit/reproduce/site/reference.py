"""The reference: a page for each package, made from its docstrings."""

import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from storagekit.core.resources import PACKAGE

# Modules that have a page like a package.
_FILES = (
    "analytic.headtracking",
    "analytic.queueing",
    "component.events",
    "core.errors",
    "core.provenance",
    "core.resources",
    "core.units",
    "papers.measurement",
)
_HIDDEN = ("reproduce", "cli", "core", "component")
# A link of a document to the source of a name: [`storagekit.schedule.SATF`](../../storagekit/schedule/disciplines.py).
_SOURCE_LINK = re.compile(r"\[`((storagekit[\w.]*)\.\w+)`\]\([^)\s]+\.py\)")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx; pages are written before Sphinx reads its sources."""
    app.add_config_value("storagekit_packages", [], "env", list)
    app.connect("config-inited", _write)
    app.connect("source-read", _link_to_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx, config: Config) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir()
    for name, text in pages(list(config.storagekit_packages) or packages()).items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")


def _link_to_entries(app: Sphinx, _name: str, source: list[str]) -> None:
    """Replace links to source files, which a code host shows, by links to the entries of the same names."""
    if _SOURCE_LINK.search(source[0]):
        shown = {*(app.config.storagekit_packages or packages())}
        source[0] = _SOURCE_LINK.sub(lambda link: entry_link(link[1], link[2] in shown), source[0])


def entry_link(name: str, is_shown: bool) -> str:
    """Return a link to the entry of a name in MyST, or the name as code if its package has no page."""
    return f"[`{name}`](#{name})" if is_shown else f"`{name}`"


def packages() -> list[str]:
    """Return the full names of public packages, `storagekit` first, and of the modules that have a page."""
    packages = [one.name for one in pkgutil.walk_packages([str(PACKAGE)], "storagekit.") if one.ispkg]
    shown = [name for name in packages if not any(part.startswith("_") or part in _HIDDEN for part in name.split("."))]
    return ["storagekit", *sorted([*shown, *(f"storagekit.{name}" for name in _FILES)])]


def pages(packages: list[str]) -> dict[str, str]:
    """Return the page of each package in reStructuredText, keyed by the name of the package.

    A name that several packages export is described on one page: the page of the deepest package that contains its
    file, or else of the first package. The other pages list the name with a link.
    """
    shown = {package: dict(_names(package)) for package in packages}
    homes: dict[int, str] = {}
    for names in shown.values():
        for name, what in names.items():
            if id(what) not in homes:
                homes[id(what)] = _home([package for package in packages if shown[package].get(name) is what], what)
    return {package: _page(package, shown[package], homes) for package in packages}


def _names(package: str) -> Iterator[tuple[str, Any]]:
    """Yield the public classes and functions of a module, by name. For a package they include the names that it imports."""
    module = import_module(package)
    for name in sorted(dir(module), key=str.lower):
        what = None if name.startswith("_") else getattr(module, name)
        theirs = getattr(what, "__module__", None) or ""
        shown = theirs.partition(".")[0] == "storagekit" if hasattr(module, "__path__") else theirs == package
        if shown and callable(what) and inspect.getdoc(what):
            yield name, what


def _home(candidates: list[str], what: Any) -> str:
    around = [package for package in candidates if f"{what.__module__}.".startswith(f"{package}.")]
    return max(around, key=len) if around else candidates[0]


def _page(package: str, names: Mapping[str, Any], homes: Mapping[int, str]) -> str:
    """Return the page of a package: its description, the list of its names, and the entries that belong here."""
    own = {name: what for name, what in names.items() if homes[id(what)] == package}
    title = package.removeprefix("storagekit.")
    parts = [f"{title}\n{'=' * len(title)}", f".. automodule:: {package}"]
    if names:
        listed = [f":py:obj:`{name} <{homes[id(what)]}.{name}>`" for name, what in names.items()]
        parts += [f".. rubric:: {len(names)} names", ", ".join(listed)]
    parts += [_entry(package, name, what) for name, what in own.items()]
    return "\n\n".join(parts) + "\n"


def _entry(package: str, name: str, what: Any) -> str:
    if not inspect.isclass(what):
        return f".. autofunction:: {package}.{name}"
    return f".. autoclass:: {package}.{name}\n   :members:"
