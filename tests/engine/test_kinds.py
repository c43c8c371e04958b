"""Test runs of bricks with several kinds of drives against the same runs composed in another way."""

import dataclasses

import numpy as np
import pytest
from helpers import slow_but

from storagekit.dispatch import DSPTF, Hashing
from storagekit.drive import Drive, Mixed, load_drive
from storagekit.engine import Record, Scenario, System, keys, stack
from storagekit.engine.run import Runner
from storagekit.faults import FaultSchedule, Slowdown, outage
from storagekit.placement import Declustered, SRMirror
from storagekit.schedule import LOOK, SATF
from storagekit.simulation import STANDARD, sweep
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, ExponentialSize, RandomRequests
from storagekit.write import AllCopies, Background

BRICKS = 4
ATLAS = load_drive("atlas10k")
KINDS = (ATLAS, load_drive("cheetah4lp"), load_drive("hp_c2247a"))
OF_BRICKS = (0, 2, 1, 2)
LOOP = ClosedLoop(RandomRequests(ExponentialSize(16_384), 0.7), 12)


class Separate(Drive):
    """A drive of a separate class, so that the mixture evaluates each kind by itself."""


def separate(drive: Drive) -> Separate:
    return Separate(**{field.name: getattr(drive, field.name) for field in dataclasses.fields(drive)})


def satf(drive, faults=None) -> System:
    return System(drive, Declustered(BRICKS, copies=2), Hashing(), SATF(), AllCopies(), faults=faults, slots=16)


SYSTEMS = {
    "hashing": satf,
    "degraded": lambda drive: satf(drive, FaultSchedule(Slowdown(1, 0.5, 20), Slowdown(2, 0.3, 10, 60))),
    "stopped": lambda drive: satf(drive, FaultSchedule(outage(1, 30, 80), timeout=0.05)),
    "claims": lambda drive: System(drive, Declustered(BRICKS, copies=2), DSPTF(50e-6), SATF(), slots=16),
    "delayed writes": lambda drive: System(
        drive, SRMirror(2, 1, 2, data=0.25), Hashing(), LOOK(), Background(), drives=BRICKS, slots=16
    ),
}


def sums(system: System):
    runner = Runner(Scenario(system, LOOP), keys(range(2)), Record(sums_of(STANDARD)))
    return runner.advance(3)[0]


def assert_alike(ours, theirs):
    """Numbers of requests and accesses are equal, and seconds are equal up to rounding."""
    assert theirs["served"].sum() > 100
    for name, one in ours.items():
        kind = np.asarray(one).dtype.kind
        np.testing.assert_allclose(one, theirs[name], rtol=1e-4 if kind == "f" else 0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", slow_but({"claims"}, SYSTEMS))
def test_kinds_evaluated_together_agree_with_each_kind_by_itself(name):
    system = SYSTEMS[name]
    assert_alike(sums(system(Mixed(KINDS, OF_BRICKS))), sums(system(Mixed(map(separate, KINDS), OF_BRICKS))))


def test_kinds_in_a_sweep():
    """A kind per brick that differs between the runs of a batch gives the same results as separate runs."""
    orders = (OF_BRICKS, (1, 1, 0, 2))
    systems = [satf(Mixed(KINDS, kinds)) for kinds in orders]
    merged, key = stack([Scenario(system, LOOP) for system in systems], range(2))
    swept = Runner(merged, key, Record(sums_of(STANDARD))).advance(3)[0]
    for number, system in enumerate(systems):
        rows = slice(2 * number, 2 * number + 2)
        assert_alike({name: one[..., rows] for name, one in swept.items()}, sums(system))


@pytest.mark.slow
def test_kinds_in_a_sweep_by_the_public_api():
    systems = [satf(Mixed(KINDS, kinds)) for kinds in (OF_BRICKS, (1, 1, 0, 2))]
    seen = sweep(lambda order: Scenario(systems[order], LOOP), {"order": [0, 1]}, seeds=2, requests=300)
    assert float(seen.response.isel(order=0).mean()) != float(seen.response.isel(order=1).mean())


@pytest.mark.parametrize("name", slow_but({"hashing"}, ["hashing", "degraded"]))
def test_equal_kinds_act_as_one_kind(name):
    system = SYSTEMS[name]
    assert_alike(sums(system(Mixed([ATLAS] * 3, OF_BRICKS))), sums(system(ATLAS)))
