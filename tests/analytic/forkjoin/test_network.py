"""The recursion with processors and a network, against a plain event simulation with one event per packet."""

import heapq
import itertools
from collections import defaultdict

import numpy as np
import pytest
from helpers import slow_but

from storagekit.analytic.forkjoin import Disk, Host, Network, Simulation, StripedSystem, Striping
from storagekit.analytic.forkjoin.random_requests import Draws
from storagekit.core.units import KB, MB, MS

M2372K = Disk(16 * MS, 8.3 * MS, 2.5e6)
RING = Network(125e6, 10e-6)
FLASH = Disk(80e-6, 0.0, 3e9)


class Packets:
    """Every packet is an event. Servers are first come, first served; a disk serves the blocks of a request
    together."""

    def __init__(self, system: StripedSystem, draws: Draws, seed: int, rate: float):
        self.system, self.draws, self.seed = system, draws, seed
        self.free: dict[tuple, float] = defaultdict(float)
        self.events: list = []
        self.tie = itertools.count()
        arrivals = np.cumsum(draws.gap[:, seed] / rate)
        self.arrival_time = arrivals
        self.ended = np.zeros(len(arrivals))
        for number, time in enumerate(arrivals):
            self.at(time, self.begin, number)

    def run(self) -> np.ndarray:
        while self.events:
            time, _, action, arguments = heapq.heappop(self.events)
            action(time, *arguments)
        return self.ended - self.arrival_time

    def at(self, time, action, *arguments):
        heapq.heappush(self.events, (time, next(self.tie), action, arguments))

    def serve(self, server, time, seconds, action, *arguments):
        self.free[server] = max(time, self.free[server]) + seconds
        self.at(self.free[server], action, *arguments)

    def send(self, time, size, source, target, action, *arguments):
        """Send a packet through the sender's processor, the network and the receiver's processor, in this order."""
        system = self.system
        hosts = {"client": system.client}
        switched = system.network.switched

        def processor(host):
            part = hosts.get(host, system.agent)
            return (host, "host" if not part.duplex else "host out" if host == source else "host in")

        def link(host):
            return (host, "link out" if host == source else "link in") if switched else ("ring",)

        def sent(now):
            self.serve(link(source), now, float(system.network.seconds(size)), carried)

        def carried(now):
            wire = 0.0 if not switched else float(system.network.seconds(size))
            # a switch forwards a packet as it arrives: the receiver's link is busy for the same time, not for a second
            # one
            if switched:
                begin = max(now - wire, self.free[link(target)])
                self.free[link(target)] = begin + wire
                self.at(begin + wire, received)
            else:
                received(now)

        def received(now):
            self.serve(processor(target), now, float(hosts.get(target, system.agent).seconds(size)), action, *arguments)

        self.serve(processor(source), time, float(hosts.get(source, system.agent).seconds(size)), sent)

    def begin(self, time, number):
        system, striping = self.system, self.system.striping
        read = bool(self.draws.operation[number, self.seed] >= system.write_share)
        accessed = striping.accessed_disks(np.array(read), np.array(self.draws.selector[number, self.seed]))
        shape = accessed.shape
        numbers = (
            part[number, self.seed, : accessed.size].reshape(shape) for part in (self.draws.seek, self.draws.rotation)
        )
        blocks = system.disk.times(striping.unit, *numbers)
        parts = {
            disk: [blocks[row, disk] for row in range(shape[0]) if accessed[row, disk]] for disk in range(shape[1])
        }
        parts = {disk: times for disk, times in parts.items() if times}
        left = {"packets": sum(map(len, parts.values())) if read else len(parts)}

        def finish(now):
            left["packets"] -= 1
            if not left["packets"]:
                self.ended[number] = now

        if read:
            # one multicast packet, received by every agent
            first = next(iter(parts))
            others = [disk for disk in parts if disk != first]

            def received_by_first(now):
                for disk in others:
                    self.read(now, disk, parts[disk], finish)
                self.read(now, first, parts[first], finish)

            self.send(time, system.control, "client", ("agent", first), received_by_first)
        else:
            coming = {disk: len(times) for disk, times in parts.items()}

            def arrived(now, disk):
                coming[disk] -= 1
                if not coming[disk]:
                    self.write(now, disk, parts[disk], finish)

            for row in range(shape[0]):
                for disk in range(shape[1]):
                    if accessed[row, disk]:
                        self.send(time, striping.unit, "client", ("agent", disk), arrived, disk)

    def read(self, time, disk, times, finish):
        done = max(time, self.free["disk", disk])
        for seconds in times:
            done += seconds
            self.at(
                done,
                lambda now, disk=disk: self.send(now, self.system.striping.unit, ("agent", disk), "client", finish),
            )
        self.free["disk", disk] = done

    def write(self, time, disk, times, finish):
        done = max(time, self.free["disk", disk]) + sum(times)
        self.free["disk", disk] = done
        self.at(done, lambda now: self.send(now, self.system.control, ("agent", disk), "client", finish))


def compared(system: StripedSystem, load: float, requests: int = 1_500) -> float:
    """Mean completion of the recursion divided by that of the event simulation, on the same random numbers."""
    simulation = Simulation([system], [0, 1], requests)
    rate = load * system.saturation()[0]
    fast = simulation.completion(np.array([[rate]]))[0, 0]
    slow = [Packets(system, simulation.draws, seed, rate).run()[requests // 10 :].mean() for seed in (0, 1)]
    return float(np.mean(fast) / np.mean(slow))


@pytest.mark.parametrize("load", slow_but([0.8], [0.2, 0.8]))
@pytest.mark.parametrize(
    "unit, disks, requests",
    [(32 * KB, 32, 1_000), pytest.param(16 * KB, 8, 700, marks=pytest.mark.slow), (4 * KB, 32, 250)],
)
def test_where_disks_are_slow_packets_need_no_events(unit, disks, requests, load):
    system = StripedSystem(M2372K, Striping(MB, unit, disks), RING)
    assert compared(system, load, requests) == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize("write_share", [0.0, 1.0])
def test_reads_alone_and_writes_alone(write_share):
    system = StripedSystem(M2372K, Striping(MB, 32 * KB, 32), RING, write_share=write_share)
    assert compared(system, 0.5, 700) == pytest.approx(1, abs=0.015)


@pytest.mark.parametrize("switched, lowest", [(True, 0.95), (False, 0.87)])
def test_where_a_network_is_two_thirds_as_busy_as_the_disks(switched, lowest):
    network = Network(3.125e9, 0.0, switched=switched)
    system = StripedSystem(FLASH, Striping(MB, 32 * KB, 8), network, Host(10e9), Host(10e9))
    assert system.saturation()[1] == "disk"
    assert lowest < compared(system, 0.7, 700) < 1.01


@pytest.mark.parametrize("load, lowest", slow_but([(0.7, 0.62)], [(0.2, 0.92), (0.5, 0.78), (0.7, 0.62)]))
def test_where_the_client_is_the_limit_the_recursion_is_low(load, lowest):
    system = StripedSystem(FLASH, Striping(MB, 32 * KB, 8), Network(3.125e9), Host(1e9), Host(10e9))
    assert system.saturation()[1] == "client processor"
    assert lowest < compared(system, load, 700) < 1.01


@pytest.mark.parametrize("load", slow_but([0.7], [0.5, 0.7]))
def test_with_a_processor_for_each_direction_it_is_near(load):
    client = Host(1e9, duplex=True)
    system = StripedSystem(FLASH, Striping(MB, 32 * KB, 8), Network(3.125e9), client, Host(10e9))
    assert system.saturation()[1] == "client processor"
    assert 0.9 < compared(system, load, 700) < 1.01


def test_the_busy_share_agrees_with_the_events():
    system = StripedSystem(M2372K, Striping(MB, 32 * KB, 16), RING)
    simulation = Simulation([system], [0], 1_500)
    rate = 0.6 * system.saturation()[0]
    events = Packets(system, simulation.draws, 0, rate)
    taken = defaultdict(float)
    serve = events.serve

    def counted(server, time, seconds, action, *arguments):
        taken[server] += seconds
        serve(server, time, seconds, action, *arguments)

    events.serve = counted
    events.run()
    span = float(events.arrival_time[-1])
    expected = system.utilization(rate)
    assert taken["client", "host"] / span == pytest.approx(float(expected["client processor"]), rel=0.05)
    assert taken[("ring",)] / span == pytest.approx(float(expected["network"]), rel=0.05)
    assert expected["disk"] == pytest.approx(0.6)
