"""What a striped transfer passes through: disks, processors, a network. Times are seconds, sizes bytes.

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
    """A device whose every block costs a seek, a rotational wait, both uniform from 0 to twice their mean, and its transfer.

    The view that `like` has of a `Drive`, or of a device of which no more is known. seek, rotation: mean seconds. rate: bytes
    a second. name: of the device. A flash device has no rotation, and its latency for a seek. Raises InputError where a time
    is negative or the rate not above 0.
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
        """A disk with the means of a mechanical drive: seeks between random cylinders with the command's overhead, half a
        turn, a megabyte at random addresses; that the times are uniform is the model's and not the drive's."""
        seek = mean_seek(drive.seek, drive.cylinders) + float(drive.overhead)
        sectors = MB // SECTOR
        # on the host: addresses of large drives have more than 32 bits
        address = np.linspace(0, drive.capacity - sectors - 1, 1_000).astype(np.int64)
        count = np.full_like(address, sectors)
        passing = float(jnp.mean(drive.locate(cast(Array, address), cast(Array, count)).transfer))
        return cls(seek, float(drive.revolution) / 2, MB / passing, drive.name)

    @takes(unit=SPACE.each)
    def transfer(self, unit: ArrayLike) -> NDArray:
        """Seconds that `unit` bytes take to pass."""
        return self._passing(unit)

    @takes(unit=SPACE.each)
    def mean(self, unit: ArrayLike) -> NDArray:
        """Mean time of a block of `unit` bytes: seek, rotation and transfer (swift, section 5.1)."""
        return self.seek + self.rotation + self._passing(unit)

    def variance(self) -> float:
        """Variance of the time of a block, whatever its size: of two independent uniform times."""
        return (self.seek**2 + self.rotation**2) / 3

    @takes(unit=SPACE.each)
    def slowest(self, unit: ArrayLike) -> NDArray:
        """The longest that a block can take."""
        return 2 * (self.seek + self.rotation) + self._passing(unit)

    def times(self, unit: float, seek: NDArray, rotation: NDArray) -> NDArray:
        """Times of blocks of `unit` bytes for random numbers in [0, 1), in their precision."""
        return 2 * self.seek * seek + 2 * self.rotation * rotation + unit / self.rate

    def _passing(self, unit: ArrayLike) -> NDArray:
        return np.asarray(unit, float) / self.rate


@dataclass(frozen=True)
class Host:
    """A processor that handles packets: `per_packet` instructions and `per_byte` for each of its bytes, at `speed` a second.

    By default 1,500 and 1, of 100 million instructions a second (swift, sections 5 and 5.1). `per_check_byte` are
    instructions for each byte that goes into check data by exclusive or; the paper leaves its cost open, and copying's 1 is
    taken for it. duplex: one such processor sends and another receives. Raises InputError where the speed is not above 0 or a
    count negative.
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
        """To send or to receive a packet of `size` bytes."""
        return (self.per_packet + self.per_byte * np.asarray(size, float)) / self.speed

    @takes(sending=SPAN, receiving=SPAN)
    def busy(self, sending: float, receiving: float) -> float:
        """Seconds that the busiest processor works where there are so many to send and to receive."""
        return max(sending, receiving) if self.duplex else sending + receiving

    @takes(size=SPACE.each)
    def check_seconds(self, size: ArrayLike) -> NDArray:
        """To take `size` bytes into check data."""
        return self.per_check_byte * np.asarray(size, float) / self.speed


@dataclass(frozen=True)
class Network:
    """What carries packets: token rings that all hosts share, or a switch with a link for each host.

    rate: bytes a second, of a ring or of a link in one direction. acquisition: mean seconds until a sender has the token,
    0 on a switch. rings: how many there are, packets spread evenly; for a switch, links of each host. switched: whether it is
    a switch. Raises InputError where a figure is out of range.
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
        """How long a packet of `size` bytes holds a ring or a link, the token's way to its sender included."""
        return self.acquisition + np.asarray(size, float) / self.rate
