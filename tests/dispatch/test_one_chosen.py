"""Dispatchers that send a read to one replica: the choice of the replica."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.component.events import StateSizes
from storagekit.dispatch import LARD, Hashing, View, WeightedHashing
from storagekit.placement import Grouping, Location, Replicas
from storagekit.workload import Requests

TARGETS = 4096


def read(address_hash, is_read=True) -> Requests:
    one = np.ones(1, np.int32)
    return Requests(
        one,
        one,
        one,
        jnp.full(1, is_read),
        jnp.zeros(1, jnp.uint32),
        jnp.asarray([address_hash], jnp.uint32),
        jnp.zeros(1, bool),
        one * 0,
        one * 0,
    )


def view_of(waiting, busy, home=0, first=0, copies=3) -> View:
    at = jnp.asarray(waiting, jnp.uint32)
    homes = jnp.broadcast_to(jnp.asarray(home, jnp.int32), at.shape)
    location = Location(None, jnp.full(1, first, jnp.int32))
    busy = jnp.asarray(busy)
    one_each, soon = Grouping((1,) * len(busy)), jnp.zeros(len(busy))
    return View(
        at,
        Location(None, homes),
        busy,
        soon,
        ~busy,
        location,
        Replicas(copies),
        one_each,
        lambda: soon,
        lambda: soon,
        jnp.zeros(1, jnp.uint32),
    )


def loads(*load) -> View:
    """Idle drives, with `load` requests waiting at each. No request waits at two drives."""
    at = np.repeat([1 << drive for drive in range(len(load))], load)
    return view_of(np.append(at, 0), [False] * len(load))


def drive_of(dispatch, private, request, view, copies=3):
    mask, private = dispatch.route(private, request, jnp.ones(1, bool), view._replace(placement=Replicas(copies)))
    chosen = int(mask[0])
    assert chosen.bit_count() == 1
    return chosen.bit_length() - 1, private


def test_load_counts_waiting_requests_and_those_in_service():
    assert view_of([0b001, 0b011, 0], [True, False, True]).load().tolist() == [3, 1, 1]


def test_load_finds_the_drives_of_copies_that_start_elsewhere():
    """Copies 0 and 1 of one request are on drives 2 and 3; copy 1 of the other is on drive 1."""
    assert view_of([0b11, 0b10], [False] * 4, home=[2, 0]).load().tolist() == [0, 1, 1, 1]


def test_lard_chooses_only_among_drives_with_a_copy():
    """Drives 2 and 3 have the block. Drive 3, with copy 1, has the lower load."""
    view = view_of([0b1, 0b1, 0b1], [False] * 4, home=[2, 2, 3], first=2, copies=2)
    lard = LARD()
    copy, _ = drive_of(lard, lard.init(StateSizes(1, 4, ())), read(7), view, copies=2)
    assert copy == 1


@pytest.mark.parametrize("address_hash", [0, 1, 5, 4_294_967_295])
def test_hashing_takes_the_address_modulo_the_replicas(address_hash):
    drive, _ = drive_of(Hashing(), None, read(address_hash), loads(9, 9, 0))
    assert drive == address_hash % 3


def test_weighted_hashing_gives_each_brick_its_share():
    """The tolerance is four standard deviations of the binomial."""
    hashes = np.random.default_rng(0).integers(0, 2**32, 4000, dtype=np.uint32)
    dispatch = WeightedHashing(np.array([1.0, 2.0, 1.0]))
    view, request = loads(0, 0, 0), read(0)

    def chosen(address_hash):
        return dispatch.route(None, request._replace(address_hash=address_hash), jnp.ones(1, bool), view)[0]

    mask = jax.vmap(chosen)(jnp.asarray(hashes)[:, None])
    shares = [np.mean(np.asarray(mask) == 1 << drive) for drive in range(3)]
    assert np.all(np.abs(np.array(shares) - [0.25, 0.5, 0.25]) < 4 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize(
    "summed", [jnp.cumsum, partial(jax.lax.associative_scan, jnp.add)], ids=["sequentially", "in pairs"]
)
def test_rounding_sends_no_address_to_a_drive_without_weight(summed, monkeypatch):
    """The largest hash values meet weights, about half of them 0. They are summed as on a CPU, and in pairs as on
    parallel hardware.

    In pairs, the total is sometimes larger than the sum up to the last weight.
    """
    monkeypatch.setattr(jnp, "cumsum", summed)
    random, drives, runs = np.random.default_rng(0), 8, 4000
    weights = np.where(random.random((drives, runs)) < 0.5, random.random((drives, runs)), 0).astype(np.float32)
    weights[0] = np.maximum(weights[0], 1e-3)
    dispatch = WeightedHashing(tuple(weights[:, None]))
    idle = jnp.zeros((drives, runs), bool)
    location = Location(None, jnp.zeros((1, runs), jnp.int32))
    view = view_of(jnp.zeros((1, runs)), idle, copies=drives)._replace(location=location)
    for back in (0, 1, 2, 3):
        # the hash has steps of 2^8
        address_hash = jnp.full((1, runs), 2**32 - 1 - back * 2**8, jnp.uint32)
        mask, _ = dispatch.route(None, read(0)._replace(address_hash=address_hash), jnp.ones(1, bool), view)
        taken = weights * (np.asarray(mask) == 1 << np.arange(drives)[:, None])
        assert np.all(np.sum(taken > 0, axis=0) == 1)


def test_lard_remembers_unless_the_brick_is_overloaded():
    """Pai et al., T_low 25, T_high 65: first the brick with the lowest load, then the same one. A request moves only if
    its brick is above 65 and another is below 25."""
    lard = LARD()
    table = lard.init(StateSizes(1, 3, ()))
    drive, table = drive_of(lard, table, read(7), loads(2, 0, 1))
    assert drive == 1
    drive, table = drive_of(lard, table, read(7), loads(0, 65, 9))
    assert drive == 1
    drive, table = drive_of(lard, table, read(7), loads(25, 66, 40))
    assert drive == 1  # no brick is below 25
    moved, _ = drive_of(lard, table, read(7), loads(24, 66, 40))
    assert moved == 0
    moved, _ = drive_of(lard, table, read(7), loads(99, 130, 98))
    assert moved == 2
    other, _ = drive_of(lard, table, read(8), loads(5, 5, 4))
    assert other == 2


def test_lard_stores_nothing_for_writes_or_without_a_request():
    lard = LARD()
    empty = lard.init(StateSizes(1, 3, ()))
    _, after_write = drive_of(lard, empty, read(7, is_read=False), loads(1, 0, 1))
    _, without_request = lard.route(empty, read(7), jnp.zeros(1, bool), loads(1, 0, 1))
    assert np.all(np.asarray(after_write.replica) == -1) and np.all(np.asarray(without_request.replica) == -1)


def test_lard_with_a_window_uses_the_load_that_lasted():
    """Windows last 10 s, T_low is 2, T_high 5. A load of 8 counts from the first arrival after a window with that load
    throughout."""
    lard = LARD(2.0, 5.0, window=10.0)
    drive, table = drive_of(lard, lard.init(StateSizes(1, 3, ())), read(7), loads(0, 1, 1))
    assert drive == 0
    for _ in range(3):
        drive, table = drive_of(lard, lard.elapse(table, jnp.float32(3.0)), read(7), loads(8, 1, 2))
        assert drive == 0
    drive, table = drive_of(lard, lard.elapse(table, jnp.float32(3.0)), read(7), loads(8, 1, 2))
    assert drive == 1
    # and it moves back no sooner, even if the loads have changed by then
    drive, _ = drive_of(lard, lard.elapse(table, jnp.float32(3.0)), read(7), loads(0, 9, 9))
    assert drive == 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: WeightedHashing(np.array([1.0, -1.0])), "hash weights .* 0 or more"),
        (lambda: WeightedHashing(np.zeros(3)), "hash weights .* with a sum above 0"),
        (lambda: LARD(70.0), "LARD thresholds 70 and 65: low must not exceed high"),
        (lambda: LARD(window=-1.0), "LARD window -1 s"),
    ],
)
def test_impossible_settings_are_rejected(build, message):
    assert_refused(build, message)
