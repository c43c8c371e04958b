"""Dispatchers that request only the parts that the data needs: when a read is sent again, and the guarantees for
queues.
"""

import jax.numpy as jnp
import pytest
from helpers import assert_refused

from storagekit.dispatch import (
    ARS,
    C3,
    DSPTF,
    LARD,
    Broadcast,
    Central,
    DispatchSwitch,
    Hashing,
    Hedged,
    JoinIdleQueue,
    NearestIdle,
    Prequal,
    Preselection,
    Randomized,
    Redundant,
    ShortestQueue,
    ShortestQueueWithMemory,
    WeightedHashing,
)
from storagekit.drive import RateServer
from storagekit.engine import System
from storagekit.placement import Coded, Node, Replicas, Segments, Volume
from storagekit.queue import FairQueue
from storagekit.schedule import FCFS

CENTRAL = Central((1e-3,) * 3)
SAMPLED = (ShortestQueue(), ShortestQueueWithMemory(), JoinIdleQueue())
ONLY_NEEDED = (Hashing(), WeightedHashing((1, 1, 1)), LARD(), *SAMPLED, Randomized(), CENTRAL, ARS(), C3(), Prequal())
WITH_EXTRA = (Broadcast(), NearestIdle(), Redundant(), Hedged(), DSPTF(), Preselection(), ARS(extra=1))


def name_of(dispatch) -> str:
    return f"{type(dispatch).__name__}{getattr(dispatch, 'extra', '') or ''}"


def mask(bits: int):
    return jnp.full((1, 1), bits, jnp.uint32)


@pytest.mark.parametrize("dispatch", [*ONLY_NEEDED, ARS(extra=1)], ids=name_of)
@pytest.mark.parametrize(
    ("routed", "alive", "needed", "fails"),
    [
        (0b0011, 0b1111, 2, False),
        (0b0011, 0b1101, 2, True),
        (0b0011, 0b1110, 2, True),
        # the read was sent to one part more than it needs
        (0b0111, 0b1101, 2, False),
        (0b0111, 0b1110, 2, False),
        (0b0100, 0b1011, 1, True),
        (0b0100, 0b0100, 1, False),
    ],
)
def test_a_read_is_sent_again_where_too_few_of_its_targets_are_up(dispatch, routed, alive, needed, fails):
    count = jnp.full((1, 1), needed, jnp.int32)
    assert dispatch.times_out(mask(routed), count * 0, mask(alive), count).tolist() == [[fails]]
    assert DispatchSwitch((Broadcast(), dispatch), 1).times_out(
        mask(routed), count * 0, mask(alive), count
    ).tolist() == [[fails]]


@pytest.mark.parametrize("dispatch", ONLY_NEEDED, ids=name_of)
def test_a_read_is_sent_again_to_one_part_that_is_up_or_under_ars_to_the_rest(dispatch):
    """ARS sends it to the nodes that have not received it (ars, section 4.5)."""
    expected = 0b1010 if isinstance(dispatch, ARS) else 0b0010
    assert dispatch.retry_targets(mask(0b1010 | isinstance(dispatch, ARS)), mask(0b0001)).tolist() == [[expected]]


def fair(dispatch, placement) -> System:
    return System(RateServer(1000.0), placement, dispatch, FCFS(), queue=FairQueue(2, (1, 1)), slots=8)


@pytest.mark.parametrize("placement", [Replicas(3), Coded(2, 3)], ids=["copies", "fragments"])
@pytest.mark.parametrize("dispatch", ONLY_NEEDED, ids=name_of)
def test_needed_parts_are_never_withdrawn(dispatch, placement):
    assert not dispatch.sends_more and not DispatchSwitch((Hashing(), dispatch)).sends_more
    assert fair(dispatch, placement).dispatch is dispatch


@pytest.mark.parametrize("dispatch", WITH_EXTRA, ids=name_of)
def test_extra_parts_may_be_withdrawn(dispatch):
    assert dispatch.sends_more and DispatchSwitch((Hashing(), dispatch)).sends_more
    assert_refused(lambda: fair(dispatch, Replicas(3)), "FairQueue: not modelled .* if parts are withdrawn")


def test_one_time_for_all_bricks_is_rejected(unchecked):
    assert_refused(lambda: Central(5e-3), "mean service times 0.005: give a tuple with one time for each brick")


def test_a_volume_of_copies_has_spare_parts_next_to_a_striped_volume():
    volumes = Volume(1024, 512, parts=2), Volume(1024, 512, parts=2, needed=2, block=512)
    layout = Segments([Node(1)] * 3, volumes)
    assert layout.most_spare == 1 and int(layout.spare) == 0
    assert_refused(lambda: fair(Broadcast(), layout), "FairQueue: not modelled .* if parts are withdrawn")
