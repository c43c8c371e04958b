"""What the paper leaves to later (section 6.1): the cost of redundancy; and the same model with today's parts.

No claim is judged by these, so that they have a quarter of the streams."""

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
# no check data; the paper's share of writes; nothing but writes
SHARES = (0.0, 0.2, 1.0)


def redundancy(
    effort: StreamEffort = QUICK, *, groups: Sequence[int] = GROUPS, write_shares: Sequence[float] = SHARES
) -> xr.Dataset:
    """What 32 agents sustain with check data in so many `groups`, with agents `down`, by `write_share`.

    The agents are the same whatever the groups, and a request of 1 MB takes one row of them, so that the unit grows as fewer
    of them hold data. Without groups nothing may fail: those points are NaN. Raises InputError unless `groups` has 0, to
    compare with, and at least one more.
    """
    if 0 not in groups or not any(groups):
        raise InputError(f"groups {list(groups)}: give 0, to compare with, and at least one number of groups")

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
    """What a client sustains that only writes, against the `instructions` that a byte of check data costs, by `parts`.

    32 agents in four groups. With free check data, at 0, what is left is that an eighth of the agents holds it.
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
    """Figure 6 with today's parts: requests of 32 units, by `device`, `link`, `unit` and `disks`, and what limits them.

    Where the client's link or processor is the limit the data-rates are up to 7% high (`recursion.completion_times`).
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
    """Figure 3 of one system of your own; see `against_load`. Attributes `saturation`, requests a second, `bottleneck`."""
    system = StripedSystem(device, Striping(request, unit, disks), network, host, host, write_share)
    limit, bottleneck = system.saturation()
    data = against_load(lambda disks: system, {"disks": [disks]}, LOADS, StreamEffort(seeds=4, requests=1_500))
    return data.assign_attrs(exhibit="swift.what_if", saturation=limit, bottleneck=bottleneck)
