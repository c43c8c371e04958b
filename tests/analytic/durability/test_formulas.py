"""Bursts, fixed windows, inspections and approximations, against published figures."""

import itertools
import math

import numpy as np
import pytest

from storagekit.analytic.durability import (
    BurstLayout,
    burst_loss,
    chain_of,
    inspected,
    rare_loss,
    scattered_loss,
    surviving,
    window_loss,
)
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair, rebuild_time

# MLEC (10+2)/(17+3) with 57,600 disks, f disks over exactly x racks, for C/C, C/D, D/C and D/D
# (zhynwng/MLEC-simulator-doc@b9433338, sample_outputs/data/fig5/s-burst-theory-MLEC_*.log)
MLEC = {
    (12, 3): (2.703136858148422e-22, 2.195785657998095e-13, 1.937482681187028e-17, 4.371769321698607e-10),
    (30, 3): (1.7920613124432e-14, 3.0160859729833939e-6, 1.28399362238169e-9, 5.5091179791467e-3),
    (30, 5): (4.1426158281578e-16, 1.3419093532479e-7, 2.96895772839808e-11, 2.6085738528604e-4),
    (30, 10): (5.9013472094728e-19, 3.2622196360183e-10, 4.2297791457200e-14, 6.4813470668737e-7),
    (40, 3): (1.0112553267805e-12, 7.2506655239222e-5, 7.2311726710446e-8, 9.5134084265797e-2),
    (60, 3): (1.9324919636241e-10, 2.6182217974743e-3, 1.3570953881015e-5, 7.5119370723743e-1),
    (60, 10): (1.8646884424694e-14, 4.5297456601001e-6, 1.3354357672399e-9, 7.5991153953674e-3),
    (60, 30): (1.1917074796023e-19, 7.3135664200084e-11, 8.5415117125962e-15, 1.4519110029298e-7),
}
SMALL, LARGE = {"pools": 48, "disks": 20, "parities": 3}, {"pools": 8, "disks": 120, "parities": 3}
LAYOUTS = [
    BurstLayout(60, **pools, network_parities=2, together=group) for group in (12, None) for pools in (SMALL, LARGE)
]


@pytest.mark.parametrize(("burst", "expected"), MLEC.items())
def test_bursts_of_multi_level_codes(burst, expected):
    found = [burst_loss(layout, *burst) for layout in LAYOUTS]
    assert found == pytest.approx(expected, rel=1e-11)


# Loss in % for f = 2 ... 10 disks of all (ucare-uchicago/mlec-sim@db56f5a6, gnuplots/burst/arbitrary; exact fractions)
CURVES = {
    BurstLayout(3, 1, 7, 1): [30, 74.21052632, 100],
    BurstLayout(3, 1, 7, 1, 1): [
        0, 0, 22.10526316, 67.18266254, 88.85448916, 97.08978328, 99.47368421, 99.94998809, 100,
    ],
    BurstLayout(3, 1, 8, 2): [0, 8.300395257, 27.27272727, 55.7312253, 83.69045143, 100],
    BurstLayout(3, 1, 8, 2, 1): [0, 0, 0, 0, 6.989806532, 28.54171001, 65.95773321, 86.82436153, 96.07557606],
}  # fmt: skip


@pytest.mark.parametrize(("layout", "percent"), CURVES.items(), ids=str)
def test_small_bursts(layout, percent):
    found = [100 * burst_loss(layout, failed) for failed in range(2, 2 + len(percent))]
    assert found == pytest.approx(percent, rel=1e-9, abs=1e-12)


def test_bursts_of_local_codes():
    """mlec-sim burst/theory-vs-exp: 40 racks x 800 disks, 8+2 in groups of 10 and in pools of 100, over two racks."""
    expected = {4: (6.449285439324992e-5, 8.690412129493619e-3), 5: (2.2466747946e-4, 0.0285585253)}
    for failed, losses in (expected | {9: (2.293931546e-3, 0.2314937368)}).items():
        found = [burst_loss(BurstLayout(40, 800 // disks, disks, 2), failed, 2) for disks in (10, 100)]
        assert found == pytest.approx(losses, rel=1e-8)


@pytest.mark.parametrize("together", [2, 4, None])
def test_bursts_by_enumeration(together):
    layout = BurstLayout(4, 2, 3, 1, 1, together)
    rack, pool = np.arange(24) // 6, np.arange(24) % 6 // 3
    for racks in (None, 2, 3):
        ways, bad = 0, 0
        for failed in itertools.combinations(range(24), 5):
            at = list(failed)
            if racks and len(set(rack[at])) != racks:
                continue
            counts = np.zeros((4, 2), int)
            np.add.at(counts, (rack[at], pool[at]), 1)
            gone = counts > 1
            groups = gone.reshape(4 // together, together, 2).sum(axis=1) if together else gone.any(axis=1).sum()
            ways, bad = ways + 1, bad + bool(np.any(groups > 1))
        assert burst_loss(layout, 5, racks) == pytest.approx(bad / ways, rel=1e-12)


def test_copysets():
    """Cidon et al., ATC 2013: 1% of 5,000 nodes fail, 3 copies; 22.8% for Facebook's HDFS and 0.15% with copysets.
    [D] 0.157% for 1,666 copysets, 0.781% for five times as many, 22.81% for 5,000 windows of 11 nodes."""
    for sets, percent in ((1666, 0.157), (5 * 1666, 0.781), (5000 * math.comb(11, 2), 22.81)):
        assert 100 * scattered_loss(5000, 50, 3, 2, sets) == pytest.approx(percent, rel=5e-3)
    assert scattered_loss(10, 10, 3, 2, 1) == 1 and scattered_loss(10, 2, 3, 2, 1) == 0


# Backblaze (erasure-coding-durability@37f758d6): 20 shards, AFR 0.405%, 6.5 days; per window and per year
BACKBLAZE = [
    (1, "1.441e-03", "7.781e-02"), (2, "9.874e-07", "5.545e-05"), (3, "4.273e-10", "2.399e-08"),
    (4, "1.310e-13", "7.354e-12"), (5, "3.022e-17", "1.693e-15"), (6, "5.450e-21", "3.052e-19"),
    (8, "9.213e-29", "5.159e-27"), (10, "7.029e-37", "3.936e-35"), (15, "1.151e-58", "6.447e-57"),
    (20, "1.449e-83", "8.117e-82"),
]  # fmt: skip


def test_backblaze():
    failing = -math.expm1(-0.00405 * 6.5 / 365)
    for failures, window, annual in BACKBLAZE:
        assert f"{window_loss(20, failures - 1, failing):.3e}" == window
        # Backblaze's program rounds the number of windows down for probabilities below the precision of float64
        windows = 365 / 6.5 if failures < 5 else 56
        assert f"{window_loss(20, failures - 1, failing, windows):.3e}" == annual
    assert window_loss(20, 3, failing) == pytest.approx(1.3095807326660936e-13, rel=1e-11)
    assert window_loss(20, 3, failing, 365 / 6.5) == pytest.approx(7.353799498790738e-12, rel=1e-11)
    assert window_loss(3, 1, 1 - math.exp(-0.25)) == pytest.approx(0.1251, abs=5e-5)
    # The windows miss losses by failures in two of them: within a factor of 4 of the chain with constant windows
    chain = chain_of(ReliabilityModel(Redundancy(17, 3), Failures(0.00405, "rate", days=365), Repair(6.5 * 86400)))
    assert 1 < chain.loss_probability(365 * 86400.0) / window_loss(20, 3, failing, 365 / 6.5) < 5


# Storj whitepaper v3 (storj/whitepaper@d63d1a0a): percent without loss in a month, each share lost with p = 0.1
STORJ = {
    (2, 4): 99.207366813274616, (4, 8): 99.858868985411326, (8, 16): 99.995462406878260, (16, 32): 99.999994620652776,
    (20, 40): 99.999999807694154, (32, 64): 99.999999999990544, (4, 6): 97.688471224736705,
    (4, 12): 99.999514117129605, (20, 30): 99.970766304935266, (100, 150): 99.999999999973570,
    (1, 3): 99.640050681691051, (1, 10): 99.999988857452166, (1, 16): 99.999999998036174,
    (20, 50): 99.999999999999548, (1, 1): 90.483741803595962, (1, 2): 98.247690369357827,
}  # fmt: skip


@pytest.mark.parametrize(("code", "percent"), STORJ.items())
def test_storj(code, percent):
    needed, shares = code
    found = window_loss(shares, shares - needed, 0.1, failures="poisson")
    assert 100 * (1 - found) == pytest.approx(percent, rel=1e-15)


def test_tahoe_shares():
    """tahoe-lafs@f002fd0d, src/allmydata/test/test_statistics.py."""
    assert surviving([0.5] * 10)[:3].sum() == 0.0546875
    mixed = np.cumsum(surviving([0.9] * 10 + [0.8] * 10))
    # the largest k whose loss is below 1e-4
    assert max(k for k in range(1, 21) if mixed[k - 1] < 1e-4) == 10


@pytest.mark.parametrize(
    ("repair_below", "exact", "published"),
    [(1, 0.034061422285866, 0.033591004555395272), (7, 3.46968383938e-8, 3.2983995819177542e-8)],
)
def test_tahoe_repair(repair_below, exact, published):
    """tahoe-lafs@f002fd0d, misc/operations_helpers/provisioning: 3 of 10 shares, drive life 8 years, 1,578 steps of 1e5 s.

    The first check is after 28 steps, and the others after 27 steps more. Tahoe's program forgets the files without any
    share one step later; the exact figures [D] keep them.
    """
    step = 1e5
    end, before = (
        inspected(Redundancy(3, 7), Failures(1 / 8, "rate", days=365), repair_below, 27 * step, steps * step, 28 * step)
        for steps in (1578, 1577)
    )
    assert end.sum() == pytest.approx(1, rel=1e-12)
    assert end[:3].sum() == pytest.approx(exact, rel=1e-11)
    assert end[1:3].sum() + end[0] - before[0] == pytest.approx(published, rel=1e-11)


def raid(data, parities, disks, afr, bandwidth, shape=1.0, at_once=1, pool=None, terabyte=1024**2) -> float:
    """Return the nines of 20 TB disks with a bandwidth in MB/s; `terabyte` is in MB."""
    groups = 1 if pool else disks // (data + parities)
    repair = Repair(rebuild_time(20 * terabyte, bandwidth), at_once)
    code = Redundancy(data, parities, groups, pool)
    return -math.log10(rare_loss(ReliabilityModel(code, Failures(afr / 100, shape=shape), repair)))


def test_nines_of_the_durability_calculator():
    """mlec-sim@db56f5a6 gnuplots/durability, 8+2 with 50 disks, 100 MB/s, at AFR 2, 3, 4, 5, 7, 10 and 11%.

    "web" is truncated to one decimal, with TB = 1e6 MB. "sim" is a simulation with its standard deviation; it has TB =
    1024^2 MB, and the figures in between are [D].
    """
    rates = 2, 3, 4, 5, 7, 10, 11
    web = [math.floor(10 * raid(8, 2, 50, afr, 100, terabyte=1e6)) / 10 for afr in rates]
    assert web == [5.9, 5.3, 5.0, 4.7, 4.2, 3.7, 3.6]
    serial = [raid(8, 2, 50, afr, 100) for afr in rates]
    assert serial == pytest.approx([5.882, 5.347, 4.966, 4.668, 4.216, 3.731, 3.599], abs=6e-4)
    parallel = [raid(8, 2, 50, afr, 100, at_once=None) for afr in rates]
    assert parallel == pytest.approx([6.183, 5.649, 5.267, 4.969, 4.517, 4.032, 3.900], abs=6e-4)
    assert raid(8, 2, 50, 2, 100) == pytest.approx(5.882, abs=2 * 0.095)
    assert [raid(16, 2, 54, afr, 100) for afr in (2, 5, 10)] == pytest.approx([5.272, 4.058, 3.120], abs=6e-4)
    assert [raid(8, 1, 45, afr, 100) for afr in (2, 5, 10)] == pytest.approx([3.011, 2.202, 1.582], abs=1e-3)
    assert [raid(8, 1, 45, afr, 100, pool=45) for afr in (2, 5, 10)] == pytest.approx([2.959, 2.151, 1.531], abs=1e-3)
    assert [raid(16, 2, 54, afr, 100, pool=54) for afr in (2, 5, 10)] == pytest.approx([5.739, 4.525, 3.588], abs=1e-3)
    assert math.floor(100 * raid(16, 3, 57, 4, 40, terabyte=1e6)) / 100 == 5.51
    # a declustered pool has (D / n)^(r (r - 1) / 2) times the MTTDL in the calculator
    assert math.floor(10 * (raid(8, 2, 50, 5, 100, terabyte=1e6) + math.log10(5))) / 10 == 5.4


WEIBULL = {
    (8, 2, 10, 2): [5.979, 6.365, 6.722, 7.072, 7.423],
    (8, 2, 100, 2): [4.979, 5.365, 5.722, 6.072, 6.423, 6.775, 7.131],
    (7, 1, 8, 1): [4.124, 4.391, 4.646, 4.897, 5.147, 5.397, 5.648],
    (7, 1, 80, 1): [3.124, 3.391, 3.646, 3.897, 4.147, 4.397, 4.648],
}


@pytest.mark.parametrize(("layout", "nines"), WEIBULL.items())
def test_nines_of_aging_disks(layout, nines):
    """mlec-sim@db56f5a6, first-year nines ("web") for shapes 1, 1.2, ... at 50 MB/s and 20 TB."""
    found = [raid(*layout, 50, shape=1 + 0.2 * step) for step in range(len(nines))]
    assert found == pytest.approx(nines, abs=6e-4)
