"""What the source of a room says of the names that it shows, read and not imported: JAX takes seconds to start, and a list of
names or a completion in a shell should not."""

import ast
from collections.abc import Iterator
from functools import cache

from storagekit.core.resources import PACKAGE

_MEMBERS = ast.ClassDef | ast.FunctionDef


def first_line(room: str, name: str) -> str:
    """The first line of what is said of `name` in its room: the docstring of a class or a function, of a value the string
    below it or else its class's, of another name for something what is said of that. room: "dispatch", "workload.trace".
    Raises LookupError where the room shows no such name."""
    return _said(room, name).strip().partition("\n")[0]


def first_sentence(room: str, name: str) -> str:
    """The same up to the first full stop, in one line."""
    return " ".join(_said(room, name).split()).partition(". ")[0].rstrip(".")


def value_of(room: str, name: str, field: str) -> str:
    """The word that the value `name` was given as its `field`, or that its class has."""
    body = _body(_home(room, name))
    call = _assigned(body, name)
    if isinstance(call, ast.Call):
        given = [word.value for word in call.keywords if word.arg == field]
        found = given or [_assigned(_class(body, call).body, field)]
        if isinstance(found[0], ast.Constant):
            return str(found[0].value)
    raise LookupError(f"{room}.{name} has no word {field}")


def names_in(room: str, name: str) -> list[str]:
    """The names of which the tuple `name` consists."""
    listed = _assigned(_body(_home(room, name)), name)
    return [one.id for one in getattr(listed, "elts", ()) if isinstance(one, ast.Name)]


def _said(room: str, name: str) -> str:
    room = _home(room, name)
    body = _body(room)
    for statement, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, _MEMBERS) and statement.name == name:
            return ast.get_docstring(statement) or ""
        if isinstance(statement, ast.Assign | ast.AnnAssign) and name in _targets(statement):
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                return str(below.value.value)
            if isinstance(statement.value, ast.Name):
                return _said(room, statement.value.id)
            return ast.get_docstring(_class(body, statement.value)) or ""
    raise LookupError(f"{room} shows no {name}")


def _class(body: list[ast.stmt], call: ast.expr | None) -> ast.ClassDef:
    """The class of a value that is made by a call, where it stands in the same file."""
    made = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    return next(one for one in body if isinstance(one, ast.ClassDef) and one.name == made)


def _assigned(body: list[ast.stmt], name: str) -> ast.expr | None:
    given = (one.value for one in body if isinstance(one, ast.Assign | ast.AnnAssign) and name in _targets(one))
    return next(given, None)


def _targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return (target.id for target in targets if isinstance(target, ast.Name))


def _home(room: str, name: str) -> str:
    """The file in which a name is defined that a room shows."""
    for statement in _body(room):
        if isinstance(statement, ast.ImportFrom) and name in {one.asname or one.name for one in statement.names}:
            return _home((statement.module or "").removeprefix("storagekit."), name)
    return room


@cache
def _body(room: str) -> list[ast.stmt]:
    path = PACKAGE.joinpath(*room.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8")).body
