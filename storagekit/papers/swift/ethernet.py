"""A small model of the prototype on Ethernet, which is calibrated on table 1 alone and predicts table 4.

Reads are a closed loop with one packet for each agent, because the client keeps one request outstanding with each
agent. The packet crosses its segment, the client processes the packet and requests the next packet, and the agent
replies (section 3.1). The only unknown is the client's time for a packet. Writes are a stream of packets with a
constant gap between the starts of two packets. The only unknown is the gap.

Table 1 has one rate for each operation, so it determines one unknown for each operation. A packet takes longer than its
time on the Ethernet, and table 1 does not show where the rest of the time is spent. If the client takes all of the
rest, a second Ethernet adds nothing. If each segment takes all of the rest, a second Ethernet doubles the rate. Each
operation therefore has two interpretations (`interpretation` in the code). The verdicts follow from the "judged"
interpretation; the "other" interpretation is only shown.

The judged interpretation of reads has exponential times. By the text, one outstanding packet request for each agent
costs performance (section 3.1), and the Ethernet, in use for 77 to 80% of the time, limits the rates of table 1
(section 4). With random times both statements hold: the client (69% busy) and the Ethernet (79% busy) wait for each
other, and more requests would help. Fixed times would be natural for packets of one size, but with fixed times neither
statement holds. The loop is then as fast as its slowest part. This part is the client, because the Ethernet is in use
for only 79% of the time, and two agents give the full rate. The choice follows the text, but it was made when both
results were known. On two Ethernets the rate of the judged interpretation is 1256 KB/s. This is 1.41 times the rate on
one Ethernet. (If other traffic uses 5% of the second Ethernet, the rate is 1245 KB/s, and the factor is 1.40.) The rate
of the other interpretation is 889 KB/s, 1.00 times the rate on one Ethernet. The measured rates, 1120 to 1150 KB/s, are
between these two rates. `reads` computes the rate if only the time at the client, or only the time on the wire, is
random.

For writes the gap belongs either to a segment or to the client. The judged interpretation is a gap of each segment,
because the wait between writes was introduced when the kernel's buffers for the network overflowed.

The disks of agents are not modelled. A local disk reads at least 650 KB/s (table 2), and an agent must supply 300 KB/s.
Writes are asynchronous. Sizes are in KB and rates in KB/s, the units of the paper, because only their ratios matter.
Times are in seconds.
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
"""Measured capacity of an Ethernet, KB/s (section 4). The paper's use of 77 to 80% is 860 to 897 of these 1120 KB/s."""
OPERATIONS = ("read", "write")
SIZES = (3, 6, 9)
INTERPRETATIONS = ("judged", "other")
EXPLAINED = {
    ("read", "judged"): "times are exponential, so that client and Ethernet wait for one another",
    ("read", "other"): "times are fixed, and the client's processor limits the rate",
    (
        "write",
        "judged",
    ): "each segment has its own gap between packets, because the wait between writes keeps its queue from overflowing",
    ("write", "other"): "the gap is the client's processing time for a packet, whichever segment the packet takes",
}


@dataclass(frozen=True)
class Prototype:
    """A client and its agents.

    Parameters
    ----------
    agents : tuple of int
        Number of agents on each segment, by default 3 on one segment.
    packet : float
        Data in a packet, KB, by default 8: the block of NFS and of the file system. The paper does not give this value.
    agent_speed : float
        Speed of an agent, instructions/s, by default 12.5e6: Sun's figure for the 4/20. The paper does not give this
        value.
    other_load : float
        Fraction of the time of each segment that other traffic uses, by default 0. The first segment has no other
        traffic.

    Raises
    ------
    InputError
        If a segment has no agents, a size or speed is not above 0, or the other load is not from 0 to below 1.
    """

    agents: tuple[int, ...] = (3,)
    packet: float = 8.0
    agent_speed: float = 12.5e6
    other_load: float = 0.0

    def __post_init__(self):
        if not self.agents or min(self.agents) < 1:
            raise InputError(
                f"The numbers of agents on the segments are {self.agents}. Give at least one segment, and at least "
                "one agent on each segment."
            )
        if self.packet <= 0 or self.agent_speed <= 0:
            raise InputError(
                f"The packet has {self.packet} KB, and an agent executes {self.agent_speed} instructions/s. Give "
                "values above 0."
            )
        if not 0 <= self.other_load < 1:
            raise InputError(
                f"The load of other traffic is {self.other_load}. Give a fraction of at least 0 and below 1."
            )

    @property
    def wires(self) -> tuple[float, ...]:
        """Return the time of a packet on each segment, seconds."""
        own = self.packet / CAPACITY
        return (own, *[own / (1 - self.other_load)] * (len(self.agents) - 1))

    @property
    def answer(self) -> float:
        """Return the processor time of an agent for a packet, seconds.

        Section 5.1 assumes 1500 instructions for a packet and one instruction for each byte.
        """
        return (1500 + 1024 * self.packet) / self.agent_speed


TWO = Prototype(agents=(3, 3))
"""The prototype with a second Ethernet. We assume 3 agents on it, as on the first; the paper does not give a number."""


ONE = Prototype()


def read_completions(
    prototype: Prototype,
    client: float,
    packets: int,
    wire_multiples: NDArray[np.float64] | None = None,
    client_multiples: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the time at which the client has processed each packet, in the order of processing.

    Parameters
    ----------
    prototype : Prototype
        The client and its agents.
    client : float
        Time of the client's processor to process a packet and to request the next packet, seconds.
    packets : int
        Number of packets.
    wire_multiples, client_multiples : array of float64, shape `[packet]`, optional
        Time of each packet on its segment (`wire_multiples`) and at the client (`client_multiples`), as a multiple of
        the mean time, in the order of service. By default all times are equal to their means.

    Returns
    -------
    array of float64, shape `[packet]`
        Times since the client sent the first requests, seconds.

    Notes
    -----
    Each segment, and the client, serves packets first come, first served. With N agents, packet k comes from agent
    k mod N, because the library interleaves data evenly.
    """
    segment = [number for number, count in enumerate(prototype.agents) for _ in range(count)]
    free, client_free = [0.0] * len(prototype.agents), 0.0
    wires, answer = prototype.wires, prototype.answer
    fixed = np.ones(packets)
    on_wires = iter((fixed if wire_multiples is None else wire_multiples).tolist())
    at_clients = iter((fixed if client_multiples is None else client_multiples).tolist())
    left = [len(range(agent, packets, len(segment))) for agent in range(len(segment))]
    # Entries are (time, agent, whether the packet arrives at the client or at its segment).
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
    """Return the rate of reads with fixed times, KB/s.

    The rate is the mean over transfers of 3, 6 and 9 MB, as in table 1. It includes the start and the end of each
    transfer.

    Parameters
    ----------
    prototype : Prototype
        The client and its agents.
    client : float
        Processor time of the client for a packet, seconds.
    """
    rates = []
    for megabytes in SIZES:
        packets = max(1, round(1000 * megabytes / prototype.packet))
        rates.append(packets * prototype.packet / read_completions(prototype, client, packets)[-1])
    return float(np.mean(rates))


def read_rate_exponential(prototype: Prototype, client: float) -> float:
    """Return the rate of reads, KB/s, if the times at the client and on the segments are exponential.

    Parameters
    ----------
    prototype : Prototype
        The client and its agents.
    client : float
        Mean processor time of the client for a packet, seconds.

    Notes
    -----
    The closed loop is the same as in `read_completions`. Every agent has the same share of the data. A segment with
    fewer agents therefore ends first, and the other segments continue without it. The rate does not include the start
    and the end of a transfer.
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
    """Return the number of packets a second on each segment, for every combination of the numbers of active agents.

    Notes
    -----
    This is exact mean value analysis with one class of packets for each segment. Class k has n_k packets, one for each
    active agent on segment k. Q_c(n - 1_k) and Q_k(n - 1_k) are the mean numbers of packets at the client and at
    segment k if class k has one packet less. R_ck and R_k are the response times at the client and at segment k, and
    X_k is the throughput of class k. C (`client`) and E_k are the times of a packet at the client and on segment k, and
    Z is the time of the agent:

        R_ck(n) = C (1 + Q_c(n - 1_k)),  R_k(n) = E_k (1 + Q_k(n - 1_k)),  X_k(n) = n_k / (Z + R_ck(n) + R_k(n))

    With one segment the result is `storagekit.analytic.queueing.closed_network`.

    References
    ----------
    Reiser and Lavenberg, Mean-value analysis of closed multichain queueing networks, JACM 27(2), 1980.
    """
    classes = range(len(prototype.agents))
    nothing_sent = tuple(0 for _ in classes)
    queues = {nothing_sent: (0.0, np.zeros(len(classes)))}
    rates = {nothing_sent: np.zeros(len(classes))}
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
    """Return the rate of writes if each segment receives a packet every `gap` seconds, KB/s.

    Parameters
    ----------
    prototype : Prototype
        The client and its agents.
    gap : float
        Time between the starts of packets on a segment without other traffic, seconds. On a segment with other traffic
        the function adds to the gap the increase of a packet's time on the wire.

    Notes
    -----
    Data is interleaved evenly over the agents. The segment with the largest product of its number of agents and its gap
    therefore ends last.
    """
    gaps = [gap + wire - prototype.wires[0] for wire in prototype.wires]
    slowest = max(count * each for count, each in zip(prototype.agents, gaps, strict=True))
    return sum(prototype.agents) * prototype.packet / slowest


def write_rate_client(prototype: Prototype, gap: float) -> float:
    """Return the rate of writes if the client sends a packet every `gap` seconds, on any of the segments, KB/s.

    Parameters
    ----------
    prototype : Prototype
        The client and its agents.
    gap : float
        Time between the starts of packets, seconds.
    """
    return prototype.packet / gap


MODELS = {
    ("read", "judged"): read_rate_exponential,
    ("read", "other"): read_rate,
    ("write", "judged"): write_rate,
    ("write", "other"): write_rate_client,
}
"""The model of each operation and interpretation. Its second argument is the unknown time, seconds for each packet."""


def calibrate(operation: str, interpretation: str, rate: float, prototype: Prototype = ONE) -> float:
    """Return the unknown time of a model at which a prototype has a given rate.

    Parameters
    ----------
    operation : str
        "read" or "write".
    interpretation : str
        Interpretation of the paper, "judged" or "other"; see `EXPLAINED`.
    rate : float
        The rate, KB/s.
    prototype : Prototype
        The client and its agents, by default three agents on one Ethernet.

    Returns
    -------
    float
        The unknown time, seconds for each packet.

    Raises
    ------
    InputError
        If no time from a thousandth to a hundred times a packet's time on the Ethernet gives the rate.
    """
    model, wire = MODELS[operation, interpretation], prototype.wires[0]
    ends = (1e-3 * wire, 100 * wire)
    if not model(prototype, ends[1]) < rate < model(prototype, ends[0]):
        raise InputError(
            f"The rate {rate} KB/s cannot be reached: modelled {operation}s reach at most "
            f"{model(prototype, ends[0]):.0f} KB/s."
        )
    found = optimize.root_scalar(lambda unknown: model(prototype, unknown) - rate, bracket=ends, xtol=1e-9 * wire)
    return float(found.root)


def calibration_rates(seed: int = 0, draws: int = 10_000) -> xr.DataArray:
    """Return the rates of reads and of writes in table 1 with their 95% intervals, KB/s.

    Each rate is the mean over the transfer sizes.

    Parameters
    ----------
    seed : int
        Seed of the bootstrap, by default 0.
    draws : int
        Number of bootstrap samples, by default 10,000.

    Returns
    -------
    DataArray
        The rates over `operation` and `statistic` (mean, low, high).

    Notes
    -----
    The interval is from a parametric bootstrap: eight normal samples for each size, with the printed mean and standard
    deviation. A printed deviation that is impossible for eight samples with the printed minimum and maximum is replaced
    by the nearest possible deviation. The interval does not include the variation between sizes.
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
