"""Drives that pages offer: today's first, the papers' beside them."""

from dataclasses import replace
from functools import cache

from storagekit.drive import Drive, load_drive

# names as controls show them, and as `load_drive` knows them
DRIVES: dict[str, str] = {
    "7,200 rpm, 18 TB": "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB",
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
