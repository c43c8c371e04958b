"""Several disciplines in one batch: each lane follows its own."""

from functools import reduce

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.arrays import AnyArray
from storagekit.errors import InputError
from storagekit.lanes import whole
from storagekit.schedule.base import AbstractSchedule, Choice


class ByNumber(AbstractSchedule):
    """The discipline `members[index]`, index being a number like any other: a sweep over schedulers then compiles once.

    Every member's cost is computed in every lane, so that a sweep which compiles anyway is better off with the member alone.
    """

    members: tuple[AbstractSchedule, ...]
    index: Int[AnyArray, "..."] = eqx.field(converter=whole, default=0)

    def __check_init__(self):
        index = np.asarray(self.index)
        if not self.members or np.any((index < 0) | (index >= len(self.members))):
            raise InputError(f"scheduler number {int(np.max(index))} of {len(self.members)}: they count from 0")

    def init(self, drives, lanes):
        return tuple(member.init(drives, lanes) for member in self.members)

    def cost(self, private, choice: Choice):
        costs = [member.cost(state, choice) for member, state in zip(self.members, private, strict=True)]
        shape = choice.born.shape
        numbered = enumerate(jnp.broadcast_to(cost, shape) for cost in costs)
        return reduce(lambda chosen, one: jnp.where(self.index == one[0], one[1], chosen), numbered, costs[0])

    def after(self, private, chooser, distance):
        return tuple(
            member.after(state, chooser, distance) for member, state in zip(self.members, private, strict=True)
        )
