"""Local reconstruction codes, against published counts, ranks of random codes, and a chain of all sets of lost units.

Counts and reads are those of Huang et al., USENIX ATC 2012, sections 2 and 5: "86%" of the four-unit losses of (12,2,2), 6
reads in place of 12, and 3.6 reads in the mean of (6,2,2).
"""

import itertools
import math

import numpy as np
import pytest
from helpers import assert_refused
from random_code import local_code, ranks

from storagekit.analytic.durability import LocalCode, birth_death, local_code_chain

YEAR = 365.25 * 86400
CODES = [(6, 2, 2), (4, 2, 1), (4, 1, 2), (3, 3, 2), (6, 3, 1), (6, 2, 3), (12, 2, 2)]


@pytest.mark.parametrize(
    ("code", "lost", "tolerated", "sets"),
    [
        ((12, 2, 2), 1, 16, 16),
        ((12, 2, 2), 2, 120, 120),
        ((12, 2, 2), 3, 560, 560),
        ((12, 2, 2), 4, 1568, 1820),
        ((12, 2, 2), 5, 0, 4368),
        ((6, 2, 2), 3, 120, 120),
        ((6, 2, 2), 4, 180, 210),
        ((6, 2, 2), 0, 1, 1),
    ],
)
def test_published_counts(code, lost, tolerated, sets):
    local = LocalCode(*code)
    assert local.tolerated(lost) == tolerated and math.comb(local.units, lost) == sets
    assert local.tolerated_share(lost) == pytest.approx(tolerated / sets, rel=1e-15)


def test_published_reads_and_overheads():
    assert LocalCode(12, 2, 2).mean_reads == 6.75 and LocalCode(6, 2, 2).mean_reads == pytest.approx(3.6, rel=1e-15)
    assert LocalCode(12, 2, 2).overhead == pytest.approx(16 / 12) and LocalCode(6, 2, 2).overhead == pytest.approx(
        10 / 6
    )
    # one local group: the reads of a code of k + 2
    assert LocalCode(12, 1, 1).mean_reads == 12


@pytest.mark.parametrize("code", CODES)
def test_tolerated_losses_are_those_of_a_random_code(code):
    """A loss is tolerated if the vectors of the units that are left have full rank."""
    vectors, local = local_code(*code), LocalCode(*code)
    for lost in range(code[1] + code[2] + 2):
        left = np.array([*itertools.combinations(range(local.units), local.units - lost)])
        assert local.tolerated(lost) == np.count_nonzero(ranks(vectors[left]) == code[0])


def test_losses_that_are_not_tolerated_by_groups():
    """252 losses of four units of (12,2,2) are not tolerated: 70 in one group, 140 of three units of a group and a global
    parity, and 42 of two units of a group and both global parities."""
    vectors = local_code(12, 2, 2)
    lost = np.array([*itertools.combinations(range(16), 4)])
    left = np.array([sorted(set(range(16)) - set(one)) for one in lost.tolist()])
    fatal = lost[ranks(vectors[left]) < 12]
    group = np.array([0, 1, 2, 2, *[0] * 6, *[1] * 6])[fatal]
    counts = np.stack([(group == one).sum(axis=1) for one in range(3)])
    largest, parities = counts[:2].max(axis=0), counts[2]
    assert [np.count_nonzero((largest == a) & (parities == b)) for a, b in ((4, 0), (3, 1), (2, 2))] == [70, 140, 42]
    assert len(fatal) == 252


@pytest.mark.parametrize("code", [(5, 1, 1), (12, 1, 3)])
def test_one_local_group_is_a_code_with_one_more_parity(code):
    local, parities = LocalCode(*code), code[2] + 1
    for lost in range(local.units + 1):
        assert local.tolerated(lost) == (math.comb(local.units, lost) if lost <= parities else 0)
    repairs = [3.0, 5.0, 7.0, 11.0][:parities]
    ours = local_code_chain(local, 0.25, repairs)
    theirs = birth_death([(local.units - lost) * 0.25 for lost in range(parities + 1)], repairs)
    assert ours.mttdl == pytest.approx(theirs.mttdl, rel=1e-12)
    assert ours.loss_probability(2.0) == pytest.approx(theirs.loss_probability(2.0), rel=1e-10)


@pytest.mark.parametrize("code", [(4, 2, 1), (3, 3, 1), (2, 2, 2)])
def test_the_chain_is_that_of_all_sets_of_lost_units(code):
    """The mean times to a loss of all tolerated sets solve linear equations; ranks decide which sets are tolerated."""
    vectors, units, rate, repairs = local_code(*code), sum(code), 0.3, (2.0, 5.0)
    sets = [set(one) for lost in range(units + 1) for one in itertools.combinations(range(units), lost)]
    left = [vectors[[unit for unit in range(units) if unit not in one]] for one in sets]
    kept = [
        one for one, rest in zip(sets, left, strict=True) if len(rest) >= code[0] and ranks(rest[None])[0] == code[0]
    ]
    number = {frozenset(one): index for index, one in enumerate(kept)}
    generator = np.zeros((len(kept), len(kept)))
    for one, row in number.items():
        for unit in range(units):
            of_one = repairs[min(len(one), 2) - 1] / len(one) if unit in one else rate
            generator[row, row] -= of_one
            after = one ^ {unit}
            if after in number:
                generator[row, number[after]] += of_one
    expected = np.linalg.solve(-generator, np.ones(len(kept)))[number[frozenset()]]
    chain = local_code_chain(LocalCode(*code), rate, repairs)
    assert chain.mttdl == pytest.approx(expected, rel=1e-9)
    assert chain.states < len(kept)


def test_local_codes_last_longer_than_codes_and_copies():
    """Three copies, a code of 6 + 3 and LRC(6,2,2), with the rates of the paper's model (its order, not its values).

    400 nodes of 16 TB with links of 1 Gbit/s fail once in four years. The first repair of C reads a unit uses 10% of the
    links of all others, and further repairs take 30 minutes. A chain of the number of lost units, in which 180 of 210
    losses of four units are tolerated, gives 3.0e11 years.
    """
    rate, later = 1 / (4 * YEAR), 1 / 1800
    first = {reads: 0.1 * 399 * 1e9 / 8 / (16e12 * reads) for reads in (1, 3.6, 6)}
    copies = birth_death([3 * rate, 2 * rate, rate], [first[1], later]).mttdl
    code = birth_death([n * rate for n in (9, 8, 7, 6)], [first[6], later, later]).mttdl
    local = local_code_chain(LocalCode(6, 2, 2), rate, [first[3.6], later]).mttdl
    assert 20 * copies < code and 5 * code < local
    assert local / YEAR == pytest.approx(3.0e11, rel=0.02)


def test_impossible_codes_raise():
    for build, message in (
        (lambda: LocalCode(12, 5, 2), "data 12 units: it must be a multiple of the number of local groups"),
        (lambda: LocalCode(200, 50, 7), "size of the code 257 units: it must be at most 256"),
        (lambda: LocalCode(12, 2, 0), "global parities 0"),
        (lambda: LocalCode(12, 2, 2).tolerated(17), "lost 17: it must be at most 16, the number of units"),
        (lambda: local_code_chain(LocalCode(12, 2, 2), 1.0, []), "give at least 1"),
        (lambda: local_code_chain(LocalCode(12, 2, 2), -1.0, [1.0]), "failure rate -1"),
        (lambda: local_code_chain(LocalCode(16, 16, 16), 1.0, [1.0]), "more than 1000 states"),
    ):
        assert_refused(build, message)
