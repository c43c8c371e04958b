"""Requests to several volumes: each within its own, as often as its share says, whoever asks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused

from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Record, Scenario, System, execute, keys, stack
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import (
    ClosedLoop,
    ExponentialSize,
    FixedSize,
    PoissonArrivals,
    RandomRequests,
    VolumeRequests,
    scramble,
)

COUNT = 40_000
# the last begins off the grid of 8 sectors
VOLUMES = (100_000, 3_000_004, 50_000)
EDGES = np.cumsum((0, *VOLUMES))
CAPACITY = sum(VOLUMES)


def requests(shares=(0.2, 0.5, 0.3), size=None, read_share=0.5, clients=5, **more) -> VolumeRequests:
    return VolumeRequests(
        size or ExponentialSize(8192), read_share, volumes=VOLUMES, shares=shares, clients=clients, **more
    )


def draw(requests, seed=0, first=0, count=COUNT):
    return requests.draw(CAPACITY, keys([seed])[:, 0], np.array([first], np.int32), count)


def volume_of(drawn) -> np.ndarray:
    return np.searchsorted(EDGES, np.asarray(drawn.sector), "right") - 1


def assert_uniform(counts, shares):
    """Within four standard errors of these shares of all."""
    shares = np.broadcast_to(shares, np.shape(counts))
    total = np.sum(counts)
    assert np.all(abs(counts / total - shares) <= 4 * np.sqrt(shares * (1 - shares) / total))


def test_volumes_clients_and_addresses_have_their_distributions():
    """Shares; five clients alike, whatever the volume and the operation; in each volume mean and spread of uniform addresses,
    on a grid from its first sector, and nothing across its end. Four standard errors."""
    drawn = draw(requests())
    volume, client, read = volume_of(drawn), np.asarray(drawn.client), np.asarray(drawn.read)
    assert_uniform(np.bincount(volume, minlength=3), [0.2, 0.5, 0.3])
    together = np.zeros((3, 5, 2))
    np.add.at(together, (volume, client, read.astype(int)), 1)
    assert_uniform(together, np.array([0.2, 0.5, 0.3])[:, None, None] / 10)
    inside = np.asarray(drawn.sector) - EDGES[volume]
    assert np.all(inside % 8 == 0) and inside.min() >= 0
    assert np.all(inside + np.asarray(drawn.sectors) <= np.asarray(VOLUMES)[volume])
    largest = int(requests().size.largest)
    for number, size in enumerate(VOLUMES):
        mine = inside[volume == number]
        room = size - largest
        assert abs(mine.mean() - room / 2) <= 4 * room / np.sqrt(12 * mine.size) + 8
        assert abs(mine.std() - room / np.sqrt(12)) <= 4 * room / np.sqrt(12 * mine.size) + 8
    assert requests().told_apart and not RandomRequests(FixedSize(512), 1.0).told_apart


def test_equal_addresses_hash_alike():
    drawn = draw(requests(alignment=128))
    sector = np.asarray(drawn.sector)
    np.testing.assert_array_equal(drawn.address_hash, scramble(sector // 128))
    assert len(np.unique(sector)) == len(np.unique(np.asarray(drawn.address_hash)))


def test_what_nobody_asks_for_is_not_asked_for():
    """Shares of 0, the last of them too, by the least and the largest random word; also where a sum is not quite 1."""
    for shares in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.4999995, 0), (0, 0.4999995, 0.5)):
        asked = requests(shares)
        some = {at for at, share in enumerate(shares) if share}
        assert set(volume_of(draw(asked))) == some
        assert np.asarray(asked._volume(jnp.asarray([0, 2**32 - 1], jnp.uint32))).tolist() == [min(some), max(some)]


def test_one_volume_is_what_random_requests_draw():
    """Of the same words: number, address, size, operation and brick; only who sends them is new."""
    ours = VolumeRequests(ExponentialSize(8192), 0.5, volumes=(CAPACITY,), shares=(1.0,), clients=3)
    theirs = RandomRequests(ExponentialSize(8192), 0.5)
    found, expected = draw(ours), draw(theirs)
    assert set(np.asarray(found.client).tolist()) == {0, 1, 2}
    for mine, other in zip(found._replace(client=expected.client), expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_settings_windows_and_lanes_share_their_random_numbers():
    """With other shares the same sizes, operations and clients; a window in the middle, and a lane, are as by themselves."""
    plain, other = draw(requests()), draw(requests((0.6, 0.2, 0.2)))
    for name in ("sectors", "read", "client", "receiving"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))
    assert np.mean(volume_of(plain) == volume_of(other)) < 0.7
    part = draw(requests(), first=200, count=100)
    jax.tree.map(lambda whole, some: np.testing.assert_array_equal(np.asarray(whole)[200:300], some), plain, part)
    shares = tuple(np.array([[mine, its]]) for mine, its in zip((0.6, 0.2, 0.2), (0.2, 0.5, 0.3), strict=True))
    lanes = requests(shares).draw(CAPACITY, keys([4, 0]), np.zeros((1, 2), np.int32), COUNT)
    jax.tree.map(lambda both, one: np.testing.assert_array_equal(both[:, 1], one), lanes, plain)
    first = draw(requests((0.6, 0.2, 0.2)), seed=4)
    jax.tree.map(lambda both, one: np.testing.assert_array_equal(both[:, 0], one), lanes, first)


@pytest.mark.parametrize("arrivals", [lambda asks: ClosedLoop(asks, 4), lambda asks: PoissonArrivals(asks, 50.0)])
def test_loops_and_streams_take_them(arrivals):
    """Lanes with shares of their own; a layout that is too small for the volumes is refused."""
    shares = ((1.0, 0.0, 0.0), (0.0, 0.5, 0.5))
    scenarios = [
        Scenario(
            System(RateServer(1e5), Replicas(1), Hashing(), FCFS(), slots=32), arrivals(requests(share, read_share=1.0))
        )
        for share in shares
    ]
    tally = execute(*stack(scenarios, [1]), 500, Record(sums_of(STANDARD))).tally
    assert np.all(tally["reads"].sum(axis=(0, 1)) >= 500)
    small = System(RateServer(1e5, capacity=CAPACITY - 1), Replicas(1), Hashing(), FCFS(), slots=32)
    assert_refused(
        lambda: Scenario(small, arrivals(requests())), f"volumes of {CAPACITY} sectors on a layout of {CAPACITY - 1}"
    )


def given(volumes=VOLUMES, shares=(0.2, 0.5, 0.3), clients=5):
    return VolumeRequests(FixedSize(8192), 0.5, volumes=volumes, shares=shares, clients=clients)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: given(clients=0), "clients 0: give a whole number, between 1 and 1000000"),
        (lambda: given((), ()), "0 shares of 0 volumes: give one for each, at least one"),
        (lambda: given(shares=(0.5, 0.5)), "2 shares of 3 volumes"),
        (lambda: given((0, 100_000, 1), (0.5, 0.3, 0.2)), "sectors of volume 0 0: give a whole number"),
        (lambda: given((100_000, 20, 50_000)), "a volume of 20 sectors: too small for requests of up to 16"),
        (lambda: given(shares=(0.2, 0.5, 0.2)), "shares of volumes that sum to 0.9: it must be 1, to a millionth"),
        (lambda: given(shares=(1.2, -0.5, 0.3)), "a volume's share 1.2: it must be between 0 and 1"),
        (lambda: given(shares=(0.2, float("nan"), 0.3)), "a volume's share nan"),
        (
            lambda: given(shares=(np.array([[0.2, 0.3]]), np.array([[0.5, 0.5]]), np.array([[0.3, 0.3]]))),
            "shares of volumes that sum to 1.1",
        ),
    ],
)
def test_impossible_volumes_are_refused(build, says):
    assert_refused(build, says)
