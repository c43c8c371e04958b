"""A compilation that takes long is reported in one line."""

import time

import jax
import jax.numpy as jnp
import pytest

from storagekit.core import compilation


@pytest.fixture(autouse=True)
def announced():
    compilation.announce_compilations()


def compiled(constant: int) -> None:
    """Compile a program that no other test has, with enough operations to take longer than a tick."""

    def program(x):
        for number in range(200):
            x = jnp.sin(x) * (constant + number)
        return x

    jax.jit(program).lower(1.0).compile()


def test_a_long_compilation_is_shown_until_its_end(monkeypatch, capfd):
    monkeypatch.setattr(compilation, "PATIENCE", 0.0)
    monkeypatch.setattr(compilation, "TICK", 0.01)
    compiled(12_347)
    said = capfd.readouterr().err
    assert "storagekit: compiling a program; later runs" in said and "s so far" in said
    assert not compilation._under_way
    time.sleep(0.2)
    assert capfd.readouterr().err.strip() == ""


def test_a_short_compilation_is_not_reported(monkeypatch, capfd):
    compiled(12_349)
    assert capfd.readouterr().err == "" and not compilation._under_way
