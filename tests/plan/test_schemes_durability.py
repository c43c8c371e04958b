"""Test the durability of ranked schemes: closed forms, the rebuild time under load, and schemes that cannot be assessed."""

import json
import math

import pytest
from helpers import assert_refused

from storagekit.analytic.durability import durability
from storagekit.core.units import HOUR
from storagekit.drive import load_drive
from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair
from storagekit.plan import Code, ParityRAID, ReplicatedBricks, SRArrays, schemes

DRIVE = load_drive("rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB")
TB, KIB = 1e12, 2**10
AFR = Failures(0.014)


def planned(disks: int = 12, **changed):
    question = {"data": 60 * TB, "size": 64 * KIB, "read_share": 0.7, "rate": 300} | changed
    return schemes(DRIVE, disks, **question)


def rows(answer, **given) -> dict:
    return {one.name: one for one in answer.durability(AFR, **given).ranking}


def test_disks_without_redundancy_lose_data_with_the_first_failure():
    found = rows(planned())["RAID 0"]
    assert found.loss_probability == pytest.approx(1 - (1 - 0.014) ** 12)
    assert math.isnan(found.rebuild) and found.path == "100%: disk fails"


def test_a_mirror_has_the_known_mean_time_to_data_loss():
    """Two disks that fail at the rate L and are rebuilt at the rate M lose data after (3 L + M) / (2 L^2)."""
    answer = planned(2, data=10 * TB, rate=30)
    found, year = rows(answer)["RAID 1"], AFR.year
    fails, repaired = (
        AFR.rate * year,
        year / answer.ranking[[one.name for one in answer.ranking].index("RAID 1")].rebuild,
    )
    assert found.mttdl_years == pytest.approx((3 * fails + repaired) / (2 * fails**2))


@pytest.mark.parametrize("name", ["RAID 10", "RAID 6, 10+2", "RAID 50, 4 x 2+1"])
def test_the_groups_and_the_rebuild_are_those_of_the_scheme(name):
    answer = planned()
    (one,) = [one for one in answer.ranking if one.name == name]
    groups = {"RAID 10": (1, 1, 6), "RAID 6, 10+2": (10, 2, 1), "RAID 50, 4 x 2+1": (2, 1, 4)}[name]
    filled = 60 * TB / one.usable * DRIVE.capacity * 512
    model = ReliabilityModel(
        Redundancy(*groups, capacity=filled), AFR, Repair(one.rebuild, detection=HOUR), bit_error_rate=1e-15
    )
    found = rows(answer, detection=HOUR, bit_error_rate=1e-15, years=2.0)[name]
    assert found.loss_probability == durability(model, 2.0).loss_probability


def test_a_declustered_pool_is_rebuilt_in_the_time_of_the_ranking():
    answer = planned(24, data=100 * TB, families=[Code(8, 3), Code(8, 3, declustered=True)])
    (one,) = [one for one in answer.ranking if "declustered" in one.name]
    found = rows(answer)[one.name]
    hours = next(line for line in found.durability.conventions if "rebuild times" in line)
    assert f"with a mean of {one.rebuild / HOUR:.4g} h for one failed disk" in hours


def test_schemes_that_cannot_be_assessed_are_named():
    # in a ring of bricks the loss of two neighbours loses data, and of others does not
    answer = planned(families=[SRArrays(1), ReplicatedBricks(2)]).durability(AFR)
    assert set(answer.unknown) == {"2 copies, hashing", "2 copies, D-SPTF"} and "no formula: " in str(answer)
    busy = planned(24, data=250 * TB, read_share=0.8, rate=1000, tolerate=2, families=ParityRAID()).durability(AFR)
    assert busy.never and not busy.feasible and "reduce the load" in str(busy)


def test_the_answer_is_sorted_printed_and_converted():
    answer = planned(tolerate=1).durability(AFR, at_once=1)
    losses = [one.loss_probability for one in answer.ranking]
    assert losses == sorted(losses) and answer.recommended.prediction.tolerates == 3
    assert "most durable: code, 2 x 3+3: data loss in 1 year with probability" in str(answer)
    assert "repair is serial: one disk at a time" in str(answer).lower()
    answered = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert answered["ranking"][0]["loss_probability"] == losses[0] and answered["ranking"][0]["causes"]
    assert float(answer.table.nines[0]) == pytest.approx(-math.log10(losses[0]))


def test_impossible_questions_are_refused():
    assert_refused(
        lambda: planned(rate=None, outstanding=24).durability(AFR), "durability with outstanding: .*give rate instead"
    )
    assert_refused(
        lambda: planned(rate=50_000).durability(AFR), "nothing to assess, because the question has no answer"
    )
    assert_refused(lambda: planned().durability(0.014), "failures: given 0.014; give the failures of a disk, such as")
    assert_refused(lambda: planned().durability(AFR, bit_error_rate=2), "bit error rate 2: it must be between 0 and 1")
