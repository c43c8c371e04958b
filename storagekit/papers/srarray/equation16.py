"""Comparison of equation 16 with the simulation, by number of disks, queue length and fraction of writes."""

from collections.abc import Sequence

import xarray as xr

from storagekit.drive import Drive
from storagekit.engine import Scenario
from storagekit.papers.srarray.disk import QUICK, ArrayEffort
from storagekit.papers.srarray.loops import loop, modelled_rate, recommended_for_queue, swept


def model_error(
    effort: ArrayEffort = QUICK,
    *,
    disks: Sequence[int] = (2, 4, 6, 8, 12),
    queues: Sequence[float] = (0.5, 1.0, 2.0, 3.0, 5.0),
    write_shares: Sequence[float] = (0.0, 0.2, 0.4),
    drive: Drive | None = None,
) -> xr.Dataset:
    """Return the error of equation 16 relative to the simulated RLOOK array.

    Parameters
    ----------
    effort : ArrayEffort
        Number and length of the runs.
    disks : sequence of int
        Numbers of disks.
    queues : sequence of float
        Numbers of outstanding requests for each disk.
    write_shares : sequence of float
        Shares of writes, 0 to 1.
    drive : Drive, optional
        Drive of the array, by default `paper_drive()`. Short seeks of this drive settle faster than the formulas
        assume. With `formula_drive()` the seek is linear in the distance, as in the formulas, so the whole error is
        due to equation 16.

    Returns
    -------
    Dataset
        Variables over `disks`, `each` (outstanding requests for each disk) and `write_share`. `model`: requests a
        second by equation 16. `request_rate`, also over `seed`: requests a second in the simulation. `error`, also over
        `seed`: `model` divided by `request_rate`, minus 1.

    Notes
    -----
    The layout at each point is the layout that the paper's rule gives.

    References
    ----------
    srarray, equation 16.
    """
    totals = {(count, each): max(1, round(count * each)) for count in disks for each in queues}

    def name(count: int, each: float, share: float) -> str:
        return recommended_for_queue(count, totals[count, each], share)

    def point(disks: int, each: float, write_share: float) -> Scenario:
        shape = name(disks, each, write_share)
        return loop(shape, totals[disks, each], write_share, "RLOOK", drive=drive)

    data = swept(point, {"disks": list(disks), "each": list(queues), "write_share": list(write_shares)}, effort)
    model = [[[modelled_rate(name(d, q, w), totals[d, q], w) for w in write_shares] for q in queues] for d in disks]
    data["model"] = (("disks", "each", "write_share"), model, {"units": "1/s"})
    data["error"] = (data.model / data.request_rate - 1).assign_attrs(
        units="1", long_name="equation 16 / simulated - 1"
    )
    return data.assign_attrs(exhibit="srarray.equation16")
