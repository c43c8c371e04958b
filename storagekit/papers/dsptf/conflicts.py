"""Messages, conflicts and lost claims: tables 5 and 6, sections 3 and 5.3.1, and the findings on their claims."""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from storagekit.core.units import US
from storagekit.engine import Scenario
from storagekit.papers.dsptf.brick_group import LATENCY, QUICK, Effort, dsptf, group, over_loops, sweep_loops
from storagekit.papers.dsptf.claims import OVERHEAD, TABLE5, TABLE6
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.simulation import interval

# Share of reads of tables 5 and 6. Section 5.3.1 has 3,230 messages a second, 16.15 for each request, and 800 KB/s of
# data in requests of 4 KB. Both give 200 requests a second and brick, the number of accesses. A write would make eight
# accesses.
READS_ALONE = 1.0
# Phases of the spindles, and whether they rotate in step.
SPINDLES = {"random": 0, "in step": 1}
# Largest number of further services for each read that counts as "almost never": the limit of a match in the scorecard.
ALMOST_NEVER = 0.05
ADDED = "The value is the size of the 50-byte messages of a request, divided by the size of its data."


def table5(
    effort: Effort = QUICK,
    *,
    bricks: Sequence[int] = (16, 32, 64, 128),
    replicas: Sequence[int] = (2, 4, 6, 8),
    read_share: float = READS_ALONE,
    latency: float = LATENCY,
) -> xr.Dataset:
    """Return the messages per request by number of bricks and replicas (table 5).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs, at least one run for each group.
    bricks : sequence of int
        Numbers of bricks.
    replicas : sequence of int
        Numbers of replicas (N).
    read_share : float
        Share of reads, by default `READS_ALONE`, because the paper gives none.
    latency : float
        One-way network latency, seconds, by default 50 us.

    Returns
    -------
    Dataset
        `messages` over `bricks`, `replicas` and `statistic`; `messages_each`, of each group, over `replicas` and
        `seed`; `message_rate`, messages a second and brick; `throughput`.

    Notes
    -----
    Bricks form disjoint groups of N bricks. Each group has 16 requests outstanding, and groups exchange no messages. A
    system of b bricks is therefore b / N groups, each of them one run. The number of bricks only determines the number
    of groups in the mean. With 6 replicas the remaining bricks are unused. A request needs 2N messages: it is sent to N
    bricks, and there are N claims, or N acknowledgements of a write. Each further claim needs N more (section 5.3.1):

        messages = 2 N + N * further_claims
    """
    groups = max(bricks) // min(replicas)
    loops = _claims(replace(effort, seeds=max(groups, effort.seeds)), replicas, read_share, latency, "table5")
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


@over_loops(
    {"replicas": (2, 4, 6, 8), "read_share": (0.67, 0.9, 1.0), "latency": (LATENCY, 2 * LATENCY), "spindles": SPINDLES}
)
def table6(replicas: int, read_share: float, latency: float, spindles: int) -> Scenario:
    """Return the share of requests that several bricks claim, by number of replicas (table 6).

    Parameters
    ----------
    replicas : sequence of int
        Numbers of replicas.
    read_share : sequence of float
        Shares of reads.
    latency : sequence of float
        One-way latencies, seconds.
    spindles : sequence of str
        Names of `SPINDLES`.

    Returns
    -------
    Dataset
        `contested_requests` and further measures over `replicas`, `read_share`, `latency`, `spindles` and `seed`.

    Notes
    -----
    The paper does not give the share of reads, the phases of the spindles, or the time after a claim during which
    another claim is a conflict. All three are axes.
    """
    return group(dsptf(latency), replicas=replicas, read_share=read_share, synchronized=spindles)


# A brick that does not receive a claim keeps the read in its queue, so that too few slots are free. Arrivals may wait for
# a slot here without harm.
@over_loops({"loss": (0.0, 0.05, 0.5)}, most_held_up=1.0)
def protocol(loss: float) -> Scenario:
    """Return the reads that are served twice in the loop of table 1 if some claims are lost (section 3).

    Parameters
    ----------
    loss : sequence of float
        Probabilities that a claim is lost.

    Returns
    -------
    Dataset
        `extra_services` and further measures over `loss` and `seed`.
    """
    return group(dsptf(LATENCY, loss=loss))


# The rate is half of its limit. A quarter of the runs gives it to within a fifth.
@over_loops({"latency": (LATENCY, 4 * LATENCY, 20 * LATENCY), "depth": (1, 4, 16), "waits": (0, 1)}, few=True)
def served_twice(latency: float, depth: int, waits: int) -> Scenario:
    """Return the reads that a second brick serves in the loop of table 1 and in shorter loops.

    Parameters
    ----------
    latency : sequence of float
        One-way latencies, seconds.
    depth : sequence of int
        Numbers of requests outstanding.
    waits : sequence of int
        0 if an idle brick waits for claims at most for its rotational latency (section 3.1), and 1 if it always waits
        for two latencies.

    Returns
    -------
    Dataset
        `extra_services` and further measures over `latency`, `depth`, `waits` and `seed`, of only `effort.few` runs.
    """
    return group(dsptf(latency, waits), outstanding=depth)


def one_at_a_time(effort: Effort = QUICK, *, replicas: int = 8) -> xr.Dataset:
    """Return the claims for one read at a time to idle bricks, the maximum for a request (section 5.3.1).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs. A tenth of the requests is run, at least 100.
    replicas : int
        Number of replicas, by default 8.

    Returns
    -------
    Dataset
        `claims_per_read` and further measures over `seed`.
    """

    def loop() -> Scenario:
        return group(dsptf(LATENCY), replicas=replicas, outstanding=1, read_share=1.0)

    data = sweep_loops(loop, {}, replace(effort, requests=max(100, effort.requests // 10)), "table5")
    return data.assign_attrs(copies=replicas)


def table5_findings(data: xr.Dataset, mixed: xr.Dataset, most: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 5 and section 5.3.1.

    Parameters
    ----------
    data : Dataset
        Result of `table5` with reads only.
    mixed : Dataset
        Result of `table5` with the writes of table 1.
    most : Dataset
        Result of `one_at_a_time`.
    """
    found = []
    for claim, (replicas, bricks) in TABLE5.within(data):
        note = f"The value is the mean over {bricks // replicas} disjoint groups with reads only." + (
            " The remaining bricks are unused." * (bricks % replicas > 0)
        )
        found.append(with_interval(claim, data.messages.sel(replicas=replicas, bricks=bricks), note))
    summary = interval(data).sel(replicas=8)
    copies = int(most.attrs["copies"])
    # A read may be claimed before the measured time and complete within it. One such read is allowed for.
    peak = float((most.claims_per_read * most.requests / (most.requests + 1)).max())
    writes = float(mixed.message_rate.sel(replicas=8).mean())
    return [
        *found,
        Measurement(
            "dsptf.table5.max",
            0.95 * copies <= peak <= copies,
            note=f"One read at a time goes to {copies} idle replicas. In the run with the most claims, a read causes "
            f"{peak:.2f} claims on average, each of {copies} messages. The maximum is {copies} claims, or {copies} "
            f"x {copies} "
            f"messages. The statement of the paper counts as true if at least nineteen in twenty of the {copies} claims are "
            "sent.",
        ),
        with_interval(
            "dsptf.table5.rate_8way",
            summary.message_rate,
            "The loop has reads only. The paper's 3,230 messages/s are 16.15 messages for each of 200 requests/s, so that "
            f"a request makes one access. With 90% reads this simulation has {writes:.0f} messages/s per brick.",
        ),
        *(with_interval(claim, 50 * summary.messages_each / size, ADDED) for claim, (size, _) in OVERHEAD),
    ]


def table6_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 6, with reads only and at the paper's latency; the notes give the other settings.

    Parameters
    ----------
    data : Dataset
        Result of `table6`.
    """
    both = interval(data).contested_requests
    summary, found = both.sel(spindles="random"), []
    for claim, (replicas,) in TABLE6.within(data):
        row = summary.sel(replicas=replicas)
        mean = row.sel(statistic="mean")
        others = ", ".join(
            f"{float(mean.sel(read_share=share, latency=latency)):.2%} with {share:.0%} reads and {latency * 1e6:.0f} us"
            for share in data.read_share.values
            for latency in data.latency.values
        )
        alone = both.sel(replicas=replicas, read_share=READS_ALONE, latency=data.latency[0])
        in_step = float(alone.sel(spindles="in step", statistic="mean"))
        note = (
            "The simulation has reads only, a latency of 50 us and random phases of the spindles. The paper does not give "
            "the share of reads, but section 5.3.1 counts one access for each request. With spindles in step the value is "
            f"{in_step:.2%}. With random phases it is {others}. The excess of table 5 is N times the conflicts, and the rows "
            "of table 5 give the range."
        )
        found.append(with_interval(claim, row.sel(read_share=READS_ALONE, latency=data.latency[0]), note))
    return found


def protocol_findings(data: xr.Dataset, repeats: xr.Dataset) -> list[Measurement]:
    """Return the findings on the guarantees of the protocol (section 3).

    Parameters
    ----------
    data : Dataset
        Result of `protocol`.
    repeats : Dataset
        Result of `served_twice`.
    """
    extra = data.extra_services.mean("seed")
    rate = interval(repeats).extra_services.sel(waits=0)
    waited = float(repeats.extra_services.sel(waits=1).max())
    mean = rate.sel(statistic="mean")
    here = rate.sel(latency=LATENCY, method="nearest")
    worst = here.isel(depth=int(here.sel(statistic="mean").argmax("depth")))
    shown = ", and ".join(
        f"{', '.join(f'{float(row):.3%}' for row in mean.sel(latency=latency))} at {latency / US:g} us"
        for latency in mean.latency.values
    )
    depths = ", ".join(str(depth) for depth in mean.depth.values)
    # A closed loop that loses a request has fewer than 16 requests from then on.
    held = float(data.outstanding.min())
    some = float(extra.sel(loss=0.05))
    return [
        with_interval(
            "dsptf.protocol.once",
            worst,
            "The value is the number of services of a read after the first, by other bricks. It is for a latency of "
            f"{LATENCY / US:g} us and {int(worst.depth)} requests outstanding, where it is largest at this latency. "
            f"This project takes at most {ALMOST_NEVER:.0%} as almost never. With {depths} requests outstanding, in "
            f"this order, the values are {shown}. If every brick waits "
            f"for two latencies, the largest value is {waited:g}.",
            holds=waited == 0 and float(worst.sel(statistic="mean")) <= ALMOST_NEVER,
        ),
        Measurement(
            "dsptf.protocol.lost_claim",
            held > 15.5 and some > 0,
            note="Each of the other seven bricks misses the claims on a read with a probability of 5%. A read then has "
            f"{some:.2f} further services. The loop has at least {held:.2f} of its 16 requests. Tests cover late claims. The "
            "simulation does not draw them.",
        ),
    ]


def _claims(effort: Effort, replicas, read_share: float, latency: float, exhibit: str) -> xr.Dataset:
    def loop(replicas: int) -> Scenario:
        return group(dsptf(latency), replicas=replicas, read_share=read_share)

    return sweep_loops(loop, {"replicas": list(replicas)}, effort, exhibit)
