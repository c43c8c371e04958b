"""Runs of bricks with drives of several kinds, against the same runs put together in another way."""

import dataclasses

import numpy as np
import pytest

from storagekit.dispatch import DSPTF, Hashing
from storagekit.drive import Drive, Mixed, load_drive
from storagekit.engine import Condition, Record, Scenario, Spell, System, keys, stopped
from storagekit.engine.run import Runner
from storagekit.metrics import STANDARD
from storagekit.metrics.measures import sums_of
from storagekit.placement import Declustered, SRMirror
from storagekit.schedule import LOOK, SATF
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import AllCopies, Background

BRICKS = 4
ATLAS = load_drive("atlas10k")
KINDS = (ATLAS, load_drive("cheetah4lp"), load_drive("hp_c2247a"))
OF_BRICKS = (0, 2, 1, 2)


class Apart(Drive):
    """A drive of a class of its own: of several kinds, each is asked by itself."""


def apart(drive: Drive) -> Apart:
    return Apart(**{field.name: getattr(drive, field.name) for field in dataclasses.fields(drive)})


def satf(drive, condition=None) -> System:
    return System(drive, Declustered(BRICKS, copies=2), Hashing(), SATF(), AllCopies(), condition=condition, slots=16)


SYSTEMS = {
    "hashing": satf,
    "degraded": lambda drive: satf(drive, Condition(Spell(1, 0.5, 20), Spell(2, 0.3, 10, 60))),
    "stopped": lambda drive: satf(drive, Condition(stopped(1, 30, 80), timeout=0.05)),
    "claims": lambda drive: System(drive, Declustered(BRICKS, copies=2), DSPTF(50e-6), SATF(), slots=16),
    "delayed writes": lambda drive: System(
        drive, SRMirror(2, 1, 2, data=0.25), Hashing(), LOOK(), Background(), drives=BRICKS, slots=16
    ),
}


def sums(system: System):
    requests = RandomRequests(ExponentialSize(16_384), 0.7)
    runner = Runner(Scenario(system, ClosedLoop(requests, 12)), keys(range(2)), Record(sums_of(STANDARD)))
    return runner.advance(3)[0]


def assert_alike(ours, theirs):
    """Numbers of requests and accesses are equal, seconds to a rounding."""
    assert theirs["served"].sum() > 100
    for name, one in ours.items():
        kind = np.asarray(one).dtype.kind
        np.testing.assert_allclose(one, theirs[name], rtol=1e-4 if kind == "f" else 0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_drives_of_kinds_asked_together_do_what_each_does_by_itself(system):
    assert_alike(sums(system(Mixed(KINDS, OF_BRICKS))), sums(system(Mixed(map(apart, KINDS), OF_BRICKS))))


@pytest.mark.parametrize("name", ["hashing", "degraded"])
def test_equal_kinds_are_one(name):
    system = SYSTEMS[name]
    assert_alike(sums(system(Mixed([ATLAS] * 3, OF_BRICKS))), sums(system(ATLAS)))
