"""Whole copies on several bricks."""

from abc import abstractmethod

import equinox as eqx
import numpy as np
from jaxtyping import Array, Int, UInt32

from storagekit.drive import AbstractDrive, Target
from storagekit.errors import InputError
from storagekit.lanes import mask_of, whole
from storagekit.workload import Requests


class AbstractPlacement(eqx.Module):
    """Which drives hold a block."""

    @abstractmethod
    def capacity(self, drive: AbstractDrive) -> int:
        """Sectors that the layout offers on drives of this kind."""

    @abstractmethod
    def locate(self, drive: AbstractDrive, requests: Requests) -> Target:
        """Where on a holder each request lies."""

    @abstractmethod
    def holders(self) -> UInt32[Array, "..."]:
        """The drives that hold a block, one bit each."""

    @property
    @abstractmethod
    def drives(self) -> Int[Array, "..."]:
        """How many drives the layout uses."""


class Replicas(AbstractPlacement):
    """A replica group: every block on each of the drives 0 to copies-1, at the same address.

    A system of many groups is one lane for each group: they share nothing but the network.
    """

    copies: Int[Array, "..."] = eqx.field(converter=whole)

    def __check_init__(self):
        if np.any(np.asarray(self.copies) < 1):
            raise InputError(f"{int(np.min(self.copies))} replicas: every block needs at least 1 copy")

    def capacity(self, drive: AbstractDrive) -> int:
        return drive.capacity

    def locate(self, drive: AbstractDrive, requests: Requests) -> Target:
        return drive.locate(requests.sector, requests.sectors)

    def holders(self) -> UInt32[Array, "..."]:
        return mask_of(self.copies)

    @property
    def drives(self) -> Int[Array, "..."]:
        return self.copies
