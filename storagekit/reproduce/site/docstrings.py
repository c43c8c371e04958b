"""Process docstrings for Sphinx: equations and commands are shown as typed, and limits of arguments beside their types."""

import re
from collections.abc import Iterable, Iterator, Mapping

from sphinx.application import Sphinx

from storagekit.core.validation import limits_of

# How napoleon writes the type of an argument.
_TYPE = re.compile(r":type (\w+): ")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", _as_typed)
    app.connect("autodoc-skip-member", _of_python)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _as_typed(_app: Sphinx, _what: str, _name: str, member, _options, lines: list[str]) -> None:
    lines[:] = with_limits(literal(lines), limits_of(member))


def _of_python(_app: Sphinx, _what: str, _name: str, member, _skip: bool, _options) -> bool | None:
    """Return True for a field whose value is a built-in type; viewcode would link to a source that does not exist."""
    return True if isinstance(member, type) and member.__module__ == "builtins" else None


def with_limits(lines: Iterable[str], limits: Mapping[str, str]) -> list[str]:
    """Return the lines with the limit of each argument after its type."""
    typed = ((line, _TYPE.match(line)) for line in lines)
    return [f"{line}; {limits[of[1]]}" if of and of[1] in limits else line for line, of in typed]


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
