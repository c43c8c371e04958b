"""Generic functions on a synthetic trace's model call the functions of its family."""

from dataclasses import replace

import numpy as np
import pytest

from storagekit.core.units import HOUR
from storagekit.workload.synthetic import SAP, TPCC, compare, generate, popular, seeking

SEEKING = replace(TPCC, requests=2_000, duration=2 * HOUR)
POPULAR = SAP.scaled(1 / 2_000)
FAMILIES = pytest.mark.parametrize(
    ("model", "family"), [(SEEKING, seeking), (POPULAR, popular)], ids=["seeking", "popular"]
)


@FAMILIES
def test_a_trace_equals_the_trace_of_its_family(model, family):
    window = {"start": 0.2 * model.duration, "stop": 0.7 * model.duration}
    one, other = generate(model, seed=3, **window), family.generate(model, seed=3, **window)
    assert len(one) > 0 and one.origin == window["start"]
    for column in ("time", "device", "offset", "size", "read"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@FAMILIES
def test_a_comparison_equals_that_of_its_family_for_every_target(model, family):
    trace = generate(model, seed=3)
    found = compare(model, trace)
    assert found == family.compare(model, trace)
    assert {name: one.target for name, one in found.items()} == model.targets()
    assert found["requests"].error == 0 and found["requests"].measured == len(trace)
