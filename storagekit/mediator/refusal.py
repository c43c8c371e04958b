"""The reason for a rejected session: the violated constraint of the layout that comes closest to fitting."""

import numpy as np
from numpy.typing import NDArray

from storagekit.core.binding import Binding
from storagekit.mediator.demand import Demand
from storagekit.mediator.examine import AdmissionState, Examined, disk_limit, fits, network_limit, network_ways
from storagekit.mediator.request import Request

# Name of each part of the network path, and the remedy if that part takes the longest time.
_PARTS = {
    "processor of agent": "give the agent a faster processor, add agents, or use a larger unit",
    "link of agent": "give the agents faster links, or use a larger unit",
    "ring": "use a faster ring, or add a ring",
    "processor of client": "use a faster client, or fewer simultaneous sessions of this client",
    "link of client": "give the client a faster link, or use fewer simultaneous sessions of this client",
}


def binding(
    request: Request,
    state: AdmissionState,
    asked: Demand,
    found: Examined,
    shape: int,
    agents: NDArray | None = None,
) -> Binding:
    """Return the constraint with the largest ratio of needed time to allowed time, for one stripe shape.

    On the network, the session with the smallest slack in seconds represents all sessions at an agent.

    Parameters
    ----------
    request : Request
        The rejected request.
    state : AdmissionState
        The existing reservations against which the request was tested.
    asked : Demand
        Demand of the request for each stripe shape.
    found : Examined
        Result of the admission test.
    shape : int
        Index of the stripe shape.
    agents : ndarray of int, optional
        Agents of the layout; by default the least loaded agents, in the number that the stripe shape needs.

    Returns
    -------
    Binding
        The constraint at the most loaded of these agents, or on the network at an agent that is not chosen.
    """
    count = int(asked.shapes.agents[shape])
    each = found.agent[shape]
    if agents is None:
        agents = np.argsort(each, kind="stable")[:count]
    agent = int(agents[each[agents].argmax()])
    if found.shared[shape] <= each[agent] and found.disk[shape, agent] >= found.network[shape, agent]:
        return _disk(request, state, asked, found, shape, agent)
    return _network(request, state, asked, shape, agent, bool(found.shared[shape] > each[agent]))


def _disk(request: Request, state: AdmissionState, asked: Demand, found: Examined, shape: int, agent: int) -> Binding:
    others, unit, count = int(state.count[agent]), int(asked.shapes.unit[shape]), int(asked.shapes.agents[shape])
    limit = float(disk_limit(state, asked)[shape, agent])
    fitting = int(fits(found.agent[shape]).sum())
    where = (
        f"disk of agent {agent}: seconds needed per period for {unit} bytes and one block of each of the agent's "
        f"{others} sessions"
    )
    if request.layout is not None:
        remedy = "wait for a session at this agent to end, or request a lower rate"
    elif others:
        remedy = (
            f"{count} agents needed, {fitting} have enough free time: wait for a session to end, add agents, or lower "
            "the rate"
        )
    elif fitting:
        remedy = f"{count} agents needed, {fitting} are fast enough: add agents like these, or lower the rate"
    else:
        waiting = "wait for sessions at other agents to end, " if state.count.any() else ""
        remedy = f"no session uses this agent: {waiting}lower the rate, add agents, or buffer larger stripes"
    return Binding(where, float(found.disk[shape, agent]) * limit, limit, remedy)


def _network(request: Request, state: AdmissionState, asked: Demand, shape: int, agent: int, shared: bool) -> Binding:
    """Return the network constraint.

    shared: whether the network time of admitted sessions at agents that are not chosen is the violated constraint.
    """
    ways, others = network_ways(state, asked)
    limits, asking = network_limit(state, asked), float(asked.path[shape])
    if shared:
        ways, asking = others, 0.0
        agent = int(ways[:, shape].max(axis=0).argmax())
    way = int(ways[:, shape, agent].argmax())
    limit = float(limits[way, shape, agent])
    here = float(state.path[agent]) + asking
    there = state.reception + float(asked.reception[shape])
    sending = float(asked.processor[shape] / asked.path[shape])
    receiving = float(asked.client[shape] / asked.reception[shape])
    seconds = {
        "processor of agent": here * sending,
        "link of agent": here * (1 - sending),
        "ring": state.ring + float(asked.ring[shape]),
        "processor of client": there * receiving,
        "link of client": there * (1 - receiving),
    }
    fullest = max(seconds, key=seconds.__getitem__)
    place = {"agent": f" {agent}", "client": f" {request.client}"}.get(fullest.split()[-1], "")
    whose = ("a session of another client", "another session of this client", "the session itself")[way]
    where = f"network: seconds needed per period by a block of {whose}, mostly at the {fullest}{place}"
    remedy = f"{_PARTS[fullest]}; or request a lower rate, or wait for a session to end"
    return Binding(where, float(ways[way, shape, agent]) * limit, limit, remedy)
