"""Process docstrings for Sphinx: an indented equation or command is shown as it was typed."""

from collections.abc import Iterator

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("autodoc-process-docstring", _as_typed)
    app.connect("autodoc-skip-member", _of_python)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _as_typed(_app: Sphinx, _what: str, _name: str, _object, _options, lines: list[str]) -> None:
    lines[:] = list(literal(lines))


def _of_python(_app: Sphinx, _what: str, _name: str, member, _skip: bool, _options) -> bool | None:
    """Return True for a field whose value is a built-in type; viewcode would link to a source that does not exist."""
    return True if isinstance(member, type) and member.__module__ == "builtins" else None


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
