"""A dispatcher that is a number, so that a sweep over dispatchers compiles once."""

from functools import reduce

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from storagekit.arrays import AnyArray
from storagekit.dispatch.base import AbstractDispatch
from storagekit.errors import InputError
from storagekit.lanes import whole


class ByNumber(AbstractDispatch):
    """The dispatcher `members[index]`, index being a number like any other.

    Every member's decisions are computed in every lane, so that a sweep which compiles anyway is better off with the member
    alone.
    """

    members: tuple[AbstractDispatch, ...]
    index: Int[AnyArray, "..."] = eqx.field(converter=whole, default=0)

    def __check_init__(self):
        index = np.asarray(self.index)
        wrong = index[(index < 0) | (index >= len(self.members))]
        if wrong.size:
            raise InputError(f"dispatcher number {int(wrong[0])} of {len(self.members)}: they count from 0")

    def check(self, bricks, copies):
        for member in self.members:
            member.check(bricks, copies)

    def _chosen(self, found):
        """Of one result for each member, that of the chosen one: a pytree of arrays."""

        def select(*values):
            numbered = enumerate(values[1:], 1)
            return reduce(lambda chosen, one: jnp.where(self.index == one[0], one[1], chosen), numbered, values[0])

        return jax.tree.map(select, *found)

    def _each(self, private):
        return zip(self.members, private, strict=True)

    @property
    def lead(self):
        return self._chosen([member.lead for member in self.members])

    @property
    def hop(self):
        return self._chosen([member.hop for member in self.members])

    def init(self, slots, drives, lanes):
        return tuple(member.init(slots, drives, lanes) for member in self.members)

    def route(self, private, request, entering, view):
        found = [
            member.route(state, request, entering & (self.index == number), view)
            for number, (member, state) in enumerate(self._each(private))
        ]
        routed, states = zip(*found, strict=True)
        return self._chosen(routed), states

    def admit(self, private, into, request):
        return tuple(member.admit(state, into, request) for member, state in self._each(private))

    def choosable_from(self, private, sent, receiving, copy):
        return self._chosen(
            [member.choosable_from(state, sent, receiving, copy) for member, state in self._each(private)]
        )

    def entrance(self, routed, receiving):
        return self._chosen([member.entrance(routed, receiving) for member in self.members])

    def again(self, alive):
        return self._chosen([member.again(alive) for member in self.members])

    def forget(self, private, lost):
        return tuple(member.forget(state, lost) for member, state in self._each(private))

    def claim(self, private, claim):
        found = [
            member.claim(state, claim._replace(made=claim.made & (self.index == number)))
            for number, (member, state) in enumerate(self._each(private))
        ]
        verdicts, states = zip(*found, strict=True)
        return self._chosen(verdicts), states

    def left_behind(self, private, waiting):
        return self._chosen([member.left_behind(state, waiting) for member, state in self._each(private)])

    def elapse(self, private, time):
        return tuple(member.elapse(state, time) for member, state in self._each(private))
