"""A write policy that is selected by an index, so that a sweep over policies compiles only once."""

from typing import ClassVar

from storagekit.component.events import Switch
from storagekit.core.errors import InputError
from storagekit.write.base import AbstractWrite


class WriteSwitch(Switch, AbstractWrite):
    """Select one of several write policies by an index that may differ between runs; see `Switch`.

    The policies must write every part immediately, and may differ in the condition of completion.

    Parameters
    ----------
    components : sequence of AbstractWrite
        The policies.
    index : int
        Number of the selected policy, from 0, by default 0.

    Raises
    ------
    InputError
        If an entry is not a write policy, delays parts or lets drives claim writes, or if the index is out of range.
    """

    called: ClassVar[str] = "policy for writes"
    kind: ClassVar[type] = AbstractWrite

    def __check_init__(self):
        for one in self.components:
            late = isinstance(one, AbstractWrite) and (one.may_delay or one.claims_writes or one.over_when_completed)
            if late:
                raise InputError(
                    f"{type(one).__name__} in a switch of write policies: it delays parts or uses claims; use it "
                    "without a switch"
                )

    def check(self, facts):
        for one in self.components:
            one.check(facts)

    @property
    def one_for_all(self):
        return any(one.one_for_all for one in self.components)

    def rule(self, parts, receiving, readable):
        return self.decided(one.rule(parts, receiving, readable) for one in self.components)
