"""Simulated losses of redundant data, against the exact chains and other formulas."""

import dataclasses
import math

import numpy as np
import pytest
from helpers import slow_but

from storagekit.analytic.durability import chain_of, durability, rare_loss
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR
from storagekit.faults import Domain, Failures, Redundancy, ReliabilityModel, Repair
from storagekit.simulation import data_loss

pytestmark = pytest.mark.optimized
# Standard errors: the probability that one of 100 comparisons fails by chance is 0.6%.
MOST = 4.0


def deviation(found, expected: float) -> float:
    """Return the difference of an estimate from the expected value in standard errors."""
    mean, low, high = found.values
    # Sums of float32 have an error too, which matters if all weights are equal.
    return (mean - expected) / max((high - low) / (2 * 1.959964), 1e-5 * mean)


def random_model(seed: int) -> ReliabilityModel:
    """Return a random system with all features that the chain has, each in some of the systems."""
    random = np.random.default_rng(seed)
    pool = seed % 5 == 4
    parities = int(random.integers(0 if seed % 7 == 0 else 1, 4))
    racks = int(random.integers(2, 5))
    data = racks * int(random.integers(1, 4)) + (-parities) % racks
    domains = ()
    if seed % 3 == 0 and not pool:
        domains = (
            Domain("rack", racks, Failures(float(10 ** random.uniform(-4, -2)))),
            Domain("node", data + parities, Failures(float(10 ** random.uniform(-3, -1)))),
        )
    repair = Repair(
        float(10 ** random.uniform(4, 6)),
        at_once=random.choice([1, 2, None]),
        detection=float(random.choice([0.0, 2e4])),
        spares=1 if seed % 4 == 1 and not pool else None,
        refill=float(random.choice([1e5, 5e5])),
    )
    # A chain of a pool has an exponential time for detection and rebuild together.
    code = Redundancy(
        data, parities, int(random.integers(1, 4)), (data + parities) * 2 if pool else None, capacity=1e12
    )
    failures = Failures(float(10 ** random.uniform(-2.5, -0.5)), acceleration=float(random.choice([1.0, 3.0])))
    return ReliabilityModel(code, failures, repair, domains, float(random.choice([0.0, 1e-15, 1e-14])))


@pytest.mark.parametrize("seed", slow_but({0, 1, 4}, range(20)))
def test_simulation_agrees_with_the_chain(seed):
    model = random_model(seed)
    exact = durability(model, years=2.0)
    found = data_loss(model, years=2.0, trials=2**15, seed=seed)
    group = chain_of(model).loss_probability(2 * model.failures.year)
    assert abs(deviation(found.group_loss_probability, group)) < MOST
    assert abs(deviation(found.loss_probability, exact.loss_probability)) < MOST + 0.5
    assert abs(deviation(found.likelihood_ratio, 1.0)) < MOST
    # The estimates are precise enough to disagree.
    mean, low, high = found.group_loss_probability.values
    assert (high - low) / mean < 0.3
    if "mttdl_years" in found:
        assert abs(deviation(found.mttdl_years, exact.mttdl_years)) < MOST
    for cause, share in exact.causes.items():
        # The shares of the causes are those of all time; the start has a small effect.
        assert float(found.share.sel(cause=cause)) == pytest.approx(share, abs=0.15)


def test_failures_as_fast_as_repairs():
    rack = Domain("rack", 2, Failures(0.5, "rate"))
    repair = Repair(1500 * HOUR, 1, detection=300 * HOUR, spares=1, refill=700 * HOUR)
    model = ReliabilityModel(Redundancy(4, 4), Failures(2.0, "rate", acceleration=1.5), repair, (rack,))
    found = data_loss(model, years=0.3, trials=2**17, seed=6)
    exact = chain_of(model).loss_probability(0.3 * model.failures.year)
    assert 0.05 < exact < 0.95
    assert abs(deviation(found.loss_probability, exact)) < MOST
    assert float(found.loss_probability[2] - found.loss_probability[1]) < 0.05 * exact
    assert abs(deviation(found.likelihood_ratio, 1.0)) < MOST


@pytest.mark.parametrize(
    ("epsilon", "mttf", "lost"),
    [
        (1e-2, 173_516.666667, 5.64756910555e-4),
        (1e-3, 167_335_166.667, 5.85662824633e-7),
        (1e-4, 166_733_351_667, 5.87766029608e-10),
    ],
)
def test_relative_error_is_bounded(epsilon, mttf, lost):
    """Three components with failure rate e and one repairer with rate 1 an hour: the MTTF and the probability of a loss
    within 100 h, both exact (test_chains.py). The relative error does not grow if losses become rarer."""
    model = ReliabilityModel(Redundancy(1, 2), Failures(8766 * epsilon, "rate"), Repair(HOUR, 1))
    found = data_loss(model, years=100 / 8766, seed=1)
    for estimate, expected in ((found.mttdl_years * 8766, mttf), (found.loss_probability, lost)):
        assert abs(deviation(estimate, expected)) < MOST
        assert float(estimate[2] - estimate[1]) < 0.1 * expected


def raid5(**repair) -> ReliabilityModel:
    return ReliabilityModel(Redundancy(7, 1), Failures(8760 / 500_000, "rate", days=365), Repair(24 * HOUR, **repair))


def test_constant_rebuild_times():
    """RAID 5 of 8 disks with MTTF 500,000 h and a constant rebuild of 24 h: MTTDL 186,114,585.083 h, from
    q = 1 - exp(-7 l D), MTTDL = (1 / (8 l) + q / (7 l)) / q."""
    found = data_loss(raid5(shape=math.inf), trials=2**16, seed=1)
    assert abs(deviation(found.mttdl_years, 186_114_585.083 / 8760)) < MOST
    mean, low, high = found.mttdl_years.values
    assert (high - low) / mean < 0.03


def test_constant_parallel_rebuilds():
    """If each disk has its own constant rebuild time D, the rate is n l C(n-1, r) (l D)^r for rare losses (MLEC-sim)."""
    model = ReliabilityModel(Redundancy(8, 2), Failures(0.02), Repair(24 * HOUR, shape=math.inf))
    rate = model.failures.rate
    expected = 10 * rate * math.comb(9, 2) * (rate * 24 * HOUR) ** 2 * model.failures.year
    found = data_loss(model, trials=2**15, seed=2)
    assert abs(deviation(found.loss_probability, expected)) < MOST


# mlec-sim@db56f5a6 gnuplots/durability, "sim": first-year nines for Weibull shapes at 50 MB/s and 20 TB; 7+1, AFR 1%
AGING = {1.0: 4.105, 1.4: 4.676, 1.8: 5.114, 2.2: 5.757}


@pytest.mark.parametrize(("shape", "nines"), AGING.items())
def test_aging_disks(shape, nines):
    model = ReliabilityModel(Redundancy(7, 1), Failures(0.01, shape=shape), Repair(20 * 1024**2 / 50, 1))
    found = data_loss(model, trials=2**16, seed=3)
    assert abs(deviation(found.loss_probability, rare_loss(model))) < MOST + 1  # the approximation is 0.5% too high
    # The published simulation has standard deviations of 0.015 to 0.1.
    assert -math.log10(found.loss_probability[0]) == pytest.approx(nines, abs=0.12)


# mlec-sim, "sim" with its standard deviation: nines of 50 disks, 20 TiB, 100 MB/s, AFR in %
SIMULATED = [
    (Redundancy(8, 2, 5), 1, 2, 5.882, 0.095),
    (Redundancy(8, 2, 5), 1, 4, 4.935, 0.045),
    (Redundancy(8, 2, 5), 1, 10, 3.717, 0.011),
    (Redundancy(8, 2, 5), None, 5, 4.991, 0.03),
    (Redundancy(8, 2, 5), None, 10, 4.029, 0.014),
    (Redundancy(8, 2, 1, pool=50), 1, 2, 6.621, 0.091),
    (Redundancy(8, 2, 1, pool=50), 1, 5, 5.323, 0.07),
    (Redundancy(8, 2, 1, pool=50), 1, 10, 4.37, 0.024),
]


# one with serial repair, one with parallel repair, and one pool
@pytest.mark.parametrize(
    ("code", "at_once", "afr", "nines", "sigma"), slow_but([SIMULATED[number] for number in (1, 4, 6)], SIMULATED)
)
def test_nines_of_another_simulator(code, at_once, afr, nines, sigma):
    model = ReliabilityModel(code, Failures(afr / 100), Repair(20 * 1024**2 / 100, at_once))
    mean, low, high = data_loss(model, trials=2**16, seed=4).loss_probability.values
    own = (high - low) / 3.92 / mean / math.log(10)
    assert abs(-math.log10(mean) - nines) < 3 * math.hypot(sigma, own)


def test_correlated_failures_and_shares():
    """A site that destroys everything loses data with its own rate, whatever the code."""
    site = Domain("site", 1, Failures(1e-3, "rate", days=365))
    model = dataclasses.replace(raid5(), domains=(site,), redundancy=Redundancy(17, 3))
    found = data_loss(model, trials=2**14, seed=5)
    assert abs(deviation(found.loss_probability, -math.expm1(-1e-3))) < MOST
    assert float(found.share.sel(cause="site fails")) > 0.999


def test_interval_covers_the_truth_as_often_as_stated():
    model = raid5()
    exact = chain_of(model).loss_probability(model.failures.year)
    intervals = [data_loss(model, trials=2**12, seed=seed, level=0.8).loss_probability.values for seed in range(60)]
    covered = sum(low <= exact <= high for _, low, high in intervals)
    # binomial with 60 trials and probability 0.8: mean 48, standard deviation 3.1
    assert 36 <= covered <= 59


def test_result_has_its_provenance():
    found = data_loss(raid5(), trials=1000, seed=7)
    assert found.attrs["trials"] >= 1000 and found.attrs["seeds"] == [7]
    assert "Repair is parallel" in " ".join(found.attrs["conventions"])
    again = data_loss(raid5(), trials=1000, seed=7)
    assert again.drop_attrs().identical(found.drop_attrs())
    assert not data_loss(raid5(), trials=1000, seed=8).drop_attrs().identical(found.drop_attrs())


def test_disks_that_never_fail_are_rejected():
    with pytest.raises(InputError, match="never fail"):
        data_loss(dataclasses.replace(raid5(), failures=Failures(0.0)))
