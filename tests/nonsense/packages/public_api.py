"""Arguments of the public functions that belong to no attacked package: units, provenance, and records of the papers."""

import xarray as xr
from nonsense.attack import ValidCall

from storagekit.papers.claim_table import ClaimTable
from storagekit.simulation import interval


def measured() -> xr.DataArray:
    return interval(xr.DataArray([4.0, 5.0, 6.0], dims="seed").to_dataset(name="x")).x


VALID_CALLS = {
    "core.provenance.version": ValidCall(),
    "core.units.revolution": ValidCall(lambda: {"rpm": 7200.0}),
    "core.units.sectors": ValidCall(lambda: {"size": 4096.0}),
    "core.provenance.made_by": ValidCall(
        lambda: {"basis": "simulated", "seeds": [0, 1], "wall": 1.0}, optional=("seeds",)
    ),
    "papers.measurement.Measurement": ValidCall(
        lambda: {
            "id": "claim",
            "measured": 1.0,
            "low": 0.5,
            "high": 1.5,
            "basis": "simulated",
            "note": "",
            "holds": True,
        },
        signed=("measured", "low", "high"),
        optional=("measured",),
    ),
    "papers.measurement.with_interval": ValidCall(
        lambda: {
            "id": "claim",
            "row": measured(),
            "note": "",
            "basis": "simulated",
            "holds": True,
        }
    ),
    "papers.measurement.with_intervals": ValidCall(
        lambda: {"table": ClaimTable("claim"), "summary": measured(), "note": ""}
    ),
}
ATTRIBUTES = "attributes of a result, and parts of a scenario, which may have any value"
NOT_ATTACKED = {
    "core.provenance.as_text": ATTRIBUTES,
    "core.provenance.describe": ATTRIBUTES,
    "core.provenance.made_jointly": ATTRIBUTES,
    "core.provenance.storable": ATTRIBUTES,
}
