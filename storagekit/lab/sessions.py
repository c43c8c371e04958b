"""Guaranteed sessions: the number of sessions that fit, for each number of agents of an object and stripe unit."""

from dataclasses import dataclass, replace

import numpy as np

from storagekit.analytic.forkjoin import Disk, Host, Network
from storagekit.charts import AnswerText, ChoiceControl, Dashboard, Slider, StepsControl
from storagekit.core.units import MB, MINUTE
from storagekit.core.validation import COUNT, POSITIVE, SPEED
from storagekit.lab.draw import sessions as draw
from storagekit.lab.drives import NEARLINE, drive_choice, mechanical
from storagekit.lab.page import LabPage
from storagekit.lab.progress import plain
from storagekit.mediator import Balanced, Cluster, Request, SimulatedTransfers, balanced, fill

LINKS = {"10 Gb/s": 1.25e9, "25 Gb/s": 3.125e9, "100 Gb/s": 12.5e9}
GROUPS = {"none": None, "1 for 4": 4, "1 for 8": 8}
# instructions a second of each host, as in `storagekit plan sessions`
HOST_SPEED = 10e9
RATES = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
AGENTS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64)
BUFFERS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Promised:
    """A request to a mediator, and the number of sessions like it that fit.

    even: the number of sessions for each stripe shape, that is, for each number of agents of an object and each stripe
    unit.
    """

    cluster: Cluster
    request: Request
    even: Balanced

    @property
    def best(self) -> int:
        return self.even.best()

    def checked(self, minutes: float = 2.0, seed: int = 0) -> SimulatedTransfers:
        """Simulate, block by block, all sessions that a mediator admits, each `minutes` minutes long.

        The mediator admits one session after the other, each on the fewest agents that fit.
        """
        size = round(self.request.rate * minutes * MINUTE)
        with plain():
            return fill(self.cluster, replace(self.request, size=size)).check(seed=seed)

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each stripe shape: agents, unit (bytes), number of sessions, and binding constraint."""
        found = self.even
        disk = found.disk >= found.network
        return [
            {
                "agents": int(found.shapes.agents[shape]),
                "unit": int(found.shapes.unit[shape]),
                "sessions": int(found.sessions[shape]),
                "binds": "disk" if disk[shape] else "network",
                "best": shape == self.best,
            }
            for shape in range(found.shapes.count)
        ]


def promised(
    disk: Disk,
    agents: int = 16,
    rate: float = 5e6,
    link: float = LINKS["25 Gb/s"],
    group: int | None = None,
    buffer: int = 4 * MB,
    minutes: float = 60.0,
    write: bool = False,
) -> Promised:
    """Return the number of sessions of `rate` bytes/s for `minutes` minutes that fit on `agents` agents.

    disk: the only disk of each agent. link: bytes a second between each host and a switch. group: number of data blocks
    for each parity block; None for no redundancy. buffer: largest stripe that a client can buffer, bytes. Raises
    InputError for an impossible session.
    """
    COUNT("agents", agents)
    POSITIVE("minutes", minutes)
    SPEED("rate", rate)
    host = Host(HOST_SPEED)
    cluster = Cluster((disk,) * agents, host, host, Network(link, switched=True))
    request = Request("client", rate, round(rate * minutes * MINUTE), write, buffer, group)
    return Promised(cluster, request, balanced(cluster, request))


def summary(answer: Promised) -> AnswerText:
    """Return a text: the number of sessions, the best striping, the constraint, and the effect of the stripe unit."""
    even, best, rate = answer.even, answer.best, answer.request.rate
    sessions, agents, unit = (int(column[best]) for column in (even.sessions, even.shapes.agents, even.shapes.unit))
    if not sessions:
        what = "a disk" if even.disk[best] >= even.network[best] else "the network"
        return AnswerText(
            f"Not even one session of {rate / 1e6:g} MB/s can be guaranteed",
            [f"{_capital(what)} would have to be {max(even.disk[best], even.network[best]):.2f} times as fast."],
        )
    period = float(even.shapes.data[best]) * unit / rate
    binds = "the disks" if even.disk[best] >= even.network[best] else "the network"
    lines = [
        f"Each object is best striped over {agents} of the {answer.cluster.agents} agents in units of {draw.in_words(unit)}"
        + (f", with {agents - int(even.shapes.data[best])} parity blocks per stripe" if answer.request.group else "")
        + f". A client receives a stripe every {period:.2f} s; the first arrives {2 * period:.2f} s after the start.",
        f"The binding constraint is {binds}. The mean utilization of a disk is {even.busy[best]:.0%}; "
        "the rest is a reserve for random delays.",
        _of_units(answer),
        _of_striping(answer),
    ]
    return AnswerText(
        f"{sessions:,} sessions of {rate / 1e6:g} MB/s, {sessions * rate / 1e6:,.0f} MB/s in total",
        [one for one in lines if one],
    )


def _of_units(answer: Promised) -> str:
    """Return a text with the number of sessions for the smallest and for the largest unit, on the best agents."""
    even, units = answer.even, np.unique(answer.even.shapes.unit)
    counts = [int(even.sessions[even.best(even.shapes.unit == unit)]) for unit in (units[0], units[-1])]
    small, large = (draw.in_words(unit) for unit in (units[0], units[-1]))
    return f"With units of {small}, {counts[0]:,} sessions are possible; with units of {large}, {counts[1]:,}."


def _of_striping(answer: Promised) -> str:
    """Return a text with the number of sessions if an object is on the fewest, and if it is on the most, agents."""
    even, agents = answer.even, np.unique(answer.even.shapes.agents)
    if agents.size < 2:
        return ""
    counts = [int(even.sessions[even.best(even.shapes.agents == count)]) for count in (agents[0], agents[-1])]
    fewest = "Without striping" if agents[0] == 1 else f"Striped over {agents[0]} agents"
    return f"{fewest}, {counts[0]:,} sessions are possible; over {agents[-1]} agents, {counts[1]:,}."


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def disk_like(drive: str) -> Disk:
    """Return the disk of each agent: it has the mean times of `drive`, which is a name, a file or a data-sheet line."""
    return Disk.like(mechanical(drive))


def dashboard(
    drive: str = NEARLINE,
    agents: int = 16,
    rate_mb: float = 5,
    link: str = "25 Gb/s",
    parity: str = "none",
    buffer_mb: float = 4,
    minutes: float = 60,
    kind: str = "read",
) -> Dashboard:
    """Return the page of the mediator, as a `Dashboard`; the arguments are the initial values of its controls."""
    disks = drive_choice(drive)
    likes = {name: Disk.like(found) for name, found in disks.options.items()}
    controls = {
        "disk": ChoiceControl("Drive", likes, value=disks.value),
        "agents": StepsControl("Agents", agents, sorted({*AGENTS, agents}), few=sorted({4, 16, 64, agents})),
        "rate_mb": StepsControl(
            "Data rate of a session (MB/s)", rate_mb, sorted({*RATES, rate_mb}), few=sorted({1, 5, 20, rate_mb})
        ),
        "parity": ChoiceControl("Parity blocks", GROUPS, value=parity, few=("none", "1 for 4")),
        "buffer_mb": StepsControl(
            "Client buffer (MB)", buffer_mb, sorted({*BUFFERS, buffer_mb}), few=sorted({1, 4, 16, buffer_mb})
        ),
        "link": ChoiceControl("Links", LINKS, value=link, few=[link]),
        "minutes": Slider("Minutes", minutes, 1, max(240, minutes), few=[minutes]),
        "kind": ChoiceControl("Sessions", {"read": False, "write": True}, value=kind, few=[kind]),
    }
    return Dashboard(_answer, lambda answer: draw.by_shape(answer.rows()), controls, summary)


def _answer(
    disk: Disk,
    agents: float,
    rate_mb: float,
    parity: int | None,
    buffer_mb: float,
    link: float,
    minutes: float,
    kind: bool,
) -> Promised:
    return promised(disk, int(agents), rate_mb * 1e6, link, parity, round(buffer_mb * MB), minutes, kind)


PAGE = LabPage(
    "Guaranteed sessions",
    "Storage agents with one disk each are behind a switch. Clients need a continuous data rate. How many sessions can be "
    "guaranteed? Over how many agents should an object be striped, and how large should the stripe unit be?",
    dashboard,
)
