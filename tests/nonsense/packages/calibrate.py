"""Arguments of the public functions of `calibrate`."""

from functools import cache

import numpy as np
import xarray as xr
from nonsense.attack import ValidCall
from nonsense.packages.engine import system
from nonsense.packages.simulation import read_off

from storagekit import calibrate


@cache
def stream() -> xr.Dataset:
    times = np.array([0.004, 0.005, 0.006])
    return xr.Dataset(
        {
            "measured": ("request", times),
            "service": ("request", times * 1.1),
            "read": ("request", np.array([True, False, True])),
        }
    )


VALID_CALLS = {
    "calibrate.demerit": ValidCall(
        lambda: {"predicted": np.array([1.0, 2.0]), "measured": np.array([1.0, 3.0])}, signed=("predicted", "measured")
    ),
    "calibrate.demerit_by_class": ValidCall(lambda: {"stream": stream()}, read_off(calibrate.demerit_by_class)),
    "calibrate.figures": ValidCall(lambda: {"drive": system().drive}),
    "calibrate.seek_curve": ValidCall(lambda: {"drive": system().drive}, read_off(calibrate.seek_curve, "read")),
    "calibrate.zone_map": ValidCall(lambda: {"drive": system().drive}, read_off(calibrate.zone_map, "size")),
}
NOT_ATTACKED: dict[str, str] = {}
