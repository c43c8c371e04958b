"""Annotations exist and are checked: see tests/typechecked.py."""

import ast
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError

import storagekit.engine
from storagekit.core.batching import pick, put
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import System
from storagekit.placement import Replicas
from storagekit.schedule import SATF

ENGINE = Path(storagekit.engine.__file__).parent


def test_an_undeclared_shape_is_rejected():
    values, index = jnp.zeros((4, 3)), jnp.zeros((1, 3), jnp.int32)
    assert pick(values, index).shape == (1, 3)
    # `pick` takes several entries of a run, `put` one
    assert pick(values, jnp.zeros((2, 3), jnp.int32)).shape == (2, 3)
    for wrong in (index[:, :2], index.astype(jnp.float32)):
        with pytest.raises(TypeCheckError, match="index"):
            pick(values, wrong)
    with pytest.raises(TypeCheckError, match="index"):
        put(values, jnp.zeros((2, 3), jnp.int32), jnp.zeros((1, 3)))


def test_an_undeclared_type_is_rejected():
    drive, disks = RateServer(1.0), Replicas(2)
    assert System(drive, disks, Hashing(), SATF()).drives == 2
    with pytest.raises(TypeCheckError, match="dispatch"):
        System(drive, disks, SATF(), SATF())
    with pytest.raises(TypeCheckError, match="drive"):
        disks.capacity(10**6)


def test_numpys_arrays_are_rejected_where_the_engine_computes():
    with pytest.raises(TypeCheckError, match="values"):
        pick(np.zeros(4), jnp.zeros(1, jnp.int32))


@pytest.mark.parametrize("path", sorted(ENGINE.glob("*.py")), ids=lambda path: path.stem)
def test_every_parameter_in_the_engine_has_an_annotation(path):
    tree = ast.parse(path.read_text())
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        given = function.args
        everything = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        for parameter in (one for one in everything if one is not None and one.arg not in ("self", "cls")):
            where = f"{path.name}:{parameter.lineno} {function.name}({parameter.arg})"
            assert parameter.annotation is not None, where
            assert not bare(parameter.annotation), f"{where}: an array without its shape"
        assert function.returns is None or not bare(function.returns), f"{path.name}:{function.lineno} {function.name}"


def bare(annotation: ast.expr) -> bool:
    """Return whether an annotation names an array of JAX's without a shape in brackets."""
    if isinstance(annotation, ast.Name):
        return annotation.id in ("Array", "AnyArray")
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
        kind, shape = annotation.slice.elts[0], annotation.slice.elts[-1]
        if isinstance(kind, ast.Name) and isinstance(shape, ast.Constant) and isinstance(shape.value, str):
            return False
    return any(bare(part) for part in ast.iter_child_nodes(annotation) if isinstance(part, ast.expr))


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Array", True),
        ("Array | None", True),
        ("tuple[Array, Array]", True),
        ('Float[Array, "slot *batch"]', False),
        ('tuple[Int[Array, "1 *batch"], int | None]', False),
    ],
)
def test_what_counts_as_bare(annotation, expected):
    assert bare(ast.parse(annotation, mode="eval").body) == expected
