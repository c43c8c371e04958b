"""Arrays by their names on the command line: SR-Mirrors such as 2x3x1, RAID levels such as raid5-6, codes such as 8+2."""

import re
from typing import TYPE_CHECKING

from storagekit.core.errors import InputError
from storagekit.reproduce.printing import say

if TYPE_CHECKING:
    from storagekit.plan.scheme import Scheme

NAMES = (
    "an SR-Mirror D_s x D_r x D_m such as 2x3x1, raid0-N, raid10-N, raid5-N or raid6-N on N drives, or a code such as 8+2 or "
    "2x8+2"
)
_MIRROR = re.compile(r"\d+x\d+x\d+")
_RAID = re.compile(r"raid(0|10|5|6)-(\d{1,6})")
_CODE = re.compile(r"(?:(\d{1,4})x)?(\d{1,4})\+(\d{1,4})")


def is_array(name: str) -> bool:
    """Return whether a name describes an array. Names of dispatchers do not."""
    return any(form.fullmatch(name) for form in (_MIRROR, _RAID, _CODE))


def array_of(drive, name: str, schedule, largest: int, slots: int | None = None):
    """Return the system of an array for requests of at most `largest` bytes.

    If `slots` is None, the simulator determines the number of slots.

    An SR-Mirror writes the first copy of a block in the foreground and the others in idle time, as in the paper srarray.
    In a RAID level or a code, a write completes when all its copies, or its data and parity, are on disk.
    """
    from storagekit.dispatch import NearestIdle
    from storagekit.engine import AUTO, System
    from storagekit.placement import SRMirror
    from storagekit.plan import Layout
    from storagekit.write import AllCopies, Background

    slots = AUTO if slots is None else slots
    if _MIRROR.fullmatch(name):
        shape = Layout.parse(name)
        placement = SRMirror(shape.striping, shape.replicas, shape.mirrors)
        return System(drive, placement, NearestIdle(), schedule, Background(), drives=shape.disks, slots=slots)
    scheme = _scheme(name)
    data = scheme.usable(float(drive.capacity) * 512)
    placement = scheme.placement(drive, data, _unit(largest))
    return System(drive, placement, scheme.dispatch(), schedule, AllCopies(), drives=scheme.disks, slots=slots)


def _unit(largest: int) -> int:
    """Return a stripe unit in sectors that is at least as large as the largest request of `largest` bytes.

    Requests are not split.
    """
    from storagekit.core.units import sectors
    from storagekit.placement.striped import UNIT
    from storagekit.plan.transfers import paged

    unit = max(UNIT, paged(sectors(largest)))
    if unit > UNIT:
        say(
            f"note: the stripe unit is {unit // 2:,} KiB, the size of the largest request, because requests are not split"
        )
    return unit


def _scheme(name: str) -> "Scheme":
    from storagekit.plan import Layout, Mirrored, Parity

    if code := _CODE.fullmatch(name):
        groups, data, parities = (int(number or 1) for number in code.groups())
        return Parity(data + parities, parities, groups)
    raid = _RAID.fullmatch(name)
    if raid is None:
        raise InputError(f"layout {name!r}: give {NAMES}")
    level, disks = raid[1], int(raid[2])
    if level == "10" and disks % 2:
        raise InputError(f"layout {name!r}: RAID 10 needs an even number of drives; give raid10-{disks + 1}")
    if level == "0":
        return Mirrored(Layout(disks, 1, 1))
    return Mirrored(Layout(disks // 2, 1, 2)) if level == "10" else Parity(disks, int(level) - 4)
