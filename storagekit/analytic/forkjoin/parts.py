"""Model the resources that a striped transfer uses: disks, processors, a network. Times in seconds, sizes in bytes.

Source: swift, sections 5.1 and 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike, NDArray

from storagekit.core.namespaces import largest, namespace_of
from storagekit.core.units import MB, SECTOR
from storagekit.core.validation import (
    AMOUNT,
    POSITIVE,
    SPAN,
    Count,
    Spaces,
    Span,
    instance_of,
    require_seconds,
    validate,
    validate_fields,
)
from storagekit.drive import Drive
from storagekit.drive.seek import mean_seek


@dataclass(frozen=True)
class Disk:
    """A device on which each block takes a seek, a rotational latency and a transfer.

    The seek time and the rotational latency are uniform from 0 to twice their mean. `Disk.like` returns such a model of a
    `Drive`. A flash device has no rotation, and its latency is given as a seek time.

    Parameters
    ----------
    seek : float
        Mean seek time, seconds.
    rotation : float
        Mean rotational latency, seconds.
    rate : float
        Transfer rate, bytes a second.
    name : str
        Name of the device; "disk" by default.

    Raises
    ------
    InputError
        If a time is negative, or the rate is not above 0.
    """

    seek: float
    rotation: float
    rate: float
    name: str = "disk"

    def __post_init__(self):
        validate_fields(self)
        for label, meaning in (("seek", "seek"), ("rotation", "revolution")):
            SPAN(f"{self.name}: {label}", getattr(self, label))
            require_seconds(f"{self.name}: {label}", getattr(self, label), meaning)
        POSITIVE.in_unit("bytes a second")(f"{self.name}: rate", self.rate)

    @classmethod
    @validate
    def like(
        cls, drive: Annotated[Drive, instance_of(Drive, 'a mechanical drive, as sk.load_drive("atlas10k")')]
    ) -> Disk:
        """Return a disk with the mean times of a mechanical drive.

        Parameters
        ----------
        drive : Drive
            A mechanical drive.

        Returns
        -------
        Disk
            The disk.

        Raises
        ------
        InputError
            If `drive` has another type.

        Notes
        -----
        The mean seek is between random cylinders, and includes the command overhead. The mean rotation is half a
        revolution. The transfer rate follows from the mean transfer time of a megabyte at evenly spaced addresses. The
        uniform distribution of the times is an assumption of the model, not a property of the drive. JAX cannot trace the
        parameters of the drive, but the parameters of the disk.
        """
        seek = mean_seek(drive.seek, drive.cylinders) + float(drive.overhead)
        sectors = MB // SECTOR
        # The host computes the addresses, because large drives need more than 32 bits.
        address = np.linspace(0, drive.capacity - sectors - 1, 1_000).astype(np.int64)
        count = np.full_like(address, sectors)
        passing = float(jnp.mean(drive.locate(cast(Array, address), cast(Array, count)).transfer))
        return cls(seek, float(drive.revolution) / 2, MB / passing, drive.name)

    @validate
    def transfer(self, unit: Spaces) -> NDArray:
        """Return the transfer time of `unit` bytes, in seconds."""
        return self._passing(unit)

    @validate
    def mean(self, unit: Spaces) -> NDArray:
        """Return the mean time of a block of `unit` bytes, in seconds: seek, rotation and transfer."""
        return self.seek + self.rotation + self._passing(unit)

    def variance(self) -> float:
        """Return the variance of the time of a block, in seconds squared. It does not depend on the size of the block.

        It is the variance of the sum of two independent uniform times, the seek and the rotational latency.
        """
        return (self.seek**2 + self.rotation**2) / 3

    @validate
    def slowest(self, unit: Spaces) -> NDArray:
        """Return the longest possible time of a block of `unit` bytes, in seconds."""
        return 2 * (self.seek + self.rotation) + self._passing(unit)

    def times(self, unit: float, seek: NDArray, rotation: NDArray) -> NDArray:
        """Return the times of blocks of `unit` bytes, in seconds: seek, rotation and transfer.

        seek, rotation: random numbers in [0, 1), one pair for each block. The result has the dtype of `seek` and
        `rotation`.
        """
        return 2 * self.seek * seek + 2 * self.rotation * rotation + unit / self.rate

    def _passing(self, unit: ArrayLike) -> NDArray:
        return namespace_of(unit, self.rate).asarray(unit, float) / self.rate


@dataclass(frozen=True)
class Host:
    """A processor that sends and receives packets.

    Parameters
    ----------
    speed : float
        Instructions a second; 100 million by default.
    per_packet : float
        Instructions for each packet; 1,500 by default.
    per_byte : float
        Instructions for each byte of a packet; 1 by default.
    per_check_byte : float
        Instructions for each byte that is combined with check data by exclusive or; 1 by default. The paper does not
        state this number; the default is the cost of a copy.
    duplex : bool
        Whether one processor sends and another processor receives; by default one processor does both.

    Raises
    ------
    InputError
        If the speed is not above 0, or a number of instructions is negative.

    References
    ----------
    swift, sections 5 and 5.1, for the default values.
    """

    speed: float = 100e6
    per_packet: float = 1500.0
    per_byte: float = 1.0
    per_check_byte: float = 1.0
    duplex: bool = False

    def __post_init__(self):
        validate_fields(self)
        POSITIVE.in_unit("instructions a second")("host speed", self.speed)
        for label in ("per_packet", "per_byte", "per_check_byte"):
            AMOUNT(f"host {label}", getattr(self, label))

    @validate
    def seconds(self, size: Spaces) -> NDArray:
        """Return the processing time to send or to receive a packet of `size` bytes, in seconds."""
        return (self.per_packet + self.per_byte * namespace_of(size).asarray(size, float)) / self.speed

    @validate
    def busy(self, sending: Span, receiving: Span) -> float:
        """Return the time in seconds for which the busier of the two processors works.

        If one processor sends and receives, the result is the sum of both times. sending, receiving: processing time of
        each direction, seconds.
        """
        return largest(sending, receiving) if self.duplex else sending + receiving

    @validate
    def check_seconds(self, size: Spaces) -> NDArray:
        """Return the processing time to combine `size` bytes with check data by exclusive or, in seconds."""
        return self.per_check_byte * namespace_of(size).asarray(size, float) / self.speed


@dataclass(frozen=True)
class Network:
    """A network: token rings that all hosts share, or a switch with a link for each host.

    Parameters
    ----------
    rate : float
        Rate of a ring, or of a link in one direction, bytes a second.
    acquisition : float
        Mean time until a sender has the token, seconds; by default 0, as on a switch.
    rings : int
        Number of rings, or number of links of each host on a switch; 1 by default. Packets are spread evenly over them.
    switched : bool
        Whether the network is a switch; false by default.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    rate: float
    acquisition: float = 0.0
    rings: Count = 1
    switched: bool = False

    def __post_init__(self):
        validate_fields(self)
        POSITIVE.in_unit("bytes a second")("network rate", self.rate)
        SPAN("token acquisition", self.acquisition)

    @validate
    def seconds(self, size: Spaces) -> NDArray:
        """Return the time for which a packet of `size` bytes occupies a ring or a link, in seconds.

        The time includes the acquisition of the token.
        """
        return self.acquisition + namespace_of(size).asarray(size, float) / self.rate
