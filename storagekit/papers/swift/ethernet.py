"""The prototype on Ethernet as a small model: calibrated on table 1 alone, it predicts table 4.

Reads are a closed loop of as many packets as agents, for the client keeps one request outstanding with each: the packet
crosses its segment, the client works on it and asks for the next, the agent answers (section 3.1). The one unknown is the
client's time for a packet. Writes are a stream of packets with a gap, the one unknown, between their starts.

Table 1 has one rate for each operation, so one number each is all it can determine, not where the time beyond the Ethernet's
goes: all of it at the client, a second Ethernet adds nothing; all of it on each segment, it doubles the rate. So there are
two readings of each, one judged and one other.

Reads are judged with exponential times. The text says that one packet request outstanding for each agent costs performance
(section 3.1), and that the Ethernet, in use for 77 to 80%, is what limits table 1 (section 4). With random times both are so:
client (69% busy) and Ethernet (79%) wait for one another, and more requests would help. With fixed times, which packets of
one size would suggest, neither is: the loop is as fast as its slowest part, so that an Ethernet in use for 79% makes the
client the limit, and two agents give the full rate. The choice was made by the text, but after both numbers were known:
judged 1256 KB/s on two Ethernets (gain 1.41; 1245 and 1.40 where others use 5% of the second), the other 889 (gain 1.00);
what was measured, 1120 to 1150, lies between. What random times at one of the two alone give, `reads` tells.

For writes the gap is either a segment's, as the wait was put in as the kernel's buffers for the network overflowed, or the
client's own.

Agents' disks are left out: a local disk reads 650 KB/s and more (table 2), an agent has to give 300; writes are asynchronous.
Sizes are in KB, rates in KB/s, the paper's units, of which only ratios count; times in seconds.
"""

import heapq
import itertools
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import optimize

from storagekit.core.errors import InputError
from storagekit.papers.swift.measured import SAMPLES, measured_tables, possible_deviations

CAPACITY = 1120.0
"""KB/s that an Ethernet was measured to carry (section 4). Its use of 77 to 80% comes of 860 to 897 over 1120, not 1147."""
OPERATIONS = ("read", "write")
SIZES = (3, 6, 9)
READINGS = ("judged", "other")
EXPLAINED = {
    ("read", "judged"): "times are exponential, so that client and Ethernet wait for one another",
    ("read", "other"): "times are fixed, and the client's processor sets the pace",
    ("write", "judged"): "each segment has its own pace, as the wait between writes keeps its queue from overflowing",
    ("write", "other"): "the gap is the client's own time, over all segments",
}


@dataclass(frozen=True)
class Prototype:
    """A client and its agents.

    agents: how many on each segment. packet: KB of data in one, not in the paper: 8, NFS's and the file system's block.
    agent_speed: instructions a second of an agent, not in the paper: Sun's 12.5 MIPS for the 4/20. other_load: share of every
    segment but the first that others use.

    Raises InputError for no agents, or sizes and speeds that are not positive.
    """

    agents: tuple[int, ...] = (3,)
    packet: float = 8.0
    agent_speed: float = 12.5e6
    other_load: float = 0.0

    def __post_init__(self):
        if not self.agents or min(self.agents) < 1:
            raise InputError(f"agents {self.agents}: each segment needs at least 1")
        if self.packet <= 0 or self.agent_speed <= 0:
            raise InputError(f"packet {self.packet} KB, agents at {self.agent_speed}/s: both must be above 0")
        if not 0 <= self.other_load < 1:
            raise InputError(f"other load {self.other_load}: a share from 0 to below 1")

    @property
    def wires(self) -> tuple[float, ...]:
        """Seconds that a packet takes on each segment."""
        own = self.packet / CAPACITY
        return (own, *[own / (1 - self.other_load)] * (len(self.agents) - 1))

    @property
    def answer(self) -> float:
        """Seconds of an agent's processor for a packet: 1500 instructions and one per byte (section 5.1's assumption)."""
        return (1500 + 1024 * self.packet) / self.agent_speed


TWO = Prototype(agents=(3, 3))
"""With the second Ethernet, whose number of agents the paper does not give: as many again."""


ONE = Prototype()


def read_completions(
    prototype: Prototype,
    client: float,
    packets: int,
    wire_multiples: NDArray[np.float64] | None = None,
    client_multiples: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """When the client is done with each of `packets`, in seconds since it sent the first requests, in order.

    Segments and client serve first come, first served. Packet k belongs to agent k mod N, as the library interleaves evenly.
    client: seconds that its processor spends on a packet and the request for the next. wire_multiples, client_multiples: for
    each packet in the order in which segments and client begin it, [packets], what its time there is in multiples of the
    mean; without them every time is fixed.
    """
    segment = [place for place, count in enumerate(prototype.agents) for _ in range(count)]
    free, client_free = [0.0] * len(prototype.agents), 0.0
    wires, answer = prototype.wires, prototype.answer
    fixed = np.ones(packets)
    on_wires = iter((fixed if wire_multiples is None else wire_multiples).tolist())
    at_clients = iter((fixed if client_multiples is None else client_multiples).tolist())
    left = [len(range(agent, packets, len(segment))) for agent in range(len(segment))]
    # (time, agent, whether it comes to the client or to its segment)
    queue = [(answer, agent, False) for agent, share in enumerate(left) if share]
    heapq.heapify(queue)
    done = []
    while queue:
        now, agent, at_client = heapq.heappop(queue)
        if not at_client:
            wire = segment[agent]
            free[wire] = max(now, free[wire]) + wires[wire] * next(on_wires)
            heapq.heappush(queue, (free[wire], agent, True))
            continue
        client_free = max(now, client_free) + client * next(at_clients)
        done.append(client_free)
        left[agent] -= 1
        if left[agent]:
            heapq.heappush(queue, (client_free + answer, agent, False))
    return np.array(done)


def read_rate(prototype: Prototype, client: float) -> float:
    """KB/s of reads with fixed times, the mean over transfers of 3, 6 and 9 MB as measured, their start and end included."""
    rates = []
    for megabytes in SIZES:
        packets = max(1, round(1000 * megabytes / prototype.packet))
        rates.append(packets * prototype.packet / read_completions(prototype, client, packets)[-1])
    return float(np.mean(rates))


def read_rate_exponential(prototype: Prototype, client: float) -> float:
    """KB/s of reads in the same loop if the client's and the segments' times were exponential with these means.

    Every agent has the same share of the data, so a segment with fewer agents ends first and leaves the client to the rest;
    start and end of a transfer are not in it.
    """
    rates = _segment_rates(prototype, client)
    working, left, elapsed = list(prototype.agents), [1.0] * len(prototype.agents), 0.0
    while any(working):
        paces = [rate / max(count, 1) for rate, count in zip(rates[tuple(working)], working, strict=True)]
        step = min(left[k] / paces[k] for k, count in enumerate(working) if count)
        elapsed += step
        left = [share - pace * step for share, pace in zip(left, paces, strict=True)]
        working = [count if share > 1e-9 else 0 for count, share in zip(working, left, strict=True)]
    return sum(prototype.agents) * prototype.packet / elapsed


def _segment_rates(prototype: Prototype, client: float) -> dict[tuple[int, ...], NDArray]:
    """Packets a second over each segment, for every number of agents at work on each up to all.

    Exact mean value analysis with a class of packets for each segment, n_k of them in class k; Q the mean number at the
    client (c) and at segment k, with one packet of class k fewer (n - 1_k):

        R_ck(n) = C (1 + Q_c(n - 1_k)),  R_k(n) = E_k (1 + Q_k(n - 1_k)),  X_k(n) = n_k / (Z + R_ck(n) + R_k(n))

    Source: Reiser and Lavenberg, Mean-value analysis of closed multichain queueing networks, JACM 27(2), 1980. On one segment
    this is `storagekit.analytic.queueing.closed_network`.
    """
    classes = range(len(prototype.agents))
    nobody = tuple(0 for _ in classes)
    queues = {nobody: (0.0, np.zeros(len(classes)))}
    rates = {nobody: np.zeros(len(classes))}
    for numbers in list(itertools.product(*(range(count + 1) for count in prototype.agents)))[1:]:
        rate, at_client, at_segment = np.zeros(len(classes)), 0.0, np.zeros(len(classes))
        for k in (k for k in classes if numbers[k]):
            fewer = queues[(*numbers[:k], numbers[k] - 1, *numbers[k + 1 :])]
            responses = client * (1 + fewer[0]), prototype.wires[k] * (1 + fewer[1][k])
            rate[k] = numbers[k] / (prototype.answer + sum(responses))
            at_client += rate[k] * responses[0]
            at_segment[k] = rate[k] * responses[1]
        queues[numbers], rates[numbers] = (at_client, at_segment), rate
    return rates


def write_rate(prototype: Prototype, gap: float) -> float:
    """KB/s of writes where each segment gets a packet every `gap` seconds, and others' load delays it further.

    Data are interleaved evenly over agents, so the segment with the most of them per second of pace ends last.
    """
    gaps = [gap + wire - prototype.wires[0] for wire in prototype.wires]
    slowest = max(count * each for count, each in zip(prototype.agents, gaps, strict=True))
    return sum(prototype.agents) * prototype.packet / slowest


def write_rate_client(prototype: Prototype, gap: float) -> float:
    """KB/s of writes where the client can send a packet every `gap` seconds, over all segments together."""
    return prototype.packet / gap


MODELS = {
    ("read", "judged"): read_rate_exponential,
    ("read", "other"): read_rate,
    ("write", "judged"): write_rate,
    ("write", "other"): write_rate_client,
}
"""By operation and reading; the second argument of each is the one unknown, in seconds for a packet."""


def calibrate(operation: str, reading: str, rate: float, prototype: Prototype = ONE) -> float:
    """The unknown of a model, seconds for a packet, at which `prototype` has `rate` KB/s.

    Raises InputError for a rate that it does not reach with an unknown between a thousandth of a packet's time and a hundred.
    """
    model, wire = MODELS[operation, reading], prototype.wires[0]
    ends = (1e-3 * wire, 100 * wire)
    if not model(prototype, ends[1]) < rate < model(prototype, ends[0]):
        raise InputError(f"{rate} KB/s: {operation}s as modelled reach {model(prototype, ends[0]):.0f} at most")
    found = optimize.root_scalar(lambda unknown: model(prototype, unknown) - rate, bracket=ends, xtol=1e-9 * wire)
    return float(found.root)


def calibration_rates(seed: int = 0, draws: int = 10_000) -> xr.DataArray:
    """Table 1's mean over sizes by `operation` and `statistic` (mean, low, high), KB/s, with its 95% interval.

    Parametric bootstrap: eight samples a size, normal with the printed mean and deviation; a deviation that no eight samples
    with the printed min and max have is replaced by the least they can have. The spread between sizes is not in it.
    """
    table = measured_tables().sel(table=[1])
    possible = possible_deviations(table)
    deviation = table.deviation.clip(possible.least, possible.greatest).sel(table=1)
    mean = table["mean"].sel(table=1)
    generator = np.random.default_rng(seed)
    noise = generator.standard_normal((draws, SAMPLES, *mean.shape)).mean(axis=1)
    drawn = (mean.values + deviation.values * noise).mean(axis=-1)
    ends = np.quantile(drawn, [0.025, 0.975], axis=0)
    values = np.stack([mean.mean("size").values, *ends], axis=-1)
    coords = {"operation": mean["operation"].values, "statistic": ["mean", "low", "high"]}
    return xr.DataArray(values, coords=coords, dims=("operation", "statistic"))
