"""Check the annotations of these packages in every call. This module must be imported before storagekit.

Some packages are left out. The formulas of `analytic` and `plan` declare arrays, but return NumPy's numbers for plain
numbers. `papers.measurement` is called with NumPy's numbers and stores Python's. Synthetic traces and the internals of
the mediator are called so often on the host that a check costs more than the work.
"""

import ast
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, get_args

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import TypeCheckError, config, install_import_hook
from jaxtyping._array_types import _MetaAbstractArray
from jaxtyping._decorator import _destring_annotation
from jaxtyping._import_hook import JaxtypingTransformer
from jaxtyping._pytree_type import _MetaPyTree
from jaxtyping._storage import pop_shape_memo, push_shape_memo

PACKAGES = (
    "core.batching",
    "core.packed",
    "drive",
    "workload.arrivals",
    "workload.counts",
    "workload.randomness",
    "workload.recorded",
    "workload.requests",
    "workload.reuse",
    "workload.sizes",
    "workload.threads",
    "workload.trace",
    "placement",
    "component",
    "arbitration",
    "faults",
    "queue",
    "write",
    "schedule",
    "dispatch",
    "cache",
    "engine",
    "simulation.confidence",
    "simulation.data_loss",
    "simulation.experiment",
    "simulation.history",
    "simulation.loss_trial",
    "calibrate.measured_drive",
    "simulation.measures",
    "simulation.shards",
    "simulation.provisioning",
    "simulation.replaying",
    "simulation.splitting",
    "simulation.standard_measures",
    "simulation.store",
    "simulation.sweeping",
    "simulation.workers",
    "mediator.mediator",
    "mediator.policy",
    "mediator.simulation",
    "mediator.request",
)
# an int is valid for a float (PEP 484); only the first item of a list is checked, because Hypothesis does not allow other
# sources of random numbers
check = beartype(conf=BeartypeConf(is_pep484_tower=True, is_random=False, violation_type=TypeCheckError))


def jaxtyped(one: Any = None, **options: Any) -> Any:
    """Do what `jaxtyping.jaxtyped` does, with a function checked in one pass.

    The original binds the arguments of each call to the signature and checks them twice. That takes 15 us a call, which is
    most of the time of tests that read traces line by line.
    """
    if one is None:
        return functools.partial(jaxtyped, **options)
    if not isinstance(one, types.FunctionType) or inspect.isgeneratorfunction(one):
        return original(one, **options)
    return checked(one)


def checked(function: Callable) -> Callable:
    """Return a function that checks its arguments and its result by their annotations."""
    hints = {name: _destring_annotation(hint, function.__globals__) for name, hint in function.__annotations__.items()}
    if not hints:
        return function
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__qualname__, copy.__module__ = (
        function.__kwdefaults__, function.__qualname__, function.__module__,
    )  # fmt: skip
    copy.__annotations__ = hints
    strict = check(copy)

    @functools.wraps(function)
    def plain(*args, **kwargs):
        return (function if config.jaxtyping_disable else strict)(*args, **kwargs)

    @functools.wraps(function)
    def with_axes(*args, **kwargs):
        if config.jaxtyping_disable:
            return function(*args, **kwargs)
        push_shape_memo({})
        try:
            return strict(*args, **kwargs)
        finally:
            pop_shape_memo()

    return with_axes if any(map(has_axes, hints.values())) else plain


def has_axes(hint: Any) -> bool:
    """Return whether an annotation names axes, whose lengths are the same in all annotations of a call."""
    return isinstance(hint, _MetaAbstractArray | _MetaPyTree) or any(map(has_axes, get_args(hint)))


original = jaxtyping.jaxtyped
jaxtyping.jaxtyped = jaxtyped
visit_function = JaxtypingTransformer.visit_FunctionDef


def visit_outer(transformer: JaxtypingTransformer, node: ast.FunctionDef) -> ast.AST:
    """Decorate a function so that its annotations are checked, and leave functions within functions as they are.

    Python defines an inner function again with each call of the outer one, and decorating it takes 0.1 ms each time.
    That is half of the time of tests that call such functions often.
    """
    inner = any(isinstance(parent, ast.FunctionDef) for parent in transformer._parents)
    return node if inner else visit_function(transformer, node)


JaxtypingTransformer.visit_FunctionDef = visit_outer
install_import_hook([f"storagekit.{package}" for package in PACKAGES], f"{__name__}.check")
