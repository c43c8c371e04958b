"""Tables 1 to 4 of the prototype, measured and predicted, and the findings on their claims."""

import math
import time
from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from storagekit.core.provenance import made_by
from storagekit.papers.measurement import Measurement
from storagekit.papers.swift.ethernet import (
    CAPACITY,
    EXPLAINED,
    INTERPRETATIONS,
    MODELS,
    OPERATIONS,
    SIZES,
    Prototype,
    calibrate,
    calibration_rates,
)
from storagekit.papers.swift.measured import EXACT

AGENTS = tuple(range(1, 7))
INSIGNIFICANT, SATURATED = 0.15, 0.95
"""A fourth agent "only saturates" if it adds less than `INSIGNIFICANT` to the rates of reads and of writes, and the use
of the Ethernet is then at least `SATURATED`."""
CHOSEN = {
    "read": " This interpretation was chosen from the text of the paper, after both results were known. Only with this "
    "interpretation does one outstanding request reduce performance (section 3.1), and does the Ethernet limit the "
    "rate (section 4).",
    "write": "",
}
ALONE = "The interval covers only the sampling error of table 1."
UNKNOWNS = {"read": "the client's time for a packet", "write": "the gap between packets"}
NO_MODEL = "There is no model of {0}. We only compute the rate of Swift divided by the printed rate of {0}."
SAID = {
    (2, "read"): "The paper calls Swift 29 to 36% better. It rounds one of the two percentages up and the other down.",
    (2, "write"): "The paper gives these ratios in percent and calls them an increase.",
    (3, "read"): "The paper gives these ratios in percent and calls Swift better by this percentage.",
    (
        3,
        "write",
    ): "The paper gives these ratios in percent and calls Swift better by this percentage. The ratio is more than "
    "eight only at 6 MB.",
}
_STATISTICS = ("mean", "low", "high")
# Fraction of the second Ethernet that other traffic used. By section 4.1 this fraction was seldom higher.
OTHERS = 0.05


def predictions(second: int = 3, packet: float = 8.0, other_load: float = OTHERS, seed: int = 0) -> xr.Dataset:
    """Return the rates of reads and writes on one and two Ethernets, by models that are calibrated on table 1.

    Parameters
    ----------
    second : int
        Number of agents on the second Ethernet, by default 3.
    packet : float
        Data in a packet, KB, by default 8.
    other_load : float
        Share of the second Ethernet that other traffic uses, by default 0.05.
    seed : int
        Seed of the bootstrap, by default 0.

    Returns
    -------
    Dataset
        Variables over `operation` and `interpretation`. The interpretation of the paper is "judged" or "other"; see
        `EXPLAINED`. `rate`, KB/s, shape `[operation, interpretation, ethernets, statistic]`: rate on one Ethernet
        (calibrated) and on two Ethernets. `gain`, shape `[operation, interpretation, statistic]`: the rate on two
        Ethernets divided by the rate on one. `by_agents`, KB/s, shape `[operation, interpretation, agents]`: rate on
        one Ethernet with 1 to 6 agents. `unknown`, shape `[operation, interpretation]`: the calibrated time, seconds
        for each packet. The intervals follow from the 95% interval of the rates of table 1.
    """
    began = time.perf_counter()
    one, two = Prototype(packet=packet), Prototype((3, second), packet, other_load=other_load)
    known = calibration_rates(seed)
    cells = {key: _predicted(*key, known.sel(operation=key[0]).values, one, two) for key in MODELS}

    def grid(part: int) -> NDArray:
        return np.array(
            [[cells[operation, interpretation][part] for interpretation in INTERPRETATIONS] for operation in OPERATIONS]
        )

    axes = ("operation", "interpretation")
    coords = {
        "operation": list(OPERATIONS),
        "interpretation": list(INTERPRETATIONS),
        "ethernets": [1, 2],
        "statistic": ["mean", "low", "high"],
        "agents": list(AGENTS),
    }
    data = xr.Dataset(
        {
            "rate": ((*axes, "ethernets", "statistic"), grid(0)),
            "gain": ((*axes, "statistic"), grid(1)),
            "by_agents": ((*axes, "agents"), grid(2)),
            "unknown": (axes, grid(3)),
        },
        coords=coords,
    )
    return data.assign_attrs(
        made_by("analytic", [seed], time.perf_counter() - began),
        paper="swift",
        exhibit="swift.table4",
        seed=seed,
        packet_kb=packet,
        second_agents=second,
        other_load=other_load,
        unit="KB/s",
    )


def sensitivity(
    packets: Sequence[float] = (1.4, 4.0, 8.0, 16.0),
    seconds: Sequence[int] = (1, 2, 3, 4, 6),
    loads: Sequence[float] = (0.0, 0.05),
) -> xr.Dataset:
    """Return the predictions for table 4 under different assumptions.

    The paper does not give the amount of data in a packet, the number of agents on the second Ethernet, or the load of
    other traffic on the second Ethernet.

    Parameters
    ----------
    packets : sequence of float
        Data in a packet, KB.
    seconds : sequence of int
        Numbers of agents on the second Ethernet.
    loads : sequence of float
        Shares of the second Ethernet that other traffic uses.

    Returns
    -------
    Dataset
        `rate`, KB/s on two Ethernets, shape `[operation, interpretation, aspect]`. The interpretation of the paper is
        "judged" or "other"; see `EXPLAINED`. Each position of `aspect` has one changed assumption: "packet" (KB in a
        packet), "second" (agents on the second Ethernet) or "load" (share of other traffic). `value`, shape `[aspect]`:
        the value of this assumption. The other assumptions are the defaults of `Prototype`, with 3 agents on the second
        Ethernet.
    """
    began = time.perf_counter()
    rates = calibration_rates().sel(statistic="mean")
    moved = (
        [("packet", packet, Prototype((3, 3), packet)) for packet in packets]
        + [("second", second, Prototype((3, second))) for second in seconds]
        + [("load", load, Prototype((3, 3), other_load=load)) for load in loads]
    )

    def rate(operation: str, interpretation: str, two: Prototype) -> float:
        unknown = calibrate(
            operation, interpretation, float(rates.sel(operation=operation)), Prototype(packet=two.packet)
        )
        return MODELS[operation, interpretation](two, unknown)

    values = [
        [[rate(operation, interpretation, two) for *_, two in moved] for interpretation in INTERPRETATIONS]
        for operation in OPERATIONS
    ]
    data = xr.Dataset(
        {
            "rate": (("operation", "interpretation", "aspect"), values),
            "value": ("aspect", [float(one) for _, one, _ in moved]),
        },
        coords={
            "operation": list(OPERATIONS),
            "interpretation": list(INTERPRETATIONS),
            "aspect": [name for name, *_ in moved],
        },
    )
    # There are no seeds, because only the means of the calibration are used, which do not depend on the bootstrap.
    made = made_by("analytic", wall=time.perf_counter() - began)
    return data.assign_attrs(made, paper="swift", exhibit="swift.table4", unit="KB/s")


def prototype_findings(
    predicted: xr.Dataset, checked: xr.Dataset, simulated_reads: xr.Dataset | None = None
) -> list[Measurement]:
    """Return the findings on all claims of tables 1 to 4.

    Parameters
    ----------
    predicted : Dataset
        Result of `prototype.predictions`.
    checked : Dataset
        Result of `measured.checked_tables`.
    simulated_reads : Dataset, optional
        Result of `reads.reads`. It adds rates to the notes.
    """
    return [
        *table1_findings(predicted, checked),
        *table2_findings(predicted, checked),
        *table3_findings(predicted, checked),
        *table4_findings(predicted, checked, simulated_reads),
    ]


def table1_findings(predicted: xr.Dataset, checked: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 1: rates, use of the Ethernet, the gain from a fourth agent, and printed intervals.

    The finding on the printed intervals covers all four tables.

    Parameters
    ----------
    predicted : Dataset
        Result of `prototype.predictions`.
    checked : Dataset
        Result of `measured.checked_tables`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.table1`.
    """
    rates = [
        _rate(predicted, operation, 1, f"swift.table1.{operation}[{size}]", _calibrated(predicted, operation))
        for operation in OPERATIONS
        for size in SIZES
    ]
    return [*rates, _utilization(predicted, checked), _intervals(checked), _fourth_agent(predicted)]


def table2_findings(predicted: xr.Dataset, checked: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 2: the rate of Swift divided by the rate of a local SCSI disk.

    The rate of the disk is the printed rate, because we do not simulate or model this disk.

    Parameters
    ----------
    predicted : Dataset
        Result of `prototype.predictions`.
    checked : Dataset
        Result of `measured.checked_tables`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.table2`. The findings on the rates of the disk have
        no measured value.
    """
    return _others(predicted, checked, 2, "scsi", "a local SCSI disk")


def table3_findings(predicted: xr.Dataset, checked: xr.Dataset) -> list[Measurement]:
    """Return the findings on table 3: the rate of Swift divided by the rate of an NFS server.

    The rate of the NFS server is the printed rate, because we do not simulate or model this server.

    Parameters
    ----------
    predicted : Dataset
        Result of `prototype.predictions`.
    checked : Dataset
        Result of `measured.checked_tables`.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.table3`. The findings on the rates of the server have
        no measured value.
    """
    return _others(predicted, checked, 3, "nfs", "an NFS server")


def table4_findings(
    predicted: xr.Dataset, checked: xr.Dataset, simulated_reads: xr.Dataset | None = None
) -> list[Measurement]:
    """Return the findings on table 4, the predictions for the second Ethernet.

    Parameters
    ----------
    predicted : Dataset
        Result of `prototype.predictions`.
    checked : Dataset
        Result of `measured.checked_tables`.
    simulated_reads : Dataset, optional
        Result of `reads.reads`. It adds rates to the notes.

    Returns
    -------
    list of Measurement
        One finding for each claim of `swift.table4`.
    """
    others = {"read": "" if simulated_reads is None else f" {_by_random(simulated_reads)}", "write": ""}
    rates = [
        _rate(
            predicted,
            operation,
            2,
            f"swift.table4.{operation}[{size}]",
            f"{_both(predicted, checked, operation)} {_others_traffic(predicted)} {ALONE}{others[operation]}",
        )
        for operation in OPERATIONS
        for size in SIZES
    ]
    gains = [
        _gain(predicted, checked, *one, others[one[1]]) for one in (("write_doubles", "write"), ("read_gain", "read"))
    ]
    return [*rates, *gains]


def _by_random(simulated_reads: xr.Dataset) -> str:
    """Return a sentence with the read rates on two Ethernets, by the part of the prototype that has random times."""
    two = simulated_reads.sel(ethernets=2)
    rows = [(name, two.sel(random=name)) for name in two.random.values.tolist()]
    shown = [f"{name} {float(row.rate):.0f} KB/s ({float(row.gain):.2f})" for name, row in rows]
    return (
        "The simulated rates on two Ethernets, by the part that has random times (client, wire, both or nothing), are "
        f"{', '.join(shown)}. The number in parentheses is the rate divided by the rate on one Ethernet."
    )


def _predicted(operation: str, interpretation: str, known: NDArray, one: Prototype, two: Prototype) -> tuple:
    """Return the rates on one and two Ethernets, their ratio, the rates by number of agents, and the unknown time.

    known: mean, lower limit and upper limit of the rate of table 1, KB/s.
    """
    model = MODELS[operation, interpretation]
    unknowns = [calibrate(operation, interpretation, float(rate), one) for rate in known]
    doubled = np.array([model(two, unknown) for unknown in unknowns])
    gains = doubled / known
    # The gain may fall as the rate rises.
    gain = np.array([gains[0], gains.min(), gains.max()])
    several = [Prototype((count,), one.packet, one.agent_speed) for count in AGENTS]
    by_agents = np.array([model(prototype, unknowns[0]) for prototype in several])
    return np.stack([known, doubled]), gain, by_agents, unknowns[0]


def _calibrated(predicted: xr.Dataset, operation: str) -> str:
    unknown = float(predicted.unknown.sel(operation=operation, interpretation="judged")) * 1e3
    return (
        f"The model is calibrated on the {operation}s of table 1: its rate is the mean over the three sizes, and is "
        f"the same for every size. For this rate {UNKNOWNS[operation]} is {unknown:.2f} ms, with packets of "
        f"{predicted.attrs['packet_kb']:g} KB."
    )


def _rate(predicted: xr.Dataset, operation: str, ethernets: int, claim: str, note: str) -> Measurement:
    row = predicted.rate.sel(operation=operation, interpretation="judged", ethernets=ethernets)
    mean, low, high = (float(row.sel(statistic=name)) for name in _STATISTICS)
    return Measurement(claim, mean, low, high, "analytic", note)


def _utilization(predicted: xr.Dataset, checked: xr.Dataset) -> Measurement:
    ends = [float(end) / CAPACITY for end in (checked["mean"].sel(table=1).min(), checked["mean"].sel(table=1).max())]
    rate = predicted.rate.sel(interpretation="judged", ethernets=1).mean("operation") / CAPACITY
    mean, low, high = (float(rate.sel(statistic=name)) for name in _STATISTICS)
    note = (
        "The value is the mean of the calibrated rates of reads and writes divided by 1120 KB/s, so it is not a "
        f"prediction. The printed rates are {ends[0]:.1%} to {ends[1]:.1%} of 1120 KB/s, and {ends[0] / 1.024:.1%} "
        f"to {ends[1] / 1.024:.1%} of 1.12 x 1024 KB/s. The paper counts 1000 KB to the MB."
    )
    return Measurement("swift.table1.utilization", mean, low, high, "analytic", note)


def _intervals(checked: xr.Dataset) -> Measurement:
    """Return the finding whether every printed interval follows, within rounding, from its printed mean and deviation.

    The interval is recomputed by Student's t.
    """
    stacked = checked.stack(row=("table", "operation", "size"), create_index=False)
    rows = [stacked.isel(row=index) for index in range(stacked.sizes["row"])]
    unlike = [_unlike(row) for row in rows if float(row.beyond) > 0 or bool(row.impossible)]
    normal, cut = (int((beyond == 0).sum()) for beyond in (checked.beyond_normal, checked.beyond_cut))
    note = (
        "The claim holds if every printed interval follows from the printed mean and deviation, within rounding. This "
        f"is true of {len(rows) - len(unlike)} of the {len(rows)} rows of the four tables. With the normal quantile "
        f"instead of t it is true of {normal} rows. If the paper truncated the limits instead of rounding them, it is "
        f"true of {cut} rows. "
        f"{' '.join(unlike) or 'There are no other rows.'}"
    )
    return Measurement("swift.table1.ci", not unlike, basis="analytic", note=note)


def _unlike(row: xr.Dataset) -> str:
    """Return sentences on the difference of a printed interval from the recomputed interval, and on its explanation."""
    figure = {str(name): float(row[name]) for name in row.data_vars}
    words = (
        f"Table {int(row.table)} prints {figure['low']:.0f} to {figure['high']:.0f} for the {row.operation.item()} of "
        f"{int(row['size'])} MB, but the mean {figure['mean']:.0f} and the deviation {figure['deviation']:g} give "
        f"{figure['again_low']:.1f} to {figure['again_high']:.1f}, a difference of {figure['beyond']:.2g} beyond "
        "rounding."
    )
    if math.isnan(figure["needed_low"]):
        return (
            f"{words} No deviation explains this difference: the middle of the interval is at least "
            f"{figure['off_centre']:.2g} away from every mean that rounds to the printed mean."
        )
    needed = " to ".join(dict.fromkeys(f"{figure[name]:.1f}" for name in ("needed_low", "needed_high")))
    mended = f"{words} A deviation of {needed} would explain this difference."
    if figure["impossible"]:
        ends = f"{figure['min']:.0f} to {figure['max']:.0f}"
        mended += f" Eight samples from {ends} have a deviation of {figure['least']:.1f} or more."
    return mended


def _fourth_agent(predicted: xr.Dataset) -> Measurement:
    """Return the finding whether both parts of the paper's statement on a fourth agent hold.

    The two parts are that a fourth agent adds no significant gain, and that it saturates the Ethernet.
    """
    rates = predicted.by_agents
    gain = rates / rates.shift(agents=1) - 1
    judged = {"interpretation": "judged", "agents": 4}
    reads, other = ({"interpretation": interpretation, "operation": "read"} for interpretation in ("judged", "other"))
    small = bool((gain.sel(judged) < INSIGNIFICANT).all())
    use = rates / CAPACITY
    saturated = bool((use.sel(judged) >= SATURATED).any())
    room = float((CAPACITY / rates.sel(interpretation="judged", agents=3)).max()) - 1
    note = (
        "The paper says that a fourth agent adds no significant gain and saturates the Ethernet. The value is the "
        "gain from a fourth agent, the larger of the gains of reads and of writes. For reads the third agent adds "
        f"{float(gain.sel(agents=3, **reads)):.1%}. For writes the fourth agent adds "
        f"{float(gain.sel(judged).sel(operation='write')):.1%}. We call a gain of at least {INSIGNIFICANT:.0%} "
        f"significant. The gain of a fourth agent is {'not ' if small else ''}significant. We call an Ethernet "
        f"saturated if its use is at least {SATURATED:.0%}. The Ethernet is {'' if saturated else 'not '}saturated. "
        f"Four agents use {float(use.sel(judged).max()):.0%} of the Ethernet. If {EXPLAINED['read', 'other']}, the "
        f"fourth agent adds {float(gain.sel(agents=4, **other)):.1%} to reads (the third agent adds "
        f"{float(gain.sel(agents=3, **other)):.1%}), and reads use {float(use.sel(agents=4, **other)):.0%}. The two "
        "parts of the statement contradict each other: with the rates of table 1, a saturated Ethernet means a gain of "
        f"up to {room:.0%}."
    )
    largest = float(gain.sel(judged).max())
    return Measurement("swift.table1.fourth_agent", largest, basis="analytic", note=note, holds=small and saturated)


def _others(predicted: xr.Dataset, checked: xr.Dataset, table: int, name: str, what: str) -> list[Measurement]:
    reason = NO_MODEL.format(what)
    rates = [
        Measurement(f"swift.table{table}.{operation}[{size}]", None, basis="analytic", note=reason)
        for operation in OPERATIONS
        for size in SIZES
    ]
    return [*rates, *(_ratio(predicted, checked, table, name, operation) for operation in OPERATIONS)]


def _ratio(predicted: xr.Dataset, checked: xr.Dataset, table: int, name: str, operation: str) -> Measurement:
    """Return the finding on Swift's calibrated rate divided by the mean printed rate of a table.

    The note has the ratio for each size.
    """
    measured = checked["mean"].sel(operation=operation)
    rate = predicted.rate.sel(operation=operation, interpretation="judged", ethernets=1)
    mean, low, high = (float(rate.sel(statistic=kind) / measured.sel(table=table).mean()) for kind in _STATISTICS)
    by_size = ", ".join(f"{float(value):.2f}" for value in rate.sel(statistic="mean") / measured.sel(table=table))
    printed = ", ".join(f"{float(value):.3f}" for value in measured.sel(table=1) / measured.sel(table=table))
    note = (
        "The value is arithmetic on printed means without a model: the calibrated rate of Swift divided by the mean "
        f"measured rate of table {table}. The calibrated rate divided by the measured rate for 3, 6 and 9 MB is, "
        f"respectively, {by_size}. For the same sizes the printed rate of table 1 divided by the printed rate of table "
        f"{table} is {printed}. "
        f"{SAID[table, operation]}"
    )
    claim = f"swift.table{table}.swift_over_{name}_{operation}"
    return Measurement(claim, mean, low, high, basis="analytic", note=note)


def _gain(predicted: xr.Dataset, checked: xr.Dataset, claim: str, operation: str, others: str) -> Measurement:
    """Return the finding on the rate on two Ethernets divided by the rate on one.

    The finding has an interval only if the ratio depends on the rate of table 1.
    """
    row = predicted.gain.sel(operation=operation, interpretation="judged")
    gain, *ends = (float(row.sel(statistic=name)) for name in _STATISTICS)
    low, high = ends if ends[1] - ends[0] > EXACT else (None, None)
    printed = checked["mean"].sel(operation=operation)
    by_size = ", ".join(f"{float(one):.2f}" for one in printed.sel(table=4) / printed.sel(table=1))
    alone = "" if low is None else f" {ALONE}"
    both = f"{_both(predicted, checked, operation)} {_others_traffic(predicted)}"
    note = f"{both} By size, the printed rates of table 4 divided by the rates of table 1 are {by_size}.{alone}{others}"
    return Measurement(f"swift.table4.{claim}", gain, low, high, basis="analytic", note=note)


def _others_traffic(predicted: xr.Dataset) -> str:
    return (
        f"In the model, other traffic takes {predicted.attrs['other_load']:.0%} of the second Ethernet. By section "
        "4.1 other traffic seldom took more. The client's interface to the second Ethernet was slower than its "
        "interface to the first. The paper does not give the difference, so the model has equal interfaces."
    )


def _both(predicted: xr.Dataset, checked: xr.Dataset, operation: str) -> str:
    """Return sentences on the assumptions and results of both interpretations, compared with the measured rates."""
    row = predicted.sel(operation=operation, statistic="mean")
    other = row.sel(interpretation="other")
    rates = row.rate.sel(ethernets=2)
    measured = checked["mean"].sel(table=4, operation=operation)
    between = bool(((measured >= rates.min()) & (measured <= rates.max())).all())
    return (
        f"The value follows from table 1 if {EXPLAINED[operation, 'judged']}.{CHOSEN[operation]} If instead "
        f"{EXPLAINED[operation, 'other']}, the rate is {float(other.rate.sel(ethernets=2)):.0f} KB/s, "
        f"{float(other.gain):.2f} "
        f"times the rate on one Ethernet. Table 1 cannot decide between the two interpretations, and the measured "
        f"rates lie {'between' if between else 'outside'} the two results. In the model, the second Ethernet has "
        f"{predicted.attrs['second_agents']} agents. The paper does not give the number of these agents."
    )
