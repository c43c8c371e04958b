"""A dispatcher that is selected by an index, so that a sweep over dispatchers compiles only once."""

from typing import ClassVar

import jax.numpy as jnp

from storagekit.arbitration import AbstractArbitration, ArbitrationSwitch
from storagekit.component.events import Switch
from storagekit.dispatch.base import AbstractDispatch


class DispatchSwitch(Switch, AbstractDispatch):
    """Select one of several dispatchers, with its arbitration, by an index that may differ between runs; see `Switch`.

    Parameters
    ----------
    members : sequence of AbstractDispatch
        The dispatchers.
    index : int
        Number of the selected dispatcher, by default 0, the number of the first dispatcher.

    Raises
    ------
    InputError
        If an entry is not a dispatcher, or the index is out of range.
    """

    called: ClassVar[str] = "dispatcher"
    kind: ClassVar[type] = AbstractDispatch

    def check(self, facts):
        for member in self.members:
            member.check(facts)

    @property
    def claims(self) -> AbstractArbitration:
        return ArbitrationSwitch(tuple(member.claims for member in self.members), self.index)

    @property
    def withdraws(self):
        return self.decided(jnp.asarray(member.withdraws) for member in self.members)

    @property
    def withdraws_late(self):
        return any(member.withdraws_late for member in self.members)

    @property
    def asks_more(self):
        return any(member.asks_more for member in self.members)

    def route(self, private, request, entering, view):
        found = [
            member.route(state, request, entering & (self.index == number), view)
            for number, (member, state) in enumerate(self.each(private))
        ]
        routed, states = zip(*found, strict=True)
        return self.decided(routed), states

    def asked_from(self, private, sent, part):
        return self.decided(member.asked_from(state, sent, part) for member, state in self.each(private))

    def entrance(self, routed, receiving):
        return self.decided(member.entrance(routed, receiving) for member in self.members)

    def fails(self, routed, receiving, alive, needed):
        return self.decided(member.fails(routed, receiving, alive, needed) for member in self.members)

    def again(self, alive, asked):
        return self.decided(member.again(alive, asked) for member in self.members)
