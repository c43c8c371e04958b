"""Multilevel splitting, against the exact solution of a tandem queue."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.simulation import splitting

pytestmark = pytest.mark.optimized
# arrivals, and services of the two queues, with buffers of 8
RATES, BUFFER = (3.0, 2.0, 6.0), 8


def exact() -> float:
    """Return the probability that the second queue is full before it is empty, from the linear system."""
    size = BUFFER + 1
    moves = np.eye(size * size)
    rare = np.zeros(size * size)
    for first in range(size):
        for second in range(1, BUFFER):
            state = first * size + second
            possible = [
                (RATES[0], min(first + 1, BUFFER), second), (RATES[1] * (first > 0), first - 1, second + 1),
                (RATES[2], first, second - 1),
            ]  # fmt: skip
            total = sum(rate for rate, *_ in possible)
            for rate, one, other in possible:
                if rate:
                    moves[state, one * size + other] -= rate / total
        rare[first * size + BUFFER] = 1
    return float(np.linalg.solve(moves, rare)[1])


def step(key, queues):
    rates = jnp.where(jnp.array([True, queues[0] > 0, True]), jnp.array(RATES), 0.0)
    event = jax.random.categorical(key, jnp.log(rates))
    return jnp.minimum(queues + jnp.array([[1, 0], [-1, 1], [0, -1]])[event], BUFFER)


def tandem(levels, **more):
    return splitting(
        lambda key: jnp.array([0, 1]), step, lambda queues: queues[1], lambda queues: queues[1] == 0, levels, **more
    )


def test_tandem_queue():
    """Garvels, thesis, 2000, page 85, and FIG (raulmonti/FIG@265a6d41, tests_tandem_queue.cpp): 5.59e-6."""
    probability = exact()
    assert probability == pytest.approx(5.602363637e-6, rel=1e-9)
    found = tandem(range(2, BUFFER + 1), trials=4096, repetitions=64)
    mean, low, high = found.probability.values
    assert abs(mean - probability) < 4 * (high - low) / 4
    assert (high - low) / mean < 0.15
    assert float(found.reached.prod()) == pytest.approx(mean, rel=0.1)


def test_one_level_is_plain_simulation():
    probability = float(tandem([2], trials=2**14, repetitions=8).reached[0])
    assert probability == pytest.approx(float(tandem([2, 8], trials=2**14, repetitions=8, seed=1).reached[0]), rel=0.1)


def test_levels_must_increase():
    with pytest.raises(InputError, match="increasing"):
        tandem([2, 2])
    with pytest.raises(InputError, match="step"):
        splitting(lambda key: 1, lambda key: 1, lambda state: state, lambda state: False, [2])
