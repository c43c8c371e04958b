"""Findings on the agreement of a model with a measurement, and ratios of two measurements."""

import xarray as xr

from storagekit.papers.measurement import Measurement
from storagekit.simulation import ratio


def tracks(
    claim: str, apart: xr.DataArray, what: str, why: str, basis: str = "simulated", within: float = 0.15
) -> Measurement:
    """Return the finding whether a model follows a measurement at every point.

    Parameters
    ----------
    claim : str
        Identifier of the claim.
    apart : DataArray
        Relative errors of the model, over any dimensions.
    what, why : str
        Two parts of the note. `what`: a noun phrase for the two quantities that are compared. `why`: sentences on the
        reason for their difference.
    basis : str
        A basis of `Measurement`, by default "simulated".
    within : float
        The largest relative error at which the claim holds, by default 0.15, the limit of "near" in the scorecard.

    Returns
    -------
    Measurement
        The largest absolute relative error, and whether it is at most `within`.
    """
    worst, mean = float(abs(apart).max()), float(apart.mean())
    note = (
        f"The relative error of {what} is {mean:+.1%} on average, and at most {worst:.1%} in magnitude. The claim "
        f"holds if the largest error is at most {within:.0%}. {why}"
    )
    return Measurement(claim, worst, basis=basis, note=note, holds=worst <= within)


def paired(numerator: xr.DataArray, denominator: xr.DataArray) -> xr.DataArray:
    """Return the mean over the windows of one measurement divided by another, with the 95% interval of this mean.

    Parameters
    ----------
    numerator, denominator : DataArray
        The measurements, paired along `seed`.

    Returns
    -------
    DataArray
        The ratio, with the dimension `statistic` instead of `seed`.
    """
    return ratio(numerator.drop_vars("layout", errors="ignore"), denominator.drop_vars("layout", errors="ignore"))
