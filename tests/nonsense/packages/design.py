"""Valid calls of sensitivities and of the optimizer."""

from collections.abc import Mapping
from functools import cache, wraps
from typing import Any

import xarray as xr
from nonsense.attack import ValidCall
from nonsense.packages.engine import scenario
from numpy.typing import NDArray

from storagekit import design
from storagekit.analytic import response_mm1


def response(rate: float, service: float) -> dict[str, Any]:
    return {"response": response_mm1(rate, service), "load": rate * service}


@cache
def found() -> xr.Dataset:
    return design.sensitivity(response, {"rate": 50.0, "service": 0.01})


@wraps(design.optimize)
def least(**given: Any) -> Mapping[str, float]:
    return design.optimize(**given).measures


@wraps(design.sensitivity)
def elasticities(**given: Any) -> NDArray:
    # a formula has no intervals
    return design.sensitivity(**given).elasticity.sel(statistic="mean").values


VALID_CALLS = {
    "design.change_for": ValidCall(lambda: {"data": found(), "amount": -0.001}, signed=("amount",)),
    "design.numbers_of": ValidCall(lambda: {"scenario": scenario()}),
    "design.optimize": ValidCall(
        lambda: {
            "subject": response,
            "bounds": {"rate": (1.0, 50.0), "service": (0.001, 0.01)},
            "objective": "response",
            "maximize": True,
            "constraints": {"load": (None, 0.3)},
            "starts": 4,
            "steps": 20,
            "seeds": 2,
            "requests": 100,
            "warm_up": 10.0,
        },
        least,
    ),
    "design.sensitivity": ValidCall(
        lambda: {
            "subject": response,
            "with_respect_to": {"rate": 50.0, "service": 0.01},
            "whole": [],
            "measures": ["response"],
            "step": 0.05,
            "seeds": 2,
            "requests": 100,
            "warm_up": 10.0,
            "level": 0.95,
        },
        elasticities,
    ),
}
NOT_ATTACKED = {"design.Optimum": "a result that `optimize` returns"}
