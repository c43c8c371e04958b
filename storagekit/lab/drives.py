"""Drives that pages offer: today's first, the papers' beside them."""

from dataclasses import replace
from functools import cache

from storagekit.charts import Choice
from storagekit.drive import Drive, load_drive
from storagekit.errors import InputError

NEARLINE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"
# names as controls show them, and as `load_drive` knows them
DRIVES: dict[str, str] = {
    "7,200 rpm, 18 TB": NEARLINE,
    "Toshiba MG10, 20 TB": "toshiba_mg10_20tb",
    "WD HC570, 22 TB": "wd_hc570",
    "10,000 rpm, 1.8 TB": "rpm=10000,seek=0.4/4/8ms,rate=230MB/s,size=1.8TB",
    "Quantum Atlas 10K (1999)": "atlas10k",
    "Seagate Cheetah 9LP (1998)": "cheetah9lp",
}


@cache
def drive_of(name: str) -> Drive:
    """The drive of this name in `DRIVES`, called so."""
    return replace(load_drive(DRIVES[name]), name=name)


def mechanical(drive: str) -> Drive:
    """A disk by name, file or data-sheet line. Raises InputError for what has no arm."""
    found = load_drive(drive)
    if not isinstance(found, Drive):
        raise InputError(f"drive {drive[:60]!r}: it has no arm and no platter; give a disk")
    return found


def drive_choice(drive: str = NEARLINE, few: tuple[str, ...] = ()) -> Choice:
    """The disks to choose from, as drives; `drive`, by name, file or data-sheet line, is where it begins, and among them if
    it was not."""
    first = {given: name for name, given in DRIVES.items()}.get(drive, drive)
    options = {name: drive_of(name) for name in DRIVES} | ({} if first in DRIVES else {first: mechanical(drive)})
    return Choice("Drive", options, value=first, few=few)
