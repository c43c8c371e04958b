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
    components : sequence of AbstractDispatch
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
        for one in self.components:
            one.check(facts)

    @property
    def arbitration(self) -> AbstractArbitration:
        return ArbitrationSwitch(tuple(one.arbitration for one in self.components), self.index)

    @property
    def withdraws(self):
        return self.decided(jnp.asarray(one.withdraws) for one in self.components)

    @property
    def withdraws_late(self):
        return any(one.withdraws_late for one in self.components)

    @property
    def sends_more(self):
        return any(one.sends_more for one in self.components)

    def route(self, private, request, entering, view):
        found = [
            one.route(state, request, entering & (self.index == number), view)
            for number, (one, state) in enumerate(self.each(private))
        ]
        routed, states = zip(*found, strict=True)
        return self.decided(routed), states

    def sending_time(self, private, sent, part):
        return self.decided(one.sending_time(state, sent, part) for one, state in self.each(private))

    def entry_part(self, routed, receiving):
        return self.decided(one.entry_part(routed, receiving) for one in self.components)

    def awaited_parts(self, routed, receiving):
        return self.decided(one.awaited_parts(routed, receiving) for one in self.components)

    def times_out(self, routed, receiving, alive, needed):
        return self.decided(one.times_out(routed, receiving, alive, needed) for one in self.components)

    def retry_targets(self, alive, targets):
        return self.decided(one.retry_targets(alive, targets) for one in self.components)
