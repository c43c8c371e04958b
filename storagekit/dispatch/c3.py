"""C3: each client ranks the bricks by their measured service times and by an estimate of their queue lengths.

References
----------
Suresh, Canini, Schmid and Feldmann, C3: cutting tail latency in cloud data stores via adaptive replica selection, NSDI
2015.
"""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt32

from storagekit.component.events import AccessEnded, AccessStarted, RequestAdmitted, RequestCompleted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import bit, bit_is_set, named, pick, pick_tree, put, row_index
from storagekit.core.validation import COUNT, MOST_COUNTED, Validator, require
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.dispatch.memory import BELOW_ONE
from storagekit.dispatch.nodes import least_of
from storagekit.dispatch.sampled import lots
from storagekit.workload import Requests

# Validator of the weight of a new value in a moving average.
WEIGHT = Validator(least=0, most=1, above=True)
# Exponent of the estimated queue length in the score (the paper's b).
EXPONENT = 3


class Means(NamedTuple):
    """Moving averages of the responses. Each combination of client and brick has a row; the brick varies fastest.

    Parameters
    ----------
    queue : array of float32, shape `[row, *batch]`
        Queue length of the brick after each response.
    service : array of float32, shape `[row, *batch]`
        Service time, seconds.
    response : array of float32, shape `[row, *batch]`
        Response time, seconds; 0 before the first response.
    """

    queue: Float[Array, "row *batch"]
    service: Float[Array, "row *batch"]
    response: Float[Array, "row *batch"]


class Outstanding(NamedTuple):
    """Requests that clients wait for.

    Parameters
    ----------
    number, client : array of int32, shape `[slot, *batch]`
        Number and client of the request in each slot.
    parts : array of uint32, shape `[slot, *batch]`
        Mask of the parts without a response.
    left : array of float32, shape `[slot, *batch]`
        Time in seconds until the request completes; inf if this time is unknown.
    routed : array of uint32, shape `[1, *batch]`
        Mask of the parts that the entering request is sent to.
    """

    number: Int[Array, "slot *batch"]
    client: Int[Array, "slot *batch"]
    parts: UInt32[Array, "slot *batch"]
    left: Float[Array, "slot *batch"]
    routed: UInt32[Array, "1 *batch"]


class Ended(NamedTuple):
    """The response of the access that has just ended.

    Parameters
    ----------
    row : array of int32, shape `[1, *batch]`
        Row of the client and the brick in `Means`.
    service, response : array of float32, shape `[1, *batch]`
        Service time and response time, seconds.
    valid : array of bool, shape `[1, *batch]`
        Whether there is a response.
    """

    row: Int[Array, "1 *batch"]
    service: Float[Array, "1 *batch"]
    response: Float[Array, "1 *batch"]
    valid: Bool[Array, "1 *batch"]


class Ranking(NamedTuple):
    """Private state of all clients.

    Parameters
    ----------
    means : Means
        Moving averages of the responses.
    outstanding : Outstanding
        Requests that clients wait for.
    waiting : array of int32, shape `[drive, *batch]`
        Number of requests that wait at each drive, without the request in service.
    busy : array of float32, shape `[drive, *batch]`
        Time in seconds since the latest access of each drive began.
    ended : Ended
        The response of the access that has just ended.

    Notes
    -----
    For C clients, n bricks with D drives and S slots, the state of a run takes 12 C n + 16 S + 8 D + 17 bytes.
    """

    means: Means
    outstanding: Outstanding
    waiting: Int[Array, "drive *batch"]
    busy: Float[Array, "drive *batch"]
    ended: Ended


class C3(AsManyAsNeeded):
    """Send a request to as many bricks as its data needs: the bricks with the lowest scores of its client.

    The score of a brick is R - s + q^3 s. R is a moving average of the response times of the brick, and s a moving
    average of its service times. The estimate of its queue length is q = 1 + (number of clients) * (outstanding requests
    of this client at the brick) + (moving average of its queue lengths). Each response carries the service time, and the
    queue length after the request: the number of requests that wait when the drive has begun its next access.

    A brick without a response has the score 0. Equal scores are ordered at random.

    Parameters
    ----------
    clients : int
        Number of clients that are distinguished, at least 1, by default 1. Requests of other clients count as requests
        of client number % clients. With one client, all requests share one view.
    weight : float
        Weight of a new value in the moving averages, above 0 and at most 1, by default 0.9; one number, or one for each
        run. The first value is taken as it is.

    Raises
    ------
    InputError
        If a number is out of range, or clients and bricks have too many combinations.

    Notes
    -----
    This is only the ranking of C3. The model has no rate limiter and no backpressure queue, because a dispatcher cannot
    delay a request at its arrival. It has no shadow reads (a read in ten that is also sent to the other replicas),
    because a dispatcher cannot choose the responses on which the completion of a request depends. A brick with a high
    score is therefore measured again only when the scores of the others exceed it.

    In the simulator of the authors (github.com/lalithsuresh/absim), equal scores keep the order of the replicas, and the
    first replica is random. The queue length after a request is also defined as in this simulator. Here messages take no
    time: the response time is the time from sending the request to the end of the access. The exponent is always 3.

    Reads and writes count equally. A request is outstanding at a brick until the brick has responded, or the request has
    completed. A read that is sent to a brick that is down is outstanding there until it completes elsewhere. A write that
    first reads old data is outstanding at the bricks from which it reads.

    The event of a response carries no queue length. At every arrival the component therefore counts the requests that wait
    at all drives. Until the next arrival it subtracts each access that starts. The result is exact, unless parts join or
    leave a queue in another way: at an outage, after a write has read its old data, and in a write policy that withdraws
    parts. If all slots are occupied and an arrival takes the slot of a request at the instant of its completion, this
    response is not measured.

    References
    ----------
    Suresh, Canini, Schmid and Feldmann, C3: cutting tail latency in cloud data stores via adaptive replica selection,
    NSDI 2015.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.dispatch import C3
    >>> system = sk.System(sk.drive.RateServer(1000.0), sk.placement.Replicas(8), C3(), sk.schedule.FCFS())
    >>> reads = sk.workload.RandomRequests(sk.workload.FixedSize(512), read_share=1.0)
    >>> load = sk.workload.PoissonArrivals(reads, rate=4000.0)
    >>> bool(sk.simulate(sk.Scenario(system, load), requests=500).response < 0.0015)
    True
    """

    clients: int = eqx.field(static=True, default=1, converter=partial(COUNT, "clients"))
    weight: Float[AnyArray, "..."] = eqx.field(converter=named("weight of a new value"), default=0.9)

    def __check_init__(self):
        WEIGHT.each("weight of a new value", self.weight)

    def check(self, facts):
        rows = self.clients * facts.bricks
        require(rows <= MOST_COUNTED, "combinations of clients and bricks", rows, f"at most {MOST_COUNTED}")

    def init(self, sizes: StateSizes) -> Ranking:
        def none(count: int, kind=jnp.float32):
            return jnp.zeros((count, *sizes.batch), kind)

        rows, slots, one = self.clients * sizes.bricks, sizes.slots, none(1)
        of_slot = none(slots, jnp.int32)
        return Ranking(
            Means(none(rows), none(rows), none(rows)),
            Outstanding(of_slot - 1, of_slot, of_slot.astype(jnp.uint32), none(slots), none(1, jnp.uint32)),
            none(sizes.drives, jnp.int32),
            none(sizes.drives),
            Ended(none(1, jnp.int32), one, one, none(1, bool)),
        )

    def route(self, private: Ranking, request: Requests, entering, view: View):
        holds, part = view.by_brick()
        score = self.scores(private, request.client, view)
        lower = jnp.sum(holds[:, None] & (score[:, None] < score[None]), axis=0, dtype=jnp.int32)
        order = lower + lots(view.word, holds.shape[0]) * BELOW_ONE
        routed, sent = least_of(order, holds, part, view.needed), private.outstanding
        waiting = view.queued(row_index(private.waiting.shape[0], private.waiting))
        return routed, private._replace(
            outstanding=sent._replace(routed=jnp.where(entering, routed, sent.routed)),
            waiting=jnp.where(entering, waiting, private.waiting),
        )

    def scores(self, private: Ranking, client: Int[Array, "1 *batch"], view: View) -> Float[Array, "brick *batch"]:
        """Return the scores of all bricks for a client.

        Parameters
        ----------
        private : Ranking
            Private state.
        client : array of int32, shape `[1, *batch]`
            Number of the client.
        view : View
            State of the system.

        Returns
        -------
        array of float32, shape `[brick, *batch]`
            Score of each brick, seconds; 0 for a brick without a response.
        """
        client, sent = client % self.clients, private.outstanding
        drive, bricks = row_index(view.busy.shape[0], view.busy), view.bricks.count
        counted = jnp.where((sent.client == client) & (sent.left > 0), sent.parts, jnp.uint32(0))
        at_drive = view._replace(waiting=counted).queued(drive)
        of_brick = view.bricks.of(drive)[None] == row_index(bricks, at_drive[None])
        outstanding = jnp.sum(jnp.where(of_brick, at_drive[None], 0), axis=1, dtype=jnp.int32)
        queue, service, response = pick_tree(private.means, client * bricks + row_index(bricks, client))
        estimate = 1 + outstanding * self.clients + queue
        return response - service + estimate**EXPONENT * service

    def on_admitted(self, private: Ranking, event: RequestAdmitted):
        sent, into, request = private.outstanding, event.slot_mask, event.request
        part = event.placement.part_on(row_index(private.waiting.shape[0], private.waiting), event.location)
        # a read also waits for a brick that is down; a read from memory waits for no brick
        parts = event.targets | jnp.where(request.read & (event.targets != 0), sent.routed, jnp.uint32(0))
        outstanding = sent._replace(
            number=jnp.where(into, request.number, sent.number),
            client=jnp.where(into, request.client % self.clients, sent.client),
            parts=jnp.where(into, parts, sent.parts),
            left=jnp.where(into, jnp.inf, sent.left),
        )
        joins = bit_is_set(event.targets, part) & event.admitted
        return private._replace(outstanding=outstanding, waiting=private.waiting + joins)

    def on_access_ended(self, private: Ranking, event: AccessEnded):
        sent, bricks = private.outstanding, private.means.queue.shape[0] // self.clients
        row = pick(sent.client, event.slot) * bricks + event.brick
        part = event.placement.part_on(event.drive, event.location)
        its = (row_index(sent.parts.shape[0], sent.parts) == event.slot) & event.awaited
        return private._replace(
            outstanding=sent._replace(parts=jnp.where(its, sent.parts & ~bit(part), sent.parts)),
            ended=Ended(row, pick(private.busy, event.drive), event.elapsed, event.awaited),
        )

    def on_access_started(self, private: Ranking, event: AccessStarted):
        # Every event reports the end of an access, or that none ended (`ended`), before the next access of the drive.
        bricks = private.means.queue.shape[0] // self.clients
        drive = row_index(private.waiting.shape[0], private.waiting)
        queued = event.drive_mask if event.delayed is None else event.drive_mask & (event.delayed < 0)
        waiting = jnp.maximum(private.waiting - queued, 0)
        ended = private.ended
        at_brick = event.placement.brick_of(drive) == ended.row % bricks
        queue = jnp.sum(jnp.where(at_brick, waiting, 0), axis=0, keepdims=True, dtype=jnp.int32)
        return private._replace(
            means=self._measured(private.means, ended, queue.astype(jnp.float32)),
            waiting=waiting,
            busy=jnp.where(event.drive_mask, 0.0, private.busy),
        )

    def on_completed(self, private: Ranking, event: RequestCompleted):
        its = (private.outstanding.number == event.number) & (event.number >= 0)
        left = jnp.where(its, event.at, private.outstanding.left)
        return private._replace(outstanding=private.outstanding._replace(left=left))

    def elapse(self, private: Ranking, time: Float[Array, "1 *batch"]):
        sent = private.outstanding
        return private._replace(outstanding=sent._replace(left=sent.left - time), busy=private.busy + time)

    def _measured(self, means: Means, ended: Ended, queue: Float[Array, "1 *batch"]) -> Means:
        """Return the moving averages after a response. queue: queue length after the request."""
        old = pick_tree(means, ended.row)
        weight = jnp.where(old.response > 0, self.weight, 1.0)

        def averaged(values, before, new):
            return put(values, ended.row, jnp.where(ended.valid, weight * new + (1 - weight) * before, before))

        return Means(*map(averaged, means, old, (queue, ended.service, ended.response)))
