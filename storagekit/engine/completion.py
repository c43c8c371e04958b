"""When a write is answered: a policy of the system (DESIGN section 5 lists what each does to D-SPTF's results)."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.lanes import held


class Underway(NamedTuple):
    """Accesses planned or under way for the request in each slot, on bricks that are alive: seconds until the soonest and the
    latest of them end (inf and -inf where there is none), and until the one on the brick that received it does (-inf)."""

    soonest: Float[Array, "slot *lanes"]
    latest: Float[Array, "slot *lanes"]
    receiving: Float[Array, "slot *lanes"]


class AbstractCompletion(eqx.Module):
    """When a write is answered. Times are seconds from now, inf where not known yet."""

    @abstractmethod
    def on_arrival(self, born: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        """When a write that has just arrived is answered."""

    @abstractmethod
    def on_copy(
        self,
        answer: Float[Array, "1 *lanes"],
        finish: Float[Array, "1 *lanes"],
        latest: Float[Array, "1 *lanes"],
        last: Bool[Array, "1 *lanes"],
        received: Bool[Array, "1 *lanes"],
    ) -> Float[Array, "1 *lanes"]:
        """When it is answered now that a copy is to reach its disk at `finish`.

        latest: when the latest copy issued so far does. last: no copy waits any more. received: this is the copy of the
        brick that the client sent it to.
        """

    def on_stop(
        self,
        answer: Float[Array, "slot *lanes"],
        under_way: Underway,
        latest: Float[Array, "slot *lanes"],
        waiting: UInt32[Array, "slot *lanes"],
        receiving: Int[Array, "slot *lanes"],
        now: Float[Array, "1 *lanes"],
    ) -> Float[Array, "slot *lanes"]:
        """When writes are answered once a brick has stopped, without its copies.

        answer: as known before, inf where it hung on that brick. under_way: accesses of the others.
        latest: when the latest of these, or of those that are over, ends. waiting: copies still to be written. receiving:
        the copy on the brick that answers. now: when it stops. Here: when the last copy is on disk.
        """
        return jnp.where(jnp.isinf(answer) & (waiting == 0), jnp.maximum(latest, now), answer)


class AtOnce(AbstractCompletion):
    """As it arrives: it is safe in NVRAM and goes to disk through the same queues later (dsptf, section 3)."""

    def on_arrival(self, born: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        return born

    def on_copy(
        self,
        answer: Float[Array, "1 *lanes"],
        finish: Float[Array, "1 *lanes"],
        latest: Float[Array, "1 *lanes"],
        last: Bool[Array, "1 *lanes"],
        received: Bool[Array, "1 *lanes"],
    ) -> Float[Array, "1 *lanes"]:
        return answer


class FirstCopy(AbstractCompletion):
    """When the first replica is on disk."""

    def on_arrival(self, born: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        return jnp.full_like(born, jnp.inf)

    def on_copy(
        self,
        answer: Float[Array, "1 *lanes"],
        finish: Float[Array, "1 *lanes"],
        latest: Float[Array, "1 *lanes"],
        last: Bool[Array, "1 *lanes"],
        received: Bool[Array, "1 *lanes"],
    ) -> Float[Array, "1 *lanes"]:
        return jnp.minimum(answer, finish)

    def on_stop(
        self,
        answer: Float[Array, "slot *lanes"],
        under_way: Underway,
        latest: Float[Array, "slot *lanes"],
        waiting: UInt32[Array, "slot *lanes"],
        receiving: Int[Array, "slot *lanes"],
        now: Float[Array, "1 *lanes"],
    ) -> Float[Array, "slot *lanes"]:
        known = jnp.minimum(answer, under_way.soonest)
        return super().on_stop(known, under_way, latest, waiting, receiving, now)


class ReceivingBrick(AbstractCompletion):
    """When the brick that received it has it on disk."""

    def on_arrival(self, born: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        return jnp.full_like(born, jnp.inf)

    def on_copy(
        self,
        answer: Float[Array, "1 *lanes"],
        finish: Float[Array, "1 *lanes"],
        latest: Float[Array, "1 *lanes"],
        last: Bool[Array, "1 *lanes"],
        received: Bool[Array, "1 *lanes"],
    ) -> Float[Array, "1 *lanes"]:
        return jnp.where(received, finish, answer)

    def on_stop(
        self,
        answer: Float[Array, "slot *lanes"],
        under_way: Underway,
        latest: Float[Array, "slot *lanes"],
        waiting: UInt32[Array, "slot *lanes"],
        receiving: Int[Array, "slot *lanes"],
        now: Float[Array, "1 *lanes"],
    ) -> Float[Array, "slot *lanes"]:
        # the brick that answers instead has its copy on disk already, or is writing it, or will
        written = jnp.isinf(answer) & ~held(waiting, receiving)
        known = jnp.where(written, jnp.maximum(under_way.receiving, now), answer)
        return super().on_stop(known, under_way, latest, waiting, receiving, now)


class AllCopies(AbstractCompletion):
    """When every replica is on disk."""

    def on_arrival(self, born: Float[Array, "1 *lanes"]) -> Float[Array, "1 *lanes"]:
        return jnp.full_like(born, jnp.inf)

    def on_copy(
        self,
        answer: Float[Array, "1 *lanes"],
        finish: Float[Array, "1 *lanes"],
        latest: Float[Array, "1 *lanes"],
        last: Bool[Array, "1 *lanes"],
        received: Bool[Array, "1 *lanes"],
    ) -> Float[Array, "1 *lanes"]:
        return jnp.where(last, latest, answer)
