"""The number of identical sessions that a cluster serves, for the planning of video or backup servers."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from tqdm import tqdm

from storagekit.analytic.forkjoin.tail import Tail
from storagekit.core.binding import Binding
from storagekit.core.errors import InputError
from storagekit.core.validation import validate
from storagekit.mediator.answer import Admitted, Rejected
from storagekit.mediator.cluster import Cluster
from storagekit.mediator.demand import demand, shape_of
from storagekit.mediator.evenly import among_others, met
from storagekit.mediator.examine import examine
from storagekit.mediator.ledger import Ledger
from storagekit.mediator.mediator import Mediator
from storagekit.mediator.policy import POLICY, Policy
from storagekit.mediator.rehearsal import Rehearsal, rehearse
from storagekit.mediator.request import Request

MOST = 2_000


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

    def check(self, *, seed: int = 0) -> Rehearsal:
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
        return rehearse(self.cluster, plans, seed)

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
        first, _, assumed = str(self.admitted[0]).partition("\n\n")
        return "\n".join(
            [
                f"{self.sessions} sessions, {self.rate / 1e6:.4g} MB/s in total; reserved time: "
                f"{self.admitted[-1].utilization}",
                f"binding constraint: {self.binding}",
                "",
                f"first session: {first}",
                "",
                assumed,
            ]
        )


@validate
def fill(cluster: Cluster, request: Request, policy: Annotated[Policy | None, POLICY] = None) -> FilledCluster:
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
    mediator = Mediator(Ledger(cluster), policy)
    admitted: list[Admitted] = []
    with tqdm(desc="filling", unit="session", delay=2, leave=False) as bar:
        while len(admitted) <= MOST:
            answer = mediator.request(replace(request, client=f"{request.client} {len(admitted)}"))
            if isinstance(answer, Rejected):
                return FilledCluster(cluster, tuple(admitted), answer)
            if not admitted and _fit_evenly(mediator.ledger.tail, cluster, answer, MOST + 1):
                break
            admitted.append(answer)
            bar.update()
    raise InputError(f"more than {MOST} sessions of {request.rate:g} bytes/s fit: give a higher rate or fewer agents")


def _fit_evenly(tail: Tail, cluster: Cluster, first: Admitted, sessions: int) -> bool:
    """Return whether `sessions` sessions with the stripe shape of `first` fit, spread evenly over the agents."""
    asked = demand(cluster, first.request, shape_of(first.layout))
    return bool(met(examine(among_others(tail, asked, np.array([sessions]), cluster.agents), asked))[0])
