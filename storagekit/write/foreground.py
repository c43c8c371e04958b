"""All parts of a write at once, and four answers to when it is done (DESIGN section 5: what each does to D-SPTF)."""

import jax
import jax.numpy as jnp

from storagekit.component.events import CompletionRule
from storagekit.core.batching import bit
from storagekit.write.base import AbstractWrite


class Immediate(AbstractWrite):
    """Answered as it arrives: it is safe in NVRAM and goes to disk through the same queues later (dsptf, section 3)."""

    def rule(self, parts, receiving, readable):
        return CompletionRule(jnp.zeros_like(parts), jnp.zeros_like(receiving))


class FirstCopy(AbstractWrite):
    """Answered when the data could be read back: the first copy is on disk, or as many fragments as make the data."""

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jnp.zeros_like(receiving) + readable)


class ReceivingBrick(AbstractWrite):
    """Answered when the brick that received it has it on disk."""

    @property
    def one_for_all(self):
        return True

    def rule(self, parts, receiving, readable):
        return CompletionRule(bit(receiving), jnp.ones_like(receiving))


class AllCopies(AbstractWrite):
    """Answered when every part is on disk."""

    def rule(self, parts, receiving, readable):
        return CompletionRule(parts, jax.lax.population_count(parts).astype(jnp.int32))
