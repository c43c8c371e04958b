"""Replica groups: whole copies on several bricks."""

import equinox as eqx
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import named, whole
from storagekit.core.errors import InputError
from storagekit.core.validation import traced
from storagekit.drive import AbstractLayout
from storagekit.placement.base import AbstractPlacement, Location, require_drives
from storagekit.workload import Requests


class Replicas(AbstractPlacement):
    """A replica group: every block is on each of the drives 0 to copies - 1, at the same address.

    Parameters
    ----------
    copies : int
        Number of copies, at least 1, by default 1; one value, or one value for each run.

    Raises
    ------
    InputError
        If there is less than one copy.

    Notes
    -----
    To model a system of many groups, use one run of a batch for each group: groups share only the network.
    """

    copies: Int[AnyArray, "..."] = eqx.field(converter=named("copies", whole), default=1)

    def __check_init__(self):
        if not traced(self.copies) and np.any(self.copies < 1):
            raise InputError(f"{int(np.min(self.copies))} replicas: every block needs at least 1 copy")
        require_drives(self.copies)

    def capacity(self, drive: AbstractLayout) -> int:
        return drive.capacity

    def locate(self, drive: AbstractLayout, requests: Requests) -> Location:
        return Location(drive.locate(requests.sector, requests.sectors), requests.sectors * 0)

    @property
    def drives(self):
        return self.copies

    @property
    def parts(self):
        return self.copies
