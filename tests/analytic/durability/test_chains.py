"""Markov chains of redundant data, against published and exact figures.

"[D]" marks figures that were derived with exact arithmetic or with 50 digits, from the formulas beside them.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from storagekit.analytic.durability import LOSS, Burst, Chain, birth_death, chain_of, durability
from storagekit.core.errors import InputError
from storagekit.core.units import HOUR
from storagekit.faults import Domain, Failures, Redundancy, ReliabilityModel, Repair, rebuild_time

YEAR = 365 * 24 * HOUR
# MTTF 500,000 h and MTTR 24 h
LAMBDA, MU = 1 / 500_000, 1 / 24


def model(data, parities, at_once=1, **more) -> ReliabilityModel:
    """Return a group with the rates of the table below."""
    return ReliabilityModel(
        Redundancy(data, parities), Failures(8760 * LAMBDA, "rate", days=365), Repair(24 * HOUR, at_once), **more
    )


# [D] MTTDL in hours, loss probability in 8,760 h, and loss probability of a cycle, from MTTDL = sum of h_i with
# h_i = (1 + d_i h_(i-1)) / u_i, and 1 / (1 + sum of products of d_j / u_j); 12 digits.
TABLE = [
    (1, 1, 1, 5.20908333333e9, 1.67706976662e-6, 4.79976961106e-5),
    (1, 2, 1, 3.61759268426e13, 2.40823195537e-10, 4.60777880538e-9),
    (1, 2, None, 7.23501166574e13, 1.20580352798e-10, 2.30394470002e-9),
    (7, 1, 1, 1.86145833333e8, 4.69299432601e-5, 3.3588714192e-4),
    (8, 2, 1, 3.01668763735e11, 2.88793912685e-8, 1.65824295962e-7),
    (8, 2, None, 6.03221618673e11, 1.44623606177e-8, 8.2928070932e-8),
    (10, 4, 1, 3.92518551063e17, 2.20728069252e-14, 9.10486920991e-14),
    (10, 4, None, 9.41705132935e18, 9.24918607292e-16, 3.79506195239e-15),
    (17, 3, 1, 3.89504893291e13, 2.230523982e-10, 6.42457189572e-10),
    (17, 3, None, 2.33575665707e14, 3.73155773447e-11, 1.07134494817e-10),
]


@pytest.mark.parametrize(("data", "parities", "at_once", "mttdl", "lost", "cycle"), TABLE)
def test_exact_table(data, parities, at_once, mttdl, lost, cycle):
    chain = chain_of(model(data, parities, at_once))
    assert chain.mttdl / HOUR == pytest.approx(mttdl, rel=1e-11)
    assert chain.loss_probability(YEAR) == pytest.approx(lost, rel=1e-11)
    assert chain.loss_in_cycle == pytest.approx(cycle, rel=1e-11)
    # the start-up: the exponential distribution with the same mean exceeds the exact value
    assert 1.001 < -math.expm1(-YEAR / chain.mttdl) / lost < 1.012


@pytest.mark.parametrize(
    ("epsilon", "cycle", "mttf", "lost"),
    [
        (1e-2, 1.97980597901e-4, 173_516.666667, 5.64756910555e-4),
        (1e-3, 1.997998006e-6, 167_335_166.667, 5.85662824633e-7),
        (1e-4, 1.99979998001e-8, 166_733_351_667, 5.87766029608e-10),
    ],
)
def test_three_components(epsilon, cycle, mttf, lost):
    """[D] Cycle 2 e^2 / (1 + e + 2 e^2), MTTF 1 / (6 e^3) + 2 / (3 e^2) + 11 / (6 e), and the loss within 100."""
    chain = birth_death([3 * epsilon, 2 * epsilon, epsilon], [1.0, 1.0])
    assert chain.loss_in_cycle == pytest.approx(cycle, rel=1e-11)
    assert chain.mttdl == pytest.approx(mttf, rel=1e-11)
    assert chain.loss_probability(100.0) == pytest.approx(lost, rel=1e-11)


def test_read_errors_and_detection():
    """[D] RAID 5 of 8 disks: MTTDL = ((2n-1) l + m) / (n l ((n-1) l + m h)); with detection 6 h before the rebuild."""
    detected = replace(model(7, 1), repair=Repair(24 * HOUR, 1, detection=6 * HOUR))
    assert chain_of(detected).mttdl / HOUR == pytest.approx(148_933_453.053, rel=1e-11)
    disks, repair = Redundancy(7, 1, capacity=300e9), Repair(17.8 * HOUR)
    raid5 = ReliabilityModel(disks, model(7, 1).failures, repair, bit_error_rate=1e-14)
    assert raid5.read_error == pytest.approx(0.1546461653, rel=1e-9)
    assert chain_of(raid5).mttdl / HOUR == pytest.approx(403_713.661, rel=1e-8)
    assert chain_of(replace(raid5, bit_error_rate=0.0)).mttdl / HOUR == pytest.approx(250_936_496.79, rel=1e-10)
    answer = durability(raid5)
    assert answer.dominant.events == ("disk fails", "read error in rebuild")
    rates = 7 * LAMBDA, raid5.read_error / 17.8
    assert answer.dominant.share == pytest.approx(rates[1] / sum(rates), rel=1e-12)
    assert answer.causes == pytest.approx(
        {"read error in rebuild": rates[1] / sum(rates), "disk fails": rates[0] / sum(rates)}
    )


# PRISM storage models 1 to 4 (saifalam/prism-probabilistic-model-checker@b7800139): durability in %, for repairs in a
# week, a day and an hour. Here with 17 digits [D]; PRISM itself prints them with an error up to 6e-9.
PRISM = {
    (1, 1, ()): (99.990621733745352, 99.998634458951602, 99.999942929883538),
    (3, 1, ()): (99.943953218351987, 99.991811504386285, 99.99965758760626),
    (17, 3, ()): (99.999919557832076, 99.999999753030868, 99.999999999981988),
    (17, 3, (Domain("site", 1, Failures(1e-4, "rate", days=365)),)): (
        99.989920065859224, 99.990000253038897, 99.990000499965323,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("layout", "expected"), PRISM.items(), ids=lambda one: str(one[:2]))
def test_prism(layout, expected):
    data, parities, domains = layout
    for repairs, percent in zip((52.142857143, 365, 8760), expected, strict=True):
        failures = Failures(0.05, "rate", days=365)
        found = durability(ReliabilityModel(Redundancy(data, parities), failures, Repair(YEAR / repairs), domains))
        assert 100 * (1 - found.loss_probability) == pytest.approx(percent, abs=3e-14)


def test_one_disk():
    """PRISM model 1: exp(-0.05), 95.12294245007141%."""
    found = durability(ReliabilityModel(Redundancy(1, 0), Failures(0.05, "rate"), Repair(HOUR)))
    assert 1 - found.loss_probability == pytest.approx(0.9512294245007141, rel=1e-15)
    assert found.paths[0].events == ("disk fails",)


def test_general_chain():
    """A chain with every feature, against the exponential of its generator and the solution of its linear equations."""
    several = ReliabilityModel(
        Redundancy(4, 2, capacity=4e12),
        Failures(0.9, "rate", acceleration=2.0),
        Repair(900 * HOUR, 1, detection=200 * HOUR, spares=1, refill=500 * HOUR),
        (Domain("rack", 3, Failures(0.3, "rate")), Domain("node", 6, Failures(0.2, "rate"))),
        bit_error_rate=1e-14,
    )
    chain = chain_of(several)
    generator = np.zeros((chain.states + 1, chain.states + 1))
    for source, target, rate, _ in chain.transitions:
        generator[source, target] += rate
    generator -= np.diag(generator.sum(axis=1))
    for years in (0.01, 1.0, 5.0):
        exact = expm(generator * years * several.failures.year)[0, LOSS]
        assert chain.loss_probability(years * several.failures.year) == pytest.approx(exact, rel=1e-10)
    transient = generator[:-1, :-1]
    assert chain.mttdl == pytest.approx(np.linalg.solve(transient, -np.ones(chain.states))[0], rel=1e-12)
    visits = np.linalg.solve(transient.T, -np.eye(chain.states)[0])
    for cause, share in chain.loss_by_cause.items():
        into = sum(
            visits[one.source] * one.rate for one in chain.transitions if one.target == LOSS and one.event == cause
        )
        assert share == pytest.approx(into, rel=1e-12)
    assert sum(chain.loss_by_cause.values()) == pytest.approx(1)


def test_shares_of_paths_are_frequencies():
    """Erase the loops of simulated walks, and count the sequences of events."""
    chain = Chain([
        (0, 1, 1.0, "a"), (0, 2, 0.5, "b"), (1, 0, 1.0, "disk rebuilt"), (1, 2, 2.0, "c"), (2, 1, 1.0, "disk rebuilt"),
        (2, LOSS, 0.5, "d"), (1, LOSS, 0.2, "e"), (2, 0, 1.0, "disk rebuilt"),
    ])  # fmt: skip
    random, counts, walks = np.random.default_rng(0), {}, 20_000
    steps = {state: [one for one in chain.transitions if one.source == state] for state in range(3)}
    chances = {
        state: np.cumsum([one.rate for one in ones]) / sum(one.rate for one in ones) for state, ones in steps.items()
    }
    for _ in range(walks):
        visited, events = [0], []
        while True:
            one = steps[visited[-1]][int(np.searchsorted(chances[visited[-1]], random.random()))]
            if one.target == LOSS:
                break
            if one.target in visited:
                kept = visited.index(one.target)
                visited, events = visited[: kept + 1], events[:kept]
            else:
                visited, events = [*visited, one.target], [*events, one.event]
        found = tuple(event for event in [*events, one.event] if event != "disk rebuilt")
        counts[found] = counts.get(found, 0) + 1
    paths = dict(chain.paths(covered=1.0))
    assert sum(paths.values()) == pytest.approx(1)
    assert paths.keys() == counts.keys()
    for events, share in paths.items():
        assert abs(counts[events] / walks - share) < 4 * math.sqrt(share * (1 - share) / walks)


def test_declustered_pools():
    """MLEC-sim (ucare-uchicago/mlec-sim@db56f5a6): a window in which 49 disks share the rebuild of 20 TiB takes 10.70 h,
    and after the second failure 9/49 of the chunks have lost two. Nines [D] for the product of the windows."""
    for afr, nines in ((0.02, 6.567), (0.05, 5.353), (0.10, 4.415)):
        repair = Repair(rebuild_time(20 * 1024**2, 100), 1)
        pool = ReliabilityModel(Redundancy(8, 2, pool=50), Failures(afr), repair)
        assert pool.rebuild_time(1) == pytest.approx(38_519, abs=1)
        assert pool.rebuild_time(2) == pytest.approx(7_222, abs=1)
        assert durability(pool).nines == pytest.approx(nines, abs=0.005)


def test_spares_that_never_run_out_change_nothing():
    usual = model(4, 2, None)
    spares = replace(usual, repair=replace(usual.repair, spares=3, refill=100 * HOUR))
    few = replace(usual, repair=replace(usual.repair, spares=0, refill=100 * HOUR))
    assert chain_of(spares).mttdl == pytest.approx(chain_of(usual).mttdl, rel=1e-3)
    # without a spare on the shelf a repair takes 124 h, in parallel
    assert chain_of(few).mttdl == pytest.approx(chain_of(usual).mttdl / (124 / 24) ** 2, rel=0.02)


def test_domains_of_one_disk_add_their_rates():
    alone = Domain("node", 10, Failures(0.03, "rate"))
    both = ReliabilityModel(Redundancy(8, 2), Failures(0.02, "rate"), Repair(24 * HOUR), (alone,))
    together = ReliabilityModel(Redundancy(8, 2), Failures(0.05, "rate"), Repair(24 * HOUR))
    assert chain_of(both).mttdl == pytest.approx(chain_of(together).mttdl, rel=1e-12)
    shares = {path.events: path.share for path in durability(both).paths}
    for events in itertools.product(["disk fails", "node fails"], repeat=3):
        assert shares[events] == pytest.approx(math.prod(0.4 if event[0] == "d" else 0.6 for event in events), rel=1e-9)


def test_answer():
    bursts = Burst(0.1, 1e-6, "power loss"), Burst(0.5, 0.0)
    usual = replace(model(8, 2), redundancy=Redundancy(8, 2, groups=100, capacity=1e12))
    found = durability(usual, bursts=bursts)
    alone = durability(usual)
    assert found.loss_probability == pytest.approx(100 * TABLE[4][4] + 1e-7, rel=1e-5)
    assert found.mttdl_years == pytest.approx(1 / (1 / alone.mttdl_years + 1e-7), rel=1e-12)
    assert sum(path.share for path in found.paths) == pytest.approx(1) == sum(found.causes.values())
    assert alone.lost_bytes == pytest.approx(8e12 / alone.mttdl_years)
    assert found.to_dict()["paths"][1]["events"] == ["power loss"]
    assert "power loss" in str(found) and "a year has 365 days" in str(found)
    never = durability(replace(usual, failures=Failures(0.0)))
    assert never.loss_probability == 0 and math.isinf(never.mttdl_years) and never.dominant is None


def test_models_that_are_no_markov_chain_are_rejected():
    with pytest.raises(InputError, match=r"data_loss for other distributions"):
        durability(replace(model(8, 2), repair=Repair(HOUR, shape=math.inf)))
    with pytest.raises(InputError, match="more than 1000 states"):
        chain_of(replace(model(2, 30), repair=Repair(HOUR, 1, detection=HOUR, spares=5, refill=HOUR)))


MODELS = st.builds(
    lambda data, parities, afr, hours, at_once, detection, errors: ReliabilityModel(
        Redundancy(data, parities, capacity=1e12),
        Failures(afr),
        Repair(hours * HOUR, at_once, detection=detection * HOUR),
        bit_error_rate=errors,
    ),
    st.integers(1, 12),
    st.integers(0, 4),
    st.floats(1e-4, 0.5),
    st.floats(0.1, 500),
    st.sampled_from([1, 2, None]),
    st.sampled_from([0.0, 10.0]),
    st.sampled_from([0.0, 1e-15]),
)


def lost(model: ReliabilityModel) -> float:
    return chain_of(model).loss_probability(YEAR)


@settings(max_examples=40)
@given(MODELS)
def test_more_redundancy_or_repair_never_loses_more(usual):
    code, repair, afr = usual.redundancy, usual.repair, usual.failures.annual
    before = lost(usual) * (1 + 1e-9)
    # one data disk less, so that the number of disks is the same
    if code.data > 1:
        assert lost(replace(usual, redundancy=replace(code, data=code.data - 1, parities=code.parities + 1))) <= before
    assert lost(replace(usual, failures=Failures(afr * 0.9))) <= before
    # Each rebuild may meet a read error, and faster repair ends more rebuilds within a year. Therefore faster repair is
    # compared without read errors.
    clean = replace(usual, bit_error_rate=0.0)
    without = lost(clean) * (1 + 1e-9)
    assert without <= before * (1 + 1e-9)
    for faster in ({"time": repair.time / 2}, {"at_once": None}, {"detection": 0.0}):
        assert lost(replace(clean, repair=replace(repair, **faster))) <= without
    assert 0 <= before <= 1 + 1e-8


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_mirror(rate, repair):
    """Textbook: MTTDL = (3 l + m) / (2 l^2)."""
    assert birth_death([2 * rate, rate], [repair]).mttdl == pytest.approx(
        (3 * rate + repair) / (2 * rate**2), rel=1e-12
    )


def test_tiny_probabilities_keep_their_digits():
    """A pure birth chain has the loss probability of a sum of exponentials: (l t)^m / m! for tiny l t."""
    chain = birth_death([1e-5] * 6, [0.0] * 5)
    assert chain.loss_probability(1.0) == pytest.approx(1e-30 / 720 * (1 - 6e-5 / 7), rel=1e-9)
