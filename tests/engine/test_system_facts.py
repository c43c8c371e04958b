"""Every part of a system decides by `check(facts)` whether it fits; a policy cannot drop the general rules."""

import pytest
from helpers import assert_refused

from storagekit.core.errors import InputError
from storagekit.dispatch import Hashing
from storagekit.drive import ideal_drive
from storagekit.engine import System
from storagekit.placement import RAID5, Replicas
from storagekit.schedule import FCFS
from storagekit.write import AllCopies, FirstCopy, WriteSwitch

DRIVE = ideal_drive(full_seek=8e-3, revolution=6e-3)


class Early(AllCopies):
    """A policy with its own check, which accepts every system."""

    @property
    def over_when_completed(self):
        return True

    def check(self, facts):
        pass


def rejecting(base: type) -> type:
    """Return a subclass that fits no system of more than one drive."""

    class SingleDrive(base):
        def check(self, facts):
            if facts.drives > 1:
                raise InputError(f"{facts.drives} drives on {facts.layout}: give one")

    return SingleDrive


@pytest.mark.parametrize(
    "parts",
    [
        {"placement": rejecting(Replicas)(2)},
        {"dispatch": rejecting(Hashing)()},
        {"schedule": rejecting(FCFS)()},
        {"write": rejecting(AllCopies)()},
        {"write": WriteSwitch((FirstCopy(), rejecting(AllCopies)()))},
    ],
    ids=["placement", "dispatch", "schedule", "write", "switch"],
)
def test_a_part_that_does_not_fit_raises(parts):
    usual = {"placement": Replicas(2), "dispatch": Hashing(), "schedule": FCFS()}
    System(DRIVE, **usual)
    assert_refused(lambda: System(DRIVE, **usual | parts), "^2 drives on .*: give one$")


def test_a_policy_with_its_own_check_cannot_drop_the_rules_of_delayed_parts():
    assert_refused(lambda: System(DRIVE, RAID5(4, 8), Hashing(), FCFS(), Early()), "policy Early with RAID5")


def test_a_switch_rejects_policies_that_leave_parts_unwritten():
    assert_refused(lambda: WriteSwitch((AllCopies(), Early())), "Early in a switch of write policies")
