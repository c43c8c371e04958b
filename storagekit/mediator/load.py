"""Sessions that come and go: how many a cluster takes on, how many it refuses (swift, section 6.1.1)."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.checks import require_positive, require_whole
from storagekit.core.errors import InputError
from storagekit.core.kinds import COUNT, NUMBER, Kind, a, hold, optional, several, takes, text
from storagekit.core.student_t import half_width
from storagekit.core.units import MB
from storagekit.mediator.answer import Admitted, Rejected
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.ledger import Ledger
from storagekit.mediator.mediator import Mediator
from storagekit.mediator.policy import POLICY, Policy
from storagekit.mediator.request import Request
from storagekit.mediator.seeding import generator

# sessions take a ms each
MOST_SESSIONS = 10**6
# slower ones come at times of which none is finite
_OFFERED = Kind(least=1e-6, unit="bytes/s")


@dataclass(frozen=True)
class SessionClass:
    """Sessions of one kind: rate, bytes a second; size, bytes; share of the sessions; the rest as in `Request`."""

    rate: float
    size: int
    share: float = 1.0
    write: bool = False
    group: int | None = None
    buffer: int = 4 * MB
    confidence: float = 0.99
    name: str = ""

    def __post_init__(self):
        self.request("any")  # refuses what no session can have
        require_positive("share", self.share, "of the sessions")
        hold(self, name=text)

    def request(self, client: str, start: float = 0.0) -> Request:
        """One of these sessions."""
        return Request(client, self.rate, self.size, self.write, self.buffer, self.group, None, self.confidence, start)


@dataclass(frozen=True)
class Interval:
    """A mean over batches and the half width of its 95% confidence interval, by Student's t."""

    mean: float
    half_width: float

    @classmethod
    def of(cls, batches: NDArray) -> "Interval":
        mean, count = float(np.mean(batches)), len(batches)
        if count < 2:
            return cls(mean, math.inf)
        return cls(mean, float(half_width(count) * np.std(batches, ddof=1) / math.sqrt(count)))

    def __str__(self) -> str:
        return f"{self.mean:.6g} +- {self.half_width:.2g}"


@dataclass(frozen=True)
class LoadResult:
    """What became of sessions, by batch: consecutive sessions of one number, the warm-up left out.

    arrived, refused: sessions, `[class, batch]`; seconds: from the first arrival of a batch to that of the next; offered,
    carried: bytes a second of all and of admitted sessions that arrived; disks, network: share of their time reserved,
    mean over the batch's time, all disks, and the ring or all agents' links; `[batch]`.
    """

    classes: tuple[SessionClass, ...]
    arrived: NDArray
    refused: NDArray
    seconds: NDArray
    offered: NDArray
    carried: NDArray
    disks: NDArray
    network: NDArray

    def refused_share(self, number: int | None = None) -> Interval:
        """Of the sessions of a class, or of all."""
        if number is not None:
            number = NUMBER.up_to(len(self.classes) - 1)("class", number)
        rows = slice(None) if number is None else slice(number, number + 1)
        return Interval.of(self.refused[rows].sum(axis=0) / np.maximum(self.arrived[rows].sum(axis=0), 1))

    def to_dict(self) -> dict[str, Any]:
        columns = ("arrived", "refused", "seconds", "offered", "carried", "disks", "network")
        return {"classes": [vars(one) for one in self.classes]} | {
            name: getattr(self, name).tolist() for name in columns
        }

    def __str__(self) -> str:
        lines = [f"{int(self.arrived.sum())} sessions, {int(self.refused.sum())} refused: {self.refused_share()}"]
        lines += [
            f"  {one.name or f'{one.rate:g} bytes/s'}: {int(self.arrived[row].sum())}, refused {self.refused_share(row)}"
            for row, one in enumerate(self.classes)
        ]
        lines += [f"{name} {Interval.of(getattr(self, name))}" for name in ("offered", "carried", "disks", "network")]
        return "\n".join(lines)


@takes(
    cluster=a(Cluster),
    policy=optional(POLICY),
    classes=several(a(SessionClass), of="session classes"),
    offered=_OFFERED,
    sessions=COUNT.up_to(MOST_SESSIONS, "; ask again with another seed for more"),
    batches=COUNT,
)
def variable_load(
    cluster: Cluster,
    policy: Policy | None,
    classes: Sequence[SessionClass],
    offered: float,
    sessions: int,
    seed: int = 0,
    batches: int = 10,
) -> LoadResult:
    """Sessions at random times, each admitted by a mediator or refused for good, and released at its end.

    offered: bytes a second that they would move if all were admitted: their arrivals are Poisson, offered over the mean
    size a second; a session of a size and a rate holds its reservation for size/rate and two periods. sessions: how many
    come in all; the first of batches + 1 equal parts of them warms up. Every session has a client of its own, and objects
    that are read lie wherever the mediator would have them. Sessions, their times and classes depend on the seed alone,
    whatever the policy. Raises InputError for a number out of range, and for a class of which the empty cluster
    refuses a session.
    """
    classes = tuple(classes)
    _require_possible(classes, sessions, batches)
    draw = generator(seed)
    _require_served(cluster, policy, classes)
    share = np.array([one.share for one in classes]) / sum(one.share for one in classes)
    size = np.array([one.size for one in classes], float)
    times = np.cumsum(draw.exponential(float(share @ size) / offered, sessions))
    kinds = draw.choice(len(classes), sessions, p=share)
    admitted, reserved = _admit(Mediator(Ledger(cluster), policy), classes, times, kinds)
    edges = np.linspace(0, sessions - 1, batches + 2).astype(int)[1:]
    batch = np.searchsorted(edges, np.arange(sessions), side="right") - 1
    counted = (batch >= 0) & (batch < batches)
    shape = len(classes), batches
    arrived, refused = np.zeros(shape, int), np.zeros(shape, int)
    np.add.at(arrived, (kinds[counted], batch[counted]), 1)
    lost = counted & ~admitted
    np.add.at(refused, (kinds[lost], batch[lost]), 1)
    seconds = np.diff(times[edges])
    # what is reserved between an event and the next, integrated, and its differences over the batches
    disks, network = (
        np.diff(np.interp(times[edges], reserved[0], np.append(0, np.cumsum(row[:-1] * np.diff(reserved[0])))))
        / seconds
        for row in reserved[1:]
    )
    return LoadResult(
        classes,
        arrived,
        refused,
        seconds,
        size @ arrived / seconds,
        size @ (arrived - refused) / seconds,
        disks,
        network,
    )


def _admit(
    mediator: Mediator, classes: tuple[SessionClass, ...], times: NDArray, kinds: NDArray
) -> tuple[NDArray, NDArray]:
    """Which sessions are admitted, and after every arrival and departure the time and the shares reserved, `[3, event]`."""
    ledger = mediator.ledger
    admitted, leaving, events = np.zeros(times.size, bool), [], []

    def note(time: float) -> None:
        events.append((time, float(ledger.disk_shares.mean()), ledger.network_share))

    for number, (time, kind) in enumerate(zip(times.tolist(), kinds.tolist(), strict=True)):
        while leaving and leaving[0][0] <= time:
            end, session = heapq.heappop(leaving)
            ledger.release(session)
            note(end)
        asked = classes[kind]
        answer = mediator.request(asked.request(f"client {number}", time))
        if isinstance(answer, Admitted):
            admitted[number] = True
            end = time + asked.size / asked.rate + 2 * answer.plan.period
            heapq.heappush(leaving, (end, answer.session))
        note(time)
    return admitted, np.array(events).T


def _require_possible(classes: Sequence[SessionClass], sessions: int, batches: int) -> None:
    if not classes:
        raise InputError("classes: none given; give at least 1")
    require_whole("sessions", sessions, 2 * (batches + 1), ", two for each batch and for the warm-up")


def _require_served(cluster: Cluster, policy: Policy | None, classes: tuple[SessionClass, ...]) -> None:
    """Each class is asked for once of an empty ledger."""
    mediator = Mediator(Ledger(cluster), policy)
    for number, one in enumerate(classes):
        answer = mediator.propose(one.request("client"))
        if isinstance(answer, Rejected):
            named = f" {one.name!r}" if one.name else ""
            raise InputError(f"class {number}{named}: the cluster cannot serve it even when empty, {answer.binding}")
