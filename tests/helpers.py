"""Shared helpers of the tests: rejected input, parts of charts, requests made by hand, responses from events."""

import html
import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import vl_convert
import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.dispatch import AbstractDispatch, AsManyAsNeeded
from storagekit.engine import NO_REQUEST, Record, Runner, Scenario, stack
from storagekit.workload import RecordedArrivals, Requests


def shared(*parts: str) -> Path:
    """A file or folder that may not be redistributed and is not in the repository; the test is skipped without it."""
    named = os.environ.get("STORAGEKIT_SHARED")
    path = (Path(named) if named else Path(__file__).resolve().parents[2] / "shared").joinpath(*parts)
    if not path.exists():
        pytest.skip(f"no {path}; set STORAGEKIT_SHARED to the folder that has {parts[0]}/")
    return path


def assert_refused(call: Callable[[], object], says: str):
    """`call()` raises InputError with one short line that matches the pattern `says`."""
    with pytest.raises(InputError, match=says) as refused:
        call()
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 200


def assert_same_bytes(left: xr.Dataset, right: xr.Dataset):
    """Two results have the same names, labels and numbers, to the last bit."""
    xr.testing.assert_identical(left.drop_attrs(deep=False), right.drop_attrs(deep=False))
    for name, variable in left.data_vars.items():
        assert variable.dtype == right[name].dtype and variable.values.tobytes() == right[name].values.tobytes(), name


def parts(node, key) -> Iterator:
    """Every value of `key` anywhere in a chart's specification."""
    if isinstance(node, dict):
        yield from ([node[key]] if key in node else [])
        for value in node.values():
            yield from parts(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from parts(value, key)


def rows(spec: dict) -> list[dict]:
    """All rows of all data of a chart's specification."""
    return list(itertools.chain.from_iterable(spec["datasets"].values()))


def heading(spec: dict) -> str:
    """All text above a chart: its title and subtitle."""
    return " ".join([spec["title"]["text"], *spec["title"].get("subtitle", [])])


def figures(words: str) -> set[float]:
    """The numbers in a text."""
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", words)}


# width of a page's column in pixels; a wider chart is scaled down until its text cannot be read
COLUMN = 1100


def assert_states_result(spec: dict):
    """The chart's subtitle states its result in figures, the chart fits a page, and the picture has no missing
    values."""
    assert figures(spec["title"]["subtitle"][0]), spec["title"]
    svg = vl_convert.vegalite_to_svg(spec)
    width = re.search(r'width="([\d.]+)"', svg)
    assert width and float(width[1]) <= COLUMN, spec["title"]["text"]
    assert "NaN" not in svg and "undefined" not in svg and html.escape(spec["title"]["text"], quote=False) in svg


def said_by_the_paper(spec: dict) -> set[float]:
    """The numbers that a chart marks or names as the paper's, also shares in percent."""
    words = " ".join(line for line in spec["title"]["subtitle"] if "paper" in line.lower())
    named = [row for row in rows(spec) if any("paper" in one for one in row.values() if isinstance(one, str))]
    found = figures(words) | {value for row in named for value in row.values() if isinstance(value, int | float)}
    for row in named:
        found |= figures(" ".join(one for one in row.values() if isinstance(one, str)))
    return found | {share / 100 for share in found}


def requests_at(sector, sectors=1, dtype=np.int32) -> Requests:
    """Reads of `sectors` sectors at these addresses, which have the type `dtype`."""
    sector = np.atleast_1d(np.asarray(sector, dtype))
    nothing = np.zeros(sector.shape, np.uint32)
    size = np.full(sector.shape, sectors, np.int32)
    return Requests(
        sector, sector, size, nothing == 0, nothing, nothing, nothing == 1, *np.zeros((2, *sector.shape), np.int32)
    )


def responses(reports) -> dict[int, float]:
    """Response time in ms of each completed request in the reports of `unfold`."""
    number, response = reports.completed.number.ravel(), reports.completed.response.ravel()
    happened = number >= 0
    return dict(zip(number[happened].tolist(), response[happened] / MS, strict=True))


def logged_responses(log, count: int) -> np.ndarray:
    """The response time of each of `count` requests in a log of responses; NaN for a request that is not in it."""
    completed = log.number != NO_REQUEST
    response = np.full(count, np.nan)
    response[log.number[completed]] = log.response[completed]
    return response


class WrappedDispatch(AsManyAsNeeded):
    """Dispatch as `of` does. The private state is a tuple: the private state of `of`, and what a subclass observes in its
    methods `init` and `route`."""

    of: AbstractDispatch

    def retry_targets(self, alive, targets):
        return self.of.retry_targets(alive, targets)

    def on_admitted(self, private, event):
        return self.of.on_admitted(private[0], event), *private[1:]

    def on_access_started(self, private, event):
        return self.of.on_access_started(private[0], event), *private[1:]

    def on_access_ended(self, private, event):
        return self.of.on_access_ended(private[0], event), *private[1:]

    def on_completed(self, private, event):
        return self.of.on_completed(private[0], event), *private[1:]

    def on_brick_stopped(self, private, event):
        return self.of.on_brick_stopped(private[0], event), *private[1:]

    def elapse(self, private, time):
        return self.of.elapse(private[0], time), *private[1:]


def dispatch_state(scenarios: list[Scenario], count: int):
    """The private state of the dispatchers after `count` requests and the events that follow."""
    runner = Runner(*stack(scenarios, [0]), Record())
    while np.min(runner.run.first) < count:
        runner.advance(1)
    runner.advance(1)
    return runner.run.state.dispatch


def recorded_requests(
    draw: np.random.Generator, sector: np.ndarray, sectors: np.ndarray, read_share: float, gap: float
) -> RecordedArrivals:
    """Requests for these sectors with a mean time of `gap` between them, reads and writes at random."""
    count = len(sector)
    requests = Requests(
        number=np.arange(count, dtype=np.int32),
        sector=sector.astype(np.int32),
        sectors=sectors.astype(np.int32),
        read=draw.random(count) < read_share,
        receiving=draw.integers(0, 2**32, count, np.uint32),
        address_hash=draw.integers(0, 2**32, count, np.uint32),
        asynchronous=np.zeros(count, bool),
        stream=np.zeros(count, np.int32),
        client=np.zeros(count, np.int32),
    )
    return RecordedArrivals(requests, np.append(draw.exponential(gap, count - 1), np.inf).astype(np.float32))


def leaves(command, *before: str):
    """Every command of the command line, with its words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield before, command
        return
    for name, one in inner.items():
        yield from leaves(one, *before, name)


def slow_but(kept: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Return the values of a test's parameter with all except those in `kept` marked slow. Tuples are values of several
    parameters."""

    def slow(value: Any) -> Any:
        return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)

    return [value if value in kept else slow(value) for value in values]
