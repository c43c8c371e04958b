"""Simulate the completion times of many systems as a function of load, and find the sustainable load of each system.

All systems use the same random numbers.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from storagekit.analytic.forkjoin.random_requests import draw, most_blocks, work
from storagekit.analytic.forkjoin.recursion import Paths, RequestStream, completion_times
from storagekit.analytic.forkjoin.striped_system import StripedSystem
from storagekit.core.validation import COUNT, SEED, instance_of, numbers, require, several

# After this number of bisection steps, the width of the interval is 6e-5 of the saturation rate.
_HALVINGS = 14
# JAX uses only 32 bits of a number for a key.
_SEED = SEED.up_to(2**32 - 1)


class Simulation:
    """Streams of requests for several systems, with common random numbers that are drawn once.

    The attribute `draws` contains the random numbers.

    Parameters
    ----------
    systems : sequence of StripedSystem
        The systems. They may differ in everything except the share of writes.
    seeds : sequence of int
        One seed for each independent stream. All seeds must differ.
    requests : int
        Number of requests of each stream; the first tenth is warm-up.

    Raises
    ------
    InputError
        If there are no systems, seeds or requests, systems have different shares of writes, two seeds are equal, or
        the random numbers exceed the memory.
    """

    def __init__(self, systems: Sequence[StripedSystem], seeds: Sequence[int], requests: int):
        systems = several(instance_of(StripedSystem), of="systems")("systems", systems)
        require(len(systems) > 0, "systems", 0, "at least one")
        requests, seeds = COUNT("requests", requests), several(_SEED, of="numbers")("seeds", seeds)
        shares = sorted({system.write_share for system in systems})
        require(
            len(shares) == 1,
            "write shares",
            shares,
            "equal for all systems, because all systems receive the same requests",
        )
        self.systems = tuple(systems)
        stripings = [system.striping for system in systems]
        draws = draw(list(seeds), requests, most_blocks(stripings))
        self._limits = np.array([system.saturation()[0] for system in systems])[:, None, None]
        self._warm_up = requests // 10
        self.draws = draws
        self._widest = max(striping.disks for striping in stripings)
        parts = [work(system.disk, system.striping, draws, shares[0]) for system in systems]
        self._work = self._stacked([part.seconds for part in parts])
        self._blocks = self._stacked([part.blocks for part in parts])
        self._paths = self._stacked_paths()
        self._read = jnp.asarray(draws.operation >= shares[0])[:, None, None, :]

    def completion(self, rates: NDArray) -> Float[np.ndarray, "system load seed"]:
        """Return the mean time to complete a request, for each system, load and seed.

        Parameters
        ----------
        rates : array of float, shape `[system, load]` or `[system, load, seed]`
            Arrival rates, requests a second, above 0.

        Returns
        -------
        array of float, shape `[system, load, seed]`
            Mean time, seconds; infinite at saturation and above, where the time grows with the length of the simulation.

        Raises
        ------
        InputError
            If a rate is not above 0 or not finite, or the shape is wrong.

        Notes
        -----
        The result is a NumPy array and has no derivatives. The result of `completion_times` has derivatives.
        """
        rates = numbers("rates", rates).astype(float)
        require(rates.ndim in (2, 3), "rates of shape", str(rates.shape), "[system, load] or [system, load, seed]")
        rates = rates[..., None] if rates.ndim == 2 else rates
        require((rates > 0) & (rates < np.inf), "rates", rates, "above 0 and finite")
        gap = jnp.asarray(self.draws.gap[:, None, None, :] / rates, jnp.float32)
        read = jnp.broadcast_to(self._read, gap.shape)
        taken = _mean_completion(RequestStream(gap, read, self._work, self._blocks), self._paths, self._warm_up)
        return np.where(rates < self._limits, np.asarray(taken, float), np.inf)

    def sustainable(self) -> Float[np.ndarray, "system seed"]:
        """Return the sustainable rate: the mean time to complete a request then equals the mean time between requests.

        Returns
        -------
        array of float, shape `[system, seed]`
            Rate, requests a second.

        Notes
        -----
        The rate is found by bisection between 0 and saturation. With common random numbers, the time to complete a
        request increases with the rate, and the time between requests decreases.

        References
        ----------
        swift, section 5.2.
        """
        low = np.zeros((len(self.systems), 1, self.draws.gap.shape[1]))
        high = low + self._limits
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            above = middle * self.completion(middle) > 1
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return ((low + high) / 2)[:, 0]

    def _stacked(self, parts: list[NDArray]) -> Array:
        """Return an array `[request, system, 1, seed, disk]`. Disks that a system does not have receive no work."""
        padded = [np.pad(part, ((0, 0), (0, 0), (0, self._widest - part.shape[-1]))) for part in parts]
        return jnp.asarray(np.stack(padded, axis=1)[:, :, None])

    def _stacked_paths(self) -> Paths:
        """Return paths whose fields have the shape `[system, 1, 1]`. The offsets have the disks as a last axis."""

        def stacked(*leaves: Array) -> Array:
            padded = [jnp.pad(leaf, (0, self._widest - len(leaf))) if leaf.ndim else leaf for leaf in leaves]
            return jnp.stack(padded)[:, None, None]

        return jax.tree.map(stacked, *(system.paths() for system in self.systems))


@jax.jit
def _mean_completion(stream: RequestStream, paths: Paths, warm_up: int) -> Array:
    taken = completion_times(stream, paths)
    counted = jnp.arange(taken.shape[0])[(...,) + (None,) * (taken.ndim - 1)] >= warm_up
    return jnp.mean(taken, axis=0, where=counted)
