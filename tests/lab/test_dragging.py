"""Dragging a control compiles nothing: another value uses the same program and the same chart."""

import logging

import jax
import pytest

from storagekit.lab import page

# names of pages, and values to which their controls are dragged
DRAGGED = {
    "tour": {"replicas": [1, 2, 6], "arm": [0, 99], "address": [3, 80], "platter": [50], "size_kb": [4, 1024]},
    "striping": {"agents": [12, 64], "size_mb": [1, 32], "rate": [3, 60]},
    "sessions": {"agents": [4, 64], "rate_mb": [0.5, 50], "buffer_mb": [1, 32], "minutes": [7]},
    "trace": {"disks": [8, 30], "data": [10, 70], "scale": [0.5, 5], "tolerate": [0, 2]},
}


@pytest.mark.parametrize("name", DRAGGED)
def test_another_number_compiles_nothing_and_keeps_the_chart(name, caplog):
    dashboard = page(name).dashboard()
    values = {known: control.meaning(control.widget().value) for known, control in dashboard.controls.items()}
    first = dashboard.shown(values)
    assert first.possible
    with jax.log_compiles(), caplog.at_level("WARNING"):
        for known, numbers in DRAGGED[name].items():
            for number in numbers:
                shown = dashboard.shown(values | {known: number})
                assert shown.possible and shown.spec == first.spec, shown.said
    assert not [one.getMessage() for one in caplog.records if "Compiling" in one.getMessage()]


@pytest.fixture(autouse=True)
def jax_loggers(monkeypatch):
    """Enable loggers of JAX that the application of another test has disabled."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("jax") and isinstance(logger, logging.Logger):
            monkeypatch.setattr(logger, "disabled", False)


def test_a_compilation_is_logged(caplog):
    # at any level that another test has given JAX's logger
    with jax.log_compiles(), caplog.at_level("WARNING"), caplog.at_level("WARNING", logger="jax"):
        jax.jit(lambda number: number * 2.34567 + 1)(1.0)
    assert [one for one in caplog.records if "Compiling" in one.getMessage()]
