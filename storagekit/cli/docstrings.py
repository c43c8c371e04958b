"""Descriptions of public names, read from the source of a package.

An import would start JAX, which takes seconds; a list of names or a completion in a shell should be immediate.
"""

import ast
from collections.abc import Iterator
from functools import cache

from storagekit.core.resources import PACKAGE

_MEMBERS = ast.ClassDef | ast.FunctionDef


def first_line(package: str, name: str) -> str:
    """Return the first line of the description of a public name.

    The description of a class or a function is its docstring. The description of a value is the string below its
    assignment, or the docstring of its class. The description of an alias is the description of its target. package:
    the package, such as "dispatch" or "workload.trace". Raises LookupError if the package has no such name.
    """
    return _said(package, name).strip().partition("\n")[0]


def first_sentence(package: str, name: str) -> str:
    """Return the first sentence of the description, in one line."""
    return " ".join(_said(package, name).split()).partition(". ")[0].rstrip(".")


def value_of(package: str, name: str, field: str) -> str:
    """Return, as text, the keyword argument `field` of the call that is assigned to `name`.

    Without this argument, return its default in the class.
    """
    body = _body(_home(package, name))
    call = _assigned(body, name)
    if isinstance(call, ast.Call):
        given = [word.value for word in call.keywords if word.arg == field]
        found = given or [_assigned(_class(body, call).body, field)]
        if isinstance(found[0], ast.Constant):
            return str(found[0].value)
    raise LookupError(f"{package}.{name} has no argument {field}")


def names_in(package: str, name: str) -> list[str]:
    """Return the names that the tuple with the name `name` contains."""
    listed = _assigned(_body(_home(package, name)), name)
    return [one.id for one in getattr(listed, "elts", ()) if isinstance(one, ast.Name)]


def _said(package: str, name: str) -> str:
    package = _home(package, name)
    body = _body(package)
    for statement, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(statement, _MEMBERS) and statement.name == name:
            return ast.get_docstring(statement) or ""
        if isinstance(statement, ast.Assign | ast.AnnAssign) and name in _targets(statement):
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                return str(below.value.value)
            if isinstance(statement.value, ast.Name):
                return _said(package, statement.value.id)
            return ast.get_docstring(_class(body, statement.value)) or ""
    raise LookupError(f"{package} has no public name {name}")


def _class(body: list[ast.stmt], call: ast.expr | None) -> ast.ClassDef:
    """Return the class of a value that is created by a call, if it is defined in the same file."""
    made = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    return next(one for one in body if isinstance(one, ast.ClassDef) and one.name == made)


def _assigned(body: list[ast.stmt], name: str) -> ast.expr | None:
    given = (one.value for one in body if isinstance(one, ast.Assign | ast.AnnAssign) and name in _targets(one))
    return next(given, None)


def _targets(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return (target.id for target in targets if isinstance(target, ast.Name))


def _home(package: str, name: str) -> str:
    """Return the module that defines a public name of a package, such as "dispatch.hashing"."""
    for statement in _body(package):
        if isinstance(statement, ast.ImportFrom) and name in {one.asname or one.name for one in statement.names}:
            return _home((statement.module or "").removeprefix("storagekit."), name)
    return package


@cache
def _body(package: str) -> list[ast.stmt]:
    path = PACKAGE.joinpath(*package.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8")).body
