"""The fork-join recursion against the event engine, request for request, and against one queue."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import logged_responses

from storagekit.analytic import response_mg1
from storagekit.analytic.forkjoin import Disk, RequestStream, completion_times
from storagekit.analytic.forkjoin.random_requests import draw, work
from storagekit.analytic.forkjoin.striping import Striping
from storagekit.core.units import KB, MB, MS
from storagekit.dispatch import Hashing
from storagekit.drive import RateServer
from storagekit.engine import Record, ResponseLog, Scenario, System, keys
from storagekit.placement import Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import run
from storagekit.write import AllCopies

pytestmark = pytest.mark.optimized

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6)


class TimedServer(RateServer):
    """Serves request number s at drive d in a time from a table `[s, d]`; the number is the request's address."""

    table: eqx.Module | None = None
    which: object = 0

    def locate(self, sector, count):
        target = super().locate(sector, count)
        return target._replace(cylinder=sector)

    def transfer(self, target):
        return self.table.at(target.cylinder, self.which)

    def mechanics_of(self, which):
        return eqx.tree_at(lambda drive: drive.which, self, which, is_leaf=lambda leaf: leaf is None)


class Table(eqx.Module):
    times: object

    def at(self, request, drive):
        return self.times[request, drive]


def recursion(gap, seconds):
    stream = RequestStream(jnp.asarray(gap), jnp.ones(gap.shape, bool), jnp.asarray(seconds), jnp.ones_like(seconds))
    return np.asarray(completion_times(stream))


@pytest.mark.parametrize("load", [0.2, 0.7, 0.9])
@pytest.mark.parametrize("disks", [1, 4, 16])
def test_request_for_request(recorded, disks, load):
    """A striped transfer is a request with one part for each disk, and it completes with the last part. In the engine
    it is a write to all copies, on drives that serve each part in the time that the recursion used."""
    requests = 600
    striping = Striping(MB, 32 * KB, disks)
    draws = draw([5], requests, striping.rows * disks)
    seconds = work(M2372K, striping, draws, 0.0).seconds[:, 0]
    gap = (draws.gap[:, 0] / (load / seconds.mean())).astype(np.float32)
    arrivals = recorded(np.cumsum(gap.astype(float)), sector=np.arange(requests), read=False)
    arrivals = eqx.tree_at(lambda a: a.gap, arrivals, np.append(gap[1:], np.inf).astype(np.float32))
    drive = TimedServer(1.0, table=Table(jnp.asarray(seconds, jnp.float32)))
    system = System(drive, Replicas(disks), Hashing(), FCFS(), AllCopies(), drives=disks, slots=64)
    outcome = run(Scenario(system, arrivals), keys([0])[:, 0], requests, Record(log=ResponseLog()))
    engine = logged_responses(outcome.log, requests)
    assert np.all(np.isfinite(engine))
    np.testing.assert_allclose(recursion(gap, seconds), engine, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("load", [0.3, 0.8])
def test_one_disk_is_a_single_queue(load):
    """The mean follows Pollaczek and Khinchine, from the mean and variance of 32 blocks. Each block is a uniform seek
    and rotation plus a transfer."""
    striping, requests, seeds = Striping(MB, 32 * KB, 1), 30_000, list(range(12))
    draws = draw(seeds, requests, 32)
    seconds = work(M2372K, striping, draws, 0.0).seconds
    mean = 32 * float(M2372K.mean(32 * KB))
    rate = load / mean
    taken = recursion(draws.gap / np.float32(rate), seconds)[requests // 10 :].mean(axis=0)
    expected = float(response_mg1(rate, mean, mean**2 + 32 * M2372K.variance()))
    error = taken.std(ddof=1) / np.sqrt(len(seeds))
    assert abs(taken.mean() - expected) < 4 * error < 0.05 * expected
