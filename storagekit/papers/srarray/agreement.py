"""How near a model comes to a measurement, and one measurement to another."""

import xarray as xr

from storagekit.papers.measurement import Measurement
from storagekit.simulation import ratio


def tracks(
    claim: str, apart: xr.DataArray, what: str, why: str, basis: str = "simulated", within: float = 0.15
) -> Measurement:
    """Whether a model follows a measurement: relative errors `apart` within 15% (the scorecard's "near") at every point.

    what, why: what is compared, and why it differs, in words.
    """
    worst, mean = float(abs(apart).max()), float(apart.mean())
    note = f"{what}: mean {mean:+.1%}, worst {worst:.1%}; {why}"
    return Measurement(claim, worst, basis=basis, note=note, holds=worst <= within)


def paired(numerator: xr.DataArray, denominator: xr.DataArray) -> xr.DataArray:
    """Ratio over the windows with its interval."""
    return ratio(numerator.drop_vars("layout", errors="ignore"), denominator.drop_vars("layout", errors="ignore"))
