"""Clusters, and the admission test written again in plain Python."""

import itertools
import math

import numpy as np
import pytest

from storagekit.analytic.forkjoin.parts import Disk, Host, Network
from storagekit.core.units import MS
from storagekit.mediator import Cluster, Economical, Ledger, Mediator, Rejected, Request, StripeLayout


def cluster_of(agents=4, disk=None, network=None, client=None):
    """The paper's M2372K, hosts and gigabit ring (swift, section 5), or disks in turn."""
    kinds = disk if isinstance(disk, tuple) else (disk or Disk(16 * MS, 8.3 * MS, 2.5e6),)
    disks = tuple(itertools.islice(itertools.cycle(kinds), agents))
    return Cluster(disks, Host(), client or Host(), network or Network(125e6))


def positioning_ratio(disk, count, transfers, budget, period):
    """Needed over allowed time at a disk: the certain sum, or Chernoff's, each theta in turn."""
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
    """Needed over allowed time: of every disk, and of every session at every one of its agents. 1 is full."""
    found = []
    for agent, disk in enumerate(cluster.disks):
        here = [(asked, layout) for asked, layout in sessions if agent in layout.agents]
        if not here:
            continue
        transfers = sum(layout.unit / disk.rate for _, layout in here)
        blocks = [layout.stripes * len(layout.agents) for _, layout in here]
        budget = min((1 - asked.confidence) / count for (asked, _), count in zip(here, blocks, strict=True))
        period = min(layout.data * layout.unit / asked.rate for asked, layout in here)
        found.append((f"disk of agent {agent}", positioning_ratio(disk, len(here), transfers, budget, period)))
    net = cluster.network
    for asked, layout in sessions:
        client = own = 0.0
        for other, its in sessions:
            if other.client == asked.client:
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
            found.append(("network", way * asked.rate / (layout.data * layout.unit)))
    return found


def allocations(cluster, asked, units):
    """Every layout that a request could have: all sets of agents, all units."""
    if asked.layout is not None:
        yield asked.layout
        return
    for data in range(1, cluster.agents + 1):
        count = data if asked.group is None else data + math.ceil(data / asked.group)
        for unit in units:
            if data * unit <= asked.buffer and (data - 1) * unit < asked.size:
                for agents in itertools.combinations(range(cluster.agents), count):
                    yield StripeLayout.over(asked.size, unit, agents, asked.group)


class Oracle:
    """The test as a person would do it, one allocation at a time."""

    cluster_of = staticmethod(cluster_of)
    ratios = staticmethod(ratios)

    @staticmethod
    def fullest(cluster, sessions):
        return max((ratio for _, ratio in ratios(cluster, sessions)), default=0.0)

    @staticmethod
    def nearest(cluster, sessions, asked, units):
        """The least, over all allocations, of how full the fullest is with this session among the others."""
        return min(
            Oracle.fullest(cluster, [*sessions, (asked, layout)]) for layout in allocations(cluster, asked, units)
        )

    @staticmethod
    def sessions_of(ledger):
        return [(one.request, one.layout) for one in ledger.sessions.values()]

    @staticmethod
    def fill(cluster, seed, rates, mediators=None, write=0.3, group=0.4, seconds=60, refusals=12):
        """Sessions of random kinds until so many are refused: the ledger and the admitted answers."""
        draw = np.random.default_rng(seed)
        ledger = Ledger(cluster)
        several = [Mediator(ledger, policy) for policy in (mediators or (Economical(),))]
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
        return ledger, admitted


@pytest.fixture(scope="session")
def oracle():
    return Oracle
