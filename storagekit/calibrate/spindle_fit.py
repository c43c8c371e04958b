"""Fit of the spindle of a measured drive: the time of a revolution, from the completion times of requests.

With one outstanding request, each completion is tied to the position of the platter: the last sector of the request has
just passed under the head, at an angle that follows from the geometry. Subtract from each completion time the time in
which the platter turns by this angle. All results are then equal, modulo a revolution.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from scipy import optimize, stats

from storagekit.calibrate.measured_drive import bus_follows

# Largest relative deviation of the revolution from its nominal value.
SEARCHED = 0.01
# Number of requests of the first, coarse search. Each later search has twice as many requests as the search before.
FIRST = 200
# Times of a sector on the bus for the search, seconds: the slowest buses of drives with a buffer took 0.4 ms.
BUSES = np.linspace(0.0, 0.4e-3, 41)
# Completions with a larger deviation, in standard deviations, did not wait for the platter, because of caches or retries.
FAR = 5.0
# If a smaller share of the reads, or of the writes, waits for the platter, a buffer is assumed to complete them.
TIED = 0.5


class Completions(NamedTuple):
    """Arrivals and completions of requests, and their locations.

    arrival, end: times of arrival and completion, seconds. angle: angle of the first sector, in turns. turns: rotation
    from the start of the first sector to the end of the last sector, in turns. sectors: number of sectors. read:
    whether the request is a read.
    """

    arrival: Float[ndarray, "request"]
    end: Float[ndarray, "request"]
    angle: Float[ndarray, "request"]
    turns: Float[ndarray, "request"]
    sectors: Int[ndarray, "request"]
    read: Bool[ndarray, "request"]

    def crossing(self, revolution: float, bus: float) -> Float[ndarray, "request"]:
        """Return the time in seconds from the moment when the first sector is under the head to the completion.

        For a read, the time includes the transfer over the bus (`bus_follows`).
        """
        platter = self.turns * revolution
        return np.where(self.read, bus_follows(platter, self.sectors, bus), platter)

    def some(self, which: ndarray) -> "Completions":
        return Completions(*(column[which] for column in self))


class FittedSpindle(NamedTuple):
    """A fitted spindle; times in seconds.

    revolution: time of a revolution. bus: time of a sector on the bus. revolution_error, bus_error: standard errors of
    these two times; NaN for a bus time that was not fitted. noise: standard deviation of the completion times from the
    times that follow from the position of the platter. wait: time from each arrival until the first sector was under
    the head, computed from the fitted position of the platter instead of the noisy completion time. tied: mask of the
    requests that waited for the platter.
    """

    revolution: float
    revolution_error: float
    bus: float
    bus_error: float
    noise: float
    wait: Float[ndarray, "request"]
    tied: Bool[ndarray, "request"]


def fit_spindle(log: Completions, revolution: float) -> FittedSpindle | None:
    """Fit the spindle to a log.

    Parameters
    ----------
    log : Completions
        Arrivals, completions and locations of requests.
    revolution : float
        Time of a revolution, seconds, with a relative error of at most SEARCHED.

    Returns
    -------
    FittedSpindle or None
        The spindle; None if completions do not coincide at any angle.
    """
    # With times relative to their mean, revolution and phase are almost uncorrelated.
    origin = log.end.mean()
    log = log._replace(end=log.end - origin, arrival=log.arrival - origin)
    main = bool(log.read.sum() >= FIRST // 2)
    first = log.some(log.read == main)
    searched = _search(first, revolution)
    if searched is None:
        return None
    found, bus = searched
    phases = np.array([_phase(log.some(log.read == kind), found, bus) for kind in (False, True)])
    # Only reads of different sizes determine the time of the bus.
    fits_bus = main and np.unique(first.sectors).size > 1
    spread = _spread(_late(first, found, bus, phases))
    scale = np.array([found / max(np.ptp(log.end) / found, 1), found, found, found / first.sectors.max()])
    free = [0, 1, 2, 3] if fits_bus else [0, 1, 2]
    start = np.array([found, *phases, bus])

    def late(given: ndarray, among: Completions) -> ndarray:
        every = start.copy()
        every[free] = start[free] + given * scale[free]
        return _late(among, every[0], every[3], every[1:3])

    kinds = [kind for kind in (False, True) if _is_tied(log.some(log.read == kind), found, bus, phases, spread)]
    among = log.some(np.isin(log.read, kinds))
    fit = optimize.least_squares(late, np.zeros(len(free)), args=(among,), loss="cauchy", f_scale=spread)
    best = start.copy()
    best[free] += fit.x * scale[free]
    off = _late(log, best[0], best[3], best[1:3])
    noise = _spread(off[np.isin(log.read, kinds)])
    tied = (np.abs(off) < FAR * noise) & np.isin(log.read, kinds)
    wait = log.end - off - log.crossing(best[0], best[3]) - log.arrival
    errors = _standard_errors(lambda given: late(given, log.some(tied)), fit.x, noise) * scale[free]
    bus_error = float(errors[3]) if fits_bus else np.nan
    return FittedSpindle(float(best[0]), float(errors[0]), float(best[3]), bus_error, noise, wait, tied)


def _beyond(log: Completions, revolution: float, bus: float) -> ndarray:
    """Return completion times minus the times that follow from the geometry.

    With the true revolution and bus time, the differences are equal modulo a revolution.
    """
    return log.end - log.angle * revolution - log.crossing(revolution, bus)


def _late(log: Completions, revolution: float, bus: float, phases: ndarray) -> ndarray:
    """Return the delay in seconds of each completion relative to the platter, from minus to plus half a revolution."""
    turns = (_beyond(log, revolution, bus) - phases[log.read.astype(int)]) / revolution
    return (turns - np.round(turns)) * revolution


def _coherence(log: Completions, revolution: float, bus: float) -> complex:
    return complex(np.exp(2j * np.pi * _beyond(log, revolution, bus) / revolution).mean()) if log.end.size else 0j


def _phase(log: Completions, revolution: float, bus: float) -> float:
    """Return the phase in seconds of the completions within a turn.

    The phase is the circular mean plus the median deviation from this mean. Caches affect a median less than a mean.
    """
    middle = float(np.angle(_coherence(log, revolution, bus))) / (2 * np.pi) * revolution
    return middle + float(np.median(_late(log, revolution, bus, np.full(2, middle)))) if log.end.size else middle


def _spread(late: ndarray) -> float:
    """Return a robust standard deviation in seconds. It is at least 1e-7, because a scale must not be 0."""
    return max(float(stats.median_abs_deviation(late)) / float(stats.norm.ppf(0.75)), 1e-7)


def _is_tied(log: Completions, revolution: float, bus: float, phases: ndarray, spread: float) -> bool:
    near = np.abs(_late(log, revolution, bus, phases)) < FAR * spread
    return bool(log.end.size and near.mean() > TIED)


def _search(log: Completions, revolution: float) -> tuple[float, float] | None:
    """Return the revolution and the bus time, in seconds, at which completions coincide best.

    The search begins with few requests, and continues with more requests and a narrower range. The search returns None
    if completions coincide no better than by chance.
    """
    count, width, bus = min(FIRST, log.end.size), SEARCHED, None
    best, strength = revolution, 0.0
    while True:
        some = log.some(np.arange(count))
        # This step changes the phase by a quarter of a turn from the first request to the last.
        step = revolution / np.ptp(some.end) / 4
        rates = best * (1 + np.arange(-np.ceil(width / step), np.ceil(width / step) + 1) * step)
        tried = [(abs(_coherence(some, rate, each)), rate, each) for rate in rates for each in _buses(bus)]
        strength, best, bus = max(tried)
        if count == log.end.size:
            break
        count, width = min(2 * count, log.end.size), 3 * step
    # Rayleigh's test: the probability that random completions coincide so well is exp(-20).
    if strength**2 * log.end.size < 20 or strength < 0.2:
        return None
    return float(best), float(bus)


def _buses(bus: float | None) -> ndarray:
    return BUSES if bus is None else np.array([bus])


def _standard_errors(late, at: ndarray, noise: float) -> ndarray:
    slopes = np.asarray(optimize.approx_fprime(at, late, 1e-7))
    return noise * np.sqrt(np.diag(np.linalg.pinv(slopes.T @ slopes)))
