"""Summarize an exhibit: means with intervals over repetitions, next to the numbers of the paper."""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from storagekit.core.units import GB, HOUR, KB, MB, MS, US
from storagekit.papers.measurement import Measurement
from storagekit.reproduce.claims import Claim
from storagekit.reproduce.digits import printed

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

REPETITIONS = ("seed", "batch")
"""Axes over which means and their confidence intervals are taken."""
FIGURES = ("mean", "low", "high")
# Standard measures with a value for each brick. They are averaged over bricks unless the exhibit is about them.
_OF_BRICKS = ("brick_throughput", "utilization")
# Factors from the units of claims to the units of the data.
_FACTORS = (1.0, MS, US, 1e3, 1e6, 1e9, KB, MB, GB, HOUR)
_SAME = 1e-6
_NUMBERS = ("value", "ratio", "exact")


def summary(data: "xr.Dataset", about: Sequence[str] = ()) -> "pd.DataFrame":
    """Return one row for each point of each measure.

    The columns are `measure`, `units`, the axes, `mean`, `low` and `high`. `low` and `high` are the ends of the 95%
    interval over the dimensions `REPETITIONS`, and NaN without repetitions. If the data are text, the column `text`
    replaces the numbers.

    Parameters
    ----------
    data : Dataset
        Data of the exhibit.
    about : sequence of str
        Names of measures that keep a separate row for each brick. Standard measures are otherwise averaged over bricks.
    """
    import pandas as pd

    parts = [
        part for name in data.data_vars for part in _rows(data[[str(name)]].reset_coords(drop=True), str(name), about)
    ]
    if not parts:
        return pd.DataFrame(columns=["measure", "units", "mean"])
    whole = pd.concat(parts, ignore_index=True)
    # Whole numbers on an axis stay whole although some measures lack the axis.
    labels = {name: whole[name].convert_dtypes() for name in axes(whole)}
    last = [name for name in (*FIGURES, "text") if name in whole]
    return whole.assign(**labels).loc[:, ["measure", "units", *labels, *last]]


def axes(rows: "pd.DataFrame") -> list[str]:
    """Return the names of the axes of a summary. The axes of the first measure come first."""
    return [name for name in rows.columns if name not in ("measure", "units", *FIGURES, "text", "paper", "claim")]


def _rows(data: "xr.Dataset", name: str, about: Sequence[str]) -> "Iterator[pd.DataFrame]":
    from storagekit.simulation.confidence import STATISTICS, interval

    values = data[name]
    if "brick" in values.dims and name in _OF_BRICKS and name not in about:
        data = data.mean("brick", keep_attrs=True)
        values = data[name]
    repeated = next((axis for axis in REPETITIONS if axis in values.dims), None)
    if values.dtype.kind not in "iufb":
        if repeated is None:
            yield _labelled(values.rename("text"), name, "")
        return
    if repeated is not None:
        with warnings.catch_warnings():  # values that were never measured or are infinite cause warnings
            warnings.simplefilter("ignore", RuntimeWarning)
            values = interval(data.astype(float), repeated)[name]
    unit = str(values.attrs.get("units", ""))
    if "statistic" in values.dims and set(STATISTICS) <= set(values.statistic.values.tolist()):
        wide = values.reset_coords(drop=True).to_dataset("statistic")[STATISTICS]
        yield _labelled(wide, name, unit)
    else:
        yield _labelled(values.astype(float).rename("mean"), name, unit)


def _labelled(values: "xr.Dataset | xr.DataArray", name: str, unit: str) -> "pd.DataFrame":
    import pandas as pd

    if values.dims:
        rows = values.to_dataframe().reset_index()
    else:
        alone = values.to_dataset() if hasattr(values, "to_dataset") else values
        rows = pd.DataFrame({key: [alone[key].item()] for key in alone.data_vars})
    rows.insert(0, "measure", name)
    rows.insert(1, "units", "" if unit == "1" else unit)
    return rows


def with_paper(
    rows: "pd.DataFrame", claims: Iterable[Claim], found: Mapping[str, Measurement], exhibit: str
) -> "pd.DataFrame":
    """Return the rows with two further columns: `paper`, the paper's number in the claim's unit, and `claim`, the id.

    A claim of this `exhibit` is matched to a row only if the mean and the interval of its measurement equal the numbers
    of this row, and of no other row. If the measurement has no interval, the claim must also be one of several numbers
    that the paper gives together, as in a table. A single number could be, for example, the maximum of several rows.

    Parameters
    ----------
    rows : DataFrame
        Result of `summary`.
    claims : iterable of Claim
        The paper's claims.
    found : mapping of str to Measurement
        Measurements, keyed by claim id.
    exhibit : str
        Id of the exhibit.
    """
    import pandas as pd

    said: dict[int, list[Claim]] = {}
    for claim in claims:
        row = _row_of(rows, claim, found.get(claim.id), exhibit)
        if row is not None:
            said.setdefault(row, []).append(claim)
    shown = rows.drop(columns=["paper", "claim"], errors="ignore")
    if not said:
        return shown
    paper = pd.Series(
        {row: ", ".join(dict.fromkeys(expected(one) for one in those)) for row, those in said.items()}, dtype=object
    )
    ids = pd.Series({row: ", ".join(one.id for one in those) for row, those in said.items()}, dtype=object)
    return shown.assign(paper=paper, claim=ids)


def is_of(claim: Claim, exhibit: str) -> bool:
    """Return whether a claim belongs to an exhibit.

    A claim also belongs to a variant of its exhibit, such as "dsptf.table1_interpretations".
    """
    return exhibit == claim.exhibit or exhibit.startswith(f"{claim.exhibit}_")


def expected(claim: Claim) -> str:
    """Return the paper's number as the claims file writes it, with its unit."""
    unit = "" if claim.unit == "fraction" else claim.unit
    return f"{printed(claim.expected)} {unit}".strip()


def _row_of(rows: "pd.DataFrame", claim: Claim, found: Measurement | None, exhibit: str) -> int | None:
    """Return the number of the row that contains the measurement of a claim; None if that row is not certain."""
    if found is None or claim.kind not in _NUMBERS or claim.expected is None or "mean" not in rows:
        return None
    if not is_of(claim, exhibit):
        return None
    known = [found.measured, found.low, found.high]
    sure = found.low is not None and found.high is not None and found.low < found.high
    if isinstance(found.measured, bool) or not found.measured:
        return None
    # Without an interval, numbers identify only rows of the claim's exhibit itself.
    if not sure and not (claim.id.endswith("]") and exhibit == claim.exhibit):
        return None
    names = FIGURES if sure else FIGURES[:1]
    if not set(names) <= set(rows.columns):
        return None
    there = rows[list(names)].to_numpy(float)
    wanted = [float(value) for value in known[: len(names)] if value is not None]
    hits = {row for factor in _FACTORS for row in _alike(there, [value * factor for value in wanted])}
    # A measure that is averaged over bricks has the same values as a measure with a different name.
    hits = {row for row in hits if rows["measure"].iloc[row] not in _OF_BRICKS or "brick" in rows}
    if not sure:
        hits = {row for row in hits if "low" not in rows or math.isnan(rows["low"].iloc[row])}
    return hits.pop() if len(hits) == 1 else None


def _alike(there, wanted: Sequence[float]) -> list[int]:
    import numpy as np

    return np.flatnonzero(np.all(np.isclose(there, wanted, rtol=_SAME, atol=0.0), axis=1)).tolist()
