"""Digest of the contents of an object: equal contents have equal digests, in every process.

Numbers, arrays and strings are hashed by value. Classes and functions of this package and of its dependencies are
hashed by name, because `made_with` records the versions of these packages. A user's own classes and functions are
hashed by their compiled code and everything to which the code refers.
"""

import dis
import functools
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import metadata
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    EllipsisType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import jax
import numpy as np

from storagekit.core.errors import InputError
from storagekit.core.provenance import version
from storagekit.core.resources import PACKAGE

# precision in which the package computes
PRECISION = "float32"
# settings of JAX that change the random numbers
_DRAWS = ("jax_enable_x64", "jax_threefry_partitionable")
_WORDS = (NoneType, bool, int, float, complex, str, bytes, EllipsisType)
# packages whose classes and functions are hashed by name: their versions are recorded, or do not change results
_BY_NAME = {"storagekit", "jax", "jaxlib", "numpy", "equinox", "jaxtyping", "scipy", "xarray", *sys.stdlib_module_names}


def made_with() -> dict[str, str]:
    """Return the versions and settings that determine the results of a run, in addition to the scenario.

    Returns
    -------
    dict of str to str
        Versions of packages, a digest of the source of this package, the precision, the backend, and the settings of
        JAX for random numbers.
    """
    return {
        "storagekit": version(),
        "source": _source(),
        "jax": jax.__version__,
        "jaxlib": metadata.version("jaxlib"),
        "precision": PRECISION,
        "backend": jax.default_backend(),
        **{name: str(getattr(jax.config, name)) for name in _DRAWS},
    }


@cache
def _source() -> str:
    """Return a digest of the package's source.

    The version is not sufficient, because a checkout can change without a change of version.
    """
    total = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        total.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()[:16]


class _Plain:
    """A class without members. Its instances have the smallest size of a Python object with attributes.

    An object that is larger than such an instance has memory in addition to its attributes.
    """


class ContentHash:
    """Digests of objects.

    An object that scenarios share is hashed once. Hashed objects are kept alive, so that no other object receives their `id`.
    """

    def __init__(self):
        self._known: dict[int, tuple[Any, bytes]] = {}
        # code that is being hashed, keyed by `id`, because code may refer to itself
        self._above: dict[int, str] = {}

    def of(self, one: Any) -> str:
        """Return the digest of an object.

        Parameters
        ----------
        one : object
            The object.

        Returns
        -------
        str
            The digest, in hexadecimal.

        Raises
        ------
        InputError
            If the contents of the object cannot be determined.
        """
        return self._digest(one).hex()

    def _digest(self, one: Any) -> bytes:
        if id(one) in self._known:
            return self._known[id(one)][1]
        if id(one) in self._above:
            return hashlib.sha256(f"again {self._above[id(one)]}".encode()).digest()
        code = isinstance(one, FunctionType | type)
        outermost = not self._above
        if code:
            self._above[id(one)] = one.__qualname__
        try:
            kind, parts = self._apart(one)
            total = hashlib.sha256(f"{kind}\0".encode())
            for part in parts:
                total.update(part if isinstance(part, memoryview) else self._digest(part))
        finally:
            if code:
                del self._above[id(one)]
        # the digest of an object inside code that refers to itself depends on the object at which hashing began; such a
        # digest is not stored
        if outermost and not isinstance(one, _WORDS):
            self._known[id(one)] = one, total.digest()
        return total.digest()

    def _apart(self, one: Any) -> tuple[str, Iterable[Any]]:
        """Return the kind of an object, and its parts. A part that is a memoryview is hashed by its bytes."""
        kind = type(one).__name__
        if isinstance(one, Enum):
            return f"enum {one.name}", [type(one)]
        if isinstance(one, _WORDS):
            return kind, [memoryview(repr(one).encode())]
        if isinstance(one, np.ndarray | np.generic | jax.Array):
            return self._array(np.asarray(one))
        if isinstance(one, np.dtype):
            return f"dtype {one.str} {one.name}", []
        if isinstance(one, Mapping):
            return "mapping", [part for pair in one.items() for part in pair]
        if isinstance(one, set | frozenset):
            return "set", [memoryview(b"".join(sorted(map(self._digest, one))))]
        if isinstance(one, tuple | list):
            return kind, one
        code = self._code(one)
        if code is not None:
            return code
        if is_dataclass(one):
            return "object", [type(one), *_values(one, [field.name for field in fields(one)])]
        if hasattr(one, "__dict__") and type(one).__basicsize__ <= _Plain.__basicsize__:
            return "object", [type(one), *_values(one, sorted(vars(one)))]
        raise InputError(
            f"a sweep with a store contains a {type(one).__module__}.{type(one).__qualname__}, whose changes cannot "
            "be detected; omit the store, or use numbers, arrays, text or functions instead"
        )

    def _array(self, array: np.ndarray) -> tuple[str, Iterable[Any]]:
        if array.dtype.hasobject:
            return f"objects {array.shape}", array.ravel().tolist()
        kind = f"array {array.dtype.str} {array.dtype.name} {array.shape}"
        return kind, [memoryview(array.tobytes())]

    def _code(self, one: Any) -> tuple[str, Iterable[Any]] | None:
        """Return the kind and the parts of an object that is code; None for any other object."""
        if isinstance(one, CodeType):
            return "code", [one.co_code, one.co_names, one.co_varnames, one.co_freevars, one.co_flags, one.co_consts]
        if isinstance(one, CellType):
            return "cell", _values(one, ["cell_contents"])
        if isinstance(one, MethodType):
            return "method", [one.__func__, one.__self__]
        if isinstance(one, functools.partial):
            return "partial", [one.func, one.args, one.keywords]
        if isinstance(one, staticmethod | classmethod):
            return type(one).__name__, [one.__func__]
        if isinstance(one, property):
            return "property", [one.fget, one.fset]
        if isinstance(one, ModuleType):
            return self._module(one)
        if isinstance(one, np.ufunc):
            return f"ufunc {one.__name__}", []
        if isinstance(one, BuiltinFunctionType):
            bound = one.__self__
            return f"builtin {one.__module__} {one.__qualname__}", [] if isinstance(bound, ModuleType) else [bound]
        name = getattr(one, "__qualname__", None)
        if name is not None and "<" not in name and not _is_own(one.__module__):
            return f"named {one.__module__} {name}", []
        if isinstance(one, FunctionType):
            return "function", [one.__code__, one.__defaults__, one.__kwdefaults__, one.__closure__, _used(one)]
        if isinstance(one, type):
            return f"class {name}", [one.__bases__, _written(one)]
        inner = getattr(one, "__wrapped__", None)
        return None if inner is None else (f"wrapped {type(one).__qualname__}", [inner])

    def _module(self, one: ModuleType) -> tuple[str, Iterable[Any]]:
        """Return the kind of a module and, if it is the user's own, the contents of its file."""
        file = getattr(one, "__file__", None)
        if file is None or not _is_own(one.__name__):
            return f"module {one.__name__}", []
        with open(file, "rb") as source:
            return f"module {one.__name__}", [source.read()]


def _is_own(module: str | None) -> bool:
    """Return whether a module is the user's own."""
    return (module or "__main__").partition(".")[0] not in _BY_NAME


def _written(one: type) -> dict[str, Any]:
    """Return the attributes of a class that its author wrote, without attributes that Python, dataclasses or ABCs add."""
    return {
        name: part
        for name, part in vars(one).items()
        if name != "_abc_impl" and (isinstance(part, FunctionType) or not name.startswith("__"))
    }


def _values(one: Any, names: Iterable[str]) -> Iterator[Any]:
    """Yield the names and the values of attributes. Attributes without a value are left out."""
    for name in names:
        try:
            value = getattr(one, name)
        except (AttributeError, ValueError):
            continue
        yield name
        yield value


def _used(function: FunctionType) -> dict[str, Any]:
    """Return the global variables that a function uses, directly or in a function that is defined inside it."""
    todo, names = [function.__code__], set()
    while todo:
        code = todo.pop()
        todo.extend(one for one in code.co_consts if isinstance(one, CodeType))
        names.update(step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
