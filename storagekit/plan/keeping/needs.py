"""What a planner asks for: disks, data, requests, and what matters."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from storagekit.core.checks import (
    require,
    require_kind,
    require_not_negative,
    require_number,
    require_positive,
    require_seconds,
    require_share,
    require_whole,
)
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, NUMBER, hold
from storagekit.core.units import KB, SECTOR, sectors
from storagekit.drive import Drive

# places on the drive at which transfers are timed
_PLACES = 4
_LARGEST = 2**26
_DISKS = COUNT.up_to(4096, "; plan one of several equal arrays")
_MOST_OUTSTANDING = 1_000_000


@dataclass(frozen=True)
class Requirements:
    """disks: how many there are; data: bytes; sizes: of requests, bytes, to the share of each; read_share: reads among
    requests; rate: requests a second, or None where `outstanding` of them are kept outstanding; survive: disks that may be
    lost; mean, tail: most seconds of the mean response time, and of that which 99% keep within; price: of a disk; budget:
    most to spend. See `schemes`."""

    drive: Drive
    disks: int
    data: float
    sizes: tuple[tuple[float, float], ...]
    read_share: float
    rate: float | None
    outstanding: int | None
    tolerate: int
    mean: float | None
    tail: float | None
    price: float | None
    budget: float | None

    def __post_init__(self):
        require_kind("drive", self.drive, Drive, "one with an arm and a platter, as load_drive(name)")
        hold(self, disks=_DISKS, tolerate=NUMBER)
        require_positive("data", self.data, "bytes")
        least = self.disks * self.largest * SECTOR
        require(
            self.data >= least,
            "data",
            self.data,
            f"at least {least}, a request of the largest size on each disk",
            "bytes",
        )
        require_share("read_share", self.read_share)
        if (self.rate is None) == (self.outstanding is None):
            raise InputError("load: give rate, requests a second, or outstanding, requests at a time, and not both")
        if self.rate is not None:
            require_positive("rate", self.rate, "requests/s")
        else:
            require_whole("outstanding", self.outstanding)
            assert self.outstanding is not None
            require(
                self.outstanding <= _MOST_OUTSTANDING, "outstanding", self.outstanding, f"at most {_MOST_OUTSTANDING}"
            )
            if self.tail is not None:
                raise InputError("p99 with outstanding: no formula says that; give rate in its place, or mean")
        for label, limit in (("mean", self.mean), ("tail", self.tail)):
            if limit is not None:
                require_positive(label, limit, "s")
                require_seconds(label, limit, "response")
        if self.price is not None:
            require_not_negative("price", self.price)
        if self.budget is not None:
            require_positive("budget", self.budget)
            if self.price is None:
                raise InputError(f"budget {self.budget:g}: give the price of a disk with it")

    @cached_property
    def capacity(self) -> float:
        """Bytes of one drive."""
        return float(self.drive.capacity) * SECTOR

    @property
    def affordable(self) -> int:
        """Disks that there are, and that the budget allows."""
        if self.budget is None or not self.price:
            return self.disks
        return min(self.disks, int(self.budget / self.price * (1 + 1e-9)))

    @cached_property
    def largest(self) -> int:
        """Sectors of the largest request."""
        return max(sectors(size) for size, _ in self.sizes)

    def transfers(self, used: float) -> NDArray:
        """What requests take besides positioning, seconds, on a disk that is filled to a share `used`: transfer and the
        drive's overhead, `[size, place]`, at places spread evenly over it."""
        return self._timed(used)[:-1] + float(self.drive.overhead)

    def _timed(self, used: float) -> NDArray:
        """Seconds of transfers at places spread evenly over a disk that is filled to a share `used`, `[size, place]`, long
        ones last. Many schemes fill their disks alike, and locating takes longer than all else: once for each share."""
        if used not in self._times:
            count = np.array([*(sectors(size) for size, _ in self.sizes), self._long])[:, None]
            room = np.array([*(self.largest for _ in self.sizes), self._long])
            last = np.maximum(1, int(min(used, 1.0) * self.drive.capacity) - room)
            places = np.linspace(0, last, 2 * _PLACES + 1, axis=-1).astype(np.int64)[:, 1::2]
            counts = np.broadcast_to(count, places.shape)
            found = self.drive.locate(cast(Array, places), cast(Array, counts)).transfer
            self._times[used] = np.asarray(found, float)
        return self._times[used]

    @cached_property
    def _times(self) -> dict[float, NDArray]:
        return {}

    @property
    def _long(self) -> int:
        """Sectors of a long transfer."""
        return min(2**13, self.drive.capacity // 64)

    @cached_property
    def again(self) -> NDArray:
        """What writes of each size take besides, seconds: a revolution where they cover a part of a physical sector."""
        grain = self.drive.grain
        partly = [sectors(size) % grain > 0 for size, _ in self.sizes]
        return np.array(partly, float) * float(self.drive.revolution)

    @cached_property
    def longest(self) -> float:
        """Seconds of the longest transfer."""
        return float(self.transfers(1.0).max()) - float(self.drive.overhead)

    def sequential_rate(self, used: float) -> float:
        """Bytes a second of long transfers, over a disk that is filled to a share `used`."""
        return self._long * SECTOR * _PLACES / float(self._timed(used)[-1].sum())


def sizes_of(size: float | Mapping[float, float]) -> tuple[tuple[float, float], ...]:
    """Request sizes, bytes, with their shares, which add up to 1, from one size or a mapping of sizes to shares."""
    given = [*size.items()] if isinstance(size, Mapping) else [(size, 1.0)]
    if not given:
        raise InputError("size: no sizes; give bytes, or a mapping of bytes to shares")
    for each, share in given:
        require_number("size", each)
        require(0 < each <= _LARGEST, "size", each, f"above 0 and at most {_LARGEST}: 64 KB are 64 * units.KB", "bytes")
        require_number("share of a size", share)
        require(share > 0, f"share of requests of {each / KB:g} KB", share, "above 0")
    total = sum(share for _, share in given)
    return tuple((float(each), float(share) / total) for each, share in sorted(given))
