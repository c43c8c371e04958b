"""The tables and figures that need no trace. Times in seconds, rates per second, shares as fractions."""

from collections.abc import Sequence
from typing import NamedTuple

import xarray as xr

from storagekit.dispatch import DSPTF, Hashing, Lossy
from storagekit.engine import Scenario
from storagekit.errors import InputError
from storagekit.metrics import interval, sweep
from storagekit.papers.dsptf.system import LATENCY, READINGS, SCHEMES, group
from storagekit.schedule import FCFS, SATF
from storagekit.units import KB, MS
from storagekit.workload import FixedSize

SCHEDULERS = {"FIFO": FCFS(), "SPTF": SATF()}


class Effort(NamedTuple):
    """How much to simulate: independent replications, and requests in each after a warm-up of a fifth of them."""

    seeds: int = 32
    requests: int = 10_000
    first_seed: int = 0

    @property
    def seed_list(self) -> list[int]:
        return list(range(self.first_seed, self.first_seed + self.seeds))


QUICK = Effort(16, 4_000)


def effort(profile: str, first_seed: int = 0) -> Effort:
    """The effort of a profile: "quick" for a look, "full" for the record."""
    known = {"quick": QUICK, "full": Effort(64, 20_000)}
    if profile not in known:
        raise InputError(f"profile {profile!r}: unknown; it is one of {', '.join(known)}")
    return known[profile]._replace(first_seed=first_seed)


def fig1(
    effort: Effort = QUICK, *, depths: Sequence[int] = (1, 2, 4, 8, 16, 32, 64), drive: str = "atlas10k"
) -> xr.Dataset:
    """Throughput of one disk against the number of small random reads outstanding, FIFO and SPTF (figure 1)."""

    def one_disk(scheduler: str, depth: int) -> Scenario:
        return group(
            Hashing(),
            replicas=1,
            outstanding=depth,
            read_share=1.0,
            size=FixedSize(4 * KB),
            reading="all copies",
            schedule=SCHEDULERS[scheduler],
            drive=drive,
            slots=max(depths),
        )

    return _sweep(one_disk, {"scheduler": list(SCHEDULERS), "depth": list(depths)}, effort, "fig1")


def table1(
    effort: Effort = QUICK,
    *,
    replicas: int = 8,
    outstanding: int = 16,
    read_shares: Sequence[float] = (0.6, 0.9, 1.0),
    reading: str = "receiving brick",
    latency: float = LATENCY,
) -> xr.Dataset:
    """Throughput per brick, idle time and service time of the four schemes (table 1).

    The table has 90% reads; section 5.1.1 gives idle times at 60% and 100% as well.
    """
    schemes = SCHEMES | {"D-SPTF": DSPTF(latency)}

    def loop(scheme: str, read_share: float) -> Scenario:
        return group(
            schemes[scheme], replicas=replicas, outstanding=outstanding, read_share=read_share, reading=reading
        )

    return _sweep(loop, {"scheme": list(schemes), "read_share": list(read_shares)}, effort, "table1")


def table1_readings(effort: Effort = QUICK, *, readings: Sequence[str] = tuple(READINGS)) -> xr.Dataset:
    """The loop of table 1 under the four readings of when a write is answered."""

    def loop(scheme: str, completion: str) -> Scenario:
        return group(SCHEMES[scheme], reading=completion)

    axes = {"scheme": ["D-SPTF", "Hashing"], "completion": list(readings)}
    return _sweep(loop, axes, effort, "table1_readings")


def fig5(
    effort: Effort = QUICK,
    *,
    replicas: Sequence[int] = (2, 3, 4, 5, 6, 7, 8),
    outstanding: int = 16,
    read_share: float = 0.67,
    reading: str = "receiving brick",
) -> xr.Dataset:
    """Throughput per brick of the four schemes against the number of replicas (figure 5)."""

    def loop(scheme: str, replicas: int) -> Scenario:
        return group(
            SCHEMES[scheme], replicas=replicas, outstanding=outstanding, read_share=read_share, reading=reading
        )

    return _sweep(loop, {"scheme": list(SCHEMES), "replicas": list(replicas)}, effort, "fig5")


def replicas_and_reads(
    effort: Effort = QUICK,
    *,
    replicas: Sequence[int] = (2, 4, 8),
    read_shares: Sequence[float] = (0.67, 0.9, 1.0),
    outstanding: int = 16,
    reading: str = "receiving brick",
    drive: str = "atlas10k",
) -> xr.Dataset:
    """The four schemes over replicas and shares of reads at once: figure 5 in every shade of table 1."""

    def loop(scheme: str, replicas: int, read_share: float) -> Scenario:
        return group(
            SCHEMES[scheme],
            replicas=replicas,
            outstanding=outstanding,
            read_share=read_share,
            reading=reading,
            drive=drive,
        )

    axes = {"scheme": list(SCHEMES), "replicas": list(replicas), "read_share": list(read_shares)}
    return _sweep(loop, axes, effort, "what_if")


def fig5_readings(
    effort: Effort = QUICK, *, replicas: Sequence[int] = (2, 3, 8), readings: Sequence[str] = tuple(READINGS)
) -> xr.Dataset:
    """The loop of figure 5 under the four readings of when a write is answered."""

    def loop(scheme: str, completion: str, replicas: int) -> Scenario:
        return group(SCHEMES[scheme], replicas=replicas, read_share=0.67, reading=completion)

    axes = {"scheme": ["D-SPTF", "Hashing"], "completion": list(readings), "replicas": list(replicas)}
    return _sweep(loop, axes, effort, "fig5_readings")


def table5(
    effort: Effort = QUICK,
    *,
    bricks: Sequence[int] = (16, 32, 64, 128),
    replicas: Sequence[int] = (2, 4, 6, 8),
    read_share: float = 0.9,
    latency: float = LATENCY,
) -> xr.Dataset:
    """Messages per request by number of bricks and replicas (table 5).

    Bricks form disjoint groups of `replicas`, each with its own 16 requests outstanding, and groups exchange nothing: a
    system of b bricks is b / replicas groups, here one lane each. With 6 replicas the bricks left over stand unused.
    A request costs 2N messages (sent to N bricks, and N claims, or N acknowledgements of a write) and N more for every
    further claim (section 5.3.1).
    """
    groups = max(bricks) // min(replicas)
    loops = _claims(effort._replace(seeds=max(groups, effort.seeds)), replicas, read_share, latency, "table5")
    messages = 2 * loops.replicas + loops.replicas * loops.further_claims
    by_size = []
    for count in bricks:
        used = messages.where(messages.seed < messages.seed[0] + count // messages.replicas)
        by_size.append(interval(used.to_dataset(name="messages")).messages.expand_dims(bricks=[count]))
    table = xr.Dataset({"messages": xr.concat(by_size, "bricks"), "messages_each": messages})
    table["message_rate"] = messages * loops.request_rate / loops.replicas
    table["throughput"] = loops.throughput
    for name, text in {
        "messages": "messages per request",
        "messages_each": "messages per request of each group",
        "message_rate": "messages per second and brick",
    }.items():
        table[name].attrs = {"units": "1/s" if name == "message_rate" else "1", "long_name": text}
    table.attrs = loops.attrs
    return table


def table6(
    effort: Effort = QUICK,
    *,
    replicas: Sequence[int] = (2, 4, 6, 8),
    read_shares: Sequence[float] = (0.67, 0.9, 1.0),
    latencies: Sequence[float] = (LATENCY, 2 * LATENCY),
) -> xr.Dataset:
    """Share of requests that several bricks claim, by replicas (table 6).

    The paper gives neither the share of reads nor how long after a claim another counts as a conflict; both are axes.
    """

    def loop(replicas: int, read_share: float, latency: float) -> Scenario:
        return group(DSPTF(latency), replicas=replicas, read_share=read_share)

    axes = {"replicas": list(replicas), "read_share": list(read_shares), "latency": list(latencies)}
    return _sweep(loop, axes, effort, "table6")


def fig9(
    effort: Effort = QUICK,
    *,
    latencies: Sequence[float] = tuple(ms * MS for ms in (0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3)),
    read_shares: Sequence[float] = (0.67, 0.9),
) -> xr.Dataset:
    """Throughput per replica of D-SPTF against the one-way network latency, eight replicas (figure 9)."""

    def loop(latency: float, read_share: float) -> Scenario:
        return group(DSPTF(latency), read_share=read_share)

    return _sweep(loop, {"latency": list(latencies), "read_share": list(read_shares)}, effort, "fig9")


def protocol(effort: Effort = QUICK, *, losses: Sequence[float] = (0.0, 0.05, 0.5)) -> xr.Dataset:
    """Reads served twice in the loop of table 1 when claims are lost with some probability (section 3)."""

    def loop(loss: float) -> Scenario:
        return group(DSPTF(LATENCY, delivery=Lossy(loss)))

    # a brick that never hears of a claim keeps the read queued, so that slots run short; waiting outside is harmless here
    return _sweep(loop, {"loss": list(losses)}, effort, "protocol", most_held_up=1.0)


def one_at_a_time(effort: Effort = QUICK, *, replicas: int = 8) -> xr.Dataset:
    """One read at a time to `replicas` idle bricks: all claim it, the most messages a request can cost (section 5.3.1)."""

    def loop() -> Scenario:
        return group(DSPTF(LATENCY), replicas=replicas, outstanding=1, read_share=1.0)

    data = _sweep(loop, {}, effort._replace(requests=max(100, effort.requests // 10)), "table5")
    return data.assign_attrs(copies=replicas)


def _claims(effort: Effort, replicas, read_share: float, latency: float, exhibit: str) -> xr.Dataset:
    def loop(replicas: int) -> Scenario:
        return group(DSPTF(latency), replicas=replicas, read_share=read_share)

    return _sweep(loop, {"replicas": list(replicas)}, effort, exhibit)


def _sweep(build, axes: dict, effort: Effort, exhibit: str, most_held_up: float = 1e-3) -> xr.Dataset:
    """A sweep of the paper's loops; an arrival in a thousand may wait a moment for a slot, more is refused."""
    data = sweep(
        build,
        axes,
        seeds=effort.seed_list,
        requests=effort.requests,
        warm_up=effort.requests // 5,
        allow_held_up=True,
    )
    share = float((data.held_up / data.requests).max())
    if share > most_held_up:
        raise InputError(f"{share:.2%} of arrivals waited outside: raise the slots of dsptf.system.SLOTS")
    data.attrs |= {"paper": "dsptf", "exhibit": f"dsptf.{exhibit}"}
    return data
