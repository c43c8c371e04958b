"""Local reconstruction codes: tolerated losses and reads of a repair, counted exactly."""

import xarray as xr

from storagekit.analytic.durability import LocalCode
from storagekit.core.provenance import made_by
from storagekit.papers.measurement import Measurement
from storagekit.papers.since.claims import CODES

_CODES = {name: LocalCode(*map(int, name.split("-"))) for name in ("12-2-2", "6-2-2")}


def codes() -> xr.Dataset:
    """Return the losses that two local reconstruction codes tolerate, and the units that a repair reads.

    Returns
    -------
    Dataset
        Over `code` (data units, local groups, global parities): `tolerated` and `share`, the number of tolerated losses of
        as many units as there are parities, and their share of all such losses; `reads`, the mean number of units that
        the repair of one unit reads; `overhead`, stored units for each data unit.
    """
    lost = {name: code.local_groups + code.global_parities for name, code in _CODES.items()}
    rows = {
        "tolerated": [code.tolerated(lost[name]) for name, code in _CODES.items()],
        "share": [code.tolerated_share(lost[name]) for name, code in _CODES.items()],
        "reads": [code.mean_reads for code in _CODES.values()],
        "overhead": [code.overhead for code in _CODES.values()],
    }
    found = {name: ("code", values) for name, values in rows.items()}
    return xr.Dataset(found, {"code": list(_CODES)}, made_by("analytic"))


def codes_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on local reconstruction codes.

    Parameters
    ----------
    data : Dataset
        Result of `codes`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `since.codes`.
    """
    return [
        Measurement(claim, float(data[quantity].sel(code=code)), basis="analytic") for claim, (code, quantity) in CODES
    ]
