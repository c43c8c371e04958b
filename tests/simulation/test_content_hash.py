"""Test content hashes: equal in every process, and different for every input that changes a number."""

import os
import subprocess
import sys
import textwrap

import equinox as eqx
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import DSPTF, Hashing
from storagekit.drive import load_drive
from storagekit.engine import COMPLETED, Scenario, Sum, System, completed
from storagekit.placement import Replicas
from storagekit.schedule import SATF
from storagekit.simulation import STANDARD, Measure
from storagekit.simulation.content_hash import ContentHash, made_with
from storagekit.workload import ClosedLoop, FixedSize, RandomRequests

PROGRAM = """
import storagekit as sk
from storagekit.simulation.content_hash import ContentHash
LIMIT = 0.02
class Mine(sk.dispatch.Hashing):
    def extra(self):
        return {f"{LIMIT}", len, self}
requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), 0.9)
system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), Mine(), sk.schedule.SATF())
late = sk.engine.Sum("late", lambda report: report.completed.response > LIMIT, int)
print(ContentHash().of((sk.Scenario(system, sk.workload.ClosedLoop(requests, 8)), late, sk.simulation.STANDARD)))
"""


def digest(one) -> str:
    return ContentHash().of(one)


def loop(read_share=0.9, depth=8, drive="atlas10k", dispatch=None, **more) -> Scenario:
    system = System(load_drive(drive), Replicas(2), dispatch or Hashing(), SATF(), **more)
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(4096), read_share), depth))


def test_processes_compute_equal_hashes():
    """Hashes do not depend on the order of sets or on addresses of objects."""
    hashes = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    ]
    assert hashes[0] == hashes[1] and len(hashes[0]) == 65


def test_a_scenario_built_again_has_the_same_hash():
    assert digest(loop()) == digest(loop())
    assert digest(STANDARD) == digest(STANDARD)


@pytest.mark.parametrize(
    "change",
    [
        {"read_share": np.nextafter(np.float32(0.9), np.float32(1))},
        {"depth": 9},
        {"drive": "cheetah9lp"},
        {"dispatch": DSPTF()},
        {"slots": 64},
        {"drives": 3},
        {"synchronized": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_number_and_component_changes_the_hash(change):
    assert digest(loop()) != digest(loop(**change))


def test_every_entry_of_an_array_changes_the_hash():
    table = np.arange(300_000, dtype=np.float32)
    other = table.copy()
    other[123_456] += 1
    assert len({digest(one) for one in (table, other, table.astype(np.float64), table.reshape(2, -1))}) == 4
    assert digest(table) == digest(table.copy())


def test_containers_are_distinguished():
    assert (
        len({digest(one) for one in ([1, 2, 3], [[1, 2], 3], (1, 2, 3), ["1", 2, 3], [1.0, 2, 3], {1: 2}, b"1")}) == 7
    )


def defined(source: str, **names):
    """Return the object that this source of a user's module defines as `mine`."""
    space = {"__name__": "mine", **names}
    exec(textwrap.dedent(source), space)
    return space["mine"]


BASE = "def mine(x, by=2):\n    return x * by + {number}"
CLASS = """
class mine(Hashing):
    def twice(self, x):
        return helper(x) * {number}
def helper(x):
    return x if x < 1 else mine
"""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (BASE.format(number=1), BASE.format(number=2)),
        (BASE.format(number=1), BASE.format(number=1).replace("by=2", "by=3")),
        (BASE.format(number="outside"), BASE.format(number="outside").replace("outside", "1")),
        ("mine = lambda: [x for x in range(3)]", "mine = lambda: [x for x in range(4)]"),
        (CLASS.format(number=1), CLASS.format(number=2)),
        (CLASS.format(number=1), CLASS.format(number=1).replace("x < 1", "x > 1")),
        ("def make(k):\n    return lambda: k\nmine = make(1)", "def make(k):\n    return lambda: k\nmine = make(2)"),
        (
            "from functools import partial\nmine = partial(max, 1)",
            "from functools import partial\nmine = partial(max, 2)",
        ),
    ],
    ids=["constant", "default", "global", "inside", "method", "helper", "closure", "partial"],
)
def test_the_content_of_a_users_code_changes_the_hash(one, other):
    names = {"Hashing": Hashing, "outside": 5}
    assert digest(defined(one, **names)) == digest(defined("\n# moved down by a comment\n" + one, **names))
    assert digest(defined(one, **names)) != digest(defined(other, **names))
    assert digest(defined("mine = lambda: k", k=1)) != digest(defined("mine = lambda: k", k=2))


def test_the_file_of_a_users_module_changes_the_hash(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "helping_out.py"
    path.write_text("def double(x):\n    return 2 * x\n")
    import helping_out

    before = digest(defined("def mine(x):\n    return helping_out.double(x)", helping_out=helping_out))
    path.write_text("def double(x):\n    return 3 * x\n")
    assert digest(defined("def mine(x):\n    return helping_out.double(x)", helping_out=helping_out)) != before


def test_the_sums_and_the_function_of_a_measure_change_the_hash():
    def missed(limit=0.02, factor=1.0) -> Measure:
        late = Sum("late", lambda report: completed(report) & (report.completed.response > limit), int)
        return Measure("missed", "1", "late", (late, COMPLETED), lambda late, completed: factor * late / completed)

    assert digest(missed()) == digest(missed())
    assert len({digest(one) for one in (missed(), missed(limit=0.03), missed(factor=2.0))}) == 3


def test_an_object_without_a_hash_raises():
    class Odd(Hashing):
        file: object = eqx.field(static=True, default=None)

    with open(os.devnull) as file:
        assert_refused(lambda: digest(loop(dispatch=Odd(file))), r"_io\.BufferedReader, whose changes|omit the store")


def test_versions_source_and_precision_are_recorded(monkeypatch):
    hashes = made_with()
    assert {"storagekit", "source", "jax", "jaxlib", "precision", "backend"} <= hashes.keys()
    assert hashes["precision"] == "float32" and len(hashes["source"]) == 16
