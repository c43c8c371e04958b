"""Model the parts that a striped transfer passes: disks, processors, a network. Times are seconds, sizes bytes.

Source: swift, sections 5.1 and 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike, NDArray

from storagekit.core.checks import require_not_negative, require_positive, require_seconds
from storagekit.core.kinds import COUNT, SPACE, SPAN, a, flag, hold, takes, text
from storagekit.core.units import MB, SECTOR
from storagekit.drive import Drive
from storagekit.drive.seek import mean_seek


@dataclass(frozen=True)
class Disk:
    """A device on which each block takes a seek, a rotational wait and a transfer.

    Seek and wait are uniform from 0 to twice their mean. `Disk.like` returns such a model of a `Drive`. A flash
    device has no rotation, and its latency is given as a seek.

    Parameters
    ----------
    seek : float
        Mean seek time, seconds.
    rotation : float
        Mean rotational wait, seconds.
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
        hold(self, name=text)
        for label, meaning in (("seek", "seek"), ("rotation", "revolution")):
            require_not_negative(f"{self.name}: {label}", getattr(self, label), "s")
            require_seconds(f"{self.name}: {label}", getattr(self, label), meaning)
        require_positive(f"{self.name}: rate", self.rate, "bytes a second")

    @classmethod
    @takes(drive=a(Drive, 'a mechanical drive, as sk.load_drive("atlas10k")'))
    def like(cls, drive: Drive) -> Disk:
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
        The mean seek is between random cylinders, and includes the overhead of the command. The mean rotation is half
        a turn. The transfer rate is the mean of a megabyte at evenly spaced addresses. The uniform distribution of
        the times is an assumption of the model, not a property of the drive.
        """
        seek = mean_seek(drive.seek, drive.cylinders) + float(drive.overhead)
        sectors = MB // SECTOR
        # The host computes the addresses, because large drives need more than 32 bits.
        address = np.linspace(0, drive.capacity - sectors - 1, 1_000).astype(np.int64)
        count = np.full_like(address, sectors)
        passing = float(jnp.mean(drive.locate(cast(Array, address), cast(Array, count)).transfer))
        return cls(seek, float(drive.revolution) / 2, MB / passing, drive.name)

    @takes(unit=SPACE.each)
    def transfer(self, unit: ArrayLike) -> NDArray:
        """Return the transfer time of `unit` bytes, seconds."""
        return self._passing(unit)

    @takes(unit=SPACE.each)
    def mean(self, unit: ArrayLike) -> NDArray:
        """Return the mean time of a block of `unit` bytes, seconds: seek, rotation and transfer."""
        return self.seek + self.rotation + self._passing(unit)

    def variance(self) -> float:
        """Return the variance of the time of a block of any size, seconds squared.

        It is the variance of the sum of two independent uniform times.
        """
        return (self.seek**2 + self.rotation**2) / 3

    @takes(unit=SPACE.each)
    def slowest(self, unit: ArrayLike) -> NDArray:
        """Return the longest possible time of a block of `unit` bytes, seconds."""
        return 2 * (self.seek + self.rotation) + self._passing(unit)

    def times(self, unit: float, seek: NDArray, rotation: NDArray) -> NDArray:
        """Return the times of blocks of `unit` bytes, seconds, from random numbers in [0, 1), in their precision."""
        return 2 * self.seek * seek + 2 * self.rotation * rotation + unit / self.rate

    def _passing(self, unit: ArrayLike) -> NDArray:
        return np.asarray(unit, float) / self.rate


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
        Instructions for each byte that enters check data by exclusive or; 1 by default, the cost of a copy, because
        the paper does not state it.
    duplex : bool
        Whether one processor sends and another one receives; by default one does both.

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
        hold(self, duplex=flag)
        require_positive("host speed", self.speed, "instructions a second")
        for label in ("per_packet", "per_byte", "per_check_byte"):
            require_not_negative(f"host {label}", getattr(self, label))

    @takes(size=SPACE.each)
    def seconds(self, size: ArrayLike) -> NDArray:
        """Return the time to send or to receive a packet of `size` bytes, seconds."""
        return (self.per_packet + self.per_byte * np.asarray(size, float)) / self.speed

    @takes(sending=SPAN, receiving=SPAN)
    def busy(self, sending: float, receiving: float) -> float:
        """Return the time that the busier processor works, seconds, given the seconds of sending and of receiving."""
        return max(sending, receiving) if self.duplex else sending + receiving

    @takes(size=SPACE.each)
    def check_seconds(self, size: ArrayLike) -> NDArray:
        """Return the time to add `size` bytes to check data, seconds."""
        return self.per_check_byte * np.asarray(size, float) / self.speed


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
        Number of rings, over which packets are spread evenly, or of links of each host of a switch; 1 by default.
    switched : bool
        Whether the network is a switch; false by default.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    rate: float
    acquisition: float = 0.0
    rings: int = 1
    switched: bool = False

    def __post_init__(self):
        hold(self, switched=flag)
        require_positive("network rate", self.rate, "bytes a second")
        require_not_negative("token acquisition", self.acquisition, "s")
        hold(self, rings=COUNT)

    @takes(size=SPACE.each)
    def seconds(self, size: ArrayLike) -> NDArray:
        """Return the time that a packet of `size` bytes holds a ring or a link, seconds, with the token acquisition."""
        return self.acquisition + np.asarray(size, float) / self.rate
