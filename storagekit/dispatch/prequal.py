"""Prequal: a client probes random bricks, and sends requests by reports of their requests in flight and latencies.

References
----------
Wydrowski, Kleinberg, Rumble and Archer, Load is not what you should balance: introducing Prequal, NSDI 2024.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Num, UInt32

from storagekit.component.events import AccessEnded, RequestAdmitted, StateSizes
from storagekit.core.arrays import AnyArray
from storagekit.core.batching import (
    bit_is_set,
    comes_before,
    count,
    first_true,
    named,
    nth_least,
    pick,
    put,
    row_index,
    where_tree,
    whole,
)
from storagekit.core.validation import COUNT, SHARE, TIME, Validator
from storagekit.dispatch.base import AsManyAsNeeded, View
from storagekit.dispatch.memory import BELOW_ONE
from storagekit.dispatch.nodes import least_of
from storagekit.dispatch.sampled import lots
from storagekit.workload import Requests, scramble

# Number of recent probes whose requests in flight give the threshold between cold and hot reports.
RECENT = 64
# Number of latest responses from which a brick estimates its latency.
SAMPLES = 16
# Largest number of uses of a report.
MOST_USES = 16
# Validators of the mean number of probes of a read, and of the surplus of reports (the paper's delta).
PROBES, SURPLUS = Validator(least=0, most=RECENT), Validator(least=0)


class Pool(NamedTuple):
    """Reports of the bricks to the client, at most one of each brick.

    Parameters
    ----------
    uses : array of int32, shape `[brick, *batch]`
        Number of times that the report of each brick may still be used; 0 without a report.
    in_flight : array of int32, shape `[brick, *batch]`
        Requests in flight at the brick: those in the report, and those that the client has sent since then because of
        the report.
    latency : array of float32, shape `[brick, *batch]`
        Estimated latency of the brick, seconds; 0 before its first response.
    age : array of float32, shape `[brick, *batch]`
        Time in seconds since the report; inf for the reports of the entering read, whose arrival time is not known yet.
    later : array of int32, shape `[brick, *batch]`
        Number of probes since the report.
    """

    uses: Int[Array, "brick *batch"]
    in_flight: Int[Array, "brick *batch"]
    latency: Float[Array, "brick *batch"]
    age: Float[Array, "brick *batch"]
    later: Int[Array, "brick *batch"]


class Client(NamedTuple):
    """State of the client.

    Parameters
    ----------
    pool : Pool
        Reports of the bricks.
    recent : array of int32, shape `[probe, *batch]`
        Requests in flight in the recent reports, a ring of `RECENT` entries.
    reported : array of int32, shape `[1, *batch]`
        Number of reports; from `RECENT` on only its remainder is exact.
    probes, removals : array of float32, shape `[1, *batch]`
        Fractions of a probe and of a removal that are left from earlier reads.
    oldest : array of bool, shape `[1, *batch]`
        Whether the next removal is of the oldest report; otherwise it is of the worst report.
    """

    pool: Pool
    recent: Int[Array, "probe *batch"]
    reported: Int[Array, "1 *batch"]
    probes: Float[Array, "1 *batch"]
    removals: Float[Array, "1 *batch"]
    oldest: Bool[Array, "1 *batch"]


class Responses(NamedTuple):
    """The latest responses of the bricks. Each brick has `SAMPLES` consecutive rows, which form a ring.

    Parameters
    ----------
    latency : array of float32, shape `[row, *batch]`
        Response time, seconds.
    in_flight : array of int32, shape `[row, *batch]`
        Requests in flight at the brick when the request arrived, without this request.
    responded : array of int32, shape `[brick, *batch]`
        Number of responses of each brick; from `SAMPLES` on only its remainder is exact.
    """

    latency: Float[Array, "row *batch"]
    in_flight: Int[Array, "row *batch"]
    responded: Int[Array, "brick *batch"]

    def estimate(self, in_flight: Int[Array, "brick *batch"]) -> Float[Array, "brick *batch"]:
        """Return the latency of each brick with a given number of requests in flight.

        Parameters
        ----------
        in_flight : array of int32, shape `[brick, *batch]`
            Requests in flight at each brick.

        Returns
        -------
        array of float32, shape `[brick, *batch]`
            Median of the latest latencies of the requests that met the nearest number of requests in flight, seconds.
            The lower of two medians is taken. It is 0 before the first response.
        """

        def of_brick(latency, met, responded, now):
            known = row_index(SAMPLES, latency) < responded
            distance = jnp.where(known, jnp.abs(met - now), jnp.iinfo(jnp.int32).max)
            nearest = known & (distance == jnp.min(distance, axis=0, keepdims=True))
            median = nth_least(jnp.where(nearest, latency, jnp.inf), (count(nearest) + 1) // 2)
            return jnp.where(responded > 0, median, 0.0)

        by_brick = (self.responded.shape[0], SAMPLES, *in_flight.shape[1:])
        rings = self.latency.reshape(by_brick), self.in_flight.reshape(by_brick)
        return jax.vmap(of_brick)(*rings, self.responded[:, None], in_flight[:, None])[:, 0]


class Probing(NamedTuple):
    """Private state of the client and of the bricks.

    Parameters
    ----------
    client : Client
        State of the client.
    responses : Responses
        The latest responses of the bricks.
    met : array of int32, shape `[brick, slot, *batch]`
        Requests in flight at each brick when the request in each slot arrived, without this request.
    in_flight : array of int32, shape `[brick, *batch]`
        Requests in flight at each brick when the entering request arrives, without this request.
    sent : array of bool, shape `[drive, *batch]`, or None
        Mask of the drives to which the entering request is sent; None if no brick ever stops.
    silent : array of float32, shape `[brick, *batch]`, or None
        Time in seconds during which a brick still receives no probes; None if no brick ever stops.

    Notes
    -----
    For n bricks and S slots, the state of a run takes 156 n + 4 n S + 269 bytes, and further bytes if bricks may stop.
    """

    client: Client
    responses: Responses
    met: Int[Array, "brick slot *batch"]
    in_flight: Int[Array, "brick *batch"]
    sent: Bool[Array, "brick *batch"] | None
    silent: Float[Array, "brick *batch"] | None


class Prequal(AsManyAsNeeded):
    """Send a read to the bricks with the best reports in the probe pool of the client: Prequal, asynchronous mode.

    Each read triggers probes of random bricks, whose reports serve later reads. A report has the requests in flight (RIF)
    at the brick, and an estimate of its latency: the median latency of the latest responses to requests that met about as
    many requests in flight. A report is hot if its RIF exceeds a quantile of the RIFs of recent reports, otherwise cold.
    The best report is the cold report with the lowest latency. If all reports are hot, it is the report with the lowest
    RIF (hot-cold lexicographic rule). Equal reports are ordered at random. Bricks without a report come last, in random
    order.

    Parameters
    ----------
    probes : float
        Mean number of bricks that a read probes, 0 to 64, by default 3 (r_probe); one value, or one for each run.
    pool : int
        Largest number of reports in the pool, at least 1, by default 16 (m). The oldest report leaves a full pool.
    age : float
        Time in seconds after which a report is discarded, above 0, by default 1.
    quantile : float
        Quantile of the RIFs of the last 64 reports that separates hot from cold reports, 0 to 1, by default 2^-0.25
        (Q_RIF). With 0, a report is cold only if its RIF is at most the lowest recent RIF, so that RIFs decide, and latencies
        only between such reports. With 1, only latencies decide.
    removals : float
        Mean number of reports that are removed at a read, 0 to 1, by default 1 (r_remove). The oldest report and the
        worst report are removed alternately. The worst report is the hot report with the highest RIF. If all reports are
        cold, it is the report with the highest latency.
    surplus : float
        Net number of reports by which the pool grows at a read if it is not full, at least 0, by default 1 (delta). It
        determines how often a report is used: b = (1 + surplus) / ((1 - pool / bricks) * probes - removals) times in the
        mean, at least once. If the denominator is not positive, or b exceeds 16, a report is used 16 times.

    Raises
    ------
    InputError
        If a number is out of range.

    Notes
    -----
    There is one client with one pool. With many clients, each with its own pool, reports would be older, because each
    client sends fewer reads. Probes and their reports take no time. The probes of a read reach the bricks after the read,
    and their reports include it. A brick is selected at random only if no brick with the data has a report. Whether a
    report is too old is decided at the last access that begins or ends before the arrival of a read. After an idle time,
    the first read therefore uses reports that are older than `age`. A read from memory triggers probes and counts in
    their reports, as if it reached the brick.
    Writes are not routed, so they trigger no probes, but they count as requests in flight, and their latencies are
    measured. A read that needs several parts is sent to the bricks with the best reports, and uses all of these reports.

    The synchronous mode, the probes of an idle client, and the aversion to bricks that fail fast are not modelled. A brick
    that a read cannot reach, because it is down, receives no probes for the time `age`, and its report is removed. This
    rule is not from the paper: without it a brick that is down would report no requests in flight.

    The paper does not give the number of recent reports (here 64) and of responses (here 16), and their medians. It
    rounds a fractional number of probes so that the sum over all reads is exact, as here, and rounds b at random. A new
    report replaces an older report of the same brick; the formula for b implies this. With at most `pool` bricks, the
    pool has reports of nearly all bricks.

    References
    ----------
    Wydrowski, Kleinberg, Rumble and Archer, Load is not what you should balance: introducing Prequal, NSDI 2024.

    Examples
    --------
    >>> import storagekit as sk
    >>> from storagekit.dispatch import Prequal
    >>> system = sk.System(sk.drive.RateServer(1000.0), sk.placement.Replicas(8), Prequal(), sk.schedule.FCFS())
    >>> reads = sk.workload.RandomRequests(sk.workload.FixedSize(512), read_share=1.0)
    >>> load = sk.workload.PoissonArrivals(reads, rate=4000.0)
    >>> bool(sk.simulate(sk.Scenario(system, load), requests=500).response < 0.0015)
    True
    """

    probes: Float[AnyArray, "..."] = eqx.field(converter=named("probes of a read"), default=3.0)
    pool: Int[AnyArray, "..."] = eqx.field(converter=named("reports in the pool", whole), default=16)
    age: Float[AnyArray, "..."] = eqx.field(converter=named("an age of reports of"), default=1.0)
    quantile: Float[AnyArray, "..."] = eqx.field(converter=named("quantile of requests in flight"), default=2**-0.25)
    removals: Float[AnyArray, "..."] = eqx.field(converter=named("removals at a read"), default=1.0)
    surplus: Float[AnyArray, "..."] = eqx.field(converter=named("surplus of reports"), default=1.0)

    def __check_init__(self):
        PROBES.each("probes of a read", self.probes)
        COUNT.each("reports in the pool", self.pool)
        TIME.each("an age of reports of", self.age)
        SHARE.each("quantile of requests in flight", self.quantile)
        SHARE.each("removals at a read", self.removals)
        SURPLUS.each("surplus of reports", self.surplus)

    def init(self, sizes: StateSizes) -> Probing:
        def none(*shape: int, kind=jnp.int32):
            return jnp.zeros((*shape, *sizes.batch), kind)

        bricks, rows = sizes.bricks, sizes.bricks * SAMPLES
        of_brick, seconds, one = none(bricks), none(bricks, kind=jnp.float32), none(1, kind=jnp.float32)
        pool = Pool(of_brick, of_brick, seconds, seconds, of_brick)
        return Probing(
            Client(pool, none(RECENT), none(1), one, one, one == 0),
            Responses(none(rows, kind=jnp.float32), none(rows), of_brick),
            none(bricks, sizes.slots),
            of_brick,
            none(sizes.drives, kind=bool) if sizes.stops else None,
            seconds if sizes.stops else None,
        )

    def route(self, private: Probing, request: Requests, entering, view: View):
        holds, part = view.by_brick()
        drive, bricks = row_index(view.busy.shape[0], view.busy), row_index(view.bricks.count, view.busy)
        of_brick = view.bricks.of(drive)[None] == bricks[:, None]
        in_flight = jnp.sum(jnp.where(of_brick, view.load()[None], 0), axis=1, dtype=jnp.int32)
        client = private.client
        pool = client.pool._replace(uses=jnp.where(client.pool.age <= self.age, client.pool.uses, 0))
        order = self._order(client._replace(pool=pool), holds, lots(view.word, holds.shape[0]))
        routed = least_of(order, holds, part, view.needed)
        sent = holds & bit_is_set(routed, part)
        used = sent & (pool.uses > 0)
        pool = pool._replace(uses=pool.uses - used, in_flight=pool.in_flight + used)
        after = self._removed(client._replace(pool=pool))
        after = self._probed(private._replace(client=after), in_flight + sent, view.word)
        return routed, private._replace(
            client=where_tree(entering & request.read, after, client),
            in_flight=jnp.where(entering, in_flight, private.in_flight),
            sent=None if private.sent is None else jnp.where(entering, bit_is_set(routed, view.part()), private.sent),
        )

    def retry_targets(self, alive, targets):
        # The selected bricks that are up stay selected. Otherwise they would count as bricks that a read cannot reach.
        left = targets & alive
        return jnp.where(left != 0, left, super().retry_targets(alive, targets))

    def on_admitted(self, private: Probing, event: RequestAdmitted):
        slot = jnp.minimum(first_true(event.slot_mask)[0], event.slot_mask.shape[0] - 1)
        column = jnp.broadcast_to(slot, private.in_flight.shape)[:, None]
        before = jnp.take_along_axis(private.met, column, axis=1)
        pool = private.client.pool
        pool = pool._replace(age=jnp.where(jnp.isinf(pool.age) & event.admitted, -event.at, pool.age))
        private = private._replace(
            client=private.client._replace(pool=pool),
            met=put(private.met, slot, jnp.where(event.admitted, private.in_flight[:, None], before), axis=1),
        )
        if private.silent is None or private.sent is None:
            return private
        drive, bricks = row_index(private.sent.shape[0], slot), row_index(private.silent.shape[0], slot)
        reached = bit_is_set(event.targets, event.placement.part_on(drive, event.location))
        # a read from memory reaches no brick
        away = private.sent & ~reached & event.admitted & event.request.read & (event.targets != 0)
        lost = jnp.any((event.placement.brick_of(drive)[None] == bricks[:, None]) & away[None], axis=1)
        return private._replace(
            client=private.client._replace(pool=pool._replace(uses=jnp.where(lost, 0, pool.uses))),
            silent=jnp.where(lost, self.age, private.silent),
        )

    def on_access_ended(self, private: Probing, event: AccessEnded):
        latest, met, brick = private.responses, private.met, event.brick
        in_flight = pick(met.reshape(-1, *met.shape[2:]), brick * met.shape[1] + event.slot)
        row = brick * SAMPLES + pick(latest.responded, brick) % SAMPLES

        def replaced(values, new):
            return put(values, row, jnp.where(event.awaited, new, pick(values, row)))

        responded = (row_index(latest.responded.shape[0], brick) == brick) & event.awaited
        return private._replace(
            responses=Responses(
                replaced(latest.latency, event.elapsed),
                replaced(latest.in_flight, in_flight),
                _turned(latest.responded + responded, SAMPLES),
            )
        )

    def elapse(self, private: Probing, time: Float[Array, "1 *batch"]):
        pool = private.client.pool
        return private._replace(
            client=private.client._replace(pool=pool._replace(age=pool.age + time)),
            silent=None if private.silent is None else private.silent - time,
        )

    def _hot(self, client: Client) -> Bool[Array, "brick *batch"]:
        """Return the mask of the bricks whose reports are hot."""
        known = row_index(RECENT, client.recent) < client.reported
        lower = known[:, None] & (client.recent[:, None] < client.pool.in_flight[None])
        below = jnp.sum(lower, axis=0, dtype=jnp.int32).astype(jnp.float32)
        limit = self.quantile * jnp.minimum(client.reported, RECENT).astype(jnp.float32)
        return (below > 0) & (below >= limit) & (self.quantile < 1)

    def _order(
        self, client: Client, holds: Bool[Array, "brick *batch"], lot: Float[Array, "brick *batch"]
    ) -> Float[Array, "brick *batch"]:
        """Return numbers whose order is the order in which the bricks with the data are selected."""
        pool, hot = client.pool, self._hot(client)
        reported = pool.uses > 0
        value = jnp.where(reported, _value(pool, hot), 0.0)
        better = _ahead(~reported, reported & hot, value)
        ahead = jnp.sum(holds[:, None] & better, axis=0, dtype=jnp.int32)
        return ahead.astype(jnp.float32) + lot * BELOW_ONE

    def _removed(self, client: Client) -> Client:
        """Return the client after the removals of a read."""
        pool, hot, total = client.pool, self._hot(client), client.removals + self.removals
        removes, worst = total >= 1, ~client.oldest
        better = _ahead(worst & hot, jnp.where(worst, _value(pool, hot), 0.0), pool.later)
        last = ~jnp.any(better & (pool.uses > 0)[None], axis=1)
        return client._replace(
            pool=pool._replace(uses=jnp.where(last & removes, 0, pool.uses)),
            removals=total - removes,
            oldest=client.oldest ^ removes,
        )

    def _probed(
        self, private: Probing, in_flight: Int[Array, "brick *batch"], word: UInt32[Array, "1 *batch"]
    ) -> Client:
        """Return the client after the probes of a read. in_flight: requests in flight at each brick."""
        client, bricks = private.client, in_flight.shape[0]
        total = client.probes + self.probes
        wanted = jnp.floor(total).astype(jnp.int32)
        lot = lots(scramble(word + 1), bricks)
        lot = lot if private.silent is None else jnp.where(private.silent > 0, jnp.inf, lot)
        rank = jnp.sum(comes_before(lot), axis=0, dtype=jnp.int32)
        probed = (rank < wanted) & jnp.isfinite(lot)
        made = count(probed)
        mean, share = self._uses(bricks), lots(scramble(word + 2), bricks) * 2.0**-32
        uses = jnp.minimum(jnp.floor(mean + share), jnp.ceil(mean))
        latency, unknown = private.responses.estimate(in_flight), jnp.full(lot.shape, jnp.inf)
        new = Pool(uses.astype(jnp.int32), in_flight, latency, unknown, made - 1 - rank)
        pool = where_tree(probed, new, client.pool._replace(later=client.pool.later + made))
        newer = (pool.uses > 0)[:, None] & (pool.later[:, None] < pool.later[None])
        kept = jnp.sum(newer, axis=0, dtype=jnp.int32) < self.pool
        return client._replace(
            pool=pool._replace(uses=jnp.where(kept, pool.uses, 0)),
            recent=_recorded(client, jnp.where(probed, rank, -1), in_flight),
            reported=_turned(client.reported + made, RECENT),
            probes=total - wanted,
        )

    def _uses(self, bricks: int) -> Float[AnyArray, "..."]:
        """Return the mean number of uses of a report, equation 1 of the paper, from 1 to `MOST_USES`."""
        growth = (1 - jnp.asarray(self.pool, jnp.float32) / bricks) * self.probes - self.removals
        uses = (1 + self.surplus) / jnp.where(growth > 0, growth, 1.0)
        return jnp.where(growth > 0, jnp.clip(uses, 1.0, MOST_USES), float(MOST_USES))


def _turned(number: Int[Array, "row *batch"], size: int) -> Int[Array, "row *batch"]:
    """Return the number of entries of a ring after at most `size` further entries, below 2 * size, with equal remainder."""
    return jnp.where(number >= 2 * size, number - size, number)


def _value(pool: Pool, hot: Bool[Array, "brick *batch"]) -> Float[Array, "brick *batch"]:
    """Return the requests in flight in hot reports, and the latency in the others."""
    return jnp.where(hot, pool.in_flight.astype(jnp.float32), pool.latency)


def _ahead(*keys: Num[Array, "row *batch"] | Bool[Array, "row *batch"]) -> Bool[Array, "row row *batch"]:
    """Return whether the row of the first axis has the lower keys; of equal keys, the next keys decide."""
    first, *rest = keys
    lower = first[:, None] < first[None]
    return lower | ((first[:, None] == first[None]) & _ahead(*rest)) if rest else lower


def _recorded(
    client: Client, rank: Int[Array, "brick *batch"], in_flight: Int[Array, "brick *batch"]
) -> Int[Array, "probe *batch"]:
    """Return the recent requests in flight after probes. rank: number of the probe of each brick, -1 without a probe."""
    number = (row_index(RECENT, client.recent) - client.reported) % RECENT
    its = number[:, None] == rank[None]
    return jnp.where(jnp.any(its, axis=1), jnp.sum(jnp.where(its, in_flight[None], 0), axis=1), client.recent)
