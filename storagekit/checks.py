"""Numbers as they are given: refused in a line where a question cannot have them."""

import numpy as np

from storagekit.errors import InputError


def require_number(label: str, value) -> None:
    """Raises InputError for anything but one number."""
    given = np.asarray(value)
    if given.ndim:
        raise InputError(f"{label} of {given.size} values: give one number, and ask again for each other")
    if given.dtype.kind not in "biuf":
        raise InputError(f"{label} {value!r}: give a number")


def require_whole(label: str, value, least: int = 1, otherwise: str = "") -> None:
    """Raises InputError for anything but one whole number, at least `least`; `otherwise` ends the message."""
    require_number(label, value)
    if not least <= value < np.inf or value != np.round(value):
        raise InputError(f"{label} {value}: give a whole number, at least {least}{otherwise}")


def require_share(label: str, value: float) -> None:
    """Raises InputError for a number that is not from 0 to 1."""
    if not 0 <= value <= 1:
        raise InputError(f"{label} {value:g} is not a share; give a number from 0 to 1")
