"""Test response times after the loss of a disk: closed forms, counts of accesses, limits of the rebuild, and answers."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import given
from hypothesis import strategies as st

from storagekit.analytic.array.disk_load import operations_of
from storagekit.analytic.array.positioning import spindle
from storagekit.core.units import HOUR
from storagekit.drive import load_drive
from storagekit.faults import Failures
from storagekit.plan import Code, ParityRAID, ReplicatedBricks, SRArrays, schemes
from storagekit.plan.scheme import Parity, SpreadParity

DRIVE = load_drive("rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB")
TB, MB, KIB = 1e12, 1e6, 2**10


def planned(disks: int = 12, **changed):
    question = {"data": 60 * TB, "size": 64 * KIB, "read_share": 0.7, "rate": 300} | changed
    return schemes(DRIVE, disks, **question)


def rows(answer, *given, **more) -> dict:
    return {one.name: one for one in answer.after_failure(*given, **more).ranking}


def test_the_other_disk_of_a_mirror_is_a_queue_of_its_own():
    """It serves all requests: Pollaczek and Khinchine give the mean response time."""
    answer = planned(2, data=18 * TB, rate=30, read_share=1.0, families=[SRArrays(1)])
    found, timing, needs = rows(answer)["RAID 1"], spindle(DRIVE), answer.needs
    (seconds,) = needs.transfers(1.0)
    # seeks between two random addresses
    seeks = timing.hop(np.abs(np.subtract.outer(*[(np.arange(1000) + 0.5) / 1000] * 2)))
    turn = float(DRIVE.revolution)
    mean = seeks.mean() + turn / 2 + seconds.mean()
    square = seeks.var() + turn**2 / 12 + seconds.var() + mean**2
    assert found.lost_mean == pytest.approx(mean + 30 * square / (2 * (1 - 30 * mean)), rel=5e-3)
    assert found.lost_utilization == pytest.approx(30 * mean, rel=2e-3)
    assert found.lost_mean > 1.2 * found.mean


def test_a_part_of_the_requests_goes_to_the_mirror_with_the_loss():
    """Of 6 mirrors, 5 serve as before, and the disk of the sixth serves alone."""
    pairs, pair = (
        planned(12, data=30 * TB, families=[SRArrays(1)]),
        planned(2, data=5 * TB, rate=50, families=[SRArrays(1)]),
    )
    found, alone = rows(pairs)["RAID 10"], rows(pair)["RAID 1"]
    assert found.lost_mean == pytest.approx((5 * found.mean + alone.lost_mean) / 6, rel=1e-6)
    assert found.lost_utilization == pytest.approx(alone.lost_utilization)


@given(st.integers(1, 4), st.integers(2, 12), st.integers(1, 3), st.integers(0, 5), st.floats(0, 1), st.booleans())
def test_every_request_is_one_of_the_operations(parities, data, groups, more, reads, full):
    group = data + parities
    fixed = Parity(group, parities, groups, full)
    spread = SpreadParity(group, parities, groups, full, groups * group + min(more, group - 1))
    for scheme in (fixed, spread):
        after = scheme.after_loss(reads)
        assert sum(one.share for one in after.operations) == pytest.approx(1)
        # in a group that has lost a disk, a request reads and writes only the disks that are left
        intact = scheme is spread and scheme.disks > group
        assert all(max(one.reads, one.writes) <= group - (not intact) for one in after.operations)
        lost = 0 if full else reads * (group / scheme.disks if scheme is spread else 1) / group
        assert sum(one.share for one in after.operations if one.reads == data and not one.writes) >= lost - 1e-12
        assert after.disks == (scheme.disks if scheme is spread else group) - 1
        written = scheme is spread and scheme.disks > groups * group
        assert after.moved == (data + written) / after.disks


def test_operations_of_a_small_group_by_hand():
    """Of 2+1 disks one is lost: a third of the rows has lost data, a third lost parity, and a third other lost data."""
    found = {(one.reads, one.writes, one.returns): one.share for one in Parity(3, 1).after_loss(0.4).operations}
    assert found == pytest.approx(
        {
            (1, 0, False): 0.4 * 2 / 3,
            # lost data is read from the other data and parity
            (2, 0, False): 0.4 / 3,
            # a write to lost data reads the other data, and writes parity
            (1, 1, False): 0.2,
            # without parity there is nothing to calculate
            (0, 1, False): 0.2,
            # old data and parity are read, because the other data are lost
            (2, 2, True): 0.2,
        }
    )


def test_the_busiest_disk_is_that_of_the_ranking():
    """The ranking counts accesses of equal length, and the formulas know which writes return to their disks."""
    answer = planned(families=[ParityRAID(), Code(3, 3)])
    found = rows(answer)
    for one in answer.ranking:
        assert found[one.name].lost_utilization == pytest.approx(one.degraded, rel=0.03)


def test_a_rebuild_adds_its_accesses():
    """Each disk that is left in a group of 5+1 reads the restored bytes in accesses of 1 MB, at random addresses."""
    answer = planned(6, data=90 * TB, rate=100, read_share=1.0, families=ParityRAID())
    slow, fast = (rows(answer, rate)["RAID 5, 5+1"] for rate in (2 * MB, 4 * MB))
    chunk = 2.0**20
    access = float(spindle(DRIVE).mean_seek(np.ones(1))[0]) + float(DRIVE.revolution) / 2
    access += float(DRIVE.overhead) + chunk / float(answer.needs.sequential_rate(1.0))
    for one, rate in ((slow, 2 * MB), (fast, 4 * MB)):
        assert one.rebuilding_utilization - one.lost_utilization == pytest.approx(rate / chunk * access, rel=2e-3)
        assert one.rebuild == pytest.approx(18 * TB / rate, rel=1e-3)
    assert slow.lost_mean < slow.rebuilding_mean < fast.rebuilding_mean and slow.lost_p99 < slow.rebuilding_p99
    without = rows(answer)["RAID 5, 5+1"]
    assert slow.lost == fast.lost == without.lost
    assert math.isnan(without.rebuild) and math.isnan(without.rebuilding_mean)


@pytest.mark.parametrize("depth", [1, 2, 32])
@pytest.mark.parametrize("name", ["RAID 5, 11+1", "RAID 50, 4 x 2+1", "declustered code, 2 x 4+2", "RAID 10"])
def test_the_fastest_rebuild_just_keeps_the_disks_busy(name, depth):
    families = [ParityRAID(), SRArrays(1), Code(4, 2, declustered=True)]
    answer = planned(families=families, rate=200, queue_depth=depth)
    (one,) = (each for each in answer.ranking if each.name.startswith(name) and not each.name.startswith("RAID 10,"))
    answer = replace(answer, ranking=(one,))
    most = rows(answer)[one.name].fastest
    below, above = (rows(answer, factor * most)[one.name] for factor in (0.99, 1.01))
    assert below.rebuilding_utilization < 1 and math.isfinite(below.rebuilding_mean)
    # a spare disk may be slower than the disks that are left
    assert above.rebuilding_utilization >= 1 or most > 0.95 * float(answer.needs.sequential_rate(0.3))
    assert math.isfinite(below.rebuild) and math.isinf(above.rebuild) and math.isinf(above.rebuilding_mean)


def test_a_declustered_code_is_rebuilt_faster_and_disturbs_less():
    fixed, spread = (
        rows(planned(24, data=100 * TB, families=[Code(8, 3, declustered=value)]), 10 * MB) for value in (False, True)
    )
    (fixed,), (spread,) = fixed.values(), spread.values()
    assert spread.fastest > fixed.fastest and spread.rebuilding_mean < fixed.rebuilding_mean


def test_disks_without_redundancy_and_schemes_without_a_formula():
    found = planned(families=[SRArrays(1), ReplicatedBricks(2)]).after_failure()
    assert "RAID 0" not in {one.name for one in found.ranking} and set(found.unknown) == {
        "2 copies, hashing",
        "2 copies, D-SPTF",
    }
    only = planned(families=[ReplicatedBricks(2)]).after_failure()
    assert not only.feasible and "no formula for these schemes; leave out families" in str(only)
    alone = planned(1, data=6 * TB, rate=20).after_failure()
    assert not alone.feasible and "at least two disks" in str(alone)


def test_the_answer_is_printed_and_converted():
    answer = planned(tolerate=1)
    without, during = answer.after_failure(), answer.after_failure(10 * MB)
    assert "max MB/s" in str(without) and "hours" not in str(without)
    assert "while it is rebuilt at 10 MB/s: RAID 10 has the shortest mean" in str(during) and "hours" in str(during)
    content = json.loads(json.dumps(during.to_dict(), allow_nan=False))
    assert content["rebuild_rate"] == 10 * MB and content["ranking"][0]["lost_mean"] == during.ranking[0].lost_mean
    assert float(during.table.rebuild[0]) == during.ranking[0].rebuild
    over = answer.after_failure(400 * MB)
    assert "no scheme can do this; RAID 10, 3 copies allows at most" in str(over) and "too fast" in str(over)
    assert all(math.isinf(one.rebuild) and one.rebuilding_utilization > 1 for one in over.ranking)
    assert json.loads(json.dumps(over.to_dict(), allow_nan=False))["ranking"][0]["rebuilding_mean"] is None


def test_a_chosen_rebuild_rate_determines_the_durability():
    answer, failures = planned(tolerate=1), Failures(0.014)
    slow, fast = (answer.durability(failures, rebuild_rate=rate) for rate in (5 * MB, 10 * MB))
    first, second = ({one.name: one for one in found.ranking} for found in (slow, fast))
    assert first["RAID 10"].rebuild == pytest.approx(2 * second["RAID 10"].rebuild)
    # a mirror loses data nearly in proportion to the time of the rebuild
    assert first["RAID 10"].loss_probability == pytest.approx(2 * second["RAID 10"].loss_probability, rel=0.05)
    assert first["RAID 10"].rebuild == rows(answer, 5 * MB)["RAID 10"].rebuild > HOUR
    assert "restores 5 MB/s" in str(slow)


def test_wrong_questions_are_refused():
    assert_refused(
        lambda: planned(rate=None, outstanding=24).after_failure(), "after_failure with outstanding: .*give rate"
    )
    assert_refused(lambda: planned().after_failure(0.0), "rebuild rate 0")
    assert_refused(lambda: planned().after_failure(1e6, chunk=-1.0), "chunk")


def test_operations_of_an_intact_layout():
    read, write = operations_of(Parity(6, 2).shape, 0.6)
    assert (read.share, read.reads, read.writes) == (0.6, 1, 0)
    assert (write.reads, write.writes, write.returns) == (3, 3, True)
