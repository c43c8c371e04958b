"""Hedged reads of idle servers agree with the closed form for copies with independent service times."""

from operator import itemgetter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import logged_responses

from storagekit.dispatch import Hedged
from storagekit.drive import RateServer
from storagekit.engine import Record, ResponseLog, Scenario, System, execute, stack
from storagekit.placement import Location, Replicas
from storagekit.schedule import FCFS
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.workload import scramble

COUNT, COPIES = 40_000, 4
# Time between two reads in mean service times, so long that no server is ever busy when a read arrives.
GAP = 60.0


def service(number, part, of):
    """The exponential service time of a part of a request, with the mean 1, computed with the library `of`."""
    word = scramble(scramble(number) + scramble(part + 1))
    return -of.log((word.astype(np.float32) + 0.5) * np.float32(2.0**-32))


class Independent(Replicas):
    """Copies whose service times are independent. Request k has k + 1 sectors, from which `service` computes them."""

    def target_on(self, part, location: Location):
        number = location.target.transfer.astype(jnp.int32) - 1
        return location.target._replace(transfer=service(number, part, jnp))


@pytest.mark.parametrize(
    ("share", "quantiles"),
    [(0.9, (3.454, 4.605, 5.756)), (0.95, (3.800, 4.952, 6.103)), (0.99, (4.605, 5.756, 6.908))],
)
def test_the_closed_form_has_the_quantiles_of_the_table(share, quantiles):
    """With S(t) = exp(-t), P(T > t) is S(t) before the delay D and S(t) S(t - D) after it."""
    delay = -np.log(1 - share)
    for exceeded, quantile in zip((1e-2, 1e-3, 1e-4), quantiles, strict=True):
        assert np.exp(-quantile - max(quantile - delay, 0)) == pytest.approx(exceeded, rel=2e-3)


def test_hedged_reads_have_the_distribution_of_independent_copies(recorded):
    """The delays are the 90%, 95% and 99% quantiles of a service time. Every response is the earlier of two copies, and
    the numbers of responses above the quantiles, and of second accesses, are within four standard errors."""
    shares = np.array([0.9, 0.95, 0.99])
    first = np.random.default_rng(0).integers(0, COPIES, COUNT)
    arrivals = recorded(np.arange(COUNT) * GAP, sectors=np.arange(COUNT) + 1, address_hash=first)
    scenarios = [
        Scenario(System(RateServer(1.0), Independent(COPIES), Hedged(delay), FCFS(), slots=4), arrivals)
        for delay in -np.log(1 - shares)
    ]
    outcome = execute(*stack(scenarios, [0]), COUNT - 1, Record(sums_of(STANDARD), ResponseLog()))
    served = outcome.tally["served"].sum(axis=(0, 1))
    number = np.arange(COUNT - 1)
    own, other = (service(number, (first[:-1] + next_one) % COPIES, np) for next_one in (0, 1))
    for run, (share, delay) in enumerate(zip(shares, -np.log(1 - shares), strict=True)):
        log = jax.tree.map(itemgetter((slice(None), run)), outcome.log)
        response = logged_responses(log, COUNT)[:-1]
        np.testing.assert_allclose(response, np.minimum(own, delay + other), rtol=1e-4, atol=1e-4)

        def near(count, probability):
            return abs(count - COUNT * probability) < 4 * np.sqrt(COUNT * probability)

        for time in (0.5, 1.0, 3.0, 4.0, 5.0, 6.0):
            assert near(np.sum(response > time), np.exp(-time - max(time - delay, 0)))
        # one access for every read, and a second one for the reads that exceed the delay
        assert near(served[run] - COUNT, 1 - share)
