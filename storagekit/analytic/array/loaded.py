"""Calculate the distribution of response times of an array under Poisson arrivals with FCFS scheduling.

Each disk is an M/G/1 queue with the utilization rho. The waiting time W at a disk is the sum of N residual service
times, and N has a geometric distribution (Pollaczek and Khinchine):

    W = sum of N residual services,  P(N = n) = (1 - rho) rho^n

The sum is computed by Fourier transform, which gives the whole distribution of W. This distribution is exact if service
times are independent. Above 98% utilization, waiting times are assumed to be exponential.

Three parts are approximations:

- Any of h heads can serve a read, and the read waits only if no head is idle. The probability of waiting is given by
  Erlang's formula for h servers, and the h heads serve one common queue of reads.
- A write occupies all heads, so for writes the heads act as a single server. The two probabilities of waiting, of one
  server and of h servers, are averaged. The weight of one server is the share of the busy time that writes take.
- The waiting times at the disks of a write are equal if the disks are mirrors. For other disks, the distribution is a
  mixture of equal and of independent waiting times. The weight of equal waiting times is the share of the work that two
  disks have in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.analytic.array import nearest_of_several
from storagekit.analytic.array.command_queue import CommandQueue, command_queue
from storagekit.analytic.array.disk_load import (
    NO_BACKGROUND,
    Background,
    DiskLoad,
    Operation,
    SizeShares,
    operations_of,
)
from storagekit.analytic.array.equations import DISKS
from storagekit.analytic.array.full_stripes import DividedRequests
from storagekit.analytic.array.positioning import Spindle
from storagekit.analytic.array.read_first import SeveralPhases
from storagekit.analytic.array.service_times import (
    ServiceDistributions,
    ServiceTimes,
    TransferSizes,
    mean_time,
    summed,
    time_grid,
    transformed,
    waiting_times,
)
from storagekit.analytic.array.shapes import Shape
from storagekit.analytic.queueing import waiting_probability
from storagekit.core.namespaces import (
    as_number,
    evenly_spaced,
    fixed_point,
    interpolated,
    is_true,
    is_zero,
    largest,
    listed,
    namespace_of,
    quotient,
    smallest,
    stacked,
)
from storagekit.core.validation import (
    Count,
    Positive,
    Share,
    instance_of,
    optional,
    require,
    several,
    traced,
    unchecked,
    validate,
    validate_fields,
)

# rounds of the search for the gain of a choice among idle heads, with command queueing
_GAINS = 2
# largest utilization of the calculation of response times with JAX
_FULL = 1 - 1e-5
# number of points of the time grid of service times
_POINTS = 1025
# largest number of iterations of the search for the utilization, and the change that ends it
_ROUNDS, _SETTLED = 60, 1e-9


@dataclass(frozen=True)
class Loaded:
    """Response times of an array under Poisson arrivals.

    Parameters
    ----------
    utilization : float
        Share of the time that a disk is busy; 1 or more if the array is overloaded.
    saturation : float
        Arrival rate at which the utilization is 1, requests a second; 0 if the accesses that belong to no request
        already overload the disks.
    mean : float
        Mean response time, seconds; infinite if the array is overloaded.
    time : array of float, shape `[time]`
        Evenly spaced times, seconds; empty if the array is overloaded.
    within : array of float, shape `[time]`
        Share of the requests that complete within each `time`; empty if the array is overloaded.
    background : float
        Share of the time that a disk is busy with accesses that belong to no request; by default 0. With command queueing,
        it is that share in saturation.
    """

    utilization: float
    saturation: float
    mean: float
    time: NDArray
    within: NDArray
    background: float = 0.0

    @validate
    def quantile(self, share: Share) -> float:
        """Return the response time within which a share of the requests completes.

        Parameters
        ----------
        share : float
            Share of the requests, 0 to 1.

        Returns
        -------
        float
            Response time, seconds; infinite if the array is overloaded.

        Raises
        ------
        InputError
            If the share is out of range.
        """
        if not self.time.size:
            return np.inf
        space = namespace_of(share, self.within, self.time)
        found = interpolated(share, self.within, self.time)
        return as_number(space.where(space.isinf(self.mean), np.inf, found))


_OPERATIONS = optional(several(instance_of(Operation, "one as Operation(1.0, reads=1)"), 1, "operations"))


@dataclass(frozen=True)
class RequestClass:
    """A class of requests, whose response times are calculated separately.

    Parameters
    ----------
    share : float
        Share of these requests among all requests, 0 to 1.
    reads : float
        Share of reads among these requests, 0 to 1.
    sizes : tuple of float, optional
        Share of each size among these requests; by default as in the `TransferSizes`.
    operations : tuple of Operation, optional
        Kinds of these requests, whose shares sum to 1; by default the reads and the writes of the layout. For layouts with
        parity only. If requests are divided, each kind has either reads or writes.

    Raises
    ------
    InputError
        If a number is out of range, or the shares of the operations do not sum to 1.
    """

    share: Share
    reads: Share
    sizes: SizeShares = None
    operations: Annotated[tuple[Operation, ...] | None, _OPERATIONS] = None

    def __post_init__(self):
        validate_fields(self)
        if self.sizes is not None:
            total = sum(self.sizes, 0.0)
            require(abs(total - 1) < 1e-6, "sum of the shares of sizes", total, "1; divide the shares by their sum")
        if self.operations is not None:
            total = sum(each.share for each in self.operations)
            require(abs(total - 1) < 1e-6, "sum of the shares of operations", total, "1")

    def kinds(self, shape: Shape) -> tuple[Operation, ...]:
        """Return the kinds of requests of the class in a layout, with their shares among all requests."""
        found = operations_of(shape, self.reads) if self.operations is None else self.operations
        if is_true(self.share == 1) and self.sizes is None:
            return found
        return tuple(replace(one, share=self.share * one.share, sizes=self.sizes) for one in found)


_CLASSES = several(instance_of(RequestClass, "one as RequestClass(0.5, reads=0.7)"), 1, "classes")


@validate  # fmt: skip
def loaded(
    spindle: Annotated[Spindle, instance_of(Spindle, "a Spindle, for example spindle(load_drive(name))")],
    shape: Shape,
    reach: Share,
    sizes: TransferSizes,
    *,
    disks: Annotated[int, DISKS],
    rate: Positive,
    reads: Share,
    depth: Count = 1,
    background: Background = NO_BACKGROUND,
    operations: tuple[Operation, ...] | None = None,
) -> Loaded:
    """Calculate the response times of an array under Poisson arrivals.

    Parameters
    ----------
    spindle : Linear or Curve
        Timing of the drive. Its overhead is ignored, because `sizes` includes the overhead.
    shape : Shape
        Layout of the array.
    reach : float
        Share of the cylinders that hold data, 0 to 1.
    sizes : TransferSizes
        Transfer times of the requests.
    disks : int
        Number of disks, at least 1.
    rate : float
        Arrival rate, requests a second, above 0.
    reads : float
        Share of reads, 0 to 1. The other requests are writes, whose copies or parity are written immediately.
    depth : int
        Number of requests among which a disk selects the nearest, by default 1: requests are served in order of arrival.
    background : Background
        Accesses of each disk that belong to no request, for example the accesses of a rebuild; by default none.
    operations : tuple of Operation, optional
        Kinds of requests; see `RequestClass`.

    Returns
    -------
    Loaded
        Utilization and distribution of response times.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range; a rate of 0 is out of range.
    """
    every = (RequestClass(1.0, reads, operations=operations),)
    return loaded_by_class(
        spindle, shape, reach, sizes, every, disks=disks, rate=rate, depth=depth, background=background
    )[0]


@validate  # fmt: skip
def loaded_by_class(
    spindle: Annotated[Spindle, instance_of(Spindle, "a Spindle, for example spindle(load_drive(name))")],
    shape: Shape,
    reach: Share,
    sizes: TransferSizes,
    classes: Annotated[tuple[RequestClass, ...], _CLASSES],
    *,
    disks: Annotated[int, DISKS],
    rate: Positive,
    depth: Count = 1,
    background: Background = NO_BACKGROUND,
) -> tuple[Loaded, ...]:
    """Calculate the response times of several classes of requests to one array, under Poisson arrivals.

    All classes wait for the same disks. They differ in their sizes and in their share of reads.

    Parameters
    ----------
    spindle, shape, reach, sizes, disks, rate, depth, background
        See `loaded`; `rate` is the rate of all classes together.
    classes : tuple of RequestClass
        The classes, whose shares sum to 1.

    Returns
    -------
    tuple of Loaded
        Utilization, and distribution of the response times of each class. `all_of` combines them.

    Raises
    ------
    InputError
        If an argument has the wrong type or is out of range, or the shares do not sum to 1.
    """
    _require_classes(shape, sizes, classes)
    one = disk_demand(spindle, shape, reach, sizes, classes, disks=disks, rate=rate, depth=depth, background=background)
    saturation = one.saturation(rate)
    if is_true(one.overloaded):
        none = np.empty(0)
        return (Loaded(one.demand, saturation, np.inf, none, none, one.background),) * len(classes)
    busy, time, each = one.load.responses()
    if isinstance(one.load, DiskLoad):
        each = _of_classes(classes, shape, one.load.operations, each)
    found = (Loaded(busy, saturation, mean_time(within, time), time, within, one.background) for within in each)
    return tuple(_unless_overloaded(each, one) for each in found) if traced(one.overloaded) else tuple(found)


def _unless_overloaded(found: Loaded, demand: "DiskDemand") -> Loaded:
    """Return the response times; if the array is overloaded, with its demand as the utilization and an infinite mean.

    Values that JAX traces are unknown, so that both cases are computed, and one is selected.
    """
    space = namespace_of(demand.overloaded)
    busy = space.where(demand.overloaded, demand.demand, found.utilization)
    return replace(found, utilization=busy, mean=space.where(demand.overloaded, np.inf, found.mean))


def all_of(classes: Sequence[RequestClass], found: Sequence[Loaded]) -> Loaded:
    """Return the response times of all requests, from the response times of each class. See `loaded_by_class`."""
    first = found[0]
    if len(found) == 1 or not first.time.size:
        return first
    shares = stacked([one.share for one in classes])
    within = shares @ stacked([one.within for one in found])
    return replace(first, mean=as_number(shares @ stacked([one.mean for one in found])), within=within)


def _require_classes(shape: Shape, sizes: TransferSizes, classes: Sequence[RequestClass]) -> None:
    """Raise InputError if classes do not fit the layout or the sizes."""
    total = sum(one.share for one in classes)
    require(abs(total - 1) < 1e-6, "sum of the shares of classes", total, "1")
    for one in classes:
        if one.operations is not None:
            most = max(max(each.reads, each.writes) for each in one.operations)
            require(shape.group >= most, "group", shape.group, f"at least {most}, the disks of the largest operation")
        if one.sizes is not None:
            require(len(one.sizes) == len(sizes.shares), "number of sizes", len(one.sizes), f"{len(sizes.shares)}")


def _of_classes(
    classes: Sequence[RequestClass], shape: Shape, operations: Sequence[Operation], within: NDArray
) -> NDArray:
    """Return the share of the requests of each class that complete within each time, from the shares of each operation."""
    found, first = [], 0
    for one in classes:
        last = first + len(one.kinds(shape))
        shares = stacked([each.share for each in operations[first:last]])
        found.append(quotient(shares @ within[first:last], shares.sum()))
        first = last
    return stacked(found)


@dataclass(frozen=True)
class DiskDemand:
    """The load of a disk, and the utilization that it would have with the service times of a saturated disk.

    Parameters
    ----------
    load : DiskLoad or _Ways
        The load.
    demand : float
        This utilization.
    background : float
        Part of `demand` for accesses that belong to no request.
    overloaded : bool
        Whether the queue grows without limit.
    """

    load: "DiskLoad | _Ways"
    demand: float
    background: float
    overloaded: bool

    def saturation(self, rate: float) -> float:
        """Return the arrival rate at which the demand is 1. rate: the arrival rate that causes this demand."""
        # without the accesses of the background, the demand is in proportion to the rate
        return rate * largest(0.0, 1 - self.background) / largest(self.demand - self.background, 1e-300)


def disk_demand(
    spindle: Spindle,
    shape: Shape,
    reach: float,
    sizes: TransferSizes,
    classes: tuple[RequestClass, ...],
    *,
    disks: int,
    rate: float,
    depth: int = 1,
    background: Background = NO_BACKGROUND,
) -> DiskDemand:
    """Return the demand of a disk, without the computation of response times. For the arguments, see `loaded_by_class`."""
    own_sizes = any(one.sizes is not None for one in classes)
    if own_sizes:
        classes = tuple(_with_sizes(one, sizes) for one in classes)
    kinds = tuple(kind for one in classes for kind in one.kinds(shape))
    if own_sizes:
        sizes = _sizes_of_accesses(sizes, kinds)
    seeks = spindle.hop(namespace_of(reach).asarray(reach) * unchecked(nearest_of_several.distances)())
    revolution = as_number(spindle.revolution)
    turn, arc = revolution * shape.turned, revolution / shape.replicas
    services = ServiceTimes(seeks, arc, sizes, turn, as_number(spindle.write_settle))
    transfer = largest(as_number(sizes.written.max() + turn + services.settle), background.longest)
    # without a choice among heads or requests, only the longest service time is needed
    points = _POINTS if depth > 1 or shape.heads > 1 else 2
    longest = as_number(seeks.max() + arc + transfer)
    fine = ServiceDistributions(services, evenly_spaced(longest, points))
    reads = sum(one.share * one.reads for one in classes)
    own = any(one.operations is not None for one in classes)
    if shape.ways > 1 or own or (shape.read_first and not is_true(reads >= 1)):
        load = DividedRequests if shape.ways > 1 else SeveralPhases
        return _of_several_disks(load(shape.group, fine, kinds, rate / disks, background=background), depth)
    arrivals = rate * (reads + (1 - reads) * shape.written) / disks
    ways = _Ways(shape, reads, fine, arrivals, background, classes)
    if depth > 1:
        return _selecting(ways, depth)
    others = background.busy(services)
    return DiskDemand(ways, arrivals * ways.moment(1.0, 1) + others, others, ways.busy >= 1)


def _with_sizes(one: RequestClass, sizes: TransferSizes) -> RequestClass:
    """Return a class that has shares of sizes, by default the shares of all requests.

    If JAX traces the share of reads, a share of 0 or 1 is moved by a small amount, so that the derivatives depend on the
    sizes of reads and of writes.
    """
    one = one if one.sizes is not None else replace(one, sizes=tuple(sizes.shares))
    reads: Any = one.reads
    if not traced(reads):
        return one
    few, where = max(1e-10, 32 * float(np.finfo(reads.dtype).eps)), namespace_of(reads).where
    return replace(one, reads=reads + where(reads < few, few, where(reads > 1 - few, -few, 0.0)))


def _sizes_of_accesses(sizes: TransferSizes, kinds: Sequence[Operation]) -> TransferSizes:
    """Return the transfer sizes with their shares among the accesses that read, and among the accesses that write."""
    own = stacked([sizes.shares if one.sizes is None else stacked(one.sizes) for one in kinds])
    every = stacked([stacked([one.share * one.reads, one.share * one.writes]) for one in kinds]).T @ own
    # without reads, or without writes, their shares have no effect
    reads, writes = (quotient(each, each.sum(), sizes.shares) for each in every)
    return replace(sizes, shares=reads, written_shares=writes)


def _selecting(ways: "_Ways", depth: int) -> DiskDemand:
    """Return the load of a disk that selects the nearest of `depth` requests."""
    background = ways.background
    rate = ways.arrivals + background.rate
    mean, square = background.selections(ways.fine, ways.of_reads, depth, ways.arrivals)
    queue = command_queue(rate, mean, square)
    for _ in range(_GAINS if ways.shape.heads > 1 else 0):
        # a read that finds several idle heads takes the nearest
        gain = [ways.moment(queue.busy, power) / ways.moment(1.0, power) for power in (1, 2)]
        first, space = np.arange(depth) == 0, namespace_of(*gain)
        queue = command_queue(rate, space.where(first, gain[0], 1.0) * mean, space.where(first, gain[1], 1.0) * square)
    selecting = replace(ways, fine=replace(ways.fine, chances=queue.chances), queue=queue)
    return DiskDemand(selecting, rate * as_number(mean[-1]), background.saturated(ways.fine, depth), queue.busy >= 1)


def _of_several_disks(load: DiskLoad, depth: int) -> DiskDemand:
    """Return the load of a disk of an array whose writes read before they write, or whose requests are divided."""
    demand, others = load.demand, load.background.busy(load.fine.services)
    if depth > 1:
        mean, square = load.background.selections(load.fine, load.of_reads, depth, load.reads + load.writes)
        demand, others = load.accesses * as_number(mean[-1]), load.background.saturated(load.fine, depth)
        queue = command_queue(load.accesses, mean, square)
        load = replace(load, fine=replace(load.fine, chances=queue.chances), queue=queue)
    return DiskDemand(load, demand, others, demand >= 1)


@dataclass(frozen=True)
class _Ways:
    """The reads and writes of a disk, and the means of its service times and of their squares at a utilization.

    arrivals: accesses of requests a second. background: accesses that belong to no request.
    """

    shape: Shape
    reads: float
    fine: ServiceDistributions
    arrivals: float
    background: Background
    classes: tuple[RequestClass, ...]
    queue: CommandQueue | None = None

    @cached_property
    def of_reads(self) -> float:
        """Return the share of reads among the accesses of a disk."""
        return self.reads / (self.reads + (1 - self.reads) * self.shape.written)

    def found_idle(self, busy: float) -> list[float]:
        """Return the probabilities that a read finds 0, 1, 2, ... idle heads."""
        heads, waits = self.shape.heads, self.waits(busy)
        free = [comb(heads, n) * (1 - busy) ** n * busy ** (heads - n) for n in range(1, heads + 1)]
        total = sum(free)
        scale = quotient(1 - waits, total, 1.0) if traced(total) else (1 - waits) / (total or 1.0)
        return [waits, *(scale * chance for chance in free)]

    def waits(self, busy: float) -> float:
        """Return the probability that a read finds no idle head."""
        busy = smallest(busy, 1.0)
        if is_true(busy == 1) or self.shape.heads == 1:
            return busy
        together = self.together
        return together * busy + (1 - together) * waiting_probability(self.pool * busy, self.pool)

    @property
    def pool(self) -> int:
        """Return the number of disks that serve one queue."""
        return max(self.shape.heads, self.shape.pool)

    @cached_property
    def together(self) -> float:
        """Return the share of a disk's busy time that writes take.

        A write occupies all heads of its block simultaneously.
        """
        means, share = self.moments[0], self.of_reads
        return (1 - share) * means[-1] / (share * means[0] + (1 - share) * means[-1])

    @property
    def alike(self) -> float:
        """Return the weight, 0 to 1, of the case that the waiting times at the disks of a write are equal.

        In this case, the write ends with its longest access. The disks of a mirror have the same queue, so the weight
        is 1. For other disks, the weight is a product: the share of a disk's work that writes cause, multiplied by the
        share of its writes that a second disk also has.
        """
        if self.shape.heads > 1:
            return 1.0
        shared = (self.shape.written - 1) / (self.shape.group - 1) if self.shape.group > 1 else 0.0
        return self.together * shared

    @cached_property
    def moments(self) -> NDArray:
        """Return the means and mean squares of service times: reads by 1, 2, ... heads, and a write, `[2, service]`."""
        return self.fine.moments(self.shape.heads)

    def moment(self, busy: float, power: int) -> float:
        """Return the mean (for `power` 1) or the mean square (for `power` 2) of the service time of an access."""
        none, *idle = self.found_idle(busy)
        *reads, write = listed(self.moments[power - 1])
        read = none * reads[0] + sum(chance * each for chance, each in zip(idle, reads, strict=True))
        return self.of_reads * read + (1 - self.of_reads) * write

    def access(self, served: ServiceDistributions, busy: float) -> NDArray:
        """Return the distribution of the service time of an access."""
        none, *idle = self.found_idle(busy)
        chances = [none + idle[0], *idle[1:]]
        read = sum((chance * served.read(heads) for heads, chance in enumerate(chances, 1)), np.zeros(served.time.size))
        found = self.of_reads * read + (1 - self.of_reads) * served.write
        return self.background.mixed(found, self.arrivals, served.services, served.time)

    def left(self, busy: float) -> float:
        """Return the mean waiting time in seconds of the requests that wait at one disk: E S^2 / (2 E S (1 - rho))."""
        if self.queue is not None:
            return self.queue.wait
        share, own = self.background.share(self.arrivals), self.background.moments(self.fine.services)
        mean, square = (as_number((1 - share) * self.moment(busy, power) + share * own[power - 1]) for power in (1, 2))
        return square / (2 * mean * (1 - busy))

    def responses(self) -> tuple[float, NDArray, NDArray]:
        """Return the utilization of a disk, evenly spaced times, and the share of requests that complete within them.

        A share is a share of the requests of one class. The shape is `[class, time]`.
        """
        # an overloaded disk, which only JAX computes, has no response times; a limit keeps the numbers finite
        busy = smallest(self.busy, _FULL) if traced(self.busy) else self.busy
        time = time_grid(as_number(self.fine.time[-1]), self.left(busy))
        return busy, time, _responses(self, replace(self.fine, time=time), busy)

    @cached_property
    def busy(self) -> float:
        """Return the utilization of a disk; 1 if it is overloaded.

        Service times grow with the utilization, so the utilization is found by iteration from below.
        """
        if self.queue is not None:
            return self.queue.busy
        others = self.background.busy(self.fine.services)
        busy = smallest(1.0, self.arrivals * self.moment(0.0, 1) + others)
        if traced(busy) and self.shape.heads > 1:
            return fixed_point(lambda busy: smallest(1.0, self.arrivals * self.moment(busy, 1) + others), busy)
        for _ in range(_ROUNDS if self.shape.heads > 1 else 0):
            before, busy = busy, min(1.0, self.arrivals * self.moment(busy, 1) + others)
            if is_true(busy - before < _SETTLED):
                break
        return busy


def _responses(ways: _Ways, served: ServiceDistributions, busy: float) -> NDArray:
    """Return the share of the requests of each class that complete within each of evenly spaced times, `[class, time]`."""
    time, left, waited, sizes = served.time, ways.left(busy), served, served.services.sizes
    waiting = waiting_times(time, busy, left, lambda: ways.access(served, busy), selects=ways.queue is not None)
    if ways.queue is not None:
        # a request that finds an idle disk is not selected among others
        waited, served = replace(served, chances=ways.queue.waited), replace(served, chances=None)
    # Heads with one queue serve the reads in parallel, but not the writes.
    faster = ways.together + (1 - ways.together) / ways.pool
    waits = transformed(interpolated(time, time * faster, waiting))
    chances, found = ways.found_idle(busy), []
    for one in ways.classes:
        within: Any = np.zeros(time.size)
        if not is_zero(one.reads):
            shares = sizes.shares_of(False) if one.sizes is None else stacked(one.sizes)
            within = within + one.reads * chances[0] * summed(waits * transformed(shares @ waited.reads))
            for heads, chance in enumerate(chances[1:], 1):
                within = within + one.reads * chance * (shares @ served.read_by(heads))
        if not is_zero(1 - one.reads):
            shares = sizes.shares_of(True) if one.sizes is None else stacked(one.sizes)
            within = within + (1 - one.reads) * _written(ways, served, waited, waits, busy, shares)
        found.append(within)
    return stacked(found)


def _written(
    ways: _Ways,
    served: ServiceDistributions,
    waited: ServiceDistributions,
    waits: NDArray,
    busy: float,
    shares: NDArray,
) -> NDArray:
    """Return, for each of evenly spaced times, the share of writes that complete within this time.

    served, waited: services of requests that find an idle disk, and of requests that wait. waits: transform of the
    distribution of the waiting times above 0. shares: share of each size among the writes.
    """
    # all copies of a write have the same size
    written = ways.shape.written
    ones, behind = served.writes, waited.writes
    found: Any = np.zeros(served.time.size)
    if not is_zero(ways.alike):
        last = summed(waits[None] * transformed(behind**written))
        found = found + ways.alike * (shares @ ((1 - busy) * ones**written + busy * last))
    if not is_zero(1 - ways.alike):
        apart = ((1 - busy) * ones + busy * summed(waits[None] * transformed(behind))) ** written
        found = found + (1 - ways.alike) * (shares @ apart)
    return found
