"""An arbitration that is selected by an index, so that a sweep over protocols compiles only once."""

from typing import ClassVar

import jax.numpy as jnp

from storagekit.arbitration.base import AbstractArbitration
from storagekit.component.events import Switch


class ArbitrationSwitch(Switch, AbstractArbitration):
    """Select one of several arbitration protocols by an index that may differ between runs; see `Switch`.

    Parameters
    ----------
    components : sequence of AbstractArbitration
        The protocols.
    index : int
        Number of the selected protocol, by default 0, the number of the first protocol.

    Raises
    ------
    InputError
        If an entry is not an arbitration, or the index is out of range.
    """

    called: ClassVar[str] = "arbitration"
    kind: ClassVar[type] = AbstractArbitration

    def check(self, facts):
        for one in self.components:
            one.check(facts)

    @property
    def lead_time(self):
        return self.decided(one.lead_time for one in self.components)

    @property
    def competes(self):
        return any(one.competes for one in self.components)

    @property
    def certain(self):
        return self.decided(jnp.asarray(one.certain) for one in self.components)

    @property
    def uses_completions(self):
        return any(one.uses_completions for one in self.components)

    def begins(self, free):
        return self.decided(one.begins(free) for one in self.components)

    def issues(self, begins, rotation):
        return self.decided(one.issues(begins, rotation) for one in self.components)

    @property
    def network_latency(self):
        return self.decided(one.network_latency for one in self.components)

    def choosable_from(self, private, sent, receiving, part):
        return self.decided(one.choosable_from(state, sent, receiving, part) for one, state in self.each(private))

    def claim(self, private, claim):
        found = [
            one.claim(state, claim._replace(valid=claim.valid & (self.index == number)))
            for number, (one, state) in enumerate(self.each(private))
        ]
        decisions, states = zip(*found, strict=True)
        return self.decided(decisions), states

    def stale_copies(self, private, waiting):
        return self.decided(one.stale_copies(state, waiting) for one, state in self.each(private))
