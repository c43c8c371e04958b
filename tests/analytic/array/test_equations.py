"""The SR-Array's formulas: worked values, properties of the optimum, and random draws from the definitions."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.analytic.array import equations
from storagekit.core.errors import InputError
from storagekit.core.units import MS

S, R = 10 * MS, 6 * MS

seconds = st.floats(1e-3, 50e-3)
disks_drawn = st.integers(1, 200)
shares = st.floats(0, 1)
queues = st.floats(0.5, 64)
localities = st.floats(1, 20)
interior = {"full_seek": S, "revolution": R, "disks": 24.0, "share": 0.9, "queue": 8.0, "locality": 1.5}


def assert_within_4_sigma(draws, expected):
    assert abs(draws.mean() - expected) < 4 * draws.std() / np.sqrt(draws.size)
    assert draws.std() / np.sqrt(draws.size) < 0.005 * expected  # a larger error would show nothing


@pytest.mark.parametrize("copies", [1, 2, 5])
def test_the_nearest_of_independent_heads(copies):
    positions = np.random.default_rng(1).random((2, 400_000, copies))
    assert_within_4_sigma(np.abs(positions[0] - positions[1]).min(axis=1) * S, equations.seek_mirrored(S, copies))


def test_heads_that_share_their_target_seek_further():
    """Two heads: 5 S / 24, as in `seek_mirrored`, and not S / 5."""
    generator = np.random.default_rng(2)
    distance = np.abs(generator.random((400_000, 1)) - generator.random((400_000, 2))).min(axis=1)
    assert_within_4_sigma(distance, 5 / 24)


@pytest.mark.parametrize("disks", [1, 4])
def test_the_seek_of_a_stripe(disks):
    positions = np.random.default_rng(3).random((2, 200_000)) / disks
    assert_within_4_sigma(np.abs(positions[0] - positions[1]) * S, equations.seek_striped(S, disks))


@pytest.mark.parametrize("replicas", [1, 3, 6])
def test_rotation_to_even_random_and_all_replicas(replicas):
    generator = np.random.default_rng(4)
    ahead = (np.arange(replicas) / replicas - generator.random((400_000, 1))) % 1 * R
    assert_within_4_sigma(ahead.min(axis=1), equations.rotation_even(R, replicas))
    assert_within_4_sigma(ahead.max(axis=1), equations.rotation_write_all(R, replicas))
    at_random = generator.random((400_000, replicas)) * R
    assert_within_4_sigma(at_random.min(axis=1), equations.rotation_random(R, replicas))


@given(seconds, st.floats(1, 50))
def test_reading_one_and_writing_all_add_up_to_a_revolution(revolution, replicas):
    both = equations.rotation_even(revolution, replicas) + equations.rotation_write_all(revolution, replicas)
    assert both == pytest.approx(revolution, rel=1e-12)


def test_worked_values():
    """S = 10 ms, R = 6 ms, a 2 x 3 array: the seek is a third of 5 ms, the rotation a sixth of 6 ms."""
    assert equations.read_latency(S, R, 2, 3) == pytest.approx((5 / 3 + 1) * MS)
    assert equations.read_latency(S, R, 2, 3, locality=5) == pytest.approx((1 / 3 + 1) * MS)
    assert equations.write_latency(S, R, 2, 3) == pytest.approx((5 / 3 + 5) * MS)
    assert equations.mixed_latency(S, R, 2, 3, 0.75) == pytest.approx((5 / 3 + 0.75 * 1 + 0.25 * 5) * MS)
    assert equations.rlook_service(S, R, 2, 3, 0.75, 10) == pytest.approx((10 / 20 + 2) * MS)
    assert equations.unpropagated_share(60, 10, 30) == pytest.approx(0.7)
    assert equations.disk_throughput(2 * MS, 3 * MS) == pytest.approx(200)
    assert equations.array_throughput(2, 2, 100.0) == pytest.approx(150)
    assert equations.array_throughput(1, 1, 100.0) == pytest.approx(100)


@pytest.mark.parametrize(("locality", "replicas"), [(4.14, 5.8), (16.67, 11.6)])
def test_nine_disks_as_the_paper_quotes_them(locality, replicas):
    """Section 4.1: 5.8 replicas for Cello base and 11.6 for Cello disk 6. Three is the largest allowed divisor of
    nine."""
    optimum = equations.unbounded_replicas(S, R, 9, locality=locality)
    assert round(float(optimum), 1) == replicas
    assert equations.practical_replicas(float(optimum), 9) == 3


def test_six_disks_as_the_paper_divides_them():
    """Figure 7: 2 x 3 is best for Cello base."""
    assert equations.practical_replicas(equations.best_read(S, R, 6, 4.14).replicas, 6) == 3


def test_whole_optima_keep_their_factor_and_the_cap_holds():
    assert equations.practical_replicas(3 - 1e-15, 9) == 3
    assert equations.practical_replicas(2.999, 9) == 1
    assert equations.practical_replicas(50.0, 48) == 6
    assert equations.practical_replicas(50.0, 48, most=48) == 48
    assert equations.practical_replicas(0.2, 48) == 1
    with pytest.raises(InputError, match="disks 0: give a whole number"):
        equations.practical_replicas(3.0, 0)


@given(seconds, seconds, disks_drawn, shares, queues, localities)
def test_no_aspect_within_bounds_beats_the_optimum(full_seek, revolution, disks, share, queue, locality):
    best = equations.best_rlook(full_seek, revolution, disks, share, queue, locality)
    assert 1 - 1e-12 <= best.replicas <= disks * (1 + 1e-12)
    assert best.striping * best.replicas == pytest.approx(disks)
    least = equations.best_rlook_latency(full_seek, revolution, disks, share, queue, locality)
    others = np.append(np.geomspace(1, disks, 50), np.clip(best.replicas * np.array([0.99, 1.01]), 1, disks))
    service = equations.rlook_service(full_seek, revolution, disks / others, others, share, queue, locality)
    assert np.all(service >= least * (1 - 1e-12))


@given(seconds, seconds, disks_drawn, shares, localities)
def test_a_mixed_optimum_beats_every_other(full_seek, revolution, disks, share, locality):
    least = equations.best_mixed_latency(full_seek, revolution, disks, share, locality)
    others = np.geomspace(1, disks, 50)
    assert np.all(
        equations.mixed_latency(full_seek, revolution, disks / others, others, share, locality) >= least * (1 - 1e-12)
    )


def test_without_active_bounds_the_minimum_is_the_papers():
    """Equations 6, 11 and 14 are written out here."""
    assert equations.best_read_latency(S, R, 24, 1.5) == pytest.approx(np.sqrt(2 * S / 1.5 * R / 3 / 24))
    mixed = np.sqrt(2 * S / 1.5 * R * 0.8 / 3 / 24) + 0.1 * R
    assert equations.best_mixed_latency(S, R, 24, 0.9, 1.5) == pytest.approx(mixed)
    stroke = np.sqrt(2 * S / 1.5 * R * 0.8 / 8 / 24) + 0.1 * R
    assert equations.best_rlook_latency(**interior) == pytest.approx(stroke)


def test_the_papers_aspects():
    """Equations 5, 10 and 13 are written out here."""
    assert equations.best_read(S, R, 24) == pytest.approx((np.sqrt(2 * S / 3 / R * 24), np.sqrt(3 * R / 2 / S * 24)))
    mixed = (np.sqrt(2 * S / 3 / R / 0.8 * 24), np.sqrt(3 * R * 0.8 / 2 / S * 24))
    assert equations.best_mixed(S, R, 24, 0.9) == pytest.approx(mixed)
    stroke = (np.sqrt(2 * S / R / 0.8 / 8 * 24), np.sqrt(R * 0.8 * 8 / 2 / S * 24))
    assert equations.best_rlook(S, R, 24, 0.9, 8) == pytest.approx(stroke)


@pytest.mark.parametrize("queue", [1.0, 8.0])
def test_the_gradient_vanishes_at_the_optimum_and_only_there(queue):
    best = float(equations.best_rlook(**interior | {"queue": queue}).replicas)

    def service(replicas):
        return equations.rlook_service(1.0, 0.6, 24.0 / replicas, replicas, 0.9, queue, 1.5)

    slope = jax.grad(service)
    assert abs(float(slope(best))) < 1e-6
    assert float(slope(best / 1.2)) < -1e-4
    assert float(slope(best * 1.2)) > 1e-4


@given(seconds, seconds, disks_drawn, st.floats(0, 0.5), queues)
def test_at_half_foreground_writes_pure_striping_is_best(full_seek, revolution, disks, share, queue):
    assert equations.best_rlook(full_seek, revolution, disks, share, queue) == (disks, 1)
    assert equations.unbounded_replicas(full_seek, revolution, disks, share, queue) == 0


def test_gradients_are_finite_where_striping_is_best():
    slope = jax.grad(equations.best_mixed_latency, argnums=(0, 1, 3))(S, R, 6.0, 0.3)
    assert np.all(np.isfinite(slope))


@given(seconds, seconds, st.integers(2, 50))
def test_latency_falls_with_the_square_root_of_the_disks(full_seek, revolution, disks):
    few, many = (equations.best_read(full_seek, revolution, count) for count in (disks, 4 * disks))
    bounded = min(few.replicas, many.replicas) <= 1 or few.striping <= 1 or many.striping <= 1
    ratio = equations.best_read_latency(full_seek, revolution, disks) / equations.best_read_latency(
        full_seek, revolution, 4 * disks
    )
    assert bounded or ratio == pytest.approx(2)


@given(seconds, seconds, disks_drawn, shares, st.floats(0.1, 3), localities)
def test_up_to_three_requests_seek_at_random(full_seek, revolution, disks, share, queue, locality):
    sparse = equations.rlook_service(full_seek, revolution, disks, 1, share, queue, locality)
    assert sparse == pytest.approx(equations.mixed_latency(full_seek, revolution, disks, 1, share, locality))
    assert equations.best_rlook(full_seek, revolution, disks, share, queue, locality) == pytest.approx(
        equations.best_mixed(full_seek, revolution, disks, share, locality)
    )


def test_throughput_approaches_that_of_all_disks_and_falls_with_one_outstanding_to_one():
    assert equations.array_throughput(12, 1, 100.0) == pytest.approx(100)
    assert equations.array_throughput(12, 1000, 100.0) == pytest.approx(1200)


def test_idle_disks_by_drawing():
    generator = np.random.default_rng(5)
    busy = np.array([np.unique(row).size for row in generator.integers(0, 6, (20_000, 9))])
    assert_within_4_sigma(busy, 6 * (1 - equations.idle_share(6, 9)))


def test_arrays_broadcast_and_jax_agrees():
    replicas, share = np.array([[1.0], [2.0], [3.0]]), np.array([0.6, 1.0])
    found = equations.mixed_latency(S, R, 6 / replicas, replicas, share)
    assert found.shape == (3, 2)
    assert found[1, 0] == pytest.approx(equations.mixed_latency(S, R, 3, 2, 0.6))
    best = jax.jit(lambda p: equations.best_rlook(S, R, 6.0, p, 8.0).replicas)(jax.numpy.asarray(share))
    np.testing.assert_allclose(best, equations.best_rlook(S, R, 6.0, share, 8.0).replicas, rtol=1e-5)
