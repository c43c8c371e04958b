"""Factors between SI, which all values inside the package use, and the units of the field.

Inside the package times are seconds, sizes are bytes or 512-byte sectors, and angles are turns (fractions of a
revolution). These factors convert at the interface: `5.3 * MS` is 5.3 ms in seconds, and `seconds / MS` is
milliseconds.
"""

from storagekit.core.validation import Positive, Space, validate

US = 1e-6
MS = 1e-3
MINUTE = 60.0
HOUR = 3600.0
YEAR = 365.25 * 24 * HOUR

SECTOR = 512
KB = 1024
# Number of sectors of a page of 4 KB, the physical sector of most drives since 2010.
PAGE = 8
MB = 1024**2
GB = 1024**3


@validate
def revolution(rpm: Positive) -> float:
    """Return the time of one revolution of a spindle in seconds.

    Parameters
    ----------
    rpm : float
        Revolutions a minute, above 0.

    Returns
    -------
    float
        Seconds per revolution.

    Raises
    ------
    InputError
        If `rpm` is not above 0 and finite.
    """
    return MINUTE / rpm


@validate
def sectors(size: Space) -> int:
    """Return the number of sectors that a number of bytes occupies. A partial sector counts as one sector.

    Parameters
    ----------
    size : float
        Bytes, at least 0.

    Returns
    -------
    int
        Number of sectors.

    Raises
    ------
    InputError
        If `size` is negative or not finite.
    """
    return -(-int(size) // SECTOR)
