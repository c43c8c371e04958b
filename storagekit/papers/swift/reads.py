"""Reads of the prototype, if the times of a packet on the wire and at the client are random or fixed.

Table 1 gives one rate, and so it determines one unknown time. The effect of a second Ethernet depends on how long the
client and the wire wait for each other, and so on how the times of single packets vary. The paper does not give this
variation.
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

# Whether the wire and the client have exponential times; otherwise the time is the same for every packet.
RANDOM: Mapping[str, tuple[bool, bool]] = {
    "nothing": (False, False),
    "client": (False, True),
    "wire": (True, False),
    "both": (True, True),
}
TRANSFERS = 32


def reads(other_load: float = OTHERS, transfers: int = TRANSFERS, seed: int = 0) -> xr.Dataset:
    """Return the read rates on one and two Ethernets, for four models with different random times.

    Times are random at the client, on the wire, at both or at neither. Each model is calibrated on table 1.

    Parameters
    ----------
    other_load : float
        Share of the second Ethernet that other traffic uses, by default 0.05.
    transfers : int
        Number of transfers of each size (3, 6 and 9 MB), by default 32. The four models use the same random numbers.
    seed : int
        Seed of the random numbers, by default 0.

    Returns
    -------
    Dataset
        `rate`, KB/s, shape `[random, ethernets]`; the labels of `random` are the names of `RANDOM`. `gain`, shape
        `[random]`: the rate on two Ethernets divided by the rate on one. `unknown`, shape `[random]`: mean time of the
        client for a packet, seconds. `client`, shape `[random]`: fraction of the time for which the client is busy,
        with one Ethernet. `wire`, shape `[random]`: the same fraction for the wire.
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
    facts = {
        "drive": "none, reads come from memory",
        "scenario": as_text(two),
        "requests": f"{len(SIZES) * transfers} transfers",
    }
    return data.assign_attrs(made | facts, paper="swift", exhibit="swift.table4", unit="KB/s", transfers=transfers)


class TransferDraws:
    """Exponential times of the packets of many transfers, as multiples of the mean time.

    The four models of `reads` use the same numbers.

    Parameters
    ----------
    packet : float
        Data in a packet, KB.
    transfers : int
        Number of transfers of each size.
    seed : int
        Seed of the random numbers.
    """

    def __init__(self, packet: float, transfers: int, seed: int):
        generator = np.random.default_rng(seed)
        counts = [max(1, round(1000 * megabytes / packet)) for megabytes in SIZES for _ in range(transfers)]
        self.multiples: list[NDArray[np.float64]] = [generator.exponential(size=(2, count)) for count in counts]

    def rate(self, prototype: Prototype, client: float, wire_random: bool, client_random: bool) -> float:
        """Return the mean rate of reads over the transfers, KB/s.

        Parameters
        ----------
        prototype : Prototype
            The client and its agents.
        client : float
            Mean processor time of the client for a packet, seconds.
        wire_random, client_random : bool
            Whether the times on the wire and at the client are random.
        """
        rates = []
        for wire, processor in self.multiples:
            packets = len(wire)
            done = read_completions(
                prototype, client, packets, wire if wire_random else None, processor if client_random else None
            )
            rates.append(packets * prototype.packet / done[-1])
        return float(np.mean(rates))


def _calibrated(target: float, draws: TransferDraws, wire_random: bool, client_random: bool) -> float:
    """Return the client's mean time for a packet at which the rate on one Ethernet equals the target, in seconds."""

    def excess(client: float) -> float:
        return draws.rate(ONE, client, wire_random, client_random) - target

    wire = ONE.wires[0]
    return float(root_scalar(excess, bracket=(1e-3 * wire, 10 * wire), xtol=1e-6 * wire).root)
