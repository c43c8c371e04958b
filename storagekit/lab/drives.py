"""The drives of a page: current drives first, then the drives of the papers."""

from dataclasses import replace
from functools import cache

from storagekit.charts import ChoiceControl
from storagekit.core.errors import InputError
from storagekit.drive import Drive, load_drive

NEARLINE = "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB"
# arguments of `load_drive` by the names on a page
KNOWN = {
    "7,200 rpm, 18 TB (data sheet)": NEARLINE,
    "Toshiba MG10, 20 TB": "toshiba_mg10_20tb",
    "WD HC570, 22 TB": "wd_hc570",
    "Toshiba 15,000 rpm, 300 GB": "toshiba_mk3001grrb",
    "Quantum Atlas 10K, 9 GB (1999)": "atlas10k",
    "Seagate Cheetah 9LP, 9 GB (1998)": "cheetah9lp",
}


def mechanical(drive: str) -> Drive:
    """Return a disk by name, file or data-sheet line. Raises InputError for a drive without an arm."""
    found = load_drive(drive)
    if not isinstance(found, Drive):
        raise InputError(f"drive {drive[:60]!r}: this drive has no arm and no platter; give a disk")
    return found


@cache
def drive_of(name: str) -> Drive:
    """Return the disk with this name in `KNOWN`."""
    return replace(mechanical(KNOWN[name]), name=name)


def drive_choice(drive: str = NEARLINE) -> ChoiceControl:
    """Return the control with which a user chooses one of the disks in `KNOWN`.

    drive: initial value, given by name, file or data-sheet line. It is added to the choices if it is missing.
    """
    names = {given: name for name, given in KNOWN.items()}
    first = names.get(drive, drive)
    options = {name: mechanical(given) for name, given in (KNOWN | {first: drive}).items()}
    return ChoiceControl("Drive", options, value=first)
