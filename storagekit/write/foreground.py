"""Write policies that write all parts immediately and differ in the condition of completion.

In a closed loop, the next request follows the completion of a write, so an earlier completion raises the throughput.
"""

import jax
import jax.numpy as jnp

from storagekit.component.events import CompletionRule
from storagekit.core.batching import bit
from storagekit.write.base import AbstractWrite


class Immediate(AbstractWrite):
    """Complete a write when it arrives: it is stored in NVRAM, and its parts are later written through the same queues.

    References
    ----------
    dsptf, section 3.
    """

    def rule(self, parts, receiving, readable):
        return CompletionRule(jnp.zeros_like(parts), jnp.zeros_like(receiving))


class FirstCopy(AbstractWrite):
    """Complete a write when its data is readable: the first copy, or enough fragments, are on disk.

    Parity on RAID 5 nodes (`placement.Node`) does not count.
    """

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jnp.zeros_like(receiving) + readable)


class ReceivingBrick(AbstractWrite):
    """Complete a write when it is on disk at the brick that received it."""

    @property
    def one_for_all(self):
        return True

    def rule(self, parts, receiving, readable):
        return CompletionRule(bit(receiving), jnp.ones_like(receiving))


class AllCopies(AbstractWrite):
    """Complete a write when every part is on disk."""

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jax.lax.population_count(parts).astype(jnp.int32))
