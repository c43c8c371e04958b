"""Loss of data if many disks fail at once: exact probabilities, by counting."""

import math
from dataclasses import dataclass
from typing import Annotated

from storagekit.core.errors import InputError
from storagekit.core.validation import COUNT, Count, Whole, require, validate, validate_fields

# Largest numbers of failed disks and of disks: the work grows with the square of the first.
MOST_FAILED, MOST_DISKS = 300, 10**6
# numbers of ways by number of failed disks
Ways = list[int]


@dataclass(frozen=True)
class BurstLayout:
    """Two levels of codes over racks: pools of disks within a rack, and a code over pools of different racks.

    Parameters
    ----------
    racks : int
        Number of racks.
    pools : int
        Number of pools of a rack.
    disks : int
        Number of disks of a pool.
    parities : int
        Number of failed disks that a pool tolerates. A pool with more failed disks is lost, even if it is declustered.
    network_parities : int
        Number of lost pools that the code over racks tolerates; by default 0, for no code over racks.
    together : int, optional
        Number of racks of a clustered code. The racks form groups of this size, and the pools at the same position of
        the racks of a group belong together. By default the code is declustered: pools of any racks may belong
        together. Data is then lost if more than `network_parities` racks have a lost pool.

    Raises
    ------
    InputError
        If a number is out of range, or the racks do not form groups.
    """

    racks: Count
    pools: Count
    disks: Count
    parities: Whole
    network_parities: Whole = 0
    together: Count | None = None

    def __post_init__(self):
        validate_fields(self)
        require(self.total <= MOST_DISKS, "racks x pools x disks", self.total, f"at most {MOST_DISKS} disks")
        if self.together and self.racks % self.together:
            raise InputError(
                f"together {self.together}: {self.racks} racks do not form groups of this size; give a divisor of the "
                "number of racks"
            )

    @property
    def total(self) -> int:
        """Return the number of disks."""
        return self.racks * self.pools * self.disks


@validate
def burst_loss(
    layout: BurstLayout, failed: Annotated[int, COUNT.up_to(MOST_FAILED)], racks: Count | None = None
) -> float:
    """Return the probability that the simultaneous failure of random disks loses data.

    Parameters
    ----------
    layout : BurstLayout
        The disks and their codes.
    failed : int
        Number f of failed disks, at most 300.
    racks : int, optional
        Number x of racks with failed disks. All sets of f disks on exactly x racks are equally
        likely. By default all sets of f disks are equally likely.

    Returns
    -------
    float
        The probability, exact up to the rounding of the result.

    Raises
    ------
    InputError
        If an argument is out of range, or the racks do not have this number of disks.

    Notes
    -----
    The numbers of ways are coefficients of generating functions in the number of failed disks, as integers.

    References
    ----------
    Wang et al., Design considerations and analysis of multi-level erasure coding, SC 2023, figure 5.

    Examples
    --------
    >>> from storagekit.analytic.durability import BurstLayout, burst_loss
    >>> three_raid5 = BurstLayout(racks=3, pools=1, disks=7, parities=1)
    >>> burst_loss(three_raid5, failed=2)
    0.3
    """
    of_rack = layout.pools * layout.disks
    require(failed <= layout.total, "failed", failed, f"at most {layout.total}, the number of disks")
    if racks is not None:
        require(racks <= layout.racks, "racks", racks, f"at most {layout.racks}, the number of racks")
        require(racks <= failed <= racks * of_rack, "failed", failed, f"between {racks} and {racks * of_rack} disks")
    kept = _kept_clustered(layout, failed, racks) if layout.together else _kept_declustered(layout, failed, racks)
    if racks is None:
        total = math.comb(layout.total, failed)
    else:
        one = [math.comb(of_rack, j) if j else 0 for j in range(failed + 1)]
        total = math.comb(layout.racks, racks) * _power(one, racks, failed)[failed]
    return (total - kept) / total


@validate
def scattered_loss(
    disks: Count, failed: Whole, stripe: Count, parities: Whole, stripes: Annotated[float, COUNT]
) -> float:
    """Return the probability that the failure of random disks loses one of many stripes at random locations.

    Parameters
    ----------
    disks : int
        Number N of disks or nodes.
    failed : int
        Number of failed disks, at most N.
    stripe : int
        Number n of chunks of a stripe, on different disks.
    parities : int
        Number of lost chunks that a stripe tolerates, below n.
    stripes : int
        Number of different sets of disks that hold a stripe (copysets), independently chosen.

    Returns
    -------
    float
        The probability.

    Raises
    ------
    InputError
        If an argument is out of range.

    References
    ----------
    Cidon et al., Copysets: Reducing the frequency of data loss in cloud storage, USENIX ATC 2013, section 3.

    Examples
    --------
    >>> from storagekit.analytic.durability import scattered_loss
    >>> f"{scattered_loss(disks=5000, failed=50, stripe=3, parities=2, stripes=1666):.2%}"
    '0.16%'
    """
    require(stripe <= disks, "stripe", stripe, f"at most {disks}, the number of disks")
    require(parities < stripe, "parities", parities, f"below {stripe}, the number of chunks of a stripe")
    require(failed <= disks, "failed", failed, f"at most {disks}, the number of disks")
    ways = sum(math.comb(failed, j) * math.comb(disks - failed, stripe - j) for j in range(parities + 1, stripe + 1))
    total = math.comb(disks, stripe)
    return 1.0 if ways == total else -math.expm1(stripes * math.log1p(-ways / total))


def _pool(layout: BurstLayout, failed: int) -> tuple[Ways, Ways]:
    """Return the numbers of sets of failed disks with which a pool keeps and loses its data."""
    ways = [math.comb(layout.disks, j) for j in range(failed + 1)]
    return [n if j <= layout.parities else 0 for j, n in enumerate(ways)], [
        n if j > layout.parities else 0 for j, n in enumerate(ways)
    ]


def _kept_declustered(layout: BurstLayout, failed: int, racks: int | None) -> int:
    """Return the number of sets of failed disks with which at most `network_parities` racks have a lost pool."""
    kept, _ = _pool(layout, failed)
    good = _power(kept, layout.pools, failed)
    bad = [math.comb(layout.pools * layout.disks, j) - n for j, n in enumerate(good)]
    if racks is not None:
        good[0] = 0
    hit = layout.racks if racks is None else racks
    most = min(layout.network_parities, hit)
    ways = sum(
        math.comb(hit, lost) * _product(_power(good, hit - lost, failed), _power(bad, lost, failed), failed)[failed]
        for lost in range(most + 1)
    )
    return ways * math.comb(layout.racks, hit)


def _kept_clustered(layout: BurstLayout, failed: int, racks: int | None) -> int:
    """Return the number of sets of failed disks that lose at most `network_parities` pools at each position of each group."""
    together = layout.together or 1
    groups = layout.racks // together
    within = [_group_kept(layout, hit, failed) for hit in range(together + 1)]
    if racks is None:
        return _power(within[together], groups, failed)[failed]
    # numbers of sets of disks for which exactly `hit` given racks of a group have failed disks, by inclusion and exclusion
    exactly = []
    for hit in range(min(together, racks) + 1):
        ways = [0] * (failed + 1)
        for some in range(hit + 1):
            sign = math.comb(hit, some) * (-1) ** (hit - some)
            ways = [n + sign * more for n, more in zip(ways, within[some], strict=True)]
        exactly.append([math.comb(together, hit) * n for n in ways])
    # by number of racks with failed disks, after each group
    found: dict[int, Ways] = {0: [1] + [0] * failed}
    for _ in range(groups):
        further: dict[int, Ways] = {}
        for before, ways in found.items():
            for hit, more in enumerate(exactly[: racks - before + 1]):
                old = further.get(before + hit, [0] * (failed + 1))
                product = _product(ways, more, failed)
                further[before + hit] = [n + new for n, new in zip(old, product, strict=True)]
        found = further
    return found.get(racks, [0] * (failed + 1))[failed]


def _group_kept(layout: BurstLayout, racks: int, failed: int) -> Ways:
    """Return the numbers of sets of failed disks, on some racks of a group, with which the group keeps its data."""
    kept, lost = _pool(layout, failed)
    position = [0] * (failed + 1)
    for number in range(min(layout.network_parities, racks) + 1):
        ways = _product(_power(kept, racks - number, failed), _power(lost, number, failed), failed)
        position = [n + math.comb(racks, number) * more for n, more in zip(position, ways, strict=True)]
    return _power(position, layout.pools, failed)


def _product(one: Ways, other: Ways, degree: int) -> Ways:
    """Return the product of two polynomials without the terms above a degree."""
    found = [0] * (degree + 1)
    for i, a in enumerate(one):
        if a:
            for j in range(degree + 1 - i):
                found[i + j] += a * other[j]
    return found


def _power(base: Ways, exponent: int, degree: int) -> Ways:
    found = [1] + [0] * degree
    while exponent:
        if exponent & 1:
            found = _product(found, base, degree)
        exponent >>= 1
        if exponent:
            base = _product(base, base, degree)
    return found
