"""Docstrings as Sphinx reads them: what is indented in one, an equation or a command, stands as it was typed."""

from collections.abc import Iterator

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("autodoc-process-docstring", _as_typed)
    app.connect("autodoc-skip-member", _of_python)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _as_typed(_app: Sphinx, _what: str, _name: str, _object, _options, lines: list[str]) -> None:
    lines[:] = list(literal(lines))


def _of_python(_app: Sphinx, _what: str, _name: str, member, _skip: bool, _options) -> bool | None:
    """Leave out a field whose value is a type of Python's, of which viewcode would promise the source."""
    return True if isinstance(member, type) and member.__module__ == "builtins" else None


def literal(lines: list[str]) -> Iterator[str]:
    """The lines of a docstring with `::` before every block that is indented, examples of an interpreter left alone."""
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
