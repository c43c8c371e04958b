"""The number of identical sessions that a cluster serves, for the planning of video or backup servers.

A mediator admits the sessions one by one (`fill`), or the sessions are spread evenly over all agents (`balanced`). The
admission test of the last session determines the number.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import validate
from storagekit.mediator.admission import AdmissionState, AdmissionTest, fits
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.mediator import UNITS, Mediator, Units
from storagekit.mediator.policy import Policy
from storagekit.mediator.request import Admitted, Rejected, Request
from storagekit.mediator.reservations import Reservations
from storagekit.mediator.simulation import SimulatedTransfers, simulate
from storagekit.mediator.stripe_shapes import StripeShapes, shape_of, shapes_for

# Largest number of sessions that `fill` admits, and at which the search of `balanced` stops.
MOST, MOST_EVENLY = 2_000, 100_000


@dataclass(frozen=True)
class FilledCluster:
    """A cluster that is full of identical sessions.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    admitted : tuple of Admitted
        The admitted sessions, in order. Each belongs to a different client.
    refused : Rejected
        The rejection of the next session. Its `binding` is the violated constraint.
    """

    cluster: Cluster
    admitted: tuple[Admitted, ...]
    refused: Rejected

    @property
    def feasible(self) -> bool:
        """Return whether the cluster admits at least one session."""
        return bool(self.admitted)

    @property
    def sessions(self) -> int:
        """Return the number of admitted sessions."""
        return len(self.admitted)

    @property
    def rate(self) -> float:
        """Return the total rate of all admitted sessions, bytes/s."""
        return self.sessions * self.refused.request.rate

    @property
    def binding(self) -> Binding:
        """Return the constraint that the next session would violate."""
        return self.refused.binding

    def check(self, *, seed: int = 0) -> SimulatedTransfers:
        """Simulate all sessions together. The start times of the sessions are spread evenly over a period.

        Raises
        ------
        InputError
            If no session is admitted.
        """
        if not self.admitted:
            raise InputError(f"the check needs an admitted session, but none is admitted: {self.binding}")
        late = [one.plan.period * number / self.sessions for number, one in enumerate(self.admitted)]
        plans = [replace(one.plan, start=one.plan.start + more) for one, more in zip(self.admitted, late, strict=True)]
        return simulate(self.cluster, plans, seed)

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON."""
        return {
            "feasible": self.feasible,
            "sessions": self.sessions,
            "rate": self.rate,
            "binding": self.binding.to_dict(),
            "first": self.admitted[0].to_dict() if self.admitted else None,
            "utilization": self.admitted[-1].utilization.to_dict() if self.admitted else None,
        }

    def __str__(self) -> str:
        if not self.admitted:
            return f"not feasible: {self.binding}"
        lines = [
            f"{self.sessions} sessions, {self.rate / 1e6:.4g} MB/s in total; reserved time: {self.admitted[-1].utilization}",
            f"binding constraint: {self.binding}",
            "",
            f"first session: {self.admitted[0]}",
        ]
        return "\n".join(lines)


@validate
def fill(cluster: Cluster, request: Request, policy: Policy | None = None) -> FilledCluster:
    """Admit sessions like `request` until a session is rejected.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network, empty at the start.
    request : Request
        The request of each session. Each session belongs to a different client.
    policy : Policy, optional
        Policy of the mediator; `Economical` by default.

    Returns
    -------
    FilledCluster
        The admitted sessions, and the first rejected session.

    Raises
    ------
    InputError
        If the cluster can never serve the request, as in `Mediator.propose`, or if more than 2,000 sessions fit. The
        second error is raised immediately if more than 2,000 sessions with the first session's stripe shape fit when
        they are spread evenly over the agents.
    """
    mediator = Mediator(Reservations(cluster), policy)
    admitted: list[Admitted] = []
    with tqdm(desc="filling", unit="session", delay=2, leave=False) as bar:
        while len(admitted) <= MOST:
            answer = mediator.request(replace(request, client=f"{request.client} {len(admitted)}"))
            if isinstance(answer, Rejected):
                return FilledCluster(cluster, tuple(admitted), answer)
            if not admitted and _fit_balanced(cluster, answer, MOST + 1):
                break
            admitted.append(answer)
            bar.update()
    raise InputError(f"more than {MOST} sessions of {request.rate:g} bytes/s fit: give a higher rate or fewer agents")


@dataclass(frozen=True)
class Balanced:
    """Number of identical sessions that fit if they are spread evenly over the agents, for each possible stripe shape.

    Parameters
    ----------
    shapes : StripeShapes
        The possible stripe shapes, which are the dimension `shape` of all arrays.
    sessions : ndarray of int, shape [shape]
        Number of sessions that fit, at most `MOST_EVENLY`.
    disk, network : ndarray, shape [shape]
        Ratios of needed time to allowed time if one more session is added: at the most loaded disk (`disk`) and on the
        network (`network`). A ratio above 1 identifies the binding constraint.
    busy : ndarray, shape [shape]
        Mean utilization of the busiest disk with `sessions` sessions, computed with the mean positioning time of that
        disk.
    """

    shapes: StripeShapes
    sessions: NDArray
    disk: NDArray
    network: NDArray
    busy: NDArray

    def best(self, chosen: NDArray | None = None) -> int:
        """Return the index of the stripe shape with the most sessions.

        Among several stripe shapes with the most sessions, the shapes with the fewest agents are preferred, and among these
        the shape with the largest unit.

        Parameters
        ----------
        chosen : ndarray of bool, shape [shape], optional
            True for each stripe shape to consider; all by default.

        Raises
        ------
        InputError
            If there is no stripe shape to consider.
        """
        among = np.flatnonzero(np.ones(self.shapes.count, bool) if chosen is None else chosen)
        if not among.size:
            raise InputError("no stripe shapes to select from; give a larger buffer, or more agents")
        order = np.lexsort((-self.shapes.unit[among], self.shapes.agents[among], -self.sessions[among]))
        return int(among[order[0]])


@validate
def balanced(cluster: Cluster, request: Request, units: Units = UNITS) -> Balanced:
    """Return the number of sessions like `request` that fit if they are spread evenly over the agents.

    The result has a number for each stripe shape.

    Parameters
    ----------
    cluster : Cluster
        The agents and the network.
    request : Request
        The request of each session. Each session belongs to a different client.
    units : iterable of int
        Block sizes to try, bytes; `UNITS` by default.

    Returns
    -------
    Balanced
        Number of sessions, load of the disks and load of the network, for each stripe shape.

    Raises
    ------
    InputError
        If the units are invalid, or if no stripe fits into the client's buffer.

    Notes
    -----
    If all agents have the same disk and `fill` uses a single stripe shape, `fill` finds the same number. If the disks
    differ, the slowest disk determines the result of this function.
    """
    shapes = shapes_for(cluster, request, np.unique(list(units)))
    low, high = np.zeros(shapes.count, int), np.full(shapes.count, MOST_EVENLY)
    while np.any(low < high):
        middle = (low + high + 1) // 2
        met = fits(_last(cluster, request, shapes, middle).everywhere)
        low, high = np.where(met, middle, low), np.where(met, high, middle - 1)
    over = _last(cluster, request, shapes, low + 1)
    network = np.maximum(over.network.max(axis=(0, 2)), over.shared)
    disks = over.state.cluster
    block = disks.positioning.sum(axis=0) + shapes.unit[:, None] / disks.rates
    busy = (low * shapes.agents / cluster.agents / shapes.period)[:, None] * block
    return Balanced(shapes, low, over.disk.max(axis=1), network, busy.max(axis=1))


def _fit_balanced(cluster: Cluster, first: Admitted, sessions: int) -> bool:
    """Return whether `sessions` sessions with the stripe shape of `first` fit, spread evenly over the agents."""
    shape = shape_of(cluster, first.request, first.layout)
    return bool(fits(_last(cluster, first.request, shape, np.array([sessions])).everywhere[0]))


def _last(cluster: Cluster, request: Request, shapes: StripeShapes, sessions: NDArray) -> AdmissionTest:
    """Return the admission test of the last of several identical sessions, which are spread evenly over the agents.

    It is valid for all these sessions, because identical sessions have equal waiting times. Each session belongs to a
    different client.

    request: the request of each session. shapes: the possible stripe shapes. sessions: number of sessions for each
    stripe shape, `[shape]`.
    """
    # Identical disks have the same load, so only one of them is tested.
    kinds = replace(cluster, disks=tuple(dict.fromkeys(cluster.disks)))
    others = (-(-sessions * shapes.agents // cluster.agents) - 1)[:, None]
    period, there = shapes.period[:, None], others > 0
    slack = period - (shapes.pooled + shapes.reception)[:, None]
    state = AdmissionState(
        kinds,
        count=others.astype(float),
        transfer=others * (shapes.unit[:, None] / kinds.rates),
        path=others * shapes.path[:, None],
        period=np.where(there, period, np.inf),
        budget=np.where(there, shapes.budget[:, None], np.inf),
        slack=np.stack([np.where(there, slack, np.inf), np.full_like(slack, np.inf)]),
        term=np.stack([period, period]),
        ring=(sessions - 1) * shapes.ring,
        reception=0.0,
    )
    return AdmissionTest(request, state, shapes)
