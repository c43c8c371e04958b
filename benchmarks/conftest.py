"""Fixtures that measure ratios and print the table of ratios at the end."""

import time

import pytest

from storagekit.core.devices import cores

RATIOS = {}


@pytest.fixture
def against(benchmark):
    """Time `ours` and `control` in turns and keep the ratio of their rates: `against(name, ours, control)`.

    Both are functions that do some work and return the number of disk accesses. The machine may be shared. The result
    is therefore the median of the ratios of neighbouring measurements.
    """

    def against(name, ours, control, rounds=5):
        pairs = []

        def reference():
            pairs.append([rate(control)])

        def timed():
            pairs[-1].append(rate(ours))

        ours(), control()  # compile first
        benchmark.pedantic(timed, setup=reference, rounds=rounds)
        ratios = sorted(mine / theirs for theirs, mine in pairs)
        best = [max(column) for column in zip(*pairs, strict=True)]
        median = ratios[len(ratios) // 2]
        RATIOS[name] = f"{median:.2f} x ({best[1] / 1e6:.2f} against {best[0] / 1e6:.2f} M accesses/s)"
        benchmark.extra_info["ratio"] = RATIOS[name]

    return against


@pytest.fixture
def note():
    """Put a line into the table: `note(name, text)`."""
    return RATIOS.__setitem__


def rate(work) -> float:
    began = time.perf_counter()
    accesses = work()
    return accesses / (time.perf_counter() - began)


def pytest_terminal_summary(terminalreporter):
    if RATIOS:
        terminalreporter.section(f"against the scalar control, {cores()} cores")
        for name, text in RATIOS.items():
            terminalreporter.write_line(f"{name:48} {text}")
