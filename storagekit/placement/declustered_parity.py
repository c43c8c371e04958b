"""Groups with parity that are spread over more drives than a group has, so that all drives share the work of a lost drive."""

from functools import cache, partial
from math import gcd

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.core.arrays import AnyArray
from storagekit.core.batching import addresses, named, whole
from storagekit.core.validation import Validator, require
from storagekit.placement.base import stripe_unit
from storagekit.placement.parity import AbstractParity, ParityRow, require_group
from storagekit.placement.striped import UNIT, looked_up

# products of two numbers of drives have at most 31 bits
_DISKS = Validator(least=3, most=2**15, unit="drives", whole=True)
# maximum number of factors of a layout
_FACTORS = 64


class DeclusteredParity(AbstractParity):
    """Groups with parity on changing drives; the data survive the loss of any `parities` drives.

    Parameters
    ----------
    disks : int
        Number of drives, at least `group`.
    group : int
        Number of units of a row, including parity, at least `parities` + 2; one value, or one for each run.
    parities : int
        Number of parity units of a row, 1 to 31, by default 1; one value, or one for each run.
    unit : int
        Stripe unit, sectors, by default 64 KB.
    full_stripes : bool
        Whether a request is divided over all data units of a row, as in `ParityGroups`; by default false.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    At each address, the drives have an order, which is divided into as many groups as possible. The units at the end of
    the order are spare space, so that the space of (`disks` modulo `group`) drives is distributed over all drives.

    In the order of address r, drive a x + b (mod n) has the place x, where n is the number of drives and b = r mod n. The
    factor a has no common divisor with n, and changes after n addresses. If n is a prime number, all pairs of drives have
    equally many rows in common (PRIME: Alvarez et al., ISCA 1998). Otherwise these numbers differ.

    For the parts of a request see `ParityGroups`.
    """

    disks: int = eqx.field(static=True, converter=partial(_DISKS, "disks"))
    group: Int[AnyArray, "..."] = eqx.field(converter=named("group", whole))
    parities: Int[AnyArray, "..."] = eqx.field(converter=named("parities", whole), default=1)
    unit: int = eqx.field(static=True, default=UNIT, converter=stripe_unit)
    full_stripes: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        require_group(self.group, self.parities, self.full_stripes)
        require(self.group <= self.disks, "size of a group", self.group, f"at most {self.disks}", "drives")

    @property
    def drives(self):
        return whole(self.disks)

    @property
    def group_size(self):
        return self.group

    @property
    def rows(self):
        return self.disks // self.group

    def _order_of(self, turn: Int[AnyArray, "*row"], group: Int[AnyArray, "*row"]):
        table = factors(self.disks)
        factor, inverse = looked_up(addresses(table), turn // self.disks % table.shape[1])
        return factor, inverse, turn % self.disks, group * self.group

    def _position_of(self, drive: Int[AnyArray, "*#row"], place: ParityRow):
        _, inverse, shift, first = place.order
        at = (drive + self.disks - shift) * inverse % self.disks - first
        return jnp.where((at >= 0) & (at < self.group) & (drive < self.disks), at, -1)

    def _drive_at(self, position: Int[AnyArray, "*#row"], place: ParityRow):
        factor, _, shift, first = place.order
        return ((first + position) * factor + shift) % self.disks


@cache
def factors(disks: int) -> Int[np.ndarray, "2 factor"]:
    """Return factors without a common divisor with a number of drives, and their inverses modulo this number.

    Parameters
    ----------
    disks : int
        Number of drives, at least 2.

    Returns
    -------
    int array, `[2, factor]`
        At most 64 pairs, which are evenly distributed among all factors.
    """
    every = [one for one in range(1, disks) if gcd(one, disks) == 1]
    some = [every[at * len(every) // _FACTORS] for at in range(_FACTORS)] if len(every) > _FACTORS else every
    return np.array([some, [pow(one, -1, disks) for one in some]], np.int32)
