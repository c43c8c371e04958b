"""The storage mediator of section 2, which the paper did not build: admission, layouts, and failed agents."""

import time
from collections.abc import Sequence

import numpy as np
import xarray as xr

from storagekit.analytic.forkjoin import Host
from storagekit.core.provenance import as_text, made_by
from storagekit.core.units import KB, MB, MINUTE
from storagekit.mediator import (
    Admitted,
    Agents,
    Cluster,
    Economical,
    Mediator,
    Policy,
    Request,
    Reservations,
    SessionClass,
    SmallUnits,
    StripeLayout,
    TransferPlan,
    Widest,
    simulate,
    variable_load,
)
from storagekit.papers.measurement import Measurement
from storagekit.papers.swift.gigabit_system import AGENTS, M2372K, QUICK, RING, StreamEffort

# Section 1: audio of CD quality, DVI compressed video, and full-frame colour video. Their shares of the requests are an
# assumption.
RATES = {"audio": 1.4e6 / 8, "DVI video": 1.2e6, "full-frame video": 20e6}
SHARES = {"audio": 0.6, "DVI video": 0.37, "full-frame video": 0.03}
POLICIES: dict[str, Policy] = {
    "fewest agents": Economical(),
    "units to 256 KB": SmallUnits(256 * KB),
    "most agents": Widest(),
}
LENGTH = MINUTE
PROMISED = 0.99


def cluster() -> Cluster:
    """Return a cluster of 32 agents with the paper's disk, on the paper's ring.

    Returns
    -------
    Cluster
        The cluster; all rates are in bytes a second.
    """
    return Cluster((M2372K,) * AGENTS, Host(), Host(), RING)


def choices(rates: Sequence[float] = tuple(np.geomspace(0.1e6, 25e6, 25))) -> xr.Dataset:
    """Return the layout that the mediator of an idle cluster chooses for a session of each data-rate.

    Parameters
    ----------
    rates : sequence of float
        Data-rates, bytes a second, by default 25 from 0.1 to 25 MB/s.

    Returns
    -------
    Dataset
        `agents` and `unit` (bytes) over `rate`; NaN if the session is rejected.
    """
    began, rows = time.perf_counter(), []
    for rate in rates:
        answer = Mediator(Reservations(cluster())).request(Request("client", float(rate), round(rate * LENGTH)))
        found = isinstance(answer, Admitted)
        rows.append((len(answer.layout.agents), answer.layout.unit) if found else (np.nan, np.nan))
    agents, unit = np.array(rows, float).T
    return xr.Dataset(
        {
            "agents": ("rate", agents, {"units": "1", "long_name": "agents of a session"}),
            "unit": ("rate", unit, {"units": "B", "long_name": "striping unit"}),
        },
        coords={"rate": list(rates)},
    ).assign_attrs(_made_by("swift.choices", "analytic", QUICK, began))


def admitted(effort: StreamEffort = QUICK) -> xr.Dataset:
    """Fill a cluster with sessions until one is rejected, simulate the sessions, and return the results of all runs.

    Parameters
    ----------
    effort : StreamEffort
        There is one run for every 50 of its `sessions`, and at least two runs.

    Returns
    -------
    Dataset
        Variables over `run`. `sessions`: number of admitted sessions. `met`: number of admitted sessions that received
        every stripe in time. `reserved`: fraction of the disks' time that is reserved. `constraint`: name of the
        constraint that the rejected session violates. `value`, `limit`: value of this constraint, and its limit.
        `spared`: whether the admitted sessions and the rejected session would all have received every stripe in time if
        the rejected session had been admitted.
    """
    began, rows = time.perf_counter(), []
    runs = max(effort.sessions // 50, 2)
    for run in range(runs):
        draw = np.random.default_rng([effort.first_seed, run])
        mediator = Mediator(Reservations(cluster()))
        plans = []
        while True:
            kind = draw.choice(list(RATES), p=list(SHARES.values()))
            request = Request(
                f"client {len(plans)}", RATES[kind], round(RATES[kind] * LENGTH), start=draw.uniform(0, LENGTH)
            )
            answer = mediator.request(request)
            if not isinstance(answer, Admitted):
                break
            plans.append(answer.plan)
        met = simulate(mediator.reservations.cluster, plans, seed=effort.first_seed + run).met
        reserved, binding = float(mediator.reservations.disk_shares.mean()), answer.binding
        spared = bool(
            simulate(
                cluster(), [*plans, _anyway(mediator.reservations, request)], seed=effort.first_seed + run
            ).met.all()
        )
        rows.append((len(plans), int(met.sum()), reserved, binding.value, binding.limit, binding.constraint, spared))
    names = ("sessions", "met", "reserved", "value", "limit", "constraint", "spared")
    data = xr.Dataset(
        {name: ("run", list(column)) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    )
    return data.assign_attrs(_made_by("swift.admitted", "simulated", effort, began))


def allocation(
    effort: StreamEffort = QUICK, *, offered: Sequence[float] = (5e6, 10e6, 20e6, 40e6), batches: int = 10
) -> xr.Dataset:
    """Return the share of rejected sessions and the carried data-rate under each policy (section 6.1.1).

    Sessions arrive at random times, and end.

    Parameters
    ----------
    effort : StreamEffort
        Only the fields `sessions` and `first_seed` are used.
    offered : sequence of float
        Offered data-rates, bytes a second.
    batches : int
        Number of batches of sessions, by default 10.

    Returns
    -------
    Dataset
        Variables over `policy`, `offered` and `batch`. `refused`: fraction of the sessions that are rejected.
        `refused_kind`: this fraction for each `kind` of session. `carried`: data-rate of the admitted sessions, bytes a
        second. `disks`: fraction of the disks' time that is reserved. All policies receive the same sessions.
    """
    began = time.perf_counter()
    classes = [SessionClass(rate, round(rate * LENGTH), SHARES[kind], name=kind) for kind, rate in RATES.items()]

    def one(policy: Policy, load: float) -> xr.Dataset:
        result = variable_load(cluster(), policy, classes, load, effort.sessions, effort.first_seed, batches)
        arrived, refused = result.arrived, result.refused
        with np.errstate(invalid="ignore"):
            by_kind = np.where(arrived > 0, refused / np.maximum(arrived, 1), np.nan)
        return xr.Dataset(
            {
                "refused": ("batch", refused.sum(0) / arrived.sum(0), {"units": "1", "long_name": "rejected sessions"}),
                "refused_kind": (("kind", "batch"), by_kind, {"units": "1", "long_name": "rejected sessions, by kind"}),
                "carried": ("batch", result.carried, {"units": "B/s", "long_name": "data-rate of admitted sessions"}),
                "disks": ("batch", result.disks, {"units": "1", "long_name": "fraction of disk time reserved"}),
            },
            coords={"kind": list(RATES)},
        )

    rows = [xr.concat([one(policy, load) for load in offered], "offered") for policy in POLICIES.values()]
    data = xr.concat(rows, "policy").assign_coords(policy=list(POLICIES), offered=list(offered))
    return data.assign_attrs(_made_by("swift.allocation", "simulated", effort, began))


def survival(effort: StreamEffort = QUICK) -> xr.Dataset:
    """Return the number of reads of objects with check data that return the whole object while agents fail.

    Parameters
    ----------
    effort : StreamEffort
        Only the field `first_seed` is used.

    Returns
    -------
    Dataset
        Variables over `group`, the number of data blocks for each parity block. `reads`: number of reads. `whole`:
        number of reads that returned the object byte for byte.

    Notes
    -----
    In each read one agent fails, or one agent in every group. The read is repeated for every agent, and for failures
    before the transfer and at eight times during it.
    """
    began, sizes = time.perf_counter(), (2, 4, 8)
    counts = [_read_back(group, effort.first_seed) for group in sizes]
    reads, whole = np.array(counts).T
    return xr.Dataset(
        {"reads": ("group", reads), "whole": ("group", whole)}, coords={"group": list(sizes)}
    ).assign_attrs(_made_by("swift.survival", "simulated", effort, began))


def mediator_findings(admitted: xr.Dataset, choices: xr.Dataset, survival: xr.Dataset) -> list[Measurement]:
    """Return the findings on the three claims about the mediator.

    Parameters
    ----------
    admitted : Dataset
        Result of `admitted`.
    choices : Dataset
        Result of `choices`.
    survival : Dataset
        Result of `survival`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.mediator`.
    """
    return [_rejects(admitted), _chooses(choices), _survives(survival)]


def _anyway(reservations: Reservations, request: Request) -> TransferPlan:
    """Return a plan for a rejected session: its layout on an idle cluster, moved to the agents with most free time."""
    alone = Mediator(Reservations(cluster())).request(request)
    assert isinstance(alone, Admitted)
    free = np.argsort(reservations.disk_shares, kind="stable")[: len(alone.layout.agents)]
    layout = StripeLayout.over(request.size, alone.layout.unit, tuple(np.sort(free).tolist()), request.group)
    return TransferPlan(layout, request.client, request.rate, request.write, request.start)


def _read_back(group: int, seed: int) -> tuple[int, int]:
    size = 40 * 32 * KB + 12_345
    draw = np.random.default_rng([seed, group])
    data = draw.bytes(size)
    mediator = Mediator(Reservations(cluster()), Widest())
    stored = mediator.request(Request("writer", 1e6, size, write=True, buffer=MB, group=group))
    assert isinstance(stored, Admitted)
    agents = Agents()
    agents.store(stored.plan, data)
    mediator.reservations.release(stored.session)
    read = mediator.request(Request("reader", 1e6, size, layout=stored.layout))
    assert isinstance(read, Admitted)
    moments = np.append(-np.inf, np.linspace(0, read.plan.end, 8))
    failures = [([agent], moment) for agent in read.layout.agents for moment in moments]
    failures += [([int(draw.choice(members)) for members in read.layout.groups], moment) for moment in moments]
    whole = [agents.retrieve(read.plan.degraded(failed, moment)) == data for failed, moment in failures]
    return len(whole), sum(whole)


def _made_by(exhibit: str, basis: str, effort: StreamEffort, began: float) -> dict:
    made = made_by(basis, effort.successive(1), time.perf_counter() - began)
    about = {"paper": "swift", "exhibit": exhibit, "drive": M2372K.name, "scenario": as_text(cluster())}
    length = {} if basis == "analytic" else {"requests": f"{effort.sessions} sessions"}
    return made | about | {"sessions": effort.sessions} | length


def _rejects(data: xr.Dataset) -> Measurement:
    """Return the finding on the fraction of the admitted sessions that received their data-rate.

    The note covers the rejected sessions: the admission test is a sufficient condition, not a necessary one.
    """
    sessions, met = int(data.sessions.sum()), int(data.met.sum())
    reserved, runs = data.reserved, data.sizes["run"]
    network = int(data.constraint.str.startswith("network").sum())
    note = (
        "The value is the share of the admitted sessions that received every stripe in time. The claim holds if it is "
        f"at least {PROMISED:.0%}. "
        f"In each of {runs} runs, the mediator admitted sessions until it rejected one. The reason was the network in "
        f"{network} runs and a disk in the other runs. Of {sessions} admitted sessions, {met} received every stripe in "
        f"time. At the end of a run {float(reserved.min()):.0%} to {float(reserved.max()):.0%} of the disks' time "
        "was reserved. Each rejected session was also simulated together with the admitted sessions of its run. In "
        f"{int(data.spared.sum())} of {runs} runs all of these sessions received their data-rate. The admission test "
        "is stricter than necessary, because it assumes that all sessions request a block simultaneously."
    )
    share = met / sessions
    return Measurement("swift.mediator.reject", share, note=note, holds=share >= PROMISED)


def _chooses(data: xr.Dataset) -> Measurement:
    """Return the finding whether sessions with higher data-rates get more agents and smaller units.

    From one data-rate to the next higher, the number of agents may not decrease, and the unit may not increase. The
    highest data-rate must have more agents and a smaller unit than the lowest data-rate.
    """
    agents, unit = data.agents.dropna("rate"), data.unit.dropna("rate")
    steady = bool(np.all(np.diff(agents) >= 0) and np.all(np.diff(unit) <= 0))
    apart = bool(agents[-1] > agents[0] and unit[-1] < unit[0])
    ends = " ".join(
        f"At {float(agents.rate[at]) / 1e6:.1f} MB/s a session gets {int(agents[at])} of 32 idle agents and a unit of "
        f"{float(unit[at]) / KB:.0f} KB."
        for at in (0, -1)
    )
    note = (
        "The claim holds if, as the data-rate rises, the number of agents never falls and the unit never grows, and if "
        f"the highest data-rate has more agents and a smaller unit than the lowest. {ends}"
    )
    return Measurement("swift.mediator.unit", steady and apart, note=note)


def _survives(data: xr.Dataset) -> Measurement:
    reads, whole = int(data.reads.sum()), int(data.whole.sum())
    groups = ", ".join(str(group) for group in data.group.values.tolist())
    note = (
        f"{whole} of {reads} reads returned the whole object. In each read one agent failed, or one agent in every "
        "group. The reads cover every agent, and failures before the transfer and at eight times during it. The "
        f"objects have {groups} data blocks for each parity block."
    )
    return Measurement("swift.mediator.parity", whole / reads, note=note, holds=whole == reads)
