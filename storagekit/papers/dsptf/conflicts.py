"""Messages, conflicting claims and lost claims: tables 5 and 6 and sections 3 and 5.3.1, with the findings."""

from collections.abc import Sequence
from dataclasses import replace

import xarray as xr

from storagekit.core.units import US
from storagekit.engine import Scenario
from storagekit.papers.dsptf.brick_group import LATENCY, QUICK, Effort, dsptf, group, over_loops, sweep_loops
from storagekit.papers.dsptf.claims import OVERHEAD, TABLE5, TABLE6
from storagekit.papers.measurement import Measurement, with_interval
from storagekit.simulation import interval

# Share of reads of tables 5 and 6. Section 5.3.1 has 3,230 messages a second, at 16.15 messages for each request, and
# 800 KB of data a second, in requests of 4 KB. Both give 200 requests a second for each brick. A brick also makes 200
# accesses a second. The requests are therefore reads, because a write makes eight accesses.
READS_ALONE = 1.0
# Phases of the spindles by name: 1 if the spindles rotate in step, 0 if each has a random phase.
SPINDLES = {"random": 0, "in step": 1}
# Largest number of further services for each read that counts as "almost never". It is the limit of a match in the
# scorecard.
ALMOST_NEVER = 0.05
ADDED = (
    "A message has 50 bytes. The value is the total size of the messages of a request, divided by the size of the data "
    "of the request."
)


def table5(
    effort: Effort = QUICK,
    *,
    bricks: Sequence[int] = (16, 32, 64, 128),
    replicas: Sequence[int] = (2, 4, 6, 8),
    read_share: float = READS_ALONE,
    latency: float = LATENCY,
) -> xr.Dataset:
    """Return the number of messages per request, by number of bricks and number of replicas (table 5).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs. There is at least one run for each group of the largest system.
    bricks : sequence of int
        Numbers of bricks.
    replicas : sequence of int
        Numbers of replicas (N).
    read_share : float
        Share of reads, by default `READS_ALONE`. The paper does not give the share.
    latency : float
        One-way network latency, seconds, by default 50 us.

    Returns
    -------
    Dataset
        `messages`, over `bricks`, `replicas` and `statistic`: mean number of messages for each request. Over `replicas`
        and `seed`: `messages_each`, the number of messages for each request in one group; `message_rate`, messages a
        second for each brick; `throughput`, accesses a second for each brick.

    Notes
    -----
    Bricks form disjoint groups of N bricks. Each group has 16 requests outstanding, and groups exchange no messages. A
    system of b bricks therefore consists of b / N groups, and each run simulates one group. The number of bricks only
    determines the number of groups in the mean. If N does not divide b, as with 6 replicas, the remaining bricks
    are unused. A request needs 2N messages: N messages send the request to all replicas, and N messages are one claim
    or the acknowledgements of a write. Each further claim needs N more messages (section 5.3.1):

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
    """Return the fraction of the requests that more than one brick claims, by number of replicas (table 6).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
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
    The paper does not give the fraction of reads, the phases of the spindles, or the time after a claim during which
    another claim is a conflict (here the latency). The exhibit therefore has an axis for each of these quantities.
    """
    return group(dsptf(latency), replicas=replicas, read_share=read_share, synchronized=spindles)


# A brick that does not receive a claim keeps the read in its queue, and the read keeps its slot. Any fraction of the
# arrivals may therefore wait for a slot in this exhibit.
@over_loops({"loss": (0.0, 0.05, 0.5)}, most_blocked=1.0)
def protocol(loss: float) -> Scenario:
    """Return the number of further services for each read in the loop of table 1 if claims are lost (section 3).

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
    loss : sequence of float
        Probabilities that a claim is lost.

    Returns
    -------
    Dataset
        `extra_services` and further measures, over `loss` and `seed`. `extra_services` is the mean number of repeated
        services of a read: services by other bricks in addition to the first service.
    """
    return group(dsptf(LATENCY, loss=loss))


# The largest number of further services is half of its limit `ALMOST_NEVER`. With a quarter of the runs it is known to
# within a fifth.
@over_loops({"latency": (LATENCY, 4 * LATENCY, 20 * LATENCY), "depth": (1, 4, 16), "waits": (0, 1)}, few=True)
def served_twice(latency: float, depth: int, waits: int) -> Scenario:
    """Return the number of further services for each read in the loop of table 1, and in loops with fewer requests.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs.
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
        `extra_services` and further measures, over `latency`, `depth`, `waits` and `seed`. `extra_services` is the mean
        number of repeated services of a read: services by other bricks in addition to the first service. The number of
        runs is `effort.few`.
    """
    return group(dsptf(latency, waits), outstanding=depth)


def one_at_a_time(effort: Effort = QUICK, *, replicas: int = 8) -> xr.Dataset:
    """Return the number of claims for a read if one read at a time is sent to idle bricks (section 5.3.1).

    With this load, a request causes the largest number of claims.

    Parameters
    ----------
    effort : Effort
        Number and length of the runs. Each run has a tenth of the `requests` of `effort`, but at least 100 requests.
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
        Result of `table5` with the fraction of reads of table 1.
    most : Dataset
        Result of `one_at_a_time`.

    Returns
    -------
    list of Measurement
        The findings on the cells of table 5 whose numbers of replicas and bricks are in `data`, and on the other claims
        of `dsptf.table5`.
    """
    found = []
    for claim, (replicas, bricks) in TABLE5.within(data):
        note = f"The value is the mean over {bricks // replicas} disjoint groups with reads only." + (
            " The bricks that fill no group are unused." * (bricks % replicas > 0)
        )
        found.append(with_interval(claim, data.messages.sel(replicas=replicas, bricks=bricks), note))
    summary = interval(data).sel(replicas=8)
    copies = int(most.attrs["copies"])
    # A read may be claimed before the measured time and complete in the measured time. The correction assumes one such
    # read.
    peak = float((most.claims_per_read * most.requests / (most.requests + 1)).max())
    writes = float(mixed.message_rate.sel(replicas=8).mean())
    return [
        *found,
        Measurement(
            "dsptf.table5.max",
            0.95 * copies <= peak <= copies,
            note="The claim of the paper holds if a read causes at least 95% of the maximum number of claim messages, "
            f"and never more than the maximum. One read at a time goes to {copies} idle replicas. The maximum is "
            f"{copies} claims of {copies} messages each. In the run with the most claim messages, a read causes "
            f"{peak:.2f} claims on average.",
        ),
        with_interval(
            "dsptf.table5.rate_8way",
            summary.message_rate,
            "The loop has reads only. The paper gives 3,230 messages/s, which are 16.15 messages for each of 200 "
            "requests/s. A request therefore makes one access in the paper, which is possible only with reads. With "
            f"90% reads this simulation has {writes:.0f} messages/s per brick.",
        ),
        *(with_interval(claim, 50 * summary.messages_each / size, ADDED) for claim, (size, _) in OVERHEAD),
    ]


def table6_findings(data: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 6, for reads only and the paper's latency. The notes give the other results.

    Parameters
    ----------
    data : Dataset
        Result of `table6`.

    Returns
    -------
    list of Measurement
        One finding for each number of replicas of table 6 that is in `data`.
    """
    both = interval(data).contested_requests
    summary, found = both.sel(spindles="random"), []
    for claim, (replicas,) in TABLE6.within(data):
        row = summary.sel(replicas=replicas)
        mean = row.sel(statistic="mean")
        others = ", ".join(
            f"{float(mean.sel(read_share=share, latency=latency)):.2%} with {share:.0%} reads and "
            f"{latency * 1e6:.0f} us"
            for share in data.read_share.values
            for latency in data.latency.values
        )
        alone = both.sel(replicas=replicas, read_share=READS_ALONE, latency=data.latency[0])
        in_step = float(alone.sel(spindles="in step", statistic="mean"))
        note = (
            "The simulation has reads only, a latency of 50 us and random phases of the spindles. The paper does not "
            "give the share of reads, but section 5.3.1 counts one access for each request. With spindles in step "
            f"the value is {in_step:.2%}. With random phases the value is {others}. In table 5, a request has 2N "
            "messages, and N further messages for each conflict, where N is the number of replicas. We compute the "
            "range of conflicts in the claim from table 5 with this rule."
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

    Returns
    -------
    list of Measurement
        One finding for each claim: `dsptf.protocol.once` and `dsptf.protocol.lost_claim`.
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
            "The value is the mean number of repeated services of a read: services by other bricks in addition to the "
            f"first service. The claim holds if the value is at most {ALMOST_NEVER:.0%}, which we call almost never, "
            "and if the value is 0 when every idle brick waits for two latencies. The value is the largest at a "
            f"latency of {LATENCY / US:g} us, with {int(worst.depth)} requests outstanding. With {depths} "
            f"requests outstanding, respectively, the values are {shown}. If every idle brick waits for two "
            f"latencies, the largest value is {waited:g}.",
            holds=waited == 0 and float(worst.sel(statistic="mean")) <= ALMOST_NEVER,
        ),
        Measurement(
            "dsptf.protocol.lost_claim",
            held > 15.5 and some > 0,
            note="The claim of the paper holds if lost claims cause further services, but no lost request. Each of the "
            f"other seven bricks fails to receive a claim with a probability of 5%. A read then has {some:.2f} further "
            "services on average. No request is lost if on average more than 15.5 of the 16 requests of the loop are "
            f"outstanding, because a lost request would lower this number by 1. The number is at least {held:.2f}. "
            "Claims that arrive late are covered by tests, not by this simulation.",
        ),
    ]


def _claims(effort: Effort, replicas, read_share: float, latency: float, exhibit: str) -> xr.Dataset:
    def loop(replicas: int) -> Scenario:
        return group(dsptf(latency), replicas=replicas, read_share=read_share)

    return sweep_loops(loop, {"replicas": list(replicas)}, effort, exhibit)
