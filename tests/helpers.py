"""What tests of several rooms share: refusals, charts looked into, requests made by hand, answers read off events."""

import itertools
import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from storagekit.errors import InputError
from storagekit.units import MS
from storagekit.workload import Requests


def assert_refused(ask: Callable[[], object], says: str):
    """`ask()` raises InputError, in one line that a screen holds, and in words that the pattern `says` finds."""
    with pytest.raises(InputError, match=says) as refused:
        ask()
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 200


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
    """All that is said above a chart: its title, and what stands below that."""
    return " ".join([spec["title"]["text"], *spec["title"].get("subtitle", [])])


def figures(words: str) -> set[float]:
    """The numbers in what is said."""
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", words)}


def asking(sector, sectors=1) -> Requests:
    """Reads of so many sectors at these addresses."""
    sector = np.atleast_1d(np.asarray(sector, np.int32))
    nothing = np.zeros(sector.shape, np.uint32)
    size = np.full(sector.shape, sectors, np.int32)
    return Requests(
        sector, sector, size, nothing == 0, nothing, nothing, nothing == 1, *np.zeros((2, *sector.shape), np.int32)
    )


def responses(reports) -> dict[int, float]:
    """Response time in ms of each request answered in what `unfold` reports."""
    number, response = reports.answered.number.ravel(), reports.answered.response.ravel()
    happened = number >= 0
    return dict(zip(number[happened].tolist(), response[happened] / MS, strict=True))
