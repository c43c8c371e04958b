"""Power of d choices with memory: some of the sampled queues are remembered for the next request."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from storagekit.component.events import StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, comes_before, first_min, named, pick, row_index, whole
from storagekit.core.validation import NUMBER
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.dispatch.sampled import choices_of, drawn, lots
from storagekit.workload import scramble

# Multiple of a lot that is below 1, so that lots order only equal loads.
BELOW_ONE = 2.0**-33


class ShortestQueueWithMemory(AsManyAsNeeded):
    """Send a request to the shortest queue of a sample: power of d choices with memory.

    Some queues of the sample are drawn at random, the others are remembered from the previous request. The length of a
    queue is the number of requests waiting and in service. After the request has joined the shortest queue, the shortest
    queues of the same sample are remembered. Ties are broken at random.

    Parameters
    ----------
    choices : int
        Number of queues that are drawn, by default 1, from 1 to `placement.MOST_PARTS`.
    memory : int
        Number of queues that are remembered, at least 0, by default 1; one value, or one for each run. With 0 the
        dispatcher is `ShortestQueue`, except for its order of equal lengths.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    A remembered queue that is also drawn counts once. A remembered drive that does not hold the data of a request does
    not receive the request, but it may stay in the memory. Writes do not change the memory, because they are not routed.

    There is one dispatcher with one memory. Its private state is an array `[drive, *batch]` with the mask of the
    remembered drives, at first none.

    At practical loads the mean response with one drawn and one remembered queue exceeds the mean response with two drawn
    queues, because a remembered drive is seldom idle: it has just received a request, or another queue was shorter. The
    memory shortens only the far tail of the queues.

    References
    ----------
    Mitzenmacher, Prabhakar and Shah, Load balancing with memory, FOCS 2002; Shah and Prabhakar, The use of memory in
    randomized load balancing, ISIT 2002.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.dispatch import ShortestQueueWithMemory
    >>> system = sk.System(
    ...     sk.drive.RateServer(1000.0), sk.placement.Replicas(8), ShortestQueueWithMemory(), sk.schedule.FCFS()
    ... )
    >>> reads = sk.workload.RandomRequests(sk.workload.FixedSize(512), read_share=1.0)
    >>> load = sk.workload.PoissonArrivals(reads, rate=5600.0)
    >>> bool(sk.simulate(sk.Scenario(system, load), requests=500).response < 0.003)
    True
    """

    choices: int = eqx.field(static=True, default=1, converter=choices_of)
    memory: Int[AnyArray, "..."] = eqx.field(converter=named("remembered queues", whole), default=1)

    def __check_init__(self):
        NUMBER.each("remembered queues", self.memory)

    def init(self, sizes: StateSizes):
        return jnp.zeros((sizes.drives, *sizes.batch), bool)

    def route(self, private: Bool[Array, "drive *batch"], request, entering, view: View):
        drive, load, sampled = row_index(private.shape[0], private), view.load(), private
        for one in drawn(view, self.choices):
            sampled = sampled | (drive == one)

        def in_order(load, key):
            lot = lots(scramble(view.word + key), drive.shape[0])
            return jnp.where(sampled, load + lot * BELOW_ONE, jnp.inf)

        chosen, _ = first_min(jnp.where(view.holders(), in_order(load, 1), jnp.inf))
        before = comes_before(in_order(load + (drive == chosen), 2))
        remembered = sampled & (jnp.sum(before, axis=0, dtype=jnp.int32) < self.memory)
        kept = entering & request.read
        return bit(pick(view.part(), chosen)), jnp.where(kept, remembered, private)
