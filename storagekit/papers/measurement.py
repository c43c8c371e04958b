"""Measured result for one claim of a paper."""

import math
from dataclasses import dataclass
from typing import Annotated

import xarray as xr

from storagekit.core.errors import InputError
from storagekit.core.validation import instance_of, one_of, shown, validate, validate_fields
from storagekit.papers.claim_table import ClaimTable
from storagekit.simulation.confidence import STATISTICS

BASES = ("analytic", "simulated", "stand-in", "trace")


@dataclass(frozen=True)
class Measurement:
    """Measured result for one claim of a paper.

    Parameters
    ----------
    id : str
        Identifier of the claim, including `[element]`.
    measured : float, bool or None
        A number in the unit of the claim, or whether a statement holds. None if nothing was measured; `note` then has
        the reason.
    low, high : float, optional
        The 95% confidence interval of `measured`, in the same unit.
    basis : str
        Origin of the result, one of `BASES`, by default "simulated".
    note : str
        Explanation of the result, by default empty.
    holds : bool, optional
        Whether an ordering or a bound holds, if `measured` is a number that illustrates it.

    Raises
    ------
    InputError
        If a number is not finite, `measured` is outside its interval, or the basis is unknown.
    """

    id: str
    measured: float | bool | None
    low: float | None = None
    high: float | None = None
    basis: str = "simulated"
    note: str = ""
    holds: bool | None = None

    def __post_init__(self):
        for name in ("measured", "low", "high", "holds"):
            value = getattr(self, name)
            if hasattr(value, "item") and getattr(value, "size", 0) == 1:  # a NumPy or JAX scalar
                object.__setattr__(self, name, value.item())
        validate_fields(self)
        for name in ("measured", "low", "high"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool | int | float):
                raise InputError(f"{self.id}: {name} {shown(value)}: give a number, or None")
        one_of(*BASES)(f"{self.id}: basis", self.basis)
        for name in ("measured", "low", "high"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise InputError(f"{self.id}: {name} is {value}; give None, and the reason in the note")
        if self.measured is None or self.low is None or self.high is None:
            return
        slack = 1e-9 * max(abs(self.low), abs(self.high))
        if not self.low - slack <= self.measured <= self.high + slack:
            raise InputError(
                f"{self.id}: measured {self.measured} is outside its interval {self.low} to {self.high}; correct the "
                "interval"
            )


@validate
def with_interval(
    id: str,
    row: Annotated[xr.DataArray, instance_of(xr.DataArray, "a row from interval or ratio")],
    note: str = "",
    basis: str = "simulated",
    holds: bool | None = None,
) -> Measurement:
    """Return the `Measurement` of one number with its interval. The result of a single run has no interval.

    Parameters
    ----------
    id : str
        Identifier of the claim.
    row : DataArray, shape [statistic]
        The values mean, low and high, as `interval` and `ratio` return them.
    note, basis, holds
        See `Measurement`.

    Raises
    ------
    InputError
        If the row has other dimensions or lacks a statistic, and in the cases of `Measurement`.
    """
    if row.dims != ("statistic",) or not set(STATISTICS) <= set(row.statistic.values.tolist()):
        raise InputError(
            f"{id}: a row with the dimensions {', '.join(map(str, row.dims)) or '(none)'}: give a row with only the "
            "dimension statistic"
        )
    mean, low, high = (float(row.sel(statistic=name)) for name in STATISTICS)
    if math.isfinite(low) and math.isfinite(high):
        return Measurement(id, mean, low, high, basis, note, holds)
    return Measurement(id, mean, basis=basis, note=note, holds=holds)


@validate
def with_intervals(
    table: Annotated[ClaimTable, instance_of(ClaimTable, "a ClaimTable")],
    summary: Annotated[xr.DataArray, instance_of(xr.DataArray, "rows from interval or ratio")],
    note: str = "",
) -> list[Measurement]:
    """Return the `Measurement` of each claim of a table whose cell is in the data, with its interval.

    Parameters
    ----------
    table : ClaimTable
        The claims.
    summary : DataArray, shape [*axes, statistic]
        The values mean, low and high over the axes of the table, as `interval` returns them.
    note : str
        Note of each measurement, by default empty.

    Returns
    -------
    list of Measurement
        One measurement for each claim, in the order of the table.

    Raises
    ------
    InputError
        As for `with_interval`.
    """
    cells = (
        (claim, dict(zip(table.axes, at, strict=True))) for claim, at in table.within(summary.to_dataset(name="it"))
    )
    return [with_interval(claim, summary.sel(cell), note) for claim, cell in cells]
