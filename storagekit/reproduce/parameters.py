"""Read the parameters cell of a notebook, and the values given for it on a command line."""

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import nbformat

from storagekit.core.errors import InputError


def read_notebook(path: Path) -> Any:
    """Return the notebook at `path`. Raises InputError if it is missing or damaged."""
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise InputError(f"notebook {path}: no such file; give the path of a notebook") from None
    except Exception as fault:  # nbformat passes on the errors of json and jsonschema
        reason = " ".join(str(fault).split())[:200]
        raise InputError(f"notebook {path}: {reason}; it must be a Jupyter notebook") from fault


def read_parameters(path: Path) -> dict[str, Any]:
    """Return the names and defaults of a notebook's parameters, from the code cell with the tag `parameters`.

    Raises InputError if there is not exactly one such cell, or if a default is not a plain value.
    """
    cells = [
        cell
        for cell in read_notebook(path).cells
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", ())
    ]
    if len(cells) != 1:
        raise InputError(f"notebook {path}: {len(cells)} cells have the tag `parameters`; tag exactly one")
    try:
        return dict(_defaults(cells[0].source))
    except (SyntaxError, ValueError) as fault:
        raise InputError(
            f"notebook {path}: its parameters cell may only assign plain values to names: {fault}"
        ) from fault


def _defaults(source: str):
    for line in ast.parse(source).body:
        targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
        value = getattr(line, "value", None)
        if isinstance(line, ast.Assign | ast.AnnAssign) and value is not None:
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, ast.literal_eval(value)
        elif not (isinstance(line, ast.Expr) and isinstance(value, ast.Constant)):
            raise ValueError(f"line {line.lineno}")


def split(texts: Sequence[str]) -> dict[str, str]:
    """Return `name=value` texts as a mapping. Raises InputError if a text does not have that form."""
    given = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.strip().isidentifier()):
            raise InputError(f"parameter {text!r}: give it as name=value, for example -p runs=4")
        given[name.strip()] = value
    return given


def takers(given: Iterable[str], notebooks: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return, for each name in `given`, the notebooks that have a parameter of that name.

    Parameters
    ----------
    given : iterable of str
        Names of parameters.
    notebooks : mapping of str to mapping
        Parameters of each notebook, keyed by the name of the notebook.

    Raises
    ------
    InputError
        If no notebook has a parameter of that name.
    """
    found = {name: [one for one, defaults in notebooks.items() if name in defaults] for name in given}
    for name, those in found.items():
        if not those:
            raise InputError(f"no parameter {name!r} in {_listed(notebooks)}; {_instead(name, notebooks)}")
    return found


def _instead(name: str, notebooks: Mapping[str, Mapping[str, Any]]) -> str:
    there = list(dict.fromkeys(one for defaults in notebooks.values() for one in defaults))
    close = get_close_matches(name, there)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"give one of {_listed(there)}" if there else "the notebooks have no parameters"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def check(given: Mapping[str, str], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values of the parameters that have a default, each converted to the type of its default.

    Raises InputError for a text that cannot be converted to this type.
    """
    return {name: _value(name, text, defaults[name]) for name, text in given.items() if name in defaults}


def _value(name: str, text: str, default: Any) -> Any:
    try:
        return _parse(text, default)
    except (ValueError, SyntaxError) as fault:
        example = str(default).lower() if isinstance(default, bool) else str(default)
        raise InputError(
            f"parameter {name}={text!r}: it must be {_kind(default)}; for example {name}={example}"
        ) from fault


def _parse(text: str, default: Any) -> Any:
    match default:
        case bool():
            return _TRUTH[text.lower()] if text.lower() in _TRUTH else _no()
        case int():
            return int(text)
        case float():
            number = float(text)
            return number if math.isfinite(number) else _no()
        case str():
            return text
        case list() | tuple() | dict():
            value = ast.literal_eval(text)
            return value if _alike(value, default) else _no()
        case _:
            return ast.literal_eval(text)


_TRUTH = {"true": True, "false": False}


def _no():
    raise ValueError


def _alike(value: Any, default: Any) -> bool:
    """Return whether all elements of a list have the type of the first element of the default.

    A mapping as the default only requires that the value is a mapping.
    """
    if isinstance(default, dict) or isinstance(value, dict):
        return isinstance(default, dict) and isinstance(value, dict)
    if not isinstance(value, list | tuple):
        return False
    if not default:
        return True
    wanted = type(default[0])
    return all(type(v) is wanted or (wanted is float and type(v) is int) for v in value)


def _kind(default: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a finite number"}
    if isinstance(default, list | tuple):
        element = f" of {type(default[0]).__name__}" if default else ""
        return f"a list{element}"
    return names.get(type(default), "a plain Python value")
