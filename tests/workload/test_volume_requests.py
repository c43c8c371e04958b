"""Test requests to several volumes.

Each request stays in its volume, volumes have their shares, and draws do not depend on the caller.
"""

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
# the last volume starts off the grid of 8 sectors
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
    """Check the counts against these shares of the total, within four standard errors."""
    shares = np.broadcast_to(shares, np.shape(counts))
    total = np.sum(counts)
    assert np.all(abs(counts / total - shares) <= 4 * np.sqrt(shares * (1 - shares) / total))


def test_volumes_clients_and_addresses_have_their_distributions():
    """Check shares and addresses within four standard errors.

    Five clients are equally frequent for every volume and operation. In each volume, addresses have the mean and spread
    of a uniform law, on a grid from its first sector. No request crosses its end.
    """
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
        span = size - largest
        assert abs(mine.mean() - span / 2) <= 4 * span / np.sqrt(12 * mine.size) + 8
        assert abs(mine.std() - span / np.sqrt(12)) <= 4 * span / np.sqrt(12 * mine.size) + 8
    assert requests().stores_streams and not RandomRequests(FixedSize(512), 1.0).stores_streams


def test_equal_addresses_have_equal_hashes():
    drawn = draw(requests(alignment=128))
    sector = np.asarray(drawn.sector)
    np.testing.assert_array_equal(drawn.address_hash, scramble(sector // 128))
    assert len(np.unique(sector)) == len(np.unique(np.asarray(drawn.address_hash)))


def test_volumes_with_a_share_of_zero_get_no_requests():
    """Use shares of 0, also for the last volume.

    The test uses the smallest and the largest random word, and sums slightly below 1.
    """
    for shares in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.4999995, 0), (0, 0.4999995, 0.5)):
        model = requests(shares)
        some = {at for at, share in enumerate(shares) if share}
        assert set(volume_of(draw(model))) == some
        assert np.asarray(model._volume(jnp.asarray([0, 2**32 - 1], jnp.uint32))).tolist() == [min(some), max(some)]


def test_one_volume_agrees_with_random_requests():
    """The same words give the same number, address, size, operation and brick; only the client is new."""
    ours = VolumeRequests(ExponentialSize(8192), 0.5, volumes=(CAPACITY,), shares=(1.0,), clients=3)
    theirs = RandomRequests(ExponentialSize(8192), 0.5)
    found, expected = draw(ours), draw(theirs)
    assert set(np.asarray(found.client).tolist()) == {0, 1, 2}
    for mine, other in zip(found._replace(client=expected.client), expected, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_settings_windows_and_batches_share_random_numbers():
    """Other shares give the same sizes, operations and clients.

    A window in the middle and a run of a batch equal separate draws.
    """
    plain, other = draw(requests()), draw(requests((0.6, 0.2, 0.2)))
    for name in ("sectors", "read", "client", "receiving"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))
    assert np.mean(volume_of(plain) == volume_of(other)) < 0.7
    part = draw(requests(), first=200, count=100)
    jax.tree.map(lambda whole, some: np.testing.assert_array_equal(np.asarray(whole)[200:300], some), plain, part)
    shares = tuple(np.array([[mine, its]]) for mine, its in zip((0.6, 0.2, 0.2), (0.2, 0.5, 0.3), strict=True))
    batch = requests(shares).draw(CAPACITY, keys([4, 0]), np.zeros((1, 2), np.int32), COUNT)
    jax.tree.map(lambda both, one: np.testing.assert_array_equal(both[:, 1], one), batch, plain)
    first = draw(requests((0.6, 0.2, 0.2)), seed=4)
    jax.tree.map(lambda both, one: np.testing.assert_array_equal(both[:, 0], one), batch, first)


@pytest.mark.parametrize(
    "arrivals", [lambda requests: ClosedLoop(requests, 4), lambda requests: PoissonArrivals(requests, 50.0)]
)
def test_loops_and_streams_accept_volume_requests(arrivals):
    """The runs of a batch have different shares; a layout that is too small for the volumes raises."""
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
        lambda: Scenario(small, arrivals(requests())),
        f"volumes of {CAPACITY} sectors in total on a layout of {CAPACITY - 1}",
    )


def given(volumes=VOLUMES, shares=(0.2, 0.5, 0.3), clients=5):
    return VolumeRequests(FixedSize(8192), 0.5, volumes=volumes, shares=shares, clients=clients)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: given(clients=0), "clients 0: give a whole number, between 1 and 1000000"),
        (lambda: given((), ()), "0 shares of 0 volumes: give one share for each volume, and at least one"),
        (lambda: given(shares=(0.5, 0.5)), "2 shares of 3 volumes"),
        (lambda: given((0, 100_000, 1), (0.5, 0.3, 0.2)), "sectors of volume 0 0: give a whole number"),
        (lambda: given((100_000, 20, 50_000)), "a volume of 20 sectors: too small for requests of up to 16"),
        (
            lambda: given(shares=(0.2, 0.5, 0.2)),
            "sum of the shares of volumes 0.9: it must be 1, with a tolerance of 1e-6",
        ),
        (lambda: given(shares=(1.2, -0.5, 0.3)), "a volume's share 1.2: it must be between 0 and 1"),
        (lambda: given(shares=(0.2, float("nan"), 0.3)), "a volume's share nan"),
        (
            lambda: given(shares=(np.array([[0.2, 0.3]]), np.array([[0.5, 0.5]]), np.array([[0.3, 0.3]]))),
            "sum of the shares of volumes 1.1",
        ),
    ],
)
def test_impossible_volumes_raise(build, message):
    assert_refused(build, message)
