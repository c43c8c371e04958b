"""Compare memory for a cache with more disks: which is cheaper for the same response time."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from storagekit.core.validation import POSITIVE


@dataclass(frozen=True)
class MemoryAnswer:
    """The break-even price ratio of memory and disks.

    break_even: the price ratio M at which memory and disks cost the same. price_ratio: the current ratio, or None if no
    price was given. Memory is cheaper if the price ratio is below the break-even ratio. cheaper: "memory", "disks", "equal",
    or None if no price was given.
    """

    break_even: float
    price_ratio: float | None
    cheaper: str | None
    assumptions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the content for JSON."""
        return {
            "break_even": self.break_even,
            "price_ratio": self.price_ratio,
            "cheaper": self.cheaper,
            "assumptions": list(self.assumptions),
        }

    def __str__(self) -> str:
        lines = [f"break-even price ratio of memory to disk, per byte: {self.break_even:.1f}"]
        if self.price_ratio is not None:
            lines.append(f"price ratio: {self.price_ratio:.1f}; cheaper: {self.cheaper}")
        return "\n".join([*lines, "", "assumed:", *(f"  - {line}" for line in self.assumptions)])


def memory_or_disks(*, cache: float, disks: float, disk_size: float, price_ratio: float | None = None) -> MemoryAnswer:
    """Return the price ratio at which a cache costs as much as additional disks that have the same effect.

    Notes
    -----
    The break-even ratio M satisfies M cache = disks disk_size, with `cache` bytes of memory and `disks` added disks of
    `disk_size` bytes each. For each added disk, the paper charges the size of the data set, not the size of the disk: 126 MB
    of memory against one disk at 8400 MB gives 67, and 336 MB against three disks gives 75. price_ratio: the current value of
    M (see `price_ratio`).
    Raises InputError for values that are not above 0. Source: srarray, section 4.1.

    Examples
    --------
    >>> import storagekit as sk
    >>> sk.plan.memory(cache=126e6, disks=1, disk_size=8400e6, price_ratio=57).cheaper
    'memory'
    """
    for label, value in (("cache", cache), ("disks", disks), ("disk_size", disk_size)):
        POSITIVE(label, value)
    if price_ratio is not None:
        POSITIVE("price_ratio", price_ratio)
    break_even = disks * disk_size / cache
    cheaper = None
    if price_ratio is not None:
        cheaper = "equal" if np.isclose(price_ratio, break_even) else "memory" if price_ratio < break_even else "disks"
    assumed = (
        "the memory and the added disks bring the same response time, which is measured elsewhere",
        "a disk is charged by its bytes, as given",
        "power, enclosures and the volatility of memory cost nothing",
    )
    return MemoryAnswer(break_even, price_ratio, cheaper, assumed)


def price_ratio(*, memory_price: float, memory_size: float, disk_price: float, disk_size: float) -> float:
    """Return M, the price of a byte of memory divided by the price of a byte of disk.

    Sizes are in bytes, prices in one currency. Raises InputError for values that are not above 0.

    Notes
    -----
    The paper states M = 57, for memory at 300 dollars for 256 MB and disks at 400 dollars for 18 GB. This function gives
    56.6 if a GB of disk is 2^30 bytes and an MB, also of memory, is 10^6 bytes. Decimal units give 52.7, binary units 54.0.
    Source: srarray, section 4.1.
    """
    sizes = (("memory_size", memory_size), ("disk_size", disk_size))
    for label, value in (("memory_price", memory_price), ("disk_price", disk_price), *sizes):
        POSITIVE(label, value)
    return (memory_price / memory_size) / (disk_price / disk_size)
