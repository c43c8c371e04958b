"""The predicted values of a scheme."""

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from storagekit.plan.answer import finite
from storagekit.plan.scheme import Scheme

# fields of a `Prediction` that are values, with units and meanings
COLUMNS = MappingProxyType(
    {
        "throughput": ("1/s", "throughput of the closed loop, or the highest possible rate of arrivals"),
        "mean": ("s", "mean response time"),
        "p95": ("s", "95th percentile of the response time"),
        "p99": ("s", "99th percentile of the response time"),
        "utilization": ("1", "utilization of a disk"),
        "usable": ("bytes", "capacity for data"),
        "tolerates": ("1", "number of lost disks that the scheme tolerates"),
        "cost": ("", "price of the disks"),
        "degraded": ("1", "utilization of the busiest disk while another disk is lost"),
        "rebuild": ("s", "time to restore a lost disk in the idle time of the other disks"),
        "network": ("1", "utilization of the busiest link of the network"),
        "lifetime": ("s", "time until the writes reach the endurance of an SSD"),
        "binds": ("", "largest part of the mean response time"),
        "basis": ("", "analytic (a formula), or simulated"),
    }
)


class TenantFigures(NamedTuple):
    """The mean and the 99th percentile of the response time of a tenant, seconds."""

    name: str
    mean: float
    p99: float


@dataclass(frozen=True)
class Prediction:
    """A scheme with its predicted values.

    Parameters
    ----------
    scheme : Scheme
        The scheme.
    spare : int
        Number of spare disks.
    throughput : float
        Requests a second: the throughput of the closed loop if requests are outstanding, otherwise the highest possible
        rate of arrivals.
    mean, p95, p99 : float
        Response times in seconds. They are infinite if the disks are overloaded, and exclude the network; p95 and p99 are
        NaN with outstanding requests. With outstanding requests, the mean includes the wait for a full link.
    utilization : float
        Utilization of a disk.
    usable : float
        Capacity for data in bytes.
    tolerates : int
        Number of lost disks that the scheme tolerates.
    cost : float
        Total price; NaN if no price is given.
    degraded : float
        Utilization of the busiest disk at the same rate after another disk is lost. It is NaN if data is lost, and in a
        closed loop, because the rate then adapts.
    rebuild : float
        Seconds to restore a lost disk in the idle time of the other disks. It is infinite without idle time, and NaN if
        `degraded` is NaN.
    parts : dict of str to float
        Seconds of each part of an access.
    basis : str
        "analytic" by default, or "simulated" if there is no formula.
    tenants : tuple of TenantFigures
        Response times of each tenant; by default none.
    streams, streams_lost : float
        Share of the time for which sequential streams occupy a disk, and the same while another disk is lost; by default 0.
    network : float
        Utilization of the busiest link of the network in the busier direction, above 1 if the links cannot serve the rate;
        NaN, the default, without a network.
    disk_rate : float
        `throughput` of the disks without the network; NaN, the default, without a network.
    lifetime : float
        Seconds until the writes reach the endurance of an SSD; NaN, the default, for disks, or if the endurance is unknown.
    """

    scheme: Scheme
    spare: int
    throughput: float
    mean: float
    p95: float
    p99: float
    utilization: float
    usable: float
    tolerates: int
    cost: float
    degraded: float
    rebuild: float
    parts: dict[str, float]
    basis: str = "analytic"
    tenants: tuple[TenantFigures, ...] = ()
    streams: float = 0.0
    streams_lost: float = 0.0
    network: float = np.nan
    disk_rate: float = np.nan
    lifetime: float = np.nan

    @property
    def disk_limit(self) -> float:
        """Return the throughput of the disks, without the limits of a network."""
        return self.throughput if math.isnan(self.disk_rate) else self.disk_rate

    @property
    def name(self) -> str:
        """Return the name of the scheme with its number of spare disks."""
        return f"{self.scheme}, {self.spare} spare{'s' * (self.spare > 1)}" if self.spare else str(self.scheme)

    @property
    def binds(self) -> str:
        """Return the name and the share of the largest part of the mean response time, as text."""
        if self.utilization >= 1:
            return f"overloaded: {self.disk_limit:.0f} requests/s at most"
        if self.network >= 1:
            return f"network: {self.throughput:.0f} requests/s at most"
        shares = self.parts | {"waiting": max(0.0, self.mean - sum(self.parts.values()))}
        what = max(shares, key=lambda part: shares[part])
        return f"{what}, {shares[what] / sum(shares.values()):.0%}"

    def to_dict(self) -> dict[str, Any]:
        """Return the values as a dictionary for JSON."""
        values = {name: getattr(self, name) for name in COLUMNS}
        found = {"scheme": self.name, "disks": self.scheme.disks, "spare": self.spare, **finite(values)}
        return found | ({"tenants": [finite(one._asdict()) for one in self.tenants]} if self.tenants else {})
