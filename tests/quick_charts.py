"""Copy charts faster. Altair copies a chart at each step of its assembly, which takes half of the time of a test of a chart.

Most values of a chart are `Undefined`. Altair calls a function for each of them; here they are passed on at once.
"""

from typing import Any

from altair.utils import schemapi
from altair.utils.schemapi import SchemaBase, Undefined, debug_mode

altairs_copy = getattr(schemapi, "_deep_copy", None)


def quick_copy(obj: Any, by_ref: set[str]) -> Any:
    """Return what `schemapi._deep_copy` returns; papers/draw/test_exhibits.py compares the two."""
    if isinstance(obj, SchemaBase):
        if copier := getattr(obj, "__deepcopy__", None):
            with debug_mode(False):
                return copier(obj)
        args, kwds = quick_copy(list(obj._args), by_ref), quick_copy(obj._kwds, by_ref)
        with debug_mode(False):
            return obj.__class__(*args, **kwds)
    if isinstance(obj, list):
        return [quick_copy(value, by_ref) for value in obj]
    if isinstance(obj, dict):
        return {
            name: value if value is Undefined or name in by_ref else quick_copy(value, by_ref)
            for name, value in obj.items()
        }
    return obj


def copy_quickly() -> None:
    """Copy charts faster in this process, if this version of Altair copies them in this way."""
    if altairs_copy is not None:
        schemapi._deep_copy = quick_copy
