"""The cost of redundancy (section 6.1), and the system of the paper with present-day devices.

The paper leaves the cost of redundancy to later work. No verdict on a claim depends on these results, so only a quarter
of the request streams is simulated.
"""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from storagekit.analytic.forkjoin import Disk, Host, Network, StripedSystem, Striping
from storagekit.core.errors import InputError
from storagekit.core.units import KB, MB
from storagekit.papers.swift.figures import LOADS, against_load, sustained
from storagekit.papers.swift.gigabit_system import (
    AGENTS,
    DISKS,
    HOST,
    LINKS,
    M2372K,
    NVME,
    QUICK,
    REQUEST,
    RING,
    SATA,
    StreamEffort,
)

GROUPS = (0, 1, 2, 4, 8)
DOWN = ("none", "one", "one a group")
CHECK_INSTRUCTIONS = (0.0, 1.0, 2.0, 4.0, 8.0)
# Shares of writes: none, so that no check data is written; the paper's share; and writes only.
SHARES = (0.0, 0.2, 1.0)


def redundancy(
    effort: StreamEffort = QUICK, *, groups: Sequence[int] = GROUPS, write_shares: Sequence[float] = SHARES
) -> xr.Dataset:
    """Return the largest sustainable load of 32 agents, by number of groups with check data, failed agents and writes.

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    groups : sequence of int
        Numbers of groups of agents. Each group has check data for one agent. Give 0, the reference without check data,
        and at least one other number.
    write_shares : sequence of float
        Fractions of the requests that are writes.

    Returns
    -------
    Dataset
        Result of `sustained` over `write_share`, `groups` and `down`, the number of failed agents. With 0 groups no
        agent may fail, so the values with failed agents are NaN.

    Raises
    ------
    InputError
        If `groups` lacks 0, or has no other number.

    Notes
    -----
    The number of agents is always 32. A request of 1 MB takes one unit of each agent that stores data. With more groups
    fewer agents store data, so the unit is larger.
    """
    if 0 not in groups or not any(groups):
        raise InputError(
            f"The numbers of groups are {list(groups)}. Give 0 as the reference, and at least one number above 0."
        )

    def build(groups: int, down: str, write_share: float) -> StripedSystem:
        failed = {"none": 0, "one": 1, "one a group": groups}[down]
        striping = Striping(REQUEST, REQUEST / (AGENTS - groups), AGENTS, groups, failed)
        return StripedSystem(M2372K, striping, RING, write_share=write_share)

    few = replace(effort, seeds=effort.few)

    def at(write_share: float) -> xr.Dataset:
        def share(groups: int, down: str) -> StripedSystem:
            return build(groups, down, write_share)

        plain = sustained(share, {"groups": [one for one in groups if one == 0], "down": DOWN[:1]}, few)
        checked = sustained(share, {"groups": [one for one in groups if one], "down": DOWN}, few)
        return xr.concat([plain, checked], "groups", join="outer", combine_attrs="override")

    data = xr.concat([at(share) for share in write_shares], "write_share", combine_attrs="override")
    return data.assign_coords(write_share=list(write_shares)).assign_attrs(exhibit="swift.redundancy")


def check_data(effort: StreamEffort = QUICK, *, instructions: Sequence[float] = CHECK_INSTRUCTIONS) -> xr.Dataset:
    """Return the largest sustainable load of a client that only writes, for each cost of computing check data.

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    instructions : sequence of float
        Numbers of instructions for each byte of check data.

    Returns
    -------
    Dataset
        Result of `sustained` over `parts` (the devices and network of 1990 or of today) and `instructions`.

    Notes
    -----
    There are 32 agents in four groups. At 0 instructions the only cost is that an eighth of the agents stores check
    data.
    """
    known = {
        "1990: M2372K, ring of 1 Gb/s": (M2372K, RING, Host()),
        "today: NVMe, 100 Gb/s": (NVME, LINKS["100 Gb/s"], HOST),
    }

    def build(parts: str, instructions: float) -> StripedSystem:
        disk, network, host = known[parts]
        striping = Striping(REQUEST, REQUEST / (AGENTS - 4), AGENTS, 4)
        client = replace(host, per_check_byte=instructions)
        return StripedSystem(disk, striping, network, client, host, write_share=1.0)

    axes = {"parts": list(known), "instructions": instructions}
    return sustained(build, axes, replace(effort, seeds=effort.few)).assign_attrs(exhibit="swift.check_data")


def modern(
    effort: StreamEffort = QUICK, *, units: Sequence[float] = (32 * KB, 256 * KB, MB), disks: Sequence[int] = DISKS
) -> xr.Dataset:
    """Return the data-rates of figure 6 and the bottlenecks with present-day devices. Requests have 32 striping units.

    Parameters
    ----------
    effort : StreamEffort
        Number and length of the runs.
    units : sequence of float
        Striping units, bytes.
    disks : sequence of int
        Numbers of disks.

    Returns
    -------
    Dataset
        Result of `sustained` over `device`, `link`, `unit` and `disks`.

    Notes
    -----
    If the client's link or processor is the bottleneck, the data-rates are up to 7% too high; see
    `recursion.completion_times`.
    """
    devices: dict[str, Disk] = {device.name: device for device in (SATA, NVME)}

    def build(device: str, link: str, unit: float, disks: int) -> StripedSystem:
        network: Network = LINKS[link]
        return StripedSystem(devices[device], Striping(32 * unit, unit, disks), network, HOST, HOST)

    axes = {"device": list(devices), "link": list(LINKS), "unit": units, "disks": disks}
    return sustained(build, axes, replace(effort, seeds=effort.few)).assign_attrs(exhibit="swift.modern")


def what_if(
    device: Disk,
    disks: int = 16,
    unit: float = 256 * KB,
    request: float = 8 * MB,
    network: Network = LINKS["25 Gb/s"],
    write_share: float = 0.2,
    host: Host = HOST,
) -> xr.Dataset:
    """Return the mean completion times at each load, as in figure 3, for one system of your own.

    Parameters
    ----------
    device : Disk
        The disks.
    disks : int
        Number of disks, by default 16.
    unit : float
        Striping unit, bytes, by default 256 KB.
    request : float
        Size of a request, bytes, by default 8 MB.
    network : Network
        The network, by default 25 Gb/s.
    write_share : float
        Share of writes, by default 0.2.
    host : Host
        Host of the client and of every agent, by default `HOST`.

    Returns
    -------
    Dataset
        Result of `against_load`. Attributes `saturation`, requests a second, and `bottleneck`.
    """
    system = StripedSystem(device, Striping(request, unit, disks), network, host, host, write_share)
    limit, bottleneck = system.saturation()
    data = against_load(lambda disks: system, {"disks": [disks]}, LOADS, StreamEffort(seeds=4, requests=1_500))
    return data.assign_attrs(exhibit="swift.what_if", saturation=limit, bottleneck=bottleneck)
