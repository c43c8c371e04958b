"""An arbitration that is selected by an index, so that a sweep over protocols compiles only once."""

from typing import ClassVar

import jax.numpy as jnp

from storagekit.arbitration.base import AbstractArbitration
from storagekit.component.events import Switch


class ArbitrationSwitch(Switch, AbstractArbitration):
    """Select one of several arbitration protocols by an index that may differ between runs; see `Switch`.

    Parameters
    ----------
    members : sequence of AbstractArbitration
        The protocols.
    index : int
        Number of the selected protocol, by default 0, the number of the first protocol.

    Raises
    ------
    InputError
        If an entry is not an arbitration, or the index is out of range.
    """

    called: ClassVar[str] = "claims"
    kind: ClassVar[type] = AbstractArbitration

    def check(self, facts):
        for member in self.members:
            member.check(facts)

    @property
    def lead_time(self):
        return self.decided(member.lead_time for member in self.members)

    @property
    def competes(self):
        return any(member.competes for member in self.members)

    @property
    def certain(self):
        return self.decided(jnp.asarray(member.certain) for member in self.members)

    @property
    def answers_tell(self):
        return any(member.answers_tell for member in self.members)

    def begins(self, free):
        return self.decided(member.begins(free) for member in self.members)

    def issues(self, begins, rotation):
        return self.decided(member.issues(begins, rotation) for member in self.members)

    @property
    def network_latency(self):
        return self.decided(member.network_latency for member in self.members)

    def choosable_from(self, private, asked, receiving, part):
        return self.decided(
            member.choosable_from(state, asked, receiving, part) for member, state in self.each(private)
        )

    def claim(self, private, claim):
        found = [
            member.claim(state, claim._replace(made=claim.made & (self.index == number)))
            for number, (member, state) in enumerate(self.each(private))
        ]
        verdicts, states = zip(*found, strict=True)
        return self.decided(verdicts), states

    def stale_copies(self, private, waiting):
        return self.decided(member.stale_copies(state, waiting) for member, state in self.each(private))
