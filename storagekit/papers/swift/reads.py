"""Reads of the prototype under every reading of what is random: the wire's time for a packet, the client's, both or neither.

Table 1 gives one rate, and so one unknown time. How much a second Ethernet then brings depends on how long client and wire
wait for one another, and so on how much their times vary, of which the paper says nothing.
"""

import time
from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import root_scalar

from storagekit.core.provenance import as_text, made_by
from storagekit.papers.swift.ethernet import (
    ONE,
    SIZES,
    Prototype,
    calibration_rates,
    read_completions,
)
from storagekit.papers.swift.prototype import OTHERS

# what has exponential times; what has not has the same for every packet
RANDOM: Mapping[str, tuple[bool, bool]] = {
    "nothing": (False, False),
    "client": (False, True),
    "wire": (True, False),
    "both": (True, True),
}
TRANSFERS = 32


def reads(other_load: float = OTHERS, transfers: int = TRANSFERS, seed: int = 0) -> xr.Dataset:
    """Rates of reads on one and on two Ethernets, KB/s, by what is `random` (`RANDOM`), each calibrated on table 1.

    `rate` [random, ethernets]; `gain` [random]: two over one; `unknown` [random]: seconds of the client for a packet;
    `client` and `wire` [random]: shares of the time that they are busy on one Ethernet. transfers: of 3, 6 and 9 MB each, as
    measured, every reading with the same draws. other_load: of the second Ethernet by others.
    """
    began = time.perf_counter()
    two = Prototype((3, 3), other_load=other_load)
    target = float(calibration_rates(seed).sel(operation="read", statistic="mean"))
    draws = TransferDraws(ONE.packet, transfers, seed)
    found = {name: _calibrated(target, draws, *what) for name, what in RANDOM.items()}
    rates = [[target, draws.rate(two, found[name], *what)] for name, what in RANDOM.items()]
    unknown = np.array(list(found.values()))
    data = xr.Dataset(
        {
            "rate": (("random", "ethernets"), rates),
            "unknown": ("random", unknown),
            "client": ("random", unknown * target / ONE.packet),
            "wire": ("random", np.full(len(RANDOM), ONE.wires[0] * target / ONE.packet)),
        },
        coords={"random": list(RANDOM), "ethernets": [1, 2]},
    )
    data["gain"] = data.rate.sel(ethernets=2, drop=True) / data.rate.sel(ethernets=1, drop=True)
    made = made_by("simulated", [seed], time.perf_counter() - began)
    told = {
        "drive": "none, reads come from memory",
        "scenario": as_text(two),
        "requests": f"{len(SIZES) * transfers} transfers",
    }
    return data.assign_attrs(made | told, paper="swift", exhibit="swift.table4", unit="KB/s", transfers=transfers)


class TransferDraws:
    """Times of many transfers in multiples of their means, exponential ones, the same for every reading."""

    def __init__(self, packet: float, transfers: int, seed: int):
        generator = np.random.default_rng(seed)
        counts = [max(1, round(1000 * megabytes / packet)) for megabytes in SIZES for _ in range(transfers)]
        self.multiples: list[NDArray[np.float64]] = [generator.exponential(size=(2, count)) for count in counts]

    def rate(self, prototype: Prototype, client: float, wire_random: bool, client_random: bool) -> float:
        """KB/s of reads, the mean over the transfers. client: seconds of its processor for a packet, on average."""
        rates = []
        for wire, processor in self.multiples:
            packets = len(wire)
            done = read_completions(
                prototype, client, packets, wire if wire_random else None, processor if client_random else None
            )
            rates.append(packets * prototype.packet / done[-1])
        return float(np.mean(rates))


def _calibrated(target: float, draws: TransferDraws, wire_random: bool, client_random: bool) -> float:
    """Seconds of the client for a packet with which one Ethernet has the rate of table 1."""

    def excess(client: float) -> float:
        return draws.rate(ONE, client, wire_random, client_random) - target

    wire = ONE.wires[0]
    return float(root_scalar(excess, bracket=(1e-3 * wire, 10 * wire), xtol=1e-6 * wire).root)
