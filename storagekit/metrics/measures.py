"""Sums of the engine turned into the measures that people ask for, with names, units and dimensions."""

import numpy as np
import xarray as xr

from storagekit.engine import Tally

UNITS = {
    "throughput": "1/s",
    "brick_throughput": "1/s",
    "request_rate": "1/s",
    "service_time": "s",
    "seek": "s",
    "rotation": "s",
    "transfer": "s",
    "response": "s",
    "read_response": "s",
    "write_response": "s",
    "elapsed": "s",
    "requests": "1",
    "accesses": "1",
    "idle": "1",
    "utilization": "1",
    "candidates": "1",
    "contested": "1",
    "claims_per_read": "1",
    "contested_requests": "1",
    "further_claims": "1",
    "extra_services": "1",
    "read_fraction": "1",
    "held_up": "1",
    "outstanding": "1",
    "hit_rate": "1",
    "hit_elsewhere": "1",
    "resent": "1",
}
MEANINGS = {
    "throughput": "disk accesses per second and brick, replica writes included",
    "brick_throughput": "disk accesses per second of each brick",
    "request_rate": "requests answered per second by the system",
    "service_time": "mean time of a disk access, positioning and transfer",
    "seek": "mean arm movement of an access, settling and overhead included",
    "rotation": "mean rotational wait of an access",
    "transfer": "mean media time of an access",
    "response": "mean time from arrival to answer, asynchronous writes left out",
    "read_response": "mean response time of reads",
    "write_response": "mean response time of writes, asynchronous ones left out",
    "elapsed": "simulated time measured",
    "requests": "requests answered while measured",
    "accesses": "disk accesses while measured",
    "idle": "share of time that a brick's disk stands idle, mean over bricks",
    "utilization": "share of time that each brick's disk works",
    "candidates": "copies a disk chooses among, mean over choices",
    "contested": "share of reads that more than one brick claimed",
    "claims_per_read": "claims made for each read answered",
    "contested_requests": "share of requests, writes included, that more than one brick claimed",
    "further_claims": "claims beyond the first of a read, for each request answered",
    "extra_services": "services of reads beyond the first, for each read answered",
    "read_fraction": "reads among the requests answered",
    "held_up": "requests that waited outside for a slot",
    "outstanding": "requests in the system, mean over time (Little's law)",
    "hit_rate": "share of reads that memory answers",
    "hit_elsewhere": "share of reads that another brick's memory answers than the receiving one's",
    "resent": "requests that clients sent again after a time-out",
}


def counted(tally: Tally, warm_up: int, requests: float = np.inf) -> Tally:
    """Sums `[row, lane]` over the chunks that begin once a lane has answered `warm_up` requests and before it has answered
    `requests`: what lanes beside it do does not matter, although it runs until the slowest has its requests.

    A lane whose run is so short that no chunk is left is measured whole.
    """
    answered = (tally.reads + tally.writes).astype(np.int64)
    before = np.cumsum(answered, axis=0) - answered
    kept = (before >= warm_up) & (before < requests)
    kept |= (answered * kept).sum(axis=0) == 0
    return Tally(*(np.where(kept, sums, 0).sum(axis=0, dtype=np.float64) for sums in tally))


def measures(sums: Tally, bricks: np.ndarray) -> xr.Dataset:
    """Measures of each lane from its sums `[row, lane]`; bricks `[lane]`: how many of the drives it uses."""
    elapsed, answered = sums.elapsed[0], (sums.reads + sums.writes)[0]
    used = np.arange(sums.served.shape[0])[:, None] < bricks
    accesses = sums.served.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        scalar = {
            "throughput": accesses / elapsed / bricks,
            "request_rate": answered / elapsed,
            "service_time": sums.busy.sum(axis=0) / accesses,
            "seek": sums.seek[0] / accesses,
            "rotation": sums.rotation[0] / accesses,
            "transfer": sums.transfer[0] / accesses,
            "response": (sums.read_response + sums.write_response)[0] / (answered - sums.asynchronous[0]),
            "read_response": (sums.read_response / sums.reads)[0],
            "write_response": (sums.write_response / (sums.writes - sums.asynchronous))[0],
            "idle": 1 - sums.busy.sum(axis=0) / elapsed / bricks,
            "candidates": (sums.candidates / sums.choices)[0],
            "contested": (sums.contested / sums.reads)[0],
            "claims_per_read": (sums.claims / sums.reads)[0],
            "contested_requests": sums.contested[0] / answered,
            "further_claims": sums.further[0] / answered,
            "extra_services": (sums.twice / sums.reads)[0],
            "read_fraction": sums.reads[0] / answered,
            "outstanding": (sums.read_response + sums.write_response + sums.asynchronous_response)[0] / elapsed,
            "hit_rate": (sums.hits / sums.reads)[0],
            "hit_elsewhere": (sums.elsewhere / sums.reads)[0],
            "resent": sums.resent[0],
            "requests": answered,
            "accesses": accesses,
            "held_up": sums.held_up[0],
            "elapsed": elapsed,
        }
        by_brick = {
            "brick_throughput": np.where(used, sums.served / elapsed, np.nan),
            "utilization": np.where(used, sums.busy / elapsed, np.nan),
        }
    data = xr.Dataset(
        {name: ("lane", values) for name, values in scalar.items()}
        | {name: (("brick", "lane"), values) for name, values in by_brick.items()},
        coords={"brick": np.arange(sums.served.shape[0])},
    )
    for name in (*scalar, *by_brick):
        data[name].attrs = {"units": UNITS[name], "long_name": MEANINGS[name]}
    return data
