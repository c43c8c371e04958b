"""Rank the schemes for given disks by their predicted values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from storagekit.analytic.array.elevator import RLOOK, Scheduler
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MS
from storagekit.core.validation import instance_of, several
from storagekit.drive import SSD, Drive
from storagekit.plan.families import Family, Protocols, SplitTransfers, default_families, on_ssds
from storagekit.plan.finding import Exceeded, disks_meet, exceeded, found, keeps_data, order_of, surviving
from storagekit.plan.network import Network
from storagekit.plan.networking import network_is_full, overloaded_network
from storagekit.plan.objective import BUSIEST, MaxThroughput, MinMean, Objective
from storagekit.plan.predicting import holds, load_share, turns_in_time
from storagekit.plan.prediction import Prediction
from storagekit.plan.requirements import MOST_DISKS, Requirements
from storagekit.plan.scheme import Scheme
from storagekit.plan.schemes_answer import SchemesAnswer
from storagekit.plan.ssd_cache import SSDCache
from storagekit.plan.tenants import (
    CHUNK,
    SequentialStream,
    Tenant,
    different_streams,
    different_tenants,
    sizes_of,
    total_of,
)

_FAMILIES = "SRArrays(), ParityRAID(), Code(8, 3), ReplicatedBricks(), Protocols() or SplitTransfers()"


# number of further nodes, and of further racks, that are tried for a remedy
_TRIED = 32


def schemes(
    drive: Drive | SSD,
    disks: int,
    *,
    data: float,
    size: float | Mapping[float, float] | None = None,
    read_share: float | None = None,
    rate: float | None = None,
    outstanding: int | None = None,
    objective: Objective | None = None,
    tolerate: int = 0,
    mean: float | None = None,
    p99: float | None = None,
    price: float | None = None,
    budget: float | None = None,
    families: Family | Sequence[Family] | None = None,
    scheduler: Scheduler | None = None,
    queue_depth: int = 1,
    tenants: Sequence[Tenant] = (),
    streams: Sequence[SequentialStream] = (),
    chunk: float = CHUNK,
    network: Network | None = None,
    cache: SSDCache | None = None,
    tolerate_nodes: int = 0,
    tolerate_racks: int = 0,
) -> SchemesAnswer:
    """Rank all schemes for `data` bytes on `disks` disks: RAID 0, 1, 10, 5, 6, 50, 60, codes of m + p, and SR-Arrays.

    Parameters
    ----------
    drive : Drive or SSD
        A disk from `load_drive`, or an SSD from `load_ssd`.
    disks : int
        Number of disks.
    data : float
        Amount of data in bytes.
    size : float or mapping of float to float
        Request size in bytes, or a mapping from request sizes to their shares or counts, such as the counts of a histogram,
        which are divided by their sum; by default 4 KB.
    read_share : float
        Share of reads, 0 to 1; by default 1.
    rate : float, optional
        Rate of Poisson arrivals, requests a second.
    outstanding : int, optional
        Number of outstanding requests. Give this number, `rate`, or `tenants`.
    objective : Objective, optional
        `MaxThroughput()` (default with `outstanding`), `MinMean()` (default with `rate`), `MinP99()`, `MinP95()`,
        `MinCost()` or `MaxCapacity()`.
    tolerate : int
        Number of lost disks that a scheme must tolerate, by default 0.
    mean, p99 : float, optional
        Limits of the mean and of the 99th percentile of the response time, seconds.
    price, budget : float, optional
        Price of a disk, and limit of the total price.
    families : Family or sequence of Family, optional
        Families of schemes to rank; `SRArrays()` and `ParityRAID()` by default. By default, parity groups have as many
        parities as `tolerate` requires, and drives with sectors of 4 KB have no rotational replicas, because such drives do
        not let a host choose the angle of a block.
    scheduler : Scheduler, optional
        Scheduler of the disks if `outstanding` is given: `RLOOK()` (default) or `RSATF()`.
    queue_depth : int
        Number of requests from which a disk selects the request with the shortest access time, if `rate` is given: 1 to 256,
        32 for disks with command queueing (NCQ). By default 1: the disks serve requests in order of arrival (FCFS).
    tenants : sequence of Tenant, optional
        Several users of the array, in place of `rate`, `size` and `read_share`. A tenant has a rate, sizes, a share of reads
        and limits. `mean` and `p99` then limit the response times of all requests together.
    streams : sequence of SequentialStream, optional
        Sequential streams in addition to the requests, such as a backup, each with a rate in bytes a second.
    chunk : float
        Bytes that a stream reads or writes in one access, 512 bytes to 16 MB, and at least the largest request; by
        default 1 MB.
    network : Network, optional
        Nodes of the disks and the rates of their links, which limit the rate of requests; by default no limit. Response
        times exclude the network.
    cache : SSDCache, optional
        SSDs in front of the disks, which serve a share of the reads; by default none.
    tolerate_nodes, tolerate_racks : int
        Number of nodes of the network, and number of racks, that may fail simultaneously without a loss of data; by default
        0. The disks of each group are assigned to the nodes in turn, and the nodes to the racks in turn.

    Returns
    -------
    SchemesAnswer
        The ranking, which prints as a table. `answer.table` is a Dataset, `answer.check()` simulates the best three
        schemes, and `answer.chart()` draws the ranking. If no scheme is feasible, `feasible` is False and `binding`
        gives the reason.

    Raises
    ------
    InputError
        For impossible values.

    Examples
    --------
    >>> import storagekit as sk
    >>> drive = sk.load_drive("toshiba_mg10_20tb")
    >>> answer = sk.plan.schemes(drive, 12, data=60e12, size=64 * sk.units.KB, read_share=0.7, rate=600, tolerate=1)
    >>> str(answer.recommended.scheme)
    'RAID 10'
    """
    tenants = different_tenants("tenants", tenants)
    rate, sizes, read_share = _requests(tenants, rate, outstanding, size, read_share)
    needs = Requirements(
        drive, disks, data, sizes, read_share, rate, outstanding, tolerate, mean, p99, price, budget, queue_depth, tenants,
        different_streams("streams", streams), chunk, network, cache, tolerate_nodes, tolerate_racks,
    )  # fmt: skip
    objective, scheduler, families = (
        _objective(objective, needs),
        _scheduler(scheduler, needs),
        _families(needs, families),
    )
    met, refused = found(needs, objective, families, scheduler)
    small, long = _left_out(needs, families)
    return SchemesAnswer(
        needs=needs,
        objective=objective,
        scheduler=scheduler,
        families=tuple(families),
        ranking=tuple(sorted(met, key=partial(order_of, needs, objective))),
        refused=tuple(sorted(refused, key=partial(_nearness, objective))),
        small=small,
        long=long,
        binding=_binding(needs, objective, met, refused, families),
    )


def _left_out(needs: Requirements, families: Sequence[Family]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of schemes that are too small, and of schemes whose largest transfer is too long."""
    every = next(surviving(needs, needs.affordable, families), [])
    small = [one for one in every if not holds(needs, one)]
    long = [one for one in every if holds(needs, one) and not turns_in_time(needs, one)]
    return tuple(dict.fromkeys(map(str, small))), tuple(dict.fromkeys(map(str, long)))


def _requests(
    tenants: Sequence[Tenant],
    rate: float | None,
    outstanding: int | None,
    size: float | Mapping[float, float] | None,
    read_share: float | None,
) -> tuple[float | None, tuple[tuple[float, float], ...], float]:
    """Return the rate of all requests, their sizes with shares, and the share of reads.

    Raises InputError if an argument for all requests is given with tenants.
    """
    if not tenants:
        return rate, sizes_of(4 * KB if size is None else size), 1.0 if read_share is None else read_share
    given = {"rate": rate, "outstanding": outstanding, "size": size, "read_share": read_share}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} with tenants: tenants have their own requests; leave {name} out")
    return total_of(tenants)


def _scheduler(scheduler: Scheduler | None, needs: Requirements) -> Scheduler:
    """Return the scheduler for outstanding requests, by default RLOOK. Raises InputError for another kind of load."""
    if scheduler is None:
        return RLOOK()
    if needs.outstanding is None:
        raise InputError(
            "scheduler with rate: requests that arrive at a rate are served in order of arrival; leave the scheduler out, or "
            "give queue_depth=32 for disks that select the nearest of 32 requests"
        )
    return instance_of(Scheduler, "RLOOK() or RSATF()")("scheduler", scheduler)


def _objective(objective: Objective | None, needs: Requirements) -> Objective:
    """Return the objective of the ranking, by default the objective for this kind of load.

    Raises InputError for a wrong type.
    """
    if objective is None:
        return MinMean() if needs.outstanding is None else MaxThroughput()
    wanted = "MaxThroughput(), MinMean(), MinP95(), MinP99(), MinCost() or MaxCapacity()"
    return instance_of(Objective, wanted)("objective", objective)


def _families(needs: Requirements, families: Family | Sequence[Family] | None) -> Sequence[Family]:
    """Return the families to rank, by default the default families of the drive.

    Raises InputError for values of a wrong type, and for families without formulas with tenants or streams.
    """
    if families is None:
        return default_families(needs.drive, needs.tolerate)
    given = [families] if isinstance(families, Family) else families
    found = several(instance_of(Family, _FAMILIES), of="families")("families", given)
    if not found:
        raise InputError(f"families: none; give {_FAMILIES}")
    if isinstance(needs.drive, SSD):
        left = [one for one in found if not on_ssds([one])]
        if left:
            raise InputError(
                f"{type(left[0]).__name__}() with {needs.drive.name}, an SSD: there is no formula; leave this family out"
            )
        return on_ssds(found)
    simulated = [one for one in found if isinstance(one, Protocols | SplitTransfers)]
    if simulated and (needs.tenants or needs.streams or needs.cache):
        raise InputError(
            f"{type(simulated[0]).__name__}() with tenants, streams or a cache: its schemes have no formula, and are "
            "simulated with requests of one kind; leave this family out"
        )
    return found


def _binding(
    needs: Requirements,
    objective: Objective,
    met: Sequence[Prediction],
    refused: Sequence[Prediction],
    families: Sequence[Family],
) -> Binding:
    """Return the constraint "none" if a scheme was found, otherwise the reason why no scheme is feasible."""
    if met:
        return Binding("none")
    if needs.affordable < 1 and needs.price:
        return Binding("budget: no disk can be bought", needs.budget, needs.price, f"spend {needs.price:g} or more")
    if refused:
        return _too_slow(needs, objective, refused)
    every = [one for some in surviving(needs, needs.affordable, families) for one in some]
    if not every:
        return _too_few(needs, families)
    long = [one for one in every if holds(needs, one)]
    if long:
        most = float(needs.disk.revolution) / min(one.shape.replicas for one in long)
        constraint = f"transfer of the largest request, ms: {long[0]} needs it before the next replica passes"
        return Binding(constraint, needs.longest / MS, most / MS, "use smaller requests, or tolerate fewer failures")
    room = max(one.usable(needs.capacity) for one in every)
    best = next(one for one in every if one.usable(needs.capacity) == room)
    failed = needs.failed_domains
    nodes = " or nodes" if failed and _enough_domains(needs, families) else ""
    remedy = f"add disks{nodes}, or tolerate fewer failures; {best} has the largest capacity"
    tolerated = f"{needs.tolerate} failure{'s' * (needs.tolerate != 1)}{failed and f' and the loss of {failed}'}"
    return Binding(
        f"capacity, TB: {needs.affordable} disks that tolerate {tolerated}",
        needs.data / 1e12,
        room / 1e12,
        remedy,
    )


def _too_few(needs: Requirements, families: Sequence[Family]) -> Binding:
    """Return the reason why no scheme tolerates the failures: too few disks, or too few parities in the families."""
    disks, least = needs.affordable, needs.tolerate + 1
    if disks >= least and not any(family.of(disks) for family in families):
        more = next(
            (count for count in range(disks, MOST_DISKS + 1) if any(family.of(count) for family in families)), 0
        )
        return Binding(
            f"no scheme of these families has {disks} disks", remedy=f"use {more} disks" if more else "add families"
        )
    if needs.failed_domains and _tolerating_disks(needs, families):
        return _too_few_domains(needs, families)
    constraint = f"no scheme of {needs.affordable} disks tolerates the loss of {needs.tolerate} disks"
    if needs.affordable < least:
        return Binding(constraint, remedy=f"use at least {least} disks, for {least} copies")
    code = f"{needs.affordable - needs.tolerate}+{needs.tolerate}"
    return Binding(constraint, remedy=f"include codes such as {code}: families=ParityRAID(parities={needs.tolerate})")


def _tolerating_disks(needs: Requirements, families: Sequence[Family]) -> list[Scheme]:
    """Return the schemes that tolerate the failures of disks, regardless of failures of nodes and racks."""
    every = surviving(replace(needs, tolerate_nodes=0, tolerate_racks=0), needs.affordable, families)
    return [one for some in every for one in some]


def _too_few_domains(needs: Requirements, families: Sequence[Family]) -> Binding:
    """Return the constraint that every scheme loses data if the nodes or racks fail, with nodes or racks as remedy."""
    network, lost = needs.network, f"the loss of {needs.failed_domains}"
    assert network is not None
    constraint = f"no scheme of {needs.affordable} disks on {network.nodes} nodes keeps the data after {lost}"
    if (more := _enough_domains(needs, families)) is None:
        return Binding(constraint, remedy=f"tolerate less than {lost}, or include codes with more parities")
    racks = f" in {more.racks} racks" if more.racks > network.racks else ""
    return Binding(constraint, remedy=f"spread the disks over {more.nodes} nodes{racks}")


def _enough_domains(needs: Requirements, families: Sequence[Family]) -> Network | None:
    """Return a network with more nodes or racks, if a scheme then holds the data and keeps it after the failures.

    More nodes are tried before more racks, and small numbers before large numbers. The result is None if no network that
    is tried suffices.
    """
    network = needs.network
    assert network is not None
    every = [one for one in _tolerating_disks(needs, families) if holds(needs, one)]

    def suffices(more: Network) -> bool:
        return any(keeps_data(replace(needs, network=more), one) for one in every)

    most = needs.affordable
    # a node for each disk makes the loss smallest
    counts = {*range(network.nodes + 1, min(most, network.nodes + _TRIED) + 1), most} - {network.nodes}
    tried = [replace(network, nodes=nodes) for nodes in sorted(counts) if nodes >= network.nodes]
    if needs.tolerate_racks and network.rack_rate is not None:
        for racks in range(network.racks + 1, min(most, network.racks + _TRIED) + 1):
            tried.append(replace(network, nodes=max(network.nodes, racks), racks=racks))
            tried.append(replace(network, nodes=most, racks=racks))
    return next((one for one in tried if suffices(one)), None)


def _nearness(objective: Objective, one: Prediction) -> tuple[float, ...]:
    """Return the key by which rejected schemes are sorted.

    Overloaded schemes come last, in descending order of throughput.
    """
    return (0.0, *objective.key(one)) if np.isfinite(one.mean) else (1.0, -one.throughput)


def _too_slow(needs: Requirements, objective: Objective, refused: Sequence[Prediction]) -> Binding:
    """Return the violated constraint if all schemes with enough capacity are too slow."""
    connected = [one for one in refused if network_is_full(one) and _fast_enough(needs, objective, one)]
    if connected:
        return overloaded_network(needs, min(connected, key=lambda one: one.network))
    binding = _slow_disks(needs, objective, refused)
    links = [one for one in refused if network_is_full(one)]
    if len(links) < len(refused):
        return binding
    # the remedy for the disks would not help alone
    network = overloaded_network(needs, min(links, key=lambda one: one.network))
    return replace(binding, remedy=f"{binding.remedy}; the network is overloaded too: {network.remedy}")


def _fast_enough(needs: Requirements, objective: Objective, one: Prediction) -> bool:
    """Return whether the disks of a scheme are fast enough, without the limits of the network."""
    idle = needs.rate is None or load_share(needs, one) <= objective.most_busy
    return idle and disks_meet(needs, one)


def _slow_disks(needs: Requirements, objective: Objective, refused: Sequence[Prediction]) -> Binding:
    """Return the violated constraint if the disks of all schemes with enough capacity are too slow."""
    fewest = (
        ""
        if objective.may_leave_disks
        else "; the objective MinCost() (--objective cost) finds the smallest number of disks"
    )
    best = max(refused, key=lambda one: (one.disk_limit, -one.utilization))
    if needs.rate is not None and best.disk_limit <= needs.rate:
        # with streams, the utilization is not in proportion to the rate
        load = best.utilization if needs.streams else needs.rate / best.disk_limit
        count = int(np.ceil(needs.affordable * load / BUSIEST))
        then = f"be {BUSIEST:.0%} busy" if needs.queue_depth == 1 else f"have {BUSIEST:.0%} of their maximum rate"
        remedy = f"use about {count} disks, which would {then}, or reduce the load"
        more = f"{fewest} within the limit" if fewest and (needs.mean is not None or needs.tail is not None) else ""
        if not best.disk_limit:
            what = f"disk utilization, %: the streams alone overload the disks of {best.scheme}"
            return Binding(what, 100 * best.utilization, 100.0, remedy + more)
        return Binding(
            f"requests/s: the disks of {best.scheme} are overloaded", needs.rate, best.disk_limit, remedy + more
        )
    busy = [one for one in refused if disks_meet(needs, one)]
    if busy:
        share = partial(load_share, needs)
        idlest = min(busy, key=share)
        what = "disk utilization" if needs.queue_depth == 1 else "share of the maximum rate"
        constraint = f"{what}, %: {idlest.scheme} has the lowest"
        return Binding(constraint, 100 * share(idlest), 100 * objective.most_busy, "add disks")
    limit, nearest = min(((_worst(needs, one), one) for one in refused), key=lambda pair: pair[0].value / pair[0].limit)
    whose = f" of {limit.tenant}" if limit.tenant else ""
    constraint = f"{limit.measure} response{whose}, ms: {nearest.scheme} is the fastest"
    return Binding(constraint, limit.value / MS, limit.limit / MS, f"allow more time, or add disks{fewest}")


def _worst(needs: Requirements, one: Prediction) -> Exceeded:
    """Return the response time of a scheme that exceeds its limit by the largest factor."""
    return max(exceeded(needs, one), key=lambda limit: limit.value / limit.limit)
