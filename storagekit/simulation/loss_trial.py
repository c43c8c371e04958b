"""Trials of the loss of redundant data, event by event, with importance sampling.

A trial follows the disks of one group or pool. It has two phases. Until a random time T_0, events have their true
probabilities. If all disks work at T_0, one of them (or a failure domain) fails at T_0. From then on failures are made
frequent, until all disks work again, data are lost, or the duration ends. The weight of a loss is the likelihood ratio
of all choices, times the true failure rate at T_0, times the duration. The mean weight is the probability of a loss
within the duration, because every loss belongs to exactly one period between two times at which all disks work, and T_0
is uniformly distributed.

In the second phase the next repair event is sampled first, from any distribution. Let d be the time to this event, and w
the mean time of a repair. A failure occurs before the event (forcing) with the probability bias (1 - exp(-d / w)), or with
the true probability if the true probability is higher. The time of the failure is exponential with the mean rate of this
period. For one half of the added failures, a disk and each kind of domain have equal probabilities (balanced failure
biasing). For the other half, the probabilities are in proportion to the failure rates.

References
----------
Nicola, Shahabuddin and Nakayama, Techniques for fast simulation of models of highly dependable systems, IEEE
Transactions on Reliability 50(3), 2001, sections III and IV.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

# Conditions of a disk.
WORKING, UNDETECTED, QUEUED, REBUILDING = range(4)
# Least age of a disk, as a share of the duration: the hazard of a Weibull distribution may be infinite at 0.
LEAST_AGE = 1e-12
# Least failure rate from which times are drawn, in units of the duration.
LEAST_RATE = 1e-12
# Cause of no loss.
KEPT = -1
# Sums over trials that precede the sums of weights of losses by cause: trials with a first failure, likelihood ratios, and
# durations since the first failure times their weights.
SUMS = BEGUN, RATIO, TIMES = range(3)


class LossNumbers(NamedTuple):
    """The numbers of a group, with the duration as the unit of time. Arrays are padded, so that groups share a program.

    A trial follows the group for the duration, or for a cycle: from a time at which all disks work until the next such
    time.

    present: mask of the disks. hazard, life_shape: c and b of the cumulative hazard c a^b of a disk of age a.
    rebuild: mean rebuild time, by number of failed disks. prioritized: whether only the disk that failed last is rebuilt
    (declustered pools). domain_of: for each kind of domain and each disk, the number of the domain of the disk.
    end: the duration, infinite for a cycle. initial: the duration or, for a cycle, the mean time to the first failure.
    log_scale: the weights of losses are divided by the exponential of this number, so that float32 can represent their
    sums.
    """

    present: Bool[Array, " disk"]
    parities: Int[Array, ""]
    hazard: Float[Array, ""]
    life_shape: Float[Array, ""]
    acceleration: Float[Array, ""]
    detection: Float[Array, ""]
    rebuild: Float[Array, " failed"]
    repair_shape: Float[Array, ""]
    at_once: Float[Array, ""]
    prioritized: Bool[Array, ""]
    spares: Float[Array, ""]
    refill: Float[Array, ""]
    read_error: Float[Array, ""]
    domain_of: Int[Array, "kind disk"]
    domains: Int[Array, " kind"]
    domain_rate: Float[Array, " kind"]
    end: Float[Array, ""]
    initial: Float[Array, ""]
    bias: Float[Array, ""]
    log_scale: Float[Array, ""]


class Trial(NamedTuple):
    """State of a trial, and the sums over the earlier trials.

    due: time to the detection of each failed disk, or to the end of its rebuild. orders: times to the arrival of spares.
    left: time to the end of the phase. rest: duration of the second phase. elapsed: time since the first failure.
    trials: number of trials that are left. cause: `KEPT` without a loss; 0 if the last failure was a failure of a disk;
    k if it was a failure of domain kind k, from 1; the number after the last kind for a read error.
    """

    key: PRNGKeyArray
    condition: Int[Array, " disk"]
    due: Float[Array, " disk"]
    age: Float[Array, " disk"]
    orders: Float[Array, " order"]
    left: Float[Array, ""]
    rest: Float[Array, ""]
    biased: Bool[Array, ""]
    log_initial: Float[Array, ""]
    log_ratio: Float[Array, ""]
    elapsed: Float[Array, ""]
    cause: Int[Array, ""]
    done: Bool[Array, ""]
    trials: Int[Array, ""]
    sums: Float[Array, " sum"]


class Draws(NamedTuple):
    """Random numbers of one event: exponential and uniform variables."""

    disk: Float[Array, " disk"]
    queue: Float[Array, " disk"]
    kind: Float[Array, " kinds"]
    member: Float[Array, " kind"]
    times: Float[Array, "4"]
    uniform: Float[Array, "4"]


class Failure(NamedTuple):
    """The next failure. occurs: whether it occurs. log_ratio: logarithm of its likelihood ratio."""

    occurs: Bool[Array, ""]
    time: Float[Array, ""]
    kind: Int[Array, ""]
    disks: Bool[Array, " disk"]
    log_initial: Float[Array, ""]
    log_ratio: Float[Array, ""]


def sums_of_trials(
    numbers: LossNumbers, key: PRNGKeyArray, trials: Int[Array, ""], orders: int
) -> Float[Array, " sum"]:
    """Return sums over several trials, one after the other.

    Parameters
    ----------
    numbers : LossNumbers
        The group.
    key : PRNGKeyArray
        Key of the random numbers of the trials.
    trials : int
        Number of trials, at least 1.
    orders : int
        Largest number of ordered spares; 1 if spares are always available.

    Returns
    -------
    array of float, shape `[sum]`
        The sums `SUMS`, followed by the weights of the losses by cause, in units of the exponential of `log_scale`.
    """
    key, first = jax.random.split(key)
    begin = _begun(numbers, jax.random.uniform(first), orders)._replace(key=key, trials=trials)

    def advanced(now: Trial) -> Trial:
        key, draws = _draws(numbers, now.key)
        after = _event(numbers, now._replace(key=key), draws)
        summed = after._replace(
            trials=after.trials - after.done, sums=after.sums + jnp.where(after.done, _added(numbers, after), 0.0)
        )
        next_trial = _begun(numbers, draws.uniform[3], orders)._replace(key=key, trials=summed.trials, sums=summed.sums)
        return jax.tree.map(lambda new, old: jnp.where(after.done, new, old), next_trial, summed)

    return jax.lax.while_loop(lambda now: now.trials > 0, advanced, begin).sums


def _begun(numbers: LossNumbers, uniform: Float[Array, ""], orders: int) -> Trial:
    """Return the state at the beginning of a trial, without a key and earlier trials."""
    disks, causes = numbers.present.size, numbers.domains.size + 2
    start = uniform * jnp.where(jnp.isfinite(numbers.end), numbers.end, 0.0)
    nothing = jnp.zeros(())
    return Trial(
        key=jax.random.key(0),
        condition=jnp.zeros(disks, jnp.int32),
        due=jnp.full(disks, np.inf),
        age=jnp.zeros(disks),
        orders=jnp.full(orders, np.inf),
        left=start,
        rest=numbers.end - start,
        biased=jnp.zeros((), bool),
        log_initial=nothing,
        log_ratio=nothing,
        elapsed=nothing,
        cause=jnp.full((), KEPT, jnp.int32),
        done=jnp.zeros((), bool),
        trials=jnp.zeros((), jnp.int32),
        sums=jnp.zeros(len(SUMS) + causes),
    )


def _added(numbers: LossNumbers, end: Trial) -> Float[Array, " sum"]:
    """Return what a finished trial adds to the sums."""
    weight = jnp.exp(end.log_initial + end.log_ratio - numbers.log_scale)
    time = end.elapsed * jnp.exp(end.log_initial + end.log_ratio)
    # a loss before the first biased failure belongs to an earlier period
    lost = jnp.where(end.cause == jnp.arange(numbers.domains.size + 2), weight, 0.0)
    found = jnp.concatenate([jnp.stack([1.0, jnp.exp(end.log_ratio), time]), lost])
    return jnp.where(end.biased, found, 0.0)


def _event(numbers: LossNumbers, now: Trial, draws: Draws) -> Trial:
    """Return the state after the next event."""
    failed = numbers.present & (now.condition != WORKING)
    starting = ~now.biased & (now.left <= 0)
    healthy = ~jnp.any(failed)
    # In a declustered pool the disk that failed last is rebuilt first; younger failures have smaller ages.
    running = ~numbers.prioritized | (now.age <= jnp.min(jnp.where(failed, now.age, jnp.inf)))
    due = jnp.where(running, now.due, jnp.inf)
    window = jnp.minimum(jnp.minimum(jnp.min(due), jnp.min(now.orders)), now.left)
    failure = _failure(numbers, now, draws, window, starting, starting & healthy)
    elapsed = jnp.where(starting, 0.0, jnp.where(failure.occurs, failure.time, window))
    passed = now._replace(
        due=jnp.where(running, now.due - elapsed, now.due),
        age=now.age + elapsed,
        orders=now.orders - elapsed,
        left=jnp.where(starting, now.rest, now.left - elapsed),
        biased=now.biased | (starting & healthy),
        log_initial=now.log_initial + failure.log_initial,
        log_ratio=now.log_ratio + failure.log_ratio,
        elapsed=now.elapsed + jnp.where(now.biased, elapsed, 0.0),
        done=starting & ~healthy,
    )
    quiet = ~starting & ~failure.occurs
    first = jnp.argmin(due)
    comes_due = quiet & (due[first] <= window)
    arrives = quiet & ~comes_due & (jnp.min(now.orders) <= window)
    after = _failed(numbers, passed, draws, failure)
    after = _repaired(numbers, after, draws, comes_due, first)
    after = after._replace(
        orders=jnp.where(arrives & (jnp.arange(now.orders.size) == jnp.argmin(now.orders)), jnp.inf, after.orders)
    )
    after = _started(numbers, after, draws)
    over = quiet & ~comes_due & ~arrives & now.biased
    again = now.biased & ~jnp.any(numbers.present & (after.condition != WORKING))
    return after._replace(done=after.done | over | again | (after.cause != KEPT))


def _draws(numbers: LossNumbers, key: PRNGKeyArray) -> tuple[PRNGKeyArray, Draws]:
    disks, kinds = numbers.present.size, numbers.domains.size
    key, own = jax.random.split(key)
    drawn = jax.random.uniform(own, (2 * disks + 2 * kinds + 9,))
    uniform, exponential = drawn[:4], -jnp.log1p(-drawn[4:])
    disk, queue, kind, member, times = jnp.split(exponential, np.cumsum([disks, disks, kinds + 1, kinds]))
    return key, Draws(disk, queue, kind, member, times, uniform)


def _failure(
    numbers: LossNumbers,
    now: Trial,
    draws: Draws,
    window: Float[Array, ""],
    starting: Bool[Array, ""],
    initial: Bool[Array, ""],
) -> Failure:
    """Return the next failure within a window of time that ends with the next other event."""
    working = numbers.present & (now.condition == WORKING)
    factor = jnp.where(jnp.all(~numbers.present | working), 1.0, numbers.acceleration)
    shape, before = numbers.life_shape, jnp.maximum(now.age, LEAST_AGE)
    domain_rates = numbers.domains * numbers.domain_rate
    domain_rate = jnp.sum(domain_rates)

    def cumulative(span: Float[Array, ""]) -> Float[Array, ""]:
        ends = jnp.maximum(now.age + span, LEAST_AGE) ** shape
        return numbers.hazard * factor * jnp.sum(jnp.where(working, ends - before**shape, 0.0)) + domain_rate * span

    # phase 1: the true times of the next failures
    lives = (before**shape + draws.disk / (factor * numbers.hazard)) ** (1 / shape) - before
    true_times = jnp.append(jnp.min(jnp.where(working, lives, jnp.inf)), jnp.min(draws.member / domain_rates))
    # phase 2: a failure with the true probability or more, at an exponential time with the mean rate of the window
    mean_rate = jnp.where(window > 0, jnp.maximum(cumulative(window) / window, LEAST_RATE), LEAST_RATE)
    true = -jnp.expm1(-mean_rate * window)
    repair = numbers.detection + numbers.rebuild[jnp.sum(numbers.present & ~working)]
    bias = jnp.maximum(true, -jnp.expm1(-window / repair) * numbers.bias)
    drawn = jnp.where(starting, 0.0, -jnp.log1p(-draws.uniform[0] * true) / mean_rate)
    then = jnp.maximum(now.age + drawn, LEAST_AGE)
    hazards = jnp.where(working, factor * numbers.hazard * shape * then ** (shape - 1), 0.0)
    rates = jnp.append(jnp.sum(hazards), domain_rates)
    even = (rates > 0) / jnp.maximum(jnp.sum(rates > 0), 1)
    balanced = jnp.where(starting, 0.5, 0.5 * (1 - true / jnp.maximum(bias, true + LEAST_RATE)))
    chances = (1 - balanced) * rates / jnp.sum(rates) + balanced * even
    chosen = now.biased | starting
    kind = jnp.where(
        chosen,
        jnp.argmin(draws.kind / chances),
        jnp.where(true_times[0] <= true_times[1], 0, 1 + jnp.argmin(draws.member / domain_rates)),
    )
    bias = jnp.where(jnp.any(rates > 0), bias, 0.0)
    forced = draws.uniform[1] < bias
    occurs = jnp.where(starting, initial, jnp.where(now.biased, forced, jnp.min(true_times) < window))
    time = jnp.where(chosen, drawn, jnp.min(true_times))
    # the likelihood ratio
    log_rate = jnp.log(rates[kind] / chances[kind])
    log_density = jnp.log(bias / true * mean_rate) - mean_rate * time
    ratio = jnp.where(occurs, log_rate - log_density - cumulative(time), -jnp.log1p(-bias) - cumulative(window))
    # the disks
    disk = jnp.argmin(jnp.where(working, jnp.where(chosen, draws.disk / hazards, lives), jnp.inf))
    domain = (draws.uniform[2] * numbers.domains[kind - 1]).astype(jnp.int32)
    destroyed = jnp.where(kind == 0, jnp.arange(working.size) == disk, numbers.domain_of[kind - 1] == domain)
    return Failure(
        occurs,
        time,
        kind,
        occurs & working & destroyed,
        jnp.where(initial, log_rate + jnp.log(numbers.initial), 0.0),
        jnp.where(now.biased, ratio, 0.0),
    )


def _failed(numbers: LossNumbers, now: Trial, draws: Draws, failure: Failure) -> Trial:
    """Return the state after a failure, if one occurs: its disks are undetected, or data are lost."""
    condition = jnp.where(failure.disks, UNDETECTED, now.condition)
    number = jnp.sum(condition != WORKING)
    rebuild = (numbers.detection + numbers.rebuild[number]) * _weibull(draws.times[1], numbers.repair_shape)
    # Each disk of a failed domain is detected by itself.
    detection = numbers.detection * draws.queue
    condition = jnp.where(failure.disks & numbers.prioritized, REBUILDING, condition)
    lost = failure.occurs & (number > numbers.parities)
    return now._replace(
        condition=condition,
        due=jnp.where(failure.disks, jnp.where(numbers.prioritized, rebuild, detection), now.due),
        age=jnp.where(failure.disks, 0.0, now.age),
        cause=jnp.where(lost, failure.kind, now.cause),
    )


def _repaired(
    numbers: LossNumbers, now: Trial, draws: Draws, comes_due: Bool[Array, ""], first: Int[Array, ""]
) -> Trial:
    """Return the state after the detection or the rebuild of the first due disk, if it comes due."""
    one = comes_due & (jnp.arange(now.due.size) == first)
    rebuilt = comes_due & (now.condition[first] == REBUILDING)
    detected = comes_due & ~rebuilt
    # a read error of a critical group
    critical = rebuilt & (jnp.sum(now.condition != WORKING) == numbers.parities)
    true = numbers.read_error
    used = jnp.where(now.biased & (true > 0) & (true < 0.5), 0.5, true)
    error = critical & (draws.uniform[0] < used)
    ratio = jnp.where(error, jnp.log(true / used), jnp.log1p(-true) - jnp.log1p(-used))
    order = detected & jnp.isfinite(numbers.spares)
    slot = jnp.arange(now.orders.size) == jnp.argmax(now.orders)
    return now._replace(
        condition=jnp.where(one, jnp.where(rebuilt, WORKING, QUEUED), now.condition),
        due=jnp.where(one, jnp.inf, now.due),
        age=jnp.where(one & rebuilt, 0.0, now.age),
        orders=jnp.where(order & slot, numbers.refill * draws.times[2], now.orders),
        log_ratio=now.log_ratio + jnp.where(critical & now.biased & (used < 1), ratio, 0.0),
        cause=jnp.where(error, numbers.domains.size + 1, now.cause),
    )


def _started(numbers: LossNumbers, now: Trial, draws: Draws) -> Trial:
    """Return the state after the start of a rebuild of a random queued disk, if a spare and a repairer are available."""
    queued, rebuilding = now.condition == QUEUED, jnp.sum(now.condition == REBUILDING)
    detected = jnp.sum(queued) + rebuilding
    # Each detected failure has taken a spare or ordered one. Orders beyond the number of spares are still awaited.
    without_spare = jnp.maximum(0, jnp.sum(jnp.isfinite(now.orders)) - numbers.spares)
    starts = jnp.any(queued) & (rebuilding < jnp.minimum(numbers.at_once, detected - without_spare))
    chosen = jnp.argmin(jnp.where(queued, draws.disk, jnp.inf))
    one = starts & (jnp.arange(queued.size) == chosen)
    time = numbers.rebuild[1] * _weibull(draws.times[3], numbers.repair_shape)
    return now._replace(condition=jnp.where(one, REBUILDING, now.condition), due=jnp.where(one, time, now.due))


def _weibull(exponential: Float[Array, ""], shape: Float[Array, ""]) -> Float[Array, ""]:
    """Return a Weibull variable with mean 1; it is constant for an infinite shape."""
    return exponential ** (1 / shape) * jnp.exp(-gammaln(1 + 1 / shape))
