"""Estimate the probability of a rare event of any Markov model by multilevel splitting."""

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from storagekit.core.errors import InputError
from storagekit.core.provenance import made_by
from storagekit.core.student_t import half_width
from storagekit.core.validation import COUNT, Seed, Validator, called, require_takes, several, shown, validate
from storagekit.simulation.confidence import LEVEL, STATISTICS

Function = Annotated[Callable, called]
# Limits of the number of trials of a level and of the number of repetitions: all are in memory at the same time.
LEVELS = Validator(least=-1e30, most=1e30)
TRIALS, REPETITIONS = COUNT.up_to(2**16), COUNT.up_to(2**10)


@validate
def splitting(
    start: Function,
    step: Function,
    level: Function,
    over: Function,
    levels: Annotated[Sequence[float], several(LEVELS, 1, "levels")],
    trials: Annotated[int, TRIALS] = 1024,
    repetitions: Annotated[int, REPETITIONS] = 32,
    seed: Seed = 0,
    confidence: Annotated[float, LEVEL] = 0.95,
) -> xr.Dataset:
    """Estimate the probability that a Markov model reaches a high level before a trial is over.

    Parameters
    ----------
    start : callable
        `start(key)` returns the first state, arrays of fixed shapes.
    step : callable
        `step(key, state)` returns the next state.
    level : callable
        `level(state)` returns the level of a state, a number, such as the length of a queue.
    over : callable
        `over(state)` returns whether a trial is over. Every trial must end or reach the highest level.
    levels : sequence of float
        Increasing levels above the level of the first state. The rare event is that a trial reaches the last level. Choose
        levels so that each is reached from the previous level with a probability of about 0.1 to 0.3.
    trials : int
        Number of trials from each level, by default 1,024.
    repetitions : int
        Number of independent repetitions of the whole estimate, by default 32. The interval follows from them.
    seed : int
        Seed of the random numbers, by default 0.
    confidence : float
        Confidence level of the intervals, above 0 and below 1, by default 0.95.

    Returns
    -------
    Dataset
        `probability`, with the dimension `statistic` (mean, low, high), and `reached`, with the dimension `level`: the
        mean share of the trials that reach this level from the previous level.

    Raises
    ------
    InputError
        If an argument is invalid, or the levels do not increase.

    Notes
    -----
    All trials begin in the first state and run until they reach the first level, or are over. The trials of each further
    level begin in states that are drawn at random from the final states of the successful trials of the previous level.
    Each level has the same number of trials (fixed effort). The product of the shares of successful trials over all
    levels is an unbiased estimate of the probability.

    References
    ----------
    Garvels, The Splitting Method in Rare Event Simulation, thesis, University of Twente, 2000, section 2.3.

    Examples
    --------
    A gambler with a capital of 1 wins or loses 1 in each game, and wins with probability 0.4. The probability that the
    capital reaches 10 before 0 is 8.8e-3.

    >>> import jax
    >>> from storagekit.simulation import splitting
    >>> found = splitting(
    ...     start=lambda key: 1,
    ...     step=lambda key, wealth: wealth + 2 * jax.random.bernoulli(key, 0.4).astype(int) - 1,
    ...     level=lambda wealth: wealth,
    ...     over=lambda wealth: wealth <= 0,
    ...     levels=[4, 7, 10],
    ... )
    >>> bool(abs(found.probability[0] - 0.00882) < 0.0005)
    True
    """
    if any(b <= a for a, b in pairwise(levels)):
        raise InputError(f"levels {shown(list(levels))}: give increasing levels")
    arguments = {"start": ["key"], "step": ["key", "state"], "level": ["state"], "over": ["state"]}
    for function, (name, given) in zip((start, step, level, over), arguments.items(), strict=True):
        require_takes(name, function, given)
    began = time.monotonic()
    key = jax.random.fold_in(jax.random.key(np.uint32(seed % 2**32)), np.uint32(seed // 2**32))
    keys = jax.random.split(key, repetitions)
    shares = _repeated(start, step, level, over, jnp.asarray(levels, jnp.float32), keys, trials)
    reached = np.asarray(shares, float)
    products = reached.prod(axis=1)
    error = products.std(ddof=1) / math.sqrt(repetitions) if repetitions > 1 else math.nan
    half = half_width(repetitions, confidence) * error
    mean = products.mean()
    return xr.Dataset(
        {
            "probability": ("statistic", [mean, max(0.0, mean - half), mean + half]),
            "reached": ("level", reached.mean(axis=0)),
        },
        coords={"statistic": STATISTICS, "level": list(levels)},
    ).assign_attrs(
        made_by("simulated", [seed], time.monotonic() - began)
        | {"precision": "float32", "trials": trials, "replications": repetitions, "confidence": confidence}
    )


@partial(jax.jit, static_argnames=("start", "step", "level", "over", "trials"))
def _repeated(
    start: Callable, step: Callable, level: Callable, over: Callable, levels: Array, keys: Array, trials: int
) -> Float[Array, "repetition level"]:
    def climb(key: PRNGKeyArray, state: PyTree, target: Float[Array, ""]) -> tuple[PyTree, Bool[Array, ""]]:
        """Return the state in which a trial reaches the level or is over, and whether it reached the level."""

        def stepped(now: tuple[PRNGKeyArray, PyTree]) -> tuple[PRNGKeyArray, PyTree]:
            key, own = jax.random.split(now[0])
            return key, jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), step(own, now[1]), now[1])

        _, end = jax.lax.while_loop(
            lambda now: ~jnp.asarray(over(now[1]), bool) & (level(now[1]) < target), stepped, (key, state)
        )
        return end, level(end) >= target

    def next_level(states: PyTree, given: tuple[Array, Array]) -> tuple[PyTree, Float[Array, ""]]:
        target, key = given
        ends, success = jax.vmap(lambda key, state: climb(key, state, target))(jax.random.split(key, trials), states)
        # Without a success all weights are 0, and the estimate is 0 for any draws.
        chance = success / jnp.maximum(jnp.sum(success), 1)
        drawn = jax.random.choice(jax.random.fold_in(key, 1), trials, (trials,), p=chance)
        return jax.tree.map(lambda leaf: leaf[drawn], ends), jnp.mean(success)

    def once(key: PRNGKeyArray) -> Float[Array, " level"]:
        first, rest = jax.random.split(key)
        states: Any = jax.vmap(lambda key: jax.tree.map(jnp.asarray, start(key)))(jax.random.split(first, trials))
        _, shares = jax.lax.scan(next_level, states, (levels, jax.random.split(rest, levels.size)))
        return shares

    return jax.lax.map(once, keys)
