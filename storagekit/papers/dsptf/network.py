"""Gain and traffic of D-SPTF by latency, load, number of replicas and share of reads (sections 5.3.1 and 5.3.2)."""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from storagekit.core.provenance import made_jointly
from storagekit.core.units import KB, MS
from storagekit.dispatch import Hashing
from storagekit.engine import Scenario
from storagekit.papers.dsptf.brick_group import QUICK, Effort, dsptf, group, once_each, sweep_loops
from storagekit.simulation import interval

LATENCIES = tuple(ms * MS for ms in (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 3.0))
# Bytes of a message without data (section 5.3.1).
MESSAGE = 50


def network(
    effort: Effort = QUICK,
    *,
    latency: Sequence[float] = LATENCIES,
    replicas: Sequence[int] = (2, 4, 8),
    depth: Sequence[int] = (4, 8, 16, 32),
    read_share: Sequence[float] = (0.67, 0.9, 1.0),
) -> xr.Dataset:
    """Return the throughput of D-SPTF and of hashing, by latency, number of replicas, load and share of reads.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs. The number of runs is an eighth of the `seeds` of `effort`, but at least two.
        Each run has half of its `requests`.
    latency : sequence of float
        One-way latencies, seconds.
    replicas : sequence of int
        Numbers of replicas.
    depth : sequence of int
        Numbers of requests outstanding.
    read_share : sequence of float
        Shares of reads.

    Returns
    -------
    Dataset
        The measures over `scheme`, `latency`, `replicas`, `depth`, `read_share` and `seed`. `gain`: the throughput of
        D-SPTF divided by the throughput of hashing under the same load. Its dimension `statistic` contains the mean
        over the seeds and its interval.

    Notes
    -----
    Hashing sends no messages between bricks. It is therefore run at one latency only, and its values are repeated for
    the other latencies. A read that two bricks serve counts once.
    """

    def loop(scheme: str, latency: float, replicas: int, depth: int, read_share: float) -> Scenario:
        dispatch = dsptf(latency) if scheme == "D-SPTF" else Hashing()
        return group(dispatch, replicas=replicas, outstanding=depth, read_share=read_share)

    def swept(scheme: str, some: Sequence[float]) -> xr.Dataset:
        axes = {"scheme": [scheme], "latency": list(some), "replicas": list(replicas), "depth": list(depth)}
        less = replace(effort, seeds=max(2, effort.seeds // 8), requests=effort.requests // 2)
        return sweep_loops(loop, axes | {"read_share": list(read_share)}, less, "network", most_blocked=1.0)

    ours, hashed = swept("D-SPTF", latency), swept("Hashing", latency[:1])
    everywhere = hashed.isel(latency=[0] * len(latency)).assign_coords(latency=ours.latency)
    data = xr.concat([ours, everywhere], "scheme", combine_attrs=made_jointly)
    data = once_each(data, data.replicas)
    gain = data.throughput.sel(scheme="D-SPTF") / data.throughput.sel(scheme="Hashing")
    data["gain"] = interval(gain.to_dataset(name="gain")).gain
    return data


def messages(data: xr.Dataset, size: float = 4 * KB) -> xr.Dataset:
    """Return the number and the size of the messages that D-SPTF sends for each request, by kind of message.

    Parameters
    ----------
    data : Dataset
        Measures of runs, with a dimension or coordinate `replicas`. Reads may hit in memory.
    size : float
        Size of a request, bytes, by default 4 KB.

    Returns
    -------
    Dataset
        `number`, over `kind`: number of messages for each request. `bytes`, over `kind`: bytes of these messages.
        `overhead`: bytes of all messages, without the data in them, divided by the bytes that clients read and write.

    Notes
    -----
    N is the number of replicas. The paper counts N messages for each request and N messages for each claim, which is 2N
    if there is one claim (section 5.3.1). A read that hits in the memory of the receiving brick is not forwarded. A
    read that hits in the memory of another brick is claimed by that brick. A write sends its data to every replica, and
    every replica acknowledges it. Replies to clients are not counted, as in the paper. r is the fraction of the
    requests that are reads, h is the fraction of the reads that hit in the receiving brick, and c is the number of
    claims for each read:

        request = r (h + (1 - h) N),  claim = r c N,  write = acknowledgement = (1 - r) N
    """
    copies, reads, hit = data.replicas, data.read_fraction, data.hit_rate.fillna(0.0)
    here = hit - data.hit_elsewhere.fillna(0.0)
    claims = (data.claims_per_read + data.hit_elsewhere.fillna(0.0)) * reads
    counts = {
        "request": reads * (here + (1 - here) * copies),
        "claim": claims * copies,
        "write": (1 - reads) * copies,
        "acknowledgement": (1 - reads) * copies,
    }
    carried = {"request": 0.0, "claim": 0.0, "write": size, "acknowledgement": 0.0}
    number = xr.concat([counts[kind] for kind in counts], dim="kind").assign_coords(kind=list(counts))
    load = MESSAGE + xr.DataArray([carried[kind] for kind in counts], dims="kind", coords={"kind": list(counts)})
    found = xr.Dataset({"number": number, "bytes": number * load})
    found["overhead"] = MESSAGE * number.sum("kind") / size
    return found.assign_attrs(data.attrs, exhibit="dsptf.messages")
