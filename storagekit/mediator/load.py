"""Simulate sessions that arrive and leave, and count the sessions that a cluster rejects (swift, section 6.1.1)."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from storagekit.core.errors import InputError
from storagekit.core.student_t import half_width
from storagekit.core.units import MB
from storagekit.core.validation import COUNT, NUMBER, POSITIVE, Count, Seed, Validator, validate, validate_fields
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.mediator import Mediator
from storagekit.mediator.policy import Policy
from storagekit.mediator.request import Admitted, Rejected, Request
from storagekit.mediator.reservations import Reservations

# Each session takes a few milliseconds to simulate.
MOST_SESSIONS = 10**6
# A lower rate gives arrival times that are not finite.
_OFFERED = Validator(least=1e-6, unit="bytes/s")


@dataclass(frozen=True)
class SessionClass:
    """A class of sessions with the same properties.

    Parameters
    ----------
    rate : float
        Data-rate, bytes/s.
    size : int
        Size of the object, bytes.
    share : float
        Relative frequency of the class, normalized by the sum over all classes; 1 by default.
    write : bool
        Whether the object is written; False by default.
    group : int, optional
        Number of data blocks for each parity block; by default there is no redundancy.
    buffer : int
        Largest stripe that the client can buffer, bytes; 4 MB by default.
    confidence : float
        Required probability that all stripes meet their deadlines; 0.99 by default.
    name : str
        Name of the class in reports; empty by default.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    rate: float
    size: int
    share: Annotated[float, POSITIVE.in_unit("of the sessions")] = 1.0
    write: bool = False
    group: int | None = None
    buffer: int = 4 * MB
    confidence: float = 0.99
    name: str = ""

    def __post_init__(self):
        self.request("any")  # Raises InputError for impossible values.
        validate_fields(self)

    def request(self, client: str, start: float = 0.0) -> Request:
        """Return the request of one session of this class."""
        return Request(client, self.rate, self.size, self.write, self.buffer, self.group, None, self.confidence, start)


@dataclass(frozen=True)
class Interval:
    """A mean over batches, and its 95% confidence interval from Student's t distribution.

    Parameters
    ----------
    mean : float
        The mean, in the unit of the measure.
    half_width : float
        Half of the width of the interval, in the same unit; infinite for a single batch.
    """

    mean: float
    half_width: float

    @classmethod
    def of(cls, batches: NDArray) -> "Interval":
        """Return the mean and the interval of values `[batch]`. The half width is infinite for a single batch."""
        mean, count = float(np.mean(batches)), len(batches)
        if count < 2:
            return cls(mean, math.inf)
        return cls(mean, float(half_width(count) * np.std(batches, ddof=1) / math.sqrt(count)))

    def __str__(self) -> str:
        return f"{self.mean:.6g} +- {self.half_width:.2g}"


@dataclass(frozen=True)
class LoadResult:
    """Results of `variable_load` for each batch, without the warm-up.

    A batch is a fixed number of consecutive sessions.

    Parameters
    ----------
    classes : tuple of SessionClass
        The classes.
    arrived, refused : ndarray of int, shape [class, batch]
        Number of sessions that arrived (`arrived`), and number of these sessions that were rejected (`refused`).
    seconds : ndarray, shape [batch]
        Time from the first arrival of a batch to the first arrival of the next batch, seconds.
    offered, carried : ndarray, shape [batch]
        Total size of the sessions that arrived (`offered`) or that were admitted (`carried`), divided by `seconds`;
        bytes/s.
    disks, network : ndarray, shape [batch]
        Reserved share of time, averaged over the batch. `disks` is the mean over all disks. `network` is the share of
        the ring, or on a switch the mean over all agents' links.
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
        """Return the share of rejected sessions with its confidence interval, for one class or for all classes.

        Parameters
        ----------
        number : int, optional
            Number of the class, from 0; all classes by default.
        """
        rows = slice(None) if number is None else [NUMBER.up_to(len(self.classes) - 1)("class", number)]
        return Interval.of(self.refused[rows].sum(axis=0) / np.maximum(self.arrived[rows].sum(axis=0), 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON."""
        arrays = {name: value.tolist() for name, value in vars(self).items() if name != "classes"}
        return {"classes": [vars(one) for one in self.classes]} | arrays

    def __str__(self) -> str:
        labels = [one.name or f"{one.rate:g} bytes/s" for one in self.classes]
        lines = [f"{self.arrived.sum()} sessions, {self.refused.sum()} rejected; rejected share {self.refused_share()}"]
        lines += [
            f"  {label}: {self.arrived[row].sum()} sessions, rejected share {self.refused_share(row)}"
            for row, label in enumerate(labels)
        ]
        lines += [f"{name} {Interval.of(getattr(self, name))}" for name in ("offered", "carried", "disks", "network")]
        return "\n".join(lines)


@validate
def variable_load(
    cluster: Cluster,
    policy: Policy | None,
    classes: Sequence[SessionClass],
    offered: Annotated[float, _OFFERED],
    sessions: Annotated[int, COUNT.up_to(MOST_SESSIONS, "; repeat with another seed for more")],
    seed: Seed = 0,
    batches: Count = 10,
) -> LoadResult:
    """Simulate sessions that arrive at random times, and return the numbers of admitted and rejected sessions.

    A mediator admits or rejects each session when it arrives. A rejected session does not return. The mediator releases
    an admitted session when it ends.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network, empty at the start.
    policy : Policy or None
        Policy of the mediator; None selects the default policy.
    classes : sequence of SessionClass
        Classes of sessions.
    offered : float
        Offered load: the total data-rate of the sessions if all of them were admitted, bytes/s.
    sessions : int
        Total number of sessions. They are divided into `batches` + 1 equal parts, and the first part is the warm-up.
    seed : int
        Seed of the random numbers; 0 by default.
    batches : int
        Number of batches; 10 by default.

    Returns
    -------
    LoadResult
        Results for each batch.

    Raises
    ------
    InputError
        If a number is out of range, or if the empty cluster rejects a session of a class.

    Notes
    -----
    Arrivals are a Poisson process of rate offered / (mean size). A session holds its reservation for size/rate plus two
    periods. Every session belongs to a different client. An object that is read is stored on the agents that the mediator
    chooses. The sessions, their times and their classes depend on the seed, but not on the policy.

    References
    ----------
    swift, section 6.1.1.
    """
    if not classes:
        raise InputError("no classes: give at least one session class")
    least = Validator(least=2 * (batches + 1), whole=True, otherwise=", two for each batch and two for the warm-up")
    least("sessions", sessions)
    _require_served(cluster, policy, classes)
    draw = np.random.Generator(np.random.Philox(key=seed))
    share = np.array([one.share for one in classes]) / sum(one.share for one in classes)
    size = np.array([one.size for one in classes], float)
    times = np.cumsum(draw.exponential(float(share @ size) / offered, sessions))
    kinds = draw.choice(len(classes), sessions, p=share)
    admitted, (moments, *shares) = _admit(Mediator(Reservations(cluster), policy), classes, times, kinds)
    # The first session of each batch, and the first session after the last batch.
    edges = np.linspace(0, sessions - 1, batches + 2).astype(int)[1:]
    of_class = kinds == np.arange(len(classes))[:, None]
    arrived, refused = (
        np.add.reduceat(counted[:, : edges[-1]], edges[:-1], axis=1, dtype=int)
        for counted in (of_class, of_class & ~admitted)
    )
    seconds = np.diff(times[edges])
    # The reserved shares are integrated over time from event to event. The integrals are then differenced at the edges.
    integrals = [np.append(0, np.cumsum(reserved[:-1] * np.diff(moments))) for reserved in shares]
    disks, network = (np.diff(np.interp(times[edges], moments, integral)) / seconds for integral in integrals)
    offered_rate, carried = size @ arrived / seconds, size @ (arrived - refused) / seconds
    return LoadResult(tuple(classes), arrived, refused, seconds, offered_rate, carried, disks, network)


def _admit(
    mediator: Mediator, classes: Sequence[SessionClass], times: NDArray, kinds: NDArray
) -> tuple[NDArray, NDArray]:
    """Return the mask of admitted sessions, and an array `[3, event]` of the state after each arrival or release.

    The rows of the array are the time, the reserved share of the disks and the reserved share of the network.
    """
    reservations = mediator.reservations
    admitted, leaving, events = np.zeros(times.size, bool), [], []

    def note(time: float) -> None:
        reserved = reservations.utilization()
        events.append((time, float(reserved.disks.mean()), reserved.network))

    for number, (time, kind) in enumerate(zip(times.tolist(), kinds.tolist(), strict=True)):
        while leaving and leaving[0][0] <= time:
            end, session = heapq.heappop(leaving)
            reservations.release(session)
            note(end)
        session_class = classes[kind]
        answer = mediator.request(session_class.request(f"client {number}", time))
        if isinstance(answer, Admitted):
            admitted[number] = True
            end = time + session_class.size / session_class.rate + 2 * answer.plan.period
            heapq.heappush(leaving, (end, answer.session))
        note(time)
    return admitted, np.array(events).T


def _require_served(cluster: Cluster, policy: Policy | None, classes: Sequence[SessionClass]) -> None:
    """Raise InputError if an empty set of reservations rejects a session of a class."""
    mediator = Mediator(Reservations(cluster), policy)
    for number, one in enumerate(classes):
        answer = mediator.propose(one.request("client"))
        if isinstance(answer, Rejected):
            named = f" {one.name!r}" if one.name else ""
            raise InputError(f"class {number}{named}: even the empty cluster rejects a session: {answer.binding}")
