"""Clusters for the tests, and the admission test implemented again in plain Python."""

import itertools
import math

import numpy as np
import pytest

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.units import MS
from storagekit.mediator import Cluster, Economical, Mediator, Rejected, Request, Reservations, StripeLayout


def cluster_of(agents=4, disk=None, network=None, client=None):
    """Return a cluster with the paper's disks, hosts and gigabit ring (swift, section 5).

    The disks are M2372K, or the given disks in rotation.
    """
    kinds = disk if isinstance(disk, tuple) else (disk or Disk(16 * MS, 8.3 * MS, 2.5e6),)
    disks = tuple(itertools.islice(itertools.cycle(kinds), agents))
    return Cluster(disks, Host(), client or Host(), network or Network(125e6))


def positioning_ratio(disk, count, transfers, budget, period):
    """Return needed over allowed time at a disk.

    The needed time is the smaller of the certain sum and Chernoff's bound, minimized over a grid of theta.
    """
    certain = transfers + count * 2 * (disk.seek + disk.rotation)
    scale = float(disk.slowest(65536))
    rarity = math.log(1 + count / budget)
    found = [certain]
    for step in range(64):
        theta = 1e-2 * 1e6 ** (step / 63) / scale
        exponent = 0.0
        for mean in (disk.seek, disk.rotation):
            x = 2 * mean * theta
            if x > 0:
                exponent += x + math.log((1 - math.exp(-x)) / x) if x > 1e-3 else x / 2 + x * x / 24
        found.append(transfers + (count * exponent + rarity) / theta)
    return min(found) / period


def ratios(cluster, sessions):
    """Return needed over allowed time for every disk, and for every session at each of its agents.

    A ratio of 1 is full.
    """
    found = []
    for agent, disk in enumerate(cluster.disks):
        here = [(wanted, layout) for wanted, layout in sessions if agent in layout.agents]
        if not here:
            continue
        transfers = sum(layout.unit / disk.rate for _, layout in here)
        blocks = [layout.stripes * len(layout.agents) for _, layout in here]
        budget = min((1 - wanted.confidence) / count for (wanted, _), count in zip(here, blocks, strict=True))
        period = min(layout.data * layout.unit / wanted.rate for wanted, layout in here)
        found.append((f"disk of agent {agent}", positioning_ratio(disk, len(here), transfers, budget, period)))
    net = cluster.network
    for wanted, layout in sessions:
        client = own = 0.0
        for other, its in sessions:
            if other.client == wanted.client:
                sent = len(its.agents) if other.write else its.data
                client += sent * float(cluster.client.seconds(its.unit))
                client += float(cluster.client.check_seconds(its.data * its.unit)) if its.parity else 0.0
                client += sent * float(net.seconds(its.unit)) / net.rings if net.switched else 0.0
        ring = 0.0
        for other, its in sessions:
            sent = len(its.agents) if other.write else its.data
            ring += 0.0 if net.switched else sent * float(net.seconds(its.unit)) / net.rings
        own = (1 - 1 / net.rings) * float(net.seconds(layout.unit)) * (2 if net.switched else 1)
        for agent in layout.agents:
            way = ring + client + own
            for _, its in sessions:
                if agent in its.agents:
                    way += float(cluster.agent.seconds(its.unit))
                    way += float(net.seconds(its.unit)) / net.rings if net.switched else 0.0
            found.append(("network", way * wanted.rate / (layout.data * layout.unit)))
    return found


def allocations(cluster, wanted, units):
    """Yield every layout for a request: all sets of agents, with all units."""
    if wanted.layout is not None:
        yield wanted.layout
        return
    for data in range(1, cluster.agents + 1):
        count = data if wanted.group is None else data + math.ceil(data / wanted.group)
        for unit in units:
            if data * unit <= wanted.buffer and (data - 1) * unit < wanted.size:
                for agents in itertools.combinations(range(cluster.agents), count):
                    yield StripeLayout.over(wanted.size, unit, agents, wanted.group)


class Oracle:
    """The admission test by enumeration, one allocation at a time."""

    cluster_of = staticmethod(cluster_of)
    ratios = staticmethod(ratios)

    @staticmethod
    def highest_ratio(cluster, sessions):
        return max((ratio for _, ratio in ratios(cluster, sessions)), default=0.0)

    @staticmethod
    def least_ratio(cluster, sessions, wanted, units):
        """Return the smallest highest ratio, over all allocations, with this session added to the others."""
        return min(
            Oracle.highest_ratio(cluster, [*sessions, (wanted, layout)])
            for layout in allocations(cluster, wanted, units)
        )

    @staticmethod
    def sessions_of(reservations):
        return [(one.request, one.layout) for one in reservations.sessions.values()]

    @staticmethod
    def fill(cluster, seed, rates, mediators=None, write=0.3, group=0.4, seconds=60, refusals=12):
        """Add sessions of random kinds until `refusals` of them are rejected.

        Return the reservations and the admissions.
        """
        draw = np.random.default_rng(seed)
        reservations = Reservations(cluster)
        several = [Mediator(reservations, policy) for policy in (mediators or (Economical(),))]
        admitted, refused = [], 0
        while refused < refusals:
            rate = float(draw.choice(rates))
            number = len(admitted)
            answer = several[number % len(several)].request(
                Request(
                    f"client {number}",
                    rate,
                    int(rate * seconds),
                    write=bool(draw.random() < write),
                    group=4 if draw.random() < group else None,
                    start=float(draw.random() * 5),
                )
            )
            if isinstance(answer, Rejected):
                refused += 1
            else:
                admitted.append(answer)
        return reservations, admitted


@pytest.fixture(scope="session")
def oracle():
    return Oracle
