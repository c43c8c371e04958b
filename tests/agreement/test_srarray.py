"""The engine against srarray's closed forms (sections 2.1 to 2.5), which share no code with it."""

import numpy as np
import pytest

from storagekit.analytic.array import equations
from storagekit.dispatch import NearestIdle
from storagekit.drive import ideal_drive
from storagekit.engine import Scenario, System
from storagekit.placement import SRMirror
from storagekit.schedule import FCFS, RLOOK
from storagekit.simulation import sweep
from storagekit.workload import ClosedLoop, FixedSize, PoissonArrivals, RandomRequests
from storagekit.write import Background, FirstCopy

pytestmark = pytest.mark.optimized

S, R = 8e-3, 6e-3
TRACK = 512
TRANSFER = R / TRACK
# when the expected value is right, four standard errors of 8 seeds miss it once in 200 tests, five once in 600
SIGMAS = 5


def drive(full_seek=S, revolution=R):
    return ideal_drive(full_seek=full_seek, revolution=revolution, sectors_per_track=TRACK)


def one_at_a_time(
    stripes=1, replicas=1, mirrors=1, reads=1.0, locality=1.0, synchronized=0, full_seek=S, revolution=R
) -> Scenario:
    """One request at a time: every request finds all drives idle. All variants differ only in numbers, so there is one
    compilation."""
    system = System(
        drive(full_seek, revolution),
        SRMirror(stripes, replicas, mirrors, most_replicas=4),
        NearestIdle(),
        FCFS(),
        FirstCopy(),
        drives=12,
        slots=2,
        synchronized=synchronized,
    )
    return Scenario(system, ClosedLoop(RandomRequests(FixedSize(512), reads, locality, alignment=1), 1))


def assert_near(found, expected, sigmas=SIGMAS, slack=0.0):
    """The mean over seeds is `expected`, within its standard error. slack: effects that the model leaves out."""
    mean, error = float(found.mean()), float(found.std(ddof=1)) / np.sqrt(found.size)
    assert abs(mean - expected) <= sigmas * error + slack, f"{mean:g} is not {expected:g}, standard error {error:g}"
    assert error < 0.05 * expected  # an error large enough to cover everything shows nothing


def test_the_latencies_of_equations_4_and_7():
    """Reads take S/3D_s + R/2D_r, foreground writes S/3D_s + R - R/2D_r, and so does each component of them.

    The slack is half a sector: an access that follows another without arm movement waits that much less.
    """
    axes = {"reads": [0.0, 1.0], "stripes": [1, 3], "replicas": [1, 2, 4]}
    data = sweep(one_at_a_time, axes, requests=3000, seeds=8)
    half = TRANSFER / 2
    for stripes in axes["stripes"]:
        for replicas in axes["replicas"]:
            at = data.sel(stripes=stripes, replicas=replicas)
            read, write = at.sel(reads=1.0), at.sel(reads=0.0)
            assert_near(read.response, equations.read_latency(S, R, stripes, replicas) + TRANSFER, slack=half)
            assert_near(write.response, equations.write_latency(S, R, stripes, replicas) + TRANSFER, slack=half)
            for found in (read, write):
                assert_near(found.seek, equations.seek_striped(S, stripes), slack=half)
                assert_near(found.rotation, equations.rotation_even(R, replicas), slack=half)
            sweeping = equations.rotation_write_all(R, replicas) - equations.rotation_even(R, replicas)
            np.testing.assert_allclose(write.transfer, sweeping + TRANSFER, rtol=1e-4)


def test_locality_divides_the_seek():
    """S/L replaces S (section 2.3), for any striping; the rotation does not change."""
    axes = {"stripes": [1, 3], "locality": [1.0, 4.14, 16.0]}
    data = sweep(one_at_a_time, axes, requests=3000, seeds=8)
    for stripes in axes["stripes"]:
        for locality in axes["locality"]:
            at = data.sel(stripes=stripes, locality=locality)
            assert_near(at.seek, equations.seek_striped(S / locality, stripes), slack=TRANSFER / 2)
            assert_near(at.response, equations.read_latency(S, R, stripes, 1, locality) + TRANSFER, slack=TRANSFER / 2)


def test_mirrors_wait_R_over_D_plus_1_or_synchronized_R_over_2D():
    """There is no arm. Platters with random phases are replicas at random angles; platters in step are replicas at even
    angles.

    The phases of a run are constant. So R/(D+1) is the mean over many runs, and single runs differ from it.
    """
    axes = {"mirrors": [2, 3], "synchronized": [0, 1], "full_seek": [0.0]}
    data = sweep(one_at_a_time, axes, requests=2000, seeds=64).isel(full_seek=0)
    for mirrors in axes["mirrors"]:
        loose, tied = (data.sel(mirrors=mirrors, synchronized=kind).rotation for kind in (0, 1))
        assert_near(loose, equations.rotation_random(R, mirrors))
        assert_near(tied, equations.rotation_even(R, mirrors), slack=TRANSFER / 2)
        assert float(loose.std()) > 0.03 * R > 3 * float(tied.std())


def nearest_of_resting_heads(heads: int, count: int = 200_000) -> float:
    """Mean distance of a uniform target from the nearest of `heads` that stay where they last served, by simulation."""
    targets = np.random.default_rng(0).random(count)
    at = np.linspace(0, 1, heads)
    total = 0.0
    for target in targets:
        away = np.abs(at - target)
        nearest = int(np.argmin(away))
        total += away[nearest]
        at[nearest] = target
    return total / count


def test_mirrors_seek_less_than_S_over_2D_plus_1():
    """The platter is so fast that only the arm counts. The paper's distances are independent. Heads that stay where
    they last served spread out, so the nearest head is nearer than the paper's: by a factor of 0.81 with two heads,
    0.71 with four."""
    axes = {"mirrors": [2, 4], "revolution": [1e-6]}
    data = sweep(one_at_a_time, axes, requests=4000, seeds=8).isel(revolution=0)
    for mirrors in axes["mirrors"]:
        seek = data.sel(mirrors=mirrors).seek
        assert_near(seek, S * nearest_of_resting_heads(mirrors), slack=0.005 * S / mirrors)
        ratio = float(seek.mean()) / equations.seek_mirrored(S, mirrors)
        assert ratio == pytest.approx({2: 0.81, 4: 0.71}[mirrors], abs=0.02)


def test_a_mirrors_read_latency_is_below_that_of_an_sr_array():
    """Section 2.5: the average of the minimum of a sum is smaller than the sum of the averages. Both have the same
    replicas and span."""
    axes = {"stripes": [1, 3], "synchronized": [1]}
    mirror = sweep(lambda **at: one_at_a_time(mirrors=2, **at), axes, requests=3000, seeds=8)
    spread = sweep(lambda **at: one_at_a_time(replicas=2, **at), axes, requests=3000, seeds=8)
    assert np.all(mirror.response.mean("seed") < 0.97 * spread.response.mean("seed"))


@pytest.mark.slow
def test_masked_writes_are_like_reads():
    """With two requests per second all copies but the first are written in between, and p is 1 (equation 9)."""

    def seldom(reads, replicas):
        system = System(
            drive(),
            SRMirror(2, replicas, most_replicas=3),
            NearestIdle(),
            FCFS(),
            Background(),
            drives=6,
            slots=8,
        )
        return Scenario(system, PoissonArrivals(RandomRequests(FixedSize(512), reads, alignment=1), 2.0))

    data = sweep(seldom, {"reads": [0.0, 1.0], "replicas": [1, 3]}, requests=2000, seeds=16)
    for replicas in (1, 3):
        for reads in (0.0, 1.0):
            at = data.sel(reads=reads, replicas=replicas)
            expected = equations.mixed_latency(S, R, 2, replicas, 1.0) + TRANSFER
            # now and then a request finds a drive busy
            assert_near(at.response, expected, slack=0.02 * expected)
        written = data.sel(replicas=replicas, reads=0.0)
        accesses = written.accesses / written.requests
        np.testing.assert_allclose(accesses, replicas, rtol=5e-3)


def test_equation_16_under_rlook():
    """The throughput of a 2 x 3 array with Q outstanding reads is within 5% of equation 16, with N_1 of equations 12
    and 15 and q = Q/D.

    Two errors cancel. First, disks are idle more often than (1 - 1/D)^Q, which places Q requests independently: 37, 6.3
    and 0.4% of the time at Q = 6, 24 and 96, not 33, 1.3 and 0 (a closed network piles up; with exponential service it
    would be 45, 17 and 5). Second, seeks are shorter than S / q D_s: 1.24, 0.74 and 0.24 ms, not 1.33, 1.00 and 0.25.
    Requests that arrive ahead of the arm join its stroke.
    """
    disks, stripes, replicas = 6, 2, 3
    overhead = 2.7e-3

    def closed(depth):
        system = System(
            ideal_drive(full_seek=S, revolution=R, sectors_per_track=TRACK, overhead=overhead),
            SRMirror(stripes, replicas, most_replicas=3),
            NearestIdle(),
            RLOOK(),
            drives=disks,
            slots=96,
        )
        return Scenario(system, ClosedLoop(RandomRequests(FixedSize(512), 1.0, alignment=1), depth))

    data = sweep(closed, {"depth": [6, 24, 96]}, requests=3000, seeds=8)
    for depth in data.depth.values:
        service = equations.rlook_service(S, R, stripes, replicas, 1.0, depth / disks)
        one_disk = equations.disk_throughput(overhead + TRANSFER, service)
        expected = equations.array_throughput(disks, depth, one_disk)
        at = data.sel(depth=depth)
        assert float(at.request_rate.mean()) == pytest.approx(expected, rel=0.05)
        assert equations.idle_share(disks, depth) < float(at.idle.mean()) < (disks - 1) / (disks + depth - 1)
        stroke = S / (stripes * max(depth / disks, equations.SPARSE_QUEUE))
        assert 0.7 * stroke < float(at.seek.mean()) - overhead < stroke
        assert_near(at.rotation, equations.rotation_even(R, replicas), slack=TRANSFER / 2)
