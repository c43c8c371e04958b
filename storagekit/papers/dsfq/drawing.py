"""Random settings for the search, and random changes of settings."""

import numpy as np

from storagekit.papers.dsfq.settings import BRICKS, KINDS, MOST_COORDINATORS, MOST_THREADS, STREAMS, Settings

DEEPEST, HEAVIEST, COSTLIEST = 20, 16, 500
# Largest number of requests that a thread sends to a brick before it sends requests to the next brick.
LONGEST_BURST = 4
# Probability that a number of a setting is changed.
CHANGED = 0.08


def drawn(generator: np.random.Generator, count: int) -> Settings:
    """Return random settings.

    About half of the kinds of threads use only one brick, and the other kinds use several bricks in turn. Costs, rates,
    depths and weights are uniform in their logarithm. In half of the settings each stream has one coordinator.

    Parameters
    ----------
    generator : Generator
        Source of random numbers.
    count : int
        Number of settings.
    """
    kinds = STREAMS * KINDS
    shape = (kinds, BRICKS, count)
    turns = np.where(generator.random(shape) < 0.6, generator.integers(1, LONGEST_BURST + 1, shape), 0)
    turns = np.where(generator.random((kinds, 1, count)) < 0.5, np.minimum(turns, 1), turns)
    # Prefer the first brick, so that streams share it.
    which = generator.integers(0, BRICKS, (kinds, 1, count)) * (generator.random((kinds, 1, count)) < 0.6)
    alone = np.arange(BRICKS)[:, None] == which
    only = (generator.random((kinds, 1, count)) < 0.5) | ~turns.any(axis=1, keepdims=True)
    high = np.round(_even_in_logarithm(generator, 1, COSTLIEST, (STREAMS, BRICKS, count))).astype(int)
    # In some settings requests of all streams cost 1 at one brick, and the same larger cost at the others.
    dear = np.where(np.arange(BRICKS)[:, None] == generator.integers(0, BRICKS, count), 1, high[0, 0])
    high = np.where(generator.random(count) < 0.3, dear, high)
    low = np.where(generator.random(high.shape) < 0.6, high, generator.integers(1, high + 1))
    some = generator.random((kinds, count)) < 0.5
    # Half of the settings have only the first two streams, and half have only one kind of threads for each stream.
    some[2 * KINDS :] &= generator.random(count) < 0.5
    some &= (np.arange(kinds) % KINDS == 0)[:, None] | (generator.random(count) < 0.5)
    several = generator.integers(2, MOST_COORDINATORS, count)
    return possible(
        Settings(
            np.where(
                generator.random((1, count)) < 0.4,
                1.0,
                np.round(_even_in_logarithm(generator, 1, HEAVIEST, (STREAMS, count))),
            ),
            np.where(some, np.round(_even_in_logarithm(generator, 1, 30, some.shape)), 0).astype(int),
            np.where(only, alone, turns).astype(int),
            generator.integers(0, LONGEST_BURST, (kinds, count)),
            np.where(
                generator.random((kinds, count)) < 0.5, 0.0, _even_in_logarithm(generator, 1e-3, 1, (kinds, count))
            ),
            low,
            high,
            1000 * _even_in_logarithm(generator, 0.05, 20, (BRICKS, count)),
            np.round(_even_in_logarithm(generator, 1, DEEPEST, count)).astype(int),
            np.where(generator.random(count) < 0.5, 1, several),
            generator.integers(0, 2, count),
        )
    )


def constructed() -> Settings:
    """Return two settings that are made by hand to exceed the printed bounds of theorems 2 and 4, respectively.

    The search starts from these settings. In the first setting, stream f sends twenty requests of cost 48 to a slow
    brick B of depth 20. It sends these requests one after the other, so that no batch contains many of them. Meanwhile
    f and g are backlogged at brick A, where a request costs 1, and equation 8 contains only the cost at A. In the
    second setting, the threads of f send requests to A and B in turn through 19 coordinators, and each coordinator has
    an open batch.

    A batch is the requests that one coordinator sends after one request to a brick, up to and including its next
    request to that brick (see `batch_costs`). It is open until that next request.
    """
    threads, burst = np.zeros((STREAMS * KINDS, 2), int), np.zeros((STREAMS * KINDS, BRICKS, 2), int)
    spacing, cost = np.zeros((STREAMS * KINDS, 2)), np.ones((STREAMS, BRICKS, 2), int)
    burst[:, 0], cost[:, 1] = 1, (48, 100)
    threads[0], threads[1], threads[KINDS] = (20, 4), (11, 0), (22, 4)
    burst[0, :2, 0], burst[0, :2, 1], spacing[0, 0] = (0, 1), (1, 1), 0.0586
    rate = np.full((BRICKS, 2), 1000.0)
    rate[1] = (10, 100_000)
    depth, coordinators = np.array([20, 1]), np.array([1, MOST_COORDINATORS - 1])
    of = Settings(
        np.ones((STREAMS, 2)),
        threads,
        burst,
        np.zeros_like(threads),
        spacing,
        cost,
        cost.copy(),
        rate,
        depth,
        coordinators,
        np.zeros(2, int),
    )
    return possible(of)


def changed(generator: np.random.Generator, parents: Settings) -> Settings:
    """Return a copy of the settings in which a few numbers are changed at random.

    A number is replaced by a new random number, or changed a little: an integer by at most 1, and a real number by a
    normal deviate with a standard deviation of 30% of the number.

    Parameters
    ----------
    generator : Generator
        Source of random numbers.
    parents : Settings
        The settings to change.
    """
    others = drawn(generator, len(parents))
    columns = []
    for one, other in zip(parents.columns, others.columns, strict=True):
        replaced = np.where(generator.random(one.shape) < CHANGED, other, one)
        if one.dtype.kind == "i":
            step = np.where(generator.random(one.shape) < CHANGED, generator.integers(-1, 2, one.shape), 0)
        else:
            step = np.where(generator.random(one.shape) < CHANGED, one * generator.normal(0, 0.3, one.shape), 0)
        columns.append(replaced + step)
    return possible(Settings(*columns))


def possible(of: Settings) -> Settings:
    """Return the nearest valid settings: numbers in their ranges, and at most `MOST_THREADS` threads.

    Parameters
    ----------
    of : Settings
        The settings.
    """
    low = np.clip(of.low, 1, COSTLIEST)
    threads = np.maximum(of.threads, 0)
    # Each of the first two streams keeps at least one thread.
    threads[0], threads[KINDS] = np.maximum(threads[0], 1), np.maximum(threads[KINDS], 1)
    excess = MOST_THREADS / np.maximum(threads.sum(axis=0), MOST_THREADS)
    threads = np.where(excess < 1, np.ceil(threads * excess) - (threads * excess > 1), threads).astype(int)
    burst = np.clip(of.burst, 0, 2 * LONGEST_BURST)
    # A thread without requests sends one to the first brick.
    burst[:, 0] = np.where(burst.any(axis=1), burst[:, 0], 1)
    return Settings(
        np.maximum(np.round(of.weights), 1.0).clip(max=HEAVIEST),
        threads,
        burst,
        np.clip(of.begins, 0, BRICKS * LONGEST_BURST),
        np.clip(of.spacing, 0, 10),
        low,
        np.clip(of.high, low, COSTLIEST),
        np.clip(of.rate, 10, 1e5),
        np.clip(of.depth, 1, DEEPEST),
        np.clip(of.coordinators, 1, MOST_COORDINATORS),
        np.clip(of.random, 0, 1),
    )


def _even_in_logarithm(generator: np.random.Generator, least: float, most: float, shape) -> np.ndarray:
    return np.exp(generator.uniform(np.log(least), np.log(most), shape))
