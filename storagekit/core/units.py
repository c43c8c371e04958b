"""SI inside, the field's units at the door.

Inside the package times are seconds, sizes are bytes or 512-byte sectors, angles are turns (fractions of a revolution).
These factors convert at the edges: `5.3 * MS` is 5.3 ms in seconds, `seconds / MS` is milliseconds.
"""

from storagekit.core.kinds import POSITIVE, SPACE, takes

US = 1e-6
MS = 1e-3
MINUTE = 60.0
HOUR = 3600.0

SECTOR = 512
KB = 1024
MB = 1024**2
GB = 1024**3


@takes(rpm=POSITIVE)
def revolution(rpm: float) -> float:
    """Seconds per revolution of a spindle that turns `rpm` times a minute."""
    return MINUTE / rpm


@takes(size=SPACE)
def sectors(size: float) -> int:
    """Sectors that `size` bytes occupy, a part of a sector counting as one."""
    return -(-int(size) // SECTOR)
