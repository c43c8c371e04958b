"""Simulate the loss of redundant data with importance sampling, also if lifetimes or rebuild times are not exponential."""

import math
import time
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Int

from storagekit.core.errors import InputError
from storagekit.core.provenance import as_text, made_by
from storagekit.core.validation import Seed, Validator, require, validate
from storagekit.faults import ReliabilityModel
from storagekit.faults.reliability import DISK_FAILS, READ_ERROR
from storagekit.simulation.confidence import LEVEL, STATISTICS
from storagekit.simulation.loss_trial import BEGUN, RATIO, SUMS, TIMES, LossNumbers, sums_of_trials

# Rows of trials that are simulated together, one trial after the other in each row: few on a processor, whose caches
# are small, and many on an accelerator. The rows are independent, so that intervals follow from their means.
ROWS = {"cpu": 2**9}
MANY_ROWS = 2**15
# Disks and kinds of failure domains are padded to these numbers, so that few programs are compiled.
LEAST_DISKS, MOST_KINDS = 16, 4
# Largest number of disks of a group or pool, and the limits of the probability of a biased failure.
MOST_DISKS = 1024
TRIALS = Validator(least=1, most=10**9, whole=True)
YEARS = Validator(least=1e-6, most=1e6, unit="years")
# limit of the mean number of failures in a group in a trial
MOST_FAILURES = 1000
BIAS = Validator(least=0.05, most=0.95)


@validate
def data_loss(
    model: ReliabilityModel,
    years: Annotated[float, YEARS] = 1.0,
    trials: Annotated[int, TRIALS] = 2**15,
    seed: Seed = 0,
    bias: Annotated[float, BIAS] = 0.7,
    level: Annotated[float, LEVEL] = 0.95,
) -> xr.Dataset:
    """Estimate the probability of a data loss by simulation with importance sampling.

    Parameters
    ----------
    model : ReliabilityModel
        The redundant data with their failures and repairs. Lifetimes may be Weibull distributed, and rebuild times may
        be Weibull distributed or constant.
    years : float
        Duration, years, by default 1. The model gives the number of days of a year (`Failures.days`). All disks are new
        at the beginning.
    trials : int
        Smallest number of trials, by default 32,768. It is rounded up to a multiple of 512, or of 32,768 on an
        accelerator.
    seed : int
        Seed of the random numbers, by default 0.
    bias : float
        While a disk is failed, the simulation makes a further failure before the next repair event more probable. `bias`
        is the limit of this probability, from 0.05 to 0.95, by default 0.7. It changes the width of the intervals, but
        not the expected values.
    level : float
        Confidence level of the intervals, above 0 and below 1, by default 0.95.

    Returns
    -------
    Dataset
        With the dimension `statistic` (mean, low, high): `loss_probability` of all groups, `group_loss_probability` of
        one group or pool, `likelihood_ratio`, and `mttdl_years`, the mean time to data loss of all groups. The expected
        value of `likelihood_ratio` is 1, so its interval shows whether the importance sampling works. `mttdl_years` is
        present only for exponential lifetimes and spares that are always available, because only then the system is as good
        as new whenever all disks work. `share` is the share of the losses by `cause`, the last event.

    Raises
    ------
    InputError
        If an argument is out of range, the disks never fail, or there are too many disks or failure domains.

    Notes
    -----
    The module `loss_trial` describes the estimator. The mean time to data loss is the regenerative estimator: the mean
    length of a cycle, divided by the probability that a cycle ends in a loss. Intervals are from the normal
    distribution, with the delta method for a ratio. With few trials or extremely rare losses the intervals are too
    narrow, because trials with a rare large weight may be missing.

    References
    ----------
    Nicola, Shahabuddin and Nakayama, Techniques for fast simulation of models of highly dependable systems, IEEE
    Transactions on Reliability 50(3), 2001, pages 246-264.

    Examples
    --------
    A RAID 6 with constant rebuild times, whose losses are too rare for a simulation without importance sampling.

    >>> import math
    >>> from storagekit.faults import Failures, Redundancy, ReliabilityModel, Repair
    >>> from storagekit.simulation import data_loss
    >>> raid6 = ReliabilityModel(Redundancy(8, 2), Failures(0.02), Repair(24 * 3600.0, shape=math.inf))
    >>> found = data_loss(raid6, trials=4096)
    >>> bool(found.loss_probability.sel(statistic="high") < 1e-6)
    True
    """
    began = time.monotonic()
    year, redundancy = model.failures.year, model.redundancy
    first = _rate(model)
    require(
        first * years * year <= MOST_FAILURES,
        "years",
        years,
        f"such that at most {MOST_FAILURES} disks of a group fail",
    )
    # quantile of the normal distribution
    width = float(jax.scipy.special.ndtri(0.5 + level / 2))
    sums, scale, done = _simulated(model, years * year, years * year, trials, seed, bias)
    lost = sums[:, len(SUMS) :] * scale
    group = np.clip(_ratio_interval(lost.sum(axis=1), np.ones(len(lost)), width), 0, 1)
    with np.errstate(divide="ignore"):
        whole = -np.expm1(redundancy.groups * np.log1p(-group))
    causes = [DISK_FAILS, *(f"{domain.name} fails" for domain in model.domains), READ_ERROR]
    # the padding of the kinds of failure domains is left out
    shares = np.append(lost[:, : len(causes) - 1].sum(axis=0), lost[:, -1].sum())
    found = xr.Dataset(
        {
            "loss_probability": ("statistic", whole),
            "group_loss_probability": ("statistic", group),
            "share": ("cause", shares / shares.sum() if shares.sum() > 0 else shares),
            "likelihood_ratio": ("statistic", _ratio_interval(sums[:, RATIO], sums[:, BEGUN], width)),
        },
        coords={"statistic": STATISTICS, "cause": causes},
    )
    if model.failures.shape == 1 and not model.repair.limited:
        sums, scale, done = _simulated(model, 1 / first, math.inf, trials, seed, bias)
        lengths = (sums[:, BEGUN] + sums[:, TIMES]) / first
        mttdl = _ratio_interval(lengths, sums[:, len(SUMS) :].sum(axis=1) * scale, width)
        found["mttdl_years"] = "statistic", mttdl / (year * redundancy.groups)
    return found.assign_attrs(
        made_by("simulated", [seed], time.monotonic() - began)
        | {"precision": "float32", "backend": jax.default_backend(), "scenario": as_text(model)}
        | {"years": years, "trials": done, "confidence": level, "conventions": list(model.conventions)}
    )


def _ratio_interval(numerators: np.ndarray, denominators: np.ndarray, width: float) -> np.ndarray:
    """Return the mean of the numerators divided by the mean of the denominators, with the interval of this ratio.

    width: half-width of the interval in standard errors. The interval is infinite if all denominators are 0.
    """
    mean = denominators.mean()
    if mean == 0:
        return np.array([math.inf, 0.0, math.inf])
    ratio = numerators.mean() / mean
    error = (numerators - ratio * denominators).std(ddof=1) / math.sqrt(len(numerators)) / mean
    return np.array([ratio, max(0.0, ratio - width * error), ratio + width * error])


def _rate(model: ReliabilityModel) -> float:
    """Return the rate of the first failure of a group in which all disks work."""
    rate = model.redundancy.disks * model.failures.rate
    rate += sum(domain.count * domain.failures.rate for domain in model.domains)
    if not rate > 0:
        raise InputError(
            "failures: the disks never fail, so that no data are lost; give an annual failure rate above 0"
        )
    return rate


def _simulated(
    model: ReliabilityModel, unit: float, duration: float, trials: int, seed: int, bias: float
) -> tuple[np.ndarray, float, int]:
    """Return the mean sums of each row, the scale of its weights, and the number of trials; times are in a unit."""
    rows = ROWS.get(jax.default_backend(), MANY_ROWS)
    numbers, orders = _numbers(model, unit, duration, bias)
    key = jax.random.fold_in(jax.random.key(np.uint32(seed % 2**32)), np.uint32(seed // 2**32))
    each = -(-trials // rows)
    sums = _rows(numbers, jax.random.split(key, rows), jnp.int32(each), orders)
    return np.asarray(sums, float) / each, math.exp(float(numbers.log_scale)), each * rows


@partial(jax.jit, static_argnames="orders")
def _rows(numbers: LossNumbers, keys: Array, trials: Int[Array, ""], orders: int) -> Array:
    return jax.vmap(lambda key: sums_of_trials(numbers, key, trials, orders))(keys)


def _numbers(model: ReliabilityModel, unit: float, duration: float, bias: float) -> tuple[LossNumbers, int]:
    """Return the numbers of one group in a unit of time, and the largest number of ordered spares."""
    redundancy, failures, repair = model.redundancy, model.failures, model.repair
    if redundancy.disks > MOST_DISKS or len(model.domains) > MOST_KINDS:
        raise InputError(
            f"{redundancy.disks} disks of a group and {len(model.domains)} kinds of failure domains: give at most "
            f"{MOST_DISKS} disks and {MOST_KINDS} kinds"
        )
    disks = _padded(redundancy.disks)
    kinds = MOST_KINDS if model.domains else 1
    domain_of = np.full((kinds, disks), -1, np.int32)
    counts, rates = np.zeros(kinds, np.int32), np.zeros(kinds)
    for kind, domain in enumerate(model.domains):
        domain_of[kind, : redundancy.disks] = np.arange(redundancy.disks) // (redundancy.disks // domain.count)
        counts[kind], rates[kind] = domain.count, domain.failures.rate * unit
    rebuild = [repair.time, *(model.rebuild_time(failed) for failed in range(1, redundancy.parities + 1))]
    rebuild += [rebuild[-1]] * (disks + 1 - len(rebuild))
    with np.errstate(over="ignore", under="ignore"):
        hazard = np.float64(unit / failures.scale) ** failures.shape
    initial = duration if math.isfinite(duration) else 1 / _rate(model)
    orders = _padded(redundancy.parities + (repair.spares or 0) + 1) if repair.limited else 1
    return LossNumbers(
        present=jnp.asarray(np.arange(disks) < redundancy.disks),
        parities=_whole(redundancy.parities),
        hazard=_real(hazard),
        life_shape=_real(failures.shape),
        acceleration=_real(failures.acceleration),
        detection=_real(repair.detection / unit),
        rebuild=_real(np.array(rebuild) / unit),
        repair_shape=_real(repair.shape),
        at_once=_real(math.inf if repair.at_once is None else repair.at_once),
        prioritized=jnp.asarray(redundancy.declustered),
        spares=_real((repair.spares or 0) if repair.limited else math.inf),
        refill=_real(repair.refill / unit),
        read_error=_real(model.read_error),
        domain_of=_whole(domain_of),
        domains=_whole(counts),
        domain_rate=_real(rates),
        end=_real(duration / unit),
        initial=_real(initial / unit),
        bias=_real(bias),
        log_scale=_real(_log_scale(model, initial)),
    ), orders


def _log_scale(model: ReliabilityModel, initial: float) -> float:
    """Return the logarithm of the order of magnitude of the loss probability of a group."""
    rate = _rate(model)
    lost = 1.0 if model.read_error else 0.0
    levels = model.redundancy.parities - lost
    windows = model.repair.detection + model.repair.time
    return max(-650.0, math.log(min(1.0, initial * rate)) + levels * math.log(min(1.0, windows * rate)))


def _padded(number: int) -> int:
    return max(LEAST_DISKS, 1 << (number - 1).bit_length())


def _real(value: float | np.ndarray) -> Array:
    return jnp.asarray(value, jnp.float32)


def _whole(value: int | np.ndarray) -> Int[Array, "..."]:
    return jnp.asarray(value, jnp.int32)
