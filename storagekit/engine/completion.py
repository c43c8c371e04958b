"""When a write is answered: a policy of the system (DESIGN section 5 lists what each does to D-SPTF's results)."""

from abc import abstractmethod

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


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
        latest: Float[Array, "slot *lanes"],
        last: Bool[Array, "slot *lanes"],
        received: Bool[Array, "slot *lanes"],
    ) -> Float[Array, "slot *lanes"]:
        """When writes are answered that have lost a copy because its brick stopped, arguments as in `on_copy`.

        received: nothing is left to write for the brick that answers.
        """
        return jnp.where(last & jnp.isinf(answer), jnp.maximum(latest, 0.0), answer)


class AtOnce(AbstractCompletion):
    """As it arrives: it is safe in NVRAM and goes to disk through the same queues later (dsptf, section 3)."""

    def on_arrival(self, born):
        return born

    def on_copy(self, answer, finish, latest, last, received):
        return answer


class FirstCopy(AbstractCompletion):
    """When the first replica is on disk."""

    def on_arrival(self, born):
        return jnp.full_like(born, jnp.inf)

    def on_copy(self, answer, finish, latest, last, received):
        return jnp.minimum(answer, finish)


class ReceivingBrick(AbstractCompletion):
    """When the brick that received it has it on disk."""

    def on_arrival(self, born):
        return jnp.full_like(born, jnp.inf)

    def on_copy(self, answer, finish, latest, last, received):
        return jnp.where(received, finish, answer)

    def on_stop(self, answer, latest, last, received):
        return super().on_stop(answer, latest, last | received, received)


class AllCopies(AbstractCompletion):
    """When every replica is on disk."""

    def on_arrival(self, born):
        return jnp.full_like(born, jnp.inf)

    def on_copy(self, answer, finish, latest, last, received):
        return jnp.where(last, latest, answer)
