"""Process docstrings for Sphinx: keep equations and commands as typed, and add the limits of arguments."""

import re
from collections.abc import Iterable, Iterator, Mapping

from sphinx.application import Sphinx

from storagekit.core.validation import limits_of

# How napoleon writes the description of an argument.
_ARGUMENT = re.compile(r":param (\w+):")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", _as_typed)
    app.connect("autodoc-skip-member", _of_python)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _as_typed(_app: Sphinx, _what: str, _name: str, member, _options, lines: list[str]) -> None:
    lines[:] = with_limits(literal(lines), limits_of(member))


def _of_python(_app: Sphinx, _what: str, _name: str, member, _skip: bool, _options) -> bool | None:
    """Return True, to skip the member, for a field whose value is a built-in type, which has no source to link to."""
    return True if isinstance(member, type) and member.__module__ == "builtins" else None


def with_limits(lines: Iterable[str], limits: Mapping[str, str]) -> list[str]:
    """Return the lines with the limit of each argument at the end of its description."""
    found, limit = [], ""
    for line in (*lines, ""):
        if limit and not line.startswith(" "):
            found[-1] += limit
            limit = ""
        argument = _ARGUMENT.match(line)
        if argument and argument[1] in limits:
            limit = f" Valid: {limits[argument[1]]}."
        found.append(line)
    return found[:-1]


def literal(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a docstring with `::` before every indented block, except examples of an interpreter."""
    before = ""
    inside = False
    for line in lines:
        indented = line.startswith("    ") or (inside and not line.strip())
        if indented and not inside and not before.strip() and not line.lstrip().startswith((">>>", "-", "* ")):
            yield from ("::", "")
            inside = True
        elif not indented:
            inside = False
        yield line
        before = line
