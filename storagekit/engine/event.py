"""One event: a completion frees its slot, a request is admitted, and a free drive chooses its next part.

Each step is a function of the state. No step depends on a particular protocol, scheduler or paper, and none branches: a step
that does not happen in a run of the batch (a lane) is masked.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.component.events import RequestCompleted
from storagekit.core.batching import any_row, first_min, min_row, pick, pick_tree, row_index
from storagekit.engine.admission import Admission
from storagekit.engine.arrival import Incoming, admissible, enter
from storagekit.engine.failure import fail
from storagekit.engine.service import choose, finish, settle
from storagekit.engine.state import MEMBERS, NO_REQUEST, State, hand_over, mechanics, queued_streams
from storagekit.engine.system import Scenario
from storagekit.workload import AbstractClients

# seconds; float32 holds times up to it to 4 ns
PAUSE = 0.05


class Report(NamedTuple):
    """Report of one event, for the record.

    elapsed: time since the previous event, seconds. admitted, held_up: whether a request was admitted, and whether it had
    waited for a slot. entered: time to its admission, seconds. admission: how it was routed. lost: number of reads that a
    brick in an outage leaves, to be sent again. chose: whether a drive chose one of `candidates` parts. unanswered: number of
    these, without the chosen part, whose requests are not completed. claimed: whether the part is of a read. further,
    contested, twice: whether another drive had claimed the read too, whether it was the first to do so, and whether both
    serve it. served: mask of the drive whose choice became final. seek, rotation, transfer: parts of its access, seconds, 0
    without one. number: number of its request, NOBODY without one. replica: replica that it reads or writes. stream,
    sectors: stream and length of the request. waited, waits: for each brick, a bit for each stream with parts that are not
    issued, after the admission and at the end of the event; None if requests have no clients.
    """

    elapsed: Float[Array, "1 *batch"]
    answered: RequestCompleted
    admitted: Bool[Array, "1 *batch"]
    entered: Float[Array, "1 *batch"]
    held_up: Bool[Array, "1 *batch"]
    admission: Admission
    lost: Int[Array, "1 *batch"]
    chose: Bool[Array, "1 *batch"]
    candidates: Int[Array, "1 *batch"]
    unanswered: Int[Array, "1 *batch"]
    claimed: Bool[Array, "1 *batch"]
    further: Bool[Array, "1 *batch"]
    contested: Bool[Array, "1 *batch"]
    twice: Bool[Array, "1 *batch"]
    served: Bool[Array, "drive *batch"]
    seek: Float[Array, "1 *batch"]
    rotation: Float[Array, "1 *batch"]
    transfer: Float[Array, "1 *batch"]
    number: Int[Array, "1 *batch"]
    replica: Int[Array, "1 *batch"]
    stream: Int[Array, "1 *batch"] | None
    sectors: Int[Array, "1 *batch"] | None
    waited: UInt32[Array, "brick *batch"] | None
    waits: UInt32[Array, "brick *batch"] | None


def event(scenario: Scenario, incoming: Incoming, state: State) -> tuple[State, Report]:
    """Simulate one event. `state.taken` is the number of incoming requests that were admitted.

    Arrivals and choices happen in the order of their times. A completion affects only the record, the slot, and the next
    request of a closed loop, so the event does not wait for one.
    """
    state, passage = enter(scenario, incoming, state)
    # of several outages that begin with one request, each takes an event
    state, lost = fail(scenario, state, jnp.where(passage.admitted, passage.entered, state.arrived))
    waited = queued_streams(scenario, state)
    which, time = first_min(state.drives.wake)
    first_in_line = admissible(scenario, state, passage.vacant, time)
    # after a long pause time first moves to the arrival, so that what follows is reckoned from there
    pause = passage.admitted & (state.arrived > PAUSE)
    chooses = jnp.isfinite(time) & ~first_in_line & ~pause & ~_answer_first(scenario, state, time)
    elapsed = jnp.where(pause, state.arrived, jnp.where(chooses, time, 0.0))
    state = elapse(scenario, state, elapsed)
    chooser = (row_index(scenario.system.drives, time) == which) & chooses
    served = chooser & state.drives.planned
    certain, access = any_row(served), _access(state, which, served)
    state = finish(scenario, settle(state, served), which, certain)
    state = hand_over(scenario, state, chooser, state.drives.planned & ~chooser, which)
    state, choice = choose(scenario, state, which, chooser)
    return state, Report(
        elapsed=elapsed,
        answered=passage.answered,
        admitted=passage.admitted,
        entered=jnp.maximum(passage.entered, 0.0),
        held_up=passage.held_up,
        admission=passage.admission,
        lost=lost,
        served=served,
        waited=waited,
        waits=queued_streams(scenario, state),
        **access,
        **choice,
    )


def _access(
    state: State, which: Int[Array, "1 *batch"], served: Bool[Array, "drive *batch"]
) -> dict[str, Shaped[Array, "1 *batch"] | None]:
    """The fields of the report that tell of the access of drive `which`, where it is `served`."""
    plan, certain = state.drives.plan, any_row(served)
    seek, rotation, transfer = (jnp.where(certain, pick(part, which), 0.0) for part in plan[:3])
    number = jnp.where(certain, pick(plan.number, which), NO_REQUEST)
    replica, stream, sectors = pick_tree((plan.replica, plan.stream, plan.sectors), which)
    return {
        "seek": seek,
        "rotation": rotation,
        "transfer": transfer,
        "number": number,
        "replica": replica,
        "stream": stream,
        "sectors": sectors,
    }


def _answer_first(scenario: Scenario, state: State, choice: Float[Array, "1 *batch"]) -> Bool[Array, "1 *batch"]:
    """Return whether a request completes before a choice at that time, if the choice may depend on it."""
    system = scenario.system
    clients = isinstance(scenario.arrivals, AbstractClients)
    if not (clients or system.dispatch.withdraws_late or system.claims.answers_tell):
        return jnp.zeros(choice.shape, bool)
    # the completions of a closed loop are its arrivals
    never = jnp.zeros(choice.shape, bool)
    return scenario.arrivals.leaves(never, ~never) & (min_row(state.slots.answer) <= choice)


def elapse(scenario: Scenario, state: State, time: Float[Array, "1 *batch"]) -> State:
    """The state `time` seconds later."""
    drives = state.drives
    system = scenario.system
    phase = drives.phase + mechanics(scenario, state, row_index(system.drives, time)).drift(time)
    members = {name: getattr(system, name).elapse(getattr(state, name), time) for name in MEMBERS}
    return state._replace(
        slots=state.slots.elapse(time),
        drives=drives._replace(
            wake=drives.wake - time,
            phase=phase - jnp.floor(phase),
            free=drives.free - time,
            plan=drives.plan._replace(finish=drives.plan.finish - time),
            buffer=system.drive.buffer.elapse(drives.buffer, time),
        ),
        arrived=state.arrived - time,
        arrivals=scenario.arrivals.elapse(state.arrivals, time),
        **members,
    )
