"""Nodes and racks that fail: the failure domains of each group of a scheme, and the loss of groups that share them."""

import math
from collections.abc import Mapping
from dataclasses import replace

from storagekit.analytic.durability import Durability, durability
from storagekit.analytic.durability.markov import LossPath
from storagekit.faults import Domain, Failures, Redundancy, ReliabilityModel
from storagekit.plan.network import Network


def domains_of(
    network: Network, redundancy: Redundancy, failures: Mapping[str, Failures | None]
) -> tuple[Domain, ...] | None:
    """Return the failure domains of a group, from the largest to the smallest.

    The result is None if the disks of a group are not spread evenly over the nodes, or over the racks, that fail.

    failures: failures of a "rack" and of a "node".
    """
    nodes, racks = network.spread(redundancy.disks)
    spread, wanted = {"rack": racks, "node": nodes}, {kind: one for kind, one in failures.items() if one is not None}
    if any(spread[kind] is None for kind in wanted):
        return None
    return tuple(Domain(kind, count, wanted[kind]) for kind, count in spread.items() if count and kind in wanted)


def durability_in_domains(network: Network, model: ReliabilityModel, years: float) -> Durability:
    """Return the durability of groups that share nodes and racks, within `years` years.

    A loss that only failures of nodes and racks cause affects all groups on the same nodes simultaneously, so that it counts
    once. Any other loss includes the failure of a disk, which belongs to one group. These losses are counted for each group.
    With G groups on S different sets of nodes, the probability that nothing is lost is (1 - p)^G / (1 - q)^(G - S). Here p is
    the loss probability of one group, and q is its loss probability if only nodes and racks fail.

    model: the groups, with their failure domains.
    """
    groups, found = model.redundancy.groups, durability(model, years)
    if groups == 1 or not model.domains:
        return found
    one_group = replace(model, redundancy=replace(model.redundancy, groups=1))
    kept, total = groups * _log_kept(durability(one_group, years)), _rate(found)
    # only nodes and racks fail
    single = replace(one_group, failures=replace(model.failures, annual=0.0), bit_error_rate=0.0)
    paths = {path.events: path.share * total for path in found.paths}
    causes = {name: share * total for name, share in found.causes.items()}
    counted = groups
    # all domains, then only the largest kind, which more groups share
    for kinds in range(len(model.domains), 0, -1):
        once = durability(replace(single, domains=model.domains[:kinds]), years)
        sets = _different(network, model.redundancy, model.domains[kinds - 1].name)
        again, counted, rate = counted - sets, sets, _rate(once)
        kept -= again * _log_kept(once)
        total -= again * rate
        for path in once.paths:
            paths[path.events] = paths.get(path.events, 0.0) - again * rate * path.share
        for name, share in once.causes.items():
            causes[name] = causes.get(name, 0.0) - again * rate * share
    total = max(total, 0.0)
    shares = [LossPath(events, max(weight, 0.0) / total) for events, weight in paths.items()] if total else []
    return replace(
        found,
        loss_probability=-math.expm1(min(kept, 0.0)),
        mttdl_years=1 / total if total else math.inf,
        paths=tuple(sorted(shares, key=lambda path: -path.share)),
        causes={name: max(weight, 0.0) / total for name, weight in causes.items()} if total else {},
    )


def _log_kept(found: Durability) -> float:
    """Return the logarithm of the probability that nothing is lost. A certain loss has a finite logarithm too."""
    return math.log1p(-min(found.loss_probability, 1 - 1e-16))


def _rate(found: Durability) -> float:
    """Return the number of losses a year."""
    return 0.0 if math.isinf(found.mttdl_years) else 1 / found.mttdl_years


def _different(network: Network, redundancy: Redundancy, kind: str) -> int:
    """Return the number of different sets of nodes, or of racks, on which the groups have their disks."""
    domains, disks = network.racks if kind == "rack" else network.nodes, redundancy.disks
    return len(
        {
            frozenset((group * disks + disk) % network.nodes % domains for disk in range(min(disks, network.nodes)))
            for group in range(redundancy.groups)
        }
    )
