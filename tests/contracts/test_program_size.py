"""The compiled program and the state of every component stay small.

XLA's CPU compiler repeats a fused expression wherever it is used under another index. So one component can multiply the
code of all its inputs: `dispatch.Central` once took 140 seconds and 4.7 GB to compile. These tests measure the machine
code without optimization, which is quick to make and proportional to the optimizer's input. With `-s` they print the sizes.
"""

import random

import jax
import pytest
from helpers import slow_but
from jax.experimental.serialize_executable import serialize
from random_systems import MAKERS, SMALL, Draws

from storagekit.dispatch import AbstractDispatch, Hashing, Preselection
from storagekit.drive import AbstractDrive, load_drive
from storagekit.engine import Record, Scenario, System, keys, stack
from storagekit.engine.run import Runner, _advance, begin
from storagekit.papers.ars.cluster import PROTOCOLS, RANDOMIZED, cluster, layout, synthetic
from storagekit.placement import AbstractPlacement, Replicas
from storagekit.queue import AbstractQueue
from storagekit.schedule import SATF, AbstractSchedule
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests
from storagekit.write import AbstractWrite, AllCopies

# Largest allowed size of a component's program, relative to the plainest component in the same system. Measured: 0.8 to
# 2.0 with four bricks.
MOST, MOST_OF_CLUSTER = 3.0, 2.0
# Largest allowed state of a run in bytes, with 16 slots and four bricks. The plainest system has 1,328.
MOST_STATE = 3_000
# Components with a table: LARD's addresses and their nodes, ARS's views of the clients, writes that are not yet on disk,
# MClock's three tags of 64 bits and the cost of each request at each brick.
WITH_TABLE = {"LARD": 18_000, "ARS": 5_500, "Background": 6_500, "Committed": 5_500, "MClock": 4_000}
# abstract classes of components, and their arguments of System
KINDS = {
    AbstractDrive: "drive",
    AbstractPlacement: "placement",
    AbstractDispatch: "dispatch",
    AbstractSchedule: "schedule",
    AbstractWrite: "write",
    AbstractQueue: "queue",
}
COMPONENTS = [(kind, name) for kind in KINDS for name in MAKERS[kind]]
# Programs have grown in components that compare several candidates, and on drives of several kinds. The largest of each
# kind; the others are marked slow.
LARGEST = {"Mixed", "Declustered", "Central", "LARD", "ARS", "DSPTF", "Background", "MClock"}
COMPARING = [one for one in COMPONENTS if one[1] in LARGEST]
# components that cannot be used in the plain system
PARTNERS = {"Claimed": {"dispatch": Preselection(1e-3)}}


def size(scenario: Scenario) -> int:
    """Bytes of the event loop's machine code, compiled for two runs without optimization."""
    merged, key = stack([scenario], [0, 1])
    runner = Runner(merged, key, Record(sums_of(STANDARD)))
    lowered = _advance.lower(runner.arrays, runner.static, runner.record, 1, runner.devices, runner.run)
    # with the emitters that users' programs are compiled with, see conftest
    as_users = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": True}
    return len(serialize(lowered.compile(as_users))[0])


def plain(**components) -> Scenario:
    """Four bricks with copies of everything, on a drive with zones and a measured seek curve."""
    chosen = {
        "drive": load_drive("atlas10k"),
        "placement": Replicas(4),
        "dispatch": Hashing(),
        "schedule": SATF(),
        "write": AllCopies(),
    } | components
    requests = RandomRequests(FixedSize(SMALL), 0.7)
    return Scenario(System(**chosen, slots=16), ClosedLoop(requests, 8))


def plain_with(kind: type, name: str) -> Scenario:
    """Return the plain system with a component."""
    draws = Draws(0, random.Random(0), random.Random(0), drives=4, bricks=4, spare=3)
    return plain(**PARTNERS.get(name, {}), **{KINDS[kind]: MAKERS[kind][name](draws)})


@pytest.mark.parametrize(("kind", "name"), COMPONENTS, ids=lambda value: KINDS.get(value, value))
def test_the_state_of_a_run_stays_small(kind, name):
    state = jax.eval_shape(begin, plain_with(kind, name), keys([0])[:, 0]).state
    needed = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    print(f"{KINDS[kind]} {name}: state of {needed:,} bytes")
    assert 1_000 < needed < WITH_TABLE.get(name, MOST_STATE)


@pytest.fixture(scope="module")
def smallest() -> int:
    return size(plain())


@pytest.mark.parametrize(("kind", "name"), slow_but(COMPARING, COMPONENTS), ids=lambda value: KINDS.get(value, value))
def test_a_component_does_not_multiply_the_program(smallest, kind, name):
    program = size(plain_with(kind, name))
    print(f"{KINDS[kind]} {name}: program of {program:,} bytes, {program / smallest:.2f} of the plainest")
    assert program < MOST * smallest


@pytest.fixture(scope="module")
def smallest_cluster() -> int:
    return size(clustered(RANDOMIZED))


def clustered(protocol: str) -> Scenario:
    """Four nodes of unequal disks, one of them a RAID 5, and volumes of copies and of fragments."""
    on = layout()
    return cluster(PROTOCOLS[protocol](on), synthetic(on=on), on=on)


# the one whose program is the largest
@pytest.mark.parametrize("protocol", slow_but(("Central",), [name for name in PROTOCOLS if name != RANDOMIZED]))
def test_a_protocol_does_not_multiply_the_program_of_a_cluster(smallest_cluster, protocol):
    assert size(clustered(protocol)) < MOST_OF_CLUSTER * smallest_cluster
