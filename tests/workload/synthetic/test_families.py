"""What is asked of any stand-in is answered by its own family."""

from dataclasses import replace

import numpy as np
import pytest

from storagekit.core.units import HOUR
from storagekit.workload.synthetic import SAP, TPCC, compare, generate, popular, seeking

SOUGHT = replace(TPCC, requests=2_000, duration=2 * HOUR)
ASKED = SAP.scaled(1 / 2_000)
FAMILIES = pytest.mark.parametrize(
    ("model", "family"), [(SOUGHT, seeking), (ASKED, popular)], ids=["seeking", "popular"]
)


@FAMILIES
def test_a_trace_is_that_of_the_family(model, family):
    window = {"start": 0.2 * model.duration, "stop": 0.7 * model.duration}
    one, other = generate(model, seed=3, **window), family.generate(model, seed=3, **window)
    assert len(one) > 0 and one.origin == window["start"]
    for column in ("time", "device", "offset", "size", "read"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@FAMILIES
def test_a_comparison_is_that_of_the_family_and_of_every_target(model, family):
    trace = generate(model, seed=3)
    found = compare(model, trace)
    assert found == family.compare(model, trace)
    assert {name: one.target for name, one in found.items()} == model.targets()
    assert found["requests"].error == 0 and found["requests"].measured == len(trace)
