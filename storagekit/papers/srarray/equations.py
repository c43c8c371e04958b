"""Tests of equations 1 to 16 against limits, brute force and the worked values of section 4.1."""

import numpy as np

from storagekit.analytic.array import equations
from storagekit.core.units import MS
from storagekit.papers.measurement import Measurement
from storagekit.papers.srarray.disk import FORMULAS_DRIVE
from storagekit.papers.srarray.disk_array import WORKLOADS

S, R = FORMULAS_DRIVE.full_seek, FORMULAS_DRIVE.revolution
EXACT = 1e-9
CLOSE = 1e-6


def worked_values() -> dict[str, float]:
    """Return the numbers of replicas that section 4.1 works out for nine disks.

    Returns
    -------
    dict of str to float
        "cello_base" and "cello_disk6": the optimal D_r of each workload, a real number without bounds. "practical": the
        D_r that is possible in practice for Cello base, which divides nine.

    References
    ----------
    srarray, section 4.1.
    """
    locality = {name: WORKLOADS[name].locality for name in ("Cello base", "Cello disk 6")}
    nine = {name: float(equations.unbounded_replicas(S, R, 9, locality=value)) for name, value in locality.items()}
    practical = int(equations.practical_replicas(nine["Cello base"], 9))
    return {"cello_base": nine["Cello base"], "cello_disk6": nine["Cello disk 6"], "practical": float(practical)}


def equations_findings() -> list[Measurement]:
    """Return the findings on equations 1 to 16, each compared with an independent calculation.

    Returns
    -------
    list of Measurement
        One finding for each claim of `srarray.equations`.
    """
    checks = {
        "seek_single": (
            _seeks(),
            "The mean seek times, which are S/3 on one disk, S/(2D+1) on D mirrors and S/3D on D stripes, are "
            "compared with integrals over the seek distance.",
        ),
        "rotation": (
            _rotations(),
            "The waits for the nearest of evenly spaced copies, for the nearest of randomly placed copies, and for "
            "all copies are compared with integrals. The waits for the nearest evenly spaced copy and for all copies "
            "add up to R, the time of a revolution.",
        ),
        "best_read": (
            _best_read(),
            "Equation 5 gives the layout with the minimum of equation 4 on a fine grid, and equation 6 gives the value "
            "of this minimum.",
        ),
        "best_mixed": (
            _best_mixed(),
            "Equations 10 and 11 give the layout and the value of the minimum on a fine grid. For p of at most 1/2, "
            "the optimum is D stripes.",
        ),
        "best_rlook": (
            _best_rlook(),
            "Equations 13 and 14 give the layout and the value of the minimum on a fine grid. For q of at most 3, they "
            "equal equations 10 and 11.",
        ),
        "throughput": (
            _throughput(),
            "Equation 15 is compared with a reciprocal, and equation 16 with an enumeration for two disks.",
        ),
        "rounding": (
            _rounding(),
            "The largest factor of D that does not exceed the optimum is compared with trial division, for every D "
            "up to 48.",
        ),
        "mirror": (_mirror(), "With mirrors, the product D_r x D_m replaces D_r in equation 4."),
        "sqrt": (_square_root(), "With four times as many disks the best latency is half as long."),
    }
    return [
        Measurement(f"srarray.equations.{name}", bool(holds), basis="analytic", note=note)
        for name, (holds, note) in checks.items()
    ]


def _same(one, other, within: float = EXACT) -> bool:
    """Return whether two values, or arrays of values, are equal within a relative tolerance."""
    return bool(np.allclose(one, other, rtol=within, atol=0))


def _middles(count: int = 20_000) -> np.ndarray:
    """Return the midpoints of `count` parts of equal length of the interval from 0 to 1, shape `[count]`."""
    return (np.arange(count) + 0.5) / count


def _seeks() -> bool:
    """Return whether the equations of seek times agree with integrals over the seek distance."""
    few, x = _middles(2_000), _middles()
    single = S * np.abs(few[:, None] - few[None, :]).mean()
    # The distances are independent, each with density 2 (1 - d). So the smallest of D distances exceeds d with
    # probability (1 - d)^(2 D).
    mirrored = [S * np.mean((1 - x) ** (2 * copies)) for copies in (1, 2, 5)]
    found = [float(equations.seek_mirrored(S, copies)) for copies in (1, 2, 5)]
    striped = [float(equations.seek_striped(S, disks)) for disks in (1, 4)]
    return _same(single, S / 3, CLOSE) and _same(mirrored, found, CLOSE) and _same(striped, [S / 3, S / 12])


def _rotations() -> bool:
    """Return whether the equations of rotational waits agree with integrals."""
    x = _middles()
    counts = np.array([1, 2, 3, 6])
    even = [R * np.mean(x / count) for count in counts]
    random = [R * np.mean((1 - x) ** count) for count in counts]
    every = [R * (np.mean(x / count) + (count - 1) / count) for count in counts]
    return (
        _same(even, equations.rotation_even(R, counts))
        and _same(random, equations.rotation_random(R, counts), CLOSE)
        and _same(every, equations.rotation_write_all(R, counts))
        and _same(equations.rotation_even(R, counts) + equations.rotation_write_all(R, counts), R)
    )


def _least(latency, disks: float) -> tuple[float, float]:
    """Return the number of replicas with the smallest latency on a fine grid, and this latency."""
    replicas = np.geomspace(1, disks, 200_001)
    values = latency(disks / replicas, replicas)
    best = int(np.argmin(values))
    return float(replicas[best]), float(values[best])


def _best_read() -> bool:
    """Return whether equations 5 and 6 agree with the minimum of equation 4 on a grid."""
    replicas, latency = _least(lambda s, r: equations.read_latency(S, R, s, r), 9)
    best = equations.best_read(S, R, 9)
    return _same(best.replicas, replicas, 1e-4) and _same(equations.best_read_latency(S, R, 9), latency, CLOSE)


def _best_mixed() -> bool:
    """Return whether equations 10 and 11 agree with a minimum on a grid, and give D_r = 1 for p of at most 1/2."""
    replicas, latency = _least(lambda s, r: equations.mixed_latency(S, R, s, r, 0.8), 24)
    best = equations.best_mixed(S, R, 24, 0.8)
    low = [float(equations.best_mixed(S, R, 24, share).replicas) for share in (0.0, 0.3, 0.5)]
    found = equations.best_mixed_latency(S, R, 24, 0.8)
    return _same(best.replicas, replicas, 1e-4) and _same(found, latency, CLOSE) and low == [1.0, 1.0, 1.0]


def _best_rlook() -> bool:
    """Return whether equations 13 and 14 agree with a minimum on a grid, and equation 13 with equation 10 for q = 2."""
    replicas, latency = _least(lambda s, r: equations.rlook_service(S, R, s, r, 0.9, 8.0), 24)
    best = equations.best_rlook(S, R, 24, 0.9, 8.0)
    found = equations.best_rlook_latency(S, R, 24, 0.9, 8.0)
    sparse = equations.best_rlook(S, R, 24, 0.9, 2.0).replicas
    same = _same(sparse, equations.best_mixed(S, R, 24, 0.9).replicas)
    return _same(best.replicas, replicas, 1e-4) and _same(found, latency, CLOSE) and same


def _throughput() -> bool:
    """Return whether equation 15 agrees with a reciprocal, and equation 16 with an enumeration for two disks."""
    one = equations.disk_throughput(FORMULAS_DRIVE.overhead, 5 * MS - FORMULAS_DRIVE.overhead)
    # Three requests go to two disks in eight ways. Two of these ways leave a disk idle.
    return _same(one, 200.0) and _same(equations.array_throughput(2, 3, one), 2 * (1 - 1 / 8) * one)


def _rounding() -> bool:
    """Return whether the practical number of replicas agrees with trial division for every D up to 48."""
    optimum = np.linspace(1, 48, 95)
    return all(
        int(equations.practical_replicas(best, disks, 48))
        == max(d for d in range(1, disks + 1) if disks % d == 0 and d <= best)
        for disks in range(1, 49)
        for best in optimum
    )


def _mirror() -> bool:
    """Return whether D_r x D_m takes the place of D_r in equation 4."""
    mirrored = float(equations.read_latency(S, R, 3, 2 * 2))
    return _same(mirrored, S / 9 + R / 8)


def _square_root() -> bool:
    """Return whether the best latency with four times as many disks is half as long."""
    return _same(equations.best_read_latency(S, R, 4.0), 2 * equations.best_read_latency(S, R, 16.0))
