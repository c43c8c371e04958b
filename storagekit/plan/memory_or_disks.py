"""Compare memory for a cache with more disks, to find the cheaper choice for the same response time."""

from dataclasses import dataclass

import numpy as np

from storagekit.core.validation import POSITIVE
from storagekit.plan.answer import Answer


@dataclass(frozen=True)
class MemoryAnswer(Answer):
    """The break-even price ratio of memory and disks. Memory is cheaper if the current ratio is below the break-even ratio.

    Parameters
    ----------
    break_even : float
        The price ratio M at which memory and disks cost the same.
    price_ratio : float, optional
        The current ratio.
    cheaper : str, optional
        "memory", "disks" or "equal"; None without a current ratio.
    assumptions : tuple of str
        The assumptions of the comparison.
    """

    break_even: float
    price_ratio: float | None
    cheaper: str | None
    assumptions: tuple[str, ...]

    def _content(self):
        return {"break_even": self.break_even, "price_ratio": self.price_ratio, "cheaper": self.cheaper}

    def _lines(self):
        lines = [f"break-even price ratio of memory to disk, per byte: {self.break_even:.1f}"]
        if self.price_ratio is not None:
            lines.append(f"price ratio: {self.price_ratio:.1f}; cheaper: {self.cheaper}")
        return lines


def memory(*, cache: float, disks: float, disk_size: float, price_ratio: float | None = None) -> MemoryAnswer:
    """Return the price ratio at which a cache costs as much as additional disks that have the same effect.

    Parameters
    ----------
    cache : float
        Memory of the cache, bytes.
    disks : float
        Number of added disks.
    disk_size : float
        Size that is charged for an added disk, bytes.
    price_ratio : float, optional
        Current price of a byte of memory divided by the price of a byte of disk; see `price_ratio`.

    Returns
    -------
    MemoryAnswer
        The break-even ratio, and the cheaper choice.

    Raises
    ------
    InputError
        If a value is not above 0.

    Notes
    -----
    The break-even ratio M satisfies M * cache = disks * disk_size. For each added disk, the paper charges the size of
    the data set, 8400 MB, not the size of the disk. With 126 MB of memory and one disk, M is 67. With 336 MB of memory
    and three disks, M is 75.

    References
    ----------
    srarray, section 4.1.

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
        "the memory and the added disks give the same response time, which is not computed here",
        "an added disk costs as much as the given number of bytes of disk",
        "power, enclosures and the volatility of memory cost nothing",
    )
    return MemoryAnswer(break_even, price_ratio, cheaper, assumed)


def price_ratio(*, memory_price: float, memory_size: float, disk_price: float, disk_size: float) -> float:
    """Return M, the price of a byte of memory divided by the price of a byte of disk.

    Parameters
    ----------
    memory_price : float
        Price of the memory.
    memory_size : float
        Size of the memory, bytes.
    disk_price : float
        Price of the disk, in the currency of `memory_price`.
    disk_size : float
        Size of the disk, bytes.

    Returns
    -------
    float
        The ratio M.

    Raises
    ------
    InputError
        If a value is not above 0.

    Notes
    -----
    The paper states M = 57, for 256 MB of memory at 300 dollars and an 18 GB disk at 400 dollars. This function gives
    56.6 if a GB of disk is 2^30 bytes and an MB of memory is 10^6 bytes. It gives 52.7 with decimal units for both, and
    54.0 with binary units for both.

    References
    ----------
    srarray, section 4.1.
    """
    sizes = (("memory_size", memory_size), ("disk_size", disk_size))
    for label, value in (("memory_price", memory_price), ("disk_price", disk_price), *sizes):
        POSITIVE(label, value)
    return (memory_price / memory_size) / (disk_price / disk_size)
