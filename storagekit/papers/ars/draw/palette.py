"""Shared parts of the charts: colours of protocols and nodes, and sentences."""

from collections.abc import Mapping
from itertools import cycle

import numpy as np
import xarray as xr

from storagekit.charts.theme import COLOURS

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS
YELLOW = "#c9b400"
TO_MS, PERCENT = 1e3, 100.0
RESPONSE = "Mean response time (ms)"
RATE = "Throughput (requests/s)"

PROTOCOLS = {
    "Randomized": PURPLE,
    "ARS": GREEN,
    "D-SPTF": VERMILION,
    "Central": BLUE,
    "Central, heads known": SKY,
    "D-SPTF, waits for the platter": YELLOW,
    "D-SPTF, starts immediately": BLACK,
    "D-SPTF, 0.1 ms a message": ORANGE,
}
# Colours of your own protocols.
FURTHER = ("#8c564b", "#7f7f7f")
# Numbers of the nodes as in table I.
NODES = {0: ORANGE, 1: SKY, 2: PURPLE, 3: BLUE}
DISKS = {0: "2 Atlas 10K", 1: "RAID 5 of 9 Ultrastar", 2: "1 Deskstar", 3: "18 Cheetah"}
NAMES = {node: f"{node}: {disks}" for node, disks in DISKS.items()}
BY_NAME = {NAMES[node]: colour for node, colour in NODES.items()}
UNMAPPED = "#e3e3e3"


CENTRAL, OTHERS = "Central", ("Randomized", "ARS", "D-SPTF")
WHISKERS = "Whiskers are 95% intervals over runs."


def over_central(values: xr.DataArray, words: str) -> str:
    """Return a sentence with the smallest and largest ratio of the mean of each protocol to the mean of Central.

    The result is empty if Central or every other protocol is missing.

    Parameters
    ----------
    values : DataArray, shape [statistic, protocol, ...]
        The values.
    words : str
        Name of the values, which becomes the subject of the sentence.
    """
    mean, ratios = values.sel(statistic="mean"), []
    present = mean.protocol.values.tolist()
    if CENTRAL not in present:
        return ""
    for name in OTHERS:
        share = (
            mean.sel(protocol=name) / mean.sel(protocol=CENTRAL, drop=True) if name in present else xr.DataArray(np.nan)
        )
        if bool(share.notnull().any()):
            ends = dict.fromkeys((f"{float(share.min()):.2f}", f"{float(share.max()):.2f}"))
            ratios.append(f"{' to '.join(ends)} ({name})")
    return f"{words}, divided by the value of Central, is {', '.join(ratios)}." if ratios else ""


def with_own(palette: Mapping[str, str], data: xr.DataArray) -> dict[str, str]:
    """Return the colours of a palette, and further colours for the protocols in `data` that the palette does not have.

    Parameters
    ----------
    palette : mapping of str to str
        Colours by protocol.
    data : DataArray
        Values with a dimension `protocol`.
    """
    own = [name for name in data.protocol.values.tolist() if name not in palette]
    return {**palette, **dict(zip(own, cycle(FURTHER), strict=False))}
