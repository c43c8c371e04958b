"""Decision about striping: response time of a large request on one agent or on several, against the load."""

from dataclasses import dataclass

import numpy as np

from storagekit.analytic.forkjoin import Disk, completion_bounds
from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider, StepsControl
from storagekit.core.errors import InputError
from storagekit.core.units import MB, MS
from storagekit.core.validation import COUNT, POSITIVE, SIZE
from storagekit.lab.draw import striping as draw
from storagekit.lab.drives import NEARLINE, drive_choice
from storagekit.lab.page import LabPage

AGENTS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
SIZES = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128)
_LOADS = np.linspace(0.01, 0.97, 33)


@dataclass(frozen=True)
class Width:
    """The performance if each request is striped over `agents` agents.

    limit: maximum requests a second of the disks. low, high: bounds of the mean response time at the given rate,
    seconds; infinite at the limit and above. lows, highs: the same bounds at each of `rates`.
    """

    agents: int
    limit: float
    low: float
    high: float
    rates: np.ndarray
    lows: np.ndarray
    highs: np.ndarray


@dataclass(frozen=True)
class StripingTimes:
    """The response time of a request of `size` bytes at `rate` requests a second, for each width."""

    disk: Disk
    agents: int
    size: float
    rate: float
    widths: tuple[Width, ...]

    @property
    def best(self) -> Width:
        """Return the width with the smallest upper bound of the mean response time."""
        return min(self.widths, key=lambda one: one.high)


def striped(disk: Disk, agents: int = 16, size: float = 8 * MB, rate: float = 50.0) -> StripingTimes:
    """Return the response times of random reads for each striping width 1, 2, 4, ...

    size: bytes of a read. rate: reads a second, in total over all agents.

    Notes
    -----
    A request over k agents has a block of size / k bytes at each of these agents. Each agent receives the fraction k /
    `agents` of all requests. The queue at a disk is M/G/1. The mean completion time of the last block is between the
    bounds of `analytic.forkjoin.completion_bounds`, which coincide for k = 1. The network is not modelled. Raises
    InputError for values that are not above 0, and if no width sustains the rate.
    """
    COUNT("agents", agents)
    SIZE("size", size)
    POSITIVE.in_unit("requests/s")("rate", rate)
    powers = [1 << power for power in range(agents.bit_length()) if 1 << power < agents]
    widths = tuple(_width(disk, agents, size, rate, count) for count in (*powers, agents))
    most = max(one.limit for one in widths)
    if rate >= most:
        raise InputError(
            f"rate {rate:g} requests/s: these disks sustain at most {most:.4g} requests/s, and this only without "
            "striping; give a lower rate, or more agents"
        )
    return StripingTimes(disk, agents, size, rate, widths)


def _width(disk: Disk, agents: int, size: float, rate: float, count: int) -> Width:
    unit = size / count
    limit = agents / count / float(disk.mean(unit))
    rates = np.append(_LOADS * limit, rate)
    low, high = completion_bounds(disk, unit, 1, count, rates * count / agents)
    low = np.where(rates < limit, low, np.inf)
    return Width(count, limit, float(low[-1]), float(high[-1]), rates[:-1], low[:-1], high[:-1])


def summary(answer: StripingTimes) -> AnswerText:
    """Return a text: the recommended width, its response time, and the cost of striping."""
    best, alone, widest = answer.best, answer.widths[0], answer.widths[-1]
    rate = f"{answer.rate:g} requests/s"
    if best is alone:
        headline = f"At {rate}, do not stripe: {_between(alone)} per request"
    else:
        not_striped = "more than the disks sustain" if alone.high == np.inf else _between(alone)
        where = f"{best.agents} of {answer.agents} agents"
        headline = f"At {rate}, stripe over {where}: {_between(best)} per request; without striping, {not_striped}"
    lines = [f"The disk utilization is {answer.rate / best.limit:.0%}."]
    if answer.agents > 1:
        lines.append(
            f"Striped over all {widest.agents} agents: {_between(widest)} per request. The disks then sustain "
            f"{widest.limit:,.0f} requests/s, or {alone.limit:,.0f} without striping, because each part of a request "
            f"costs a seek and half a revolution, {(answer.disk.seek + answer.disk.rotation) / MS:.1f} ms."
        )
    return AnswerText(headline, lines)


def _between(one: Width) -> str:
    if not np.isfinite(one.high):
        return "overloaded"
    low, high = one.low / MS, one.high / MS
    return f"{low:,.0f} ms" if high - low < 0.5 else f"{low:,.0f} to {high:,.0f} ms"


def dashboard(drive: str = NEARLINE, agents: int = 16, size_mb: float = 8, rate: float = 50) -> Dashboard:
    """Return the interactive page, as a `Dashboard`; the arguments are the initial values of its controls."""
    disks = drive_choice(drive)
    likes = {name: Disk.like(found) for name, found in disks.options.items()}
    controls = {
        "disk": ChoiceControl("Drive", likes, value=disks.value),
        "agents": StepsControl("Agents", agents, sorted({*AGENTS, agents}), few=sorted({4, 16, 64, agents})),
        "size_mb": StepsControl(
            "Request (MB)", size_mb, sorted({*SIZES, size_mb}), few=sorted({0.5, 2, 8, 32, size_mb})
        ),
        "rate": Slider("Requests/s", rate, 1, max(1000, rate), few=sorted({10, 50, 100, 200, 400, rate})),
    }
    return Dashboard(_answer, lambda answer: draw.against_load(answer.rate, _rows(answer)), controls, summary)


def _answer(disk: Disk, agents: float, size_mb: float, rate: float) -> StripingTimes:
    return striped(disk, int(agents), size_mb * MB, float(rate))


def _rows(answer: StripingTimes) -> list[dict[str, object]]:
    return [
        {"agents": one.agents, "rate": float(rate), "low": float(low) / MS, "high": float(high) / MS}
        for one in answer.widths
        for rate, low, high in zip(one.rates, one.lows, one.highs, strict=True)
    ]


PAGE = LabPage(
    "When to stripe",
    "Storage agents with one disk each receive large requests. Should a request go to one agent, or be striped over "
    "several? Striping shortens the transfer but makes every disk seek. Which effect is larger depends on the load.",
    dashboard,
)
