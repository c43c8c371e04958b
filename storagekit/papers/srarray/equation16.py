"""Equation 16 beside the simulation, over disks, queues and shares of reads."""

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
    """Equation 16 against the simulated RLOOK array over disks, queue per disk (`each`) and write share.

    drive: `formula_drive()` for the formulas' own, whose seek is linear in distance, so that what is left is the
    approximation of the equation; by default the paper's drive, whose short seeks cost less than the formulas' constant.

    The layout is the rule's at that point. Variable `error` is model / simulation - 1.
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
