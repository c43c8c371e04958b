"""Simulate one event: a completion frees its slot, a request is admitted, and a free drive chooses its next part.

Each step is a function of the state. No step depends on a particular protocol, scheduler or paper. No step branches:
where a step does not happen in a run of the batch, its effect is masked.
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
from storagekit.engine.state import COMPONENTS, NO_REQUEST, State, issue, mechanics, next_times, queued_streams
from storagekit.engine.system import Scenario

# longest pause, seconds: float32 is precise to 4 ns up to this time
PAUSE = 0.05


class Report(NamedTuple):
    """Results of one event, which the sums and the log receive.

    Parameters
    ----------
    elapsed : array of float32, shape `[1, *batch]`
        Time in seconds since the previous event.
    completed : RequestCompleted
        The request that completed.
    admitted : array of bool, shape `[1, *batch]`
        Whether a request was admitted.
    entered : array of float32, shape `[1, *batch]`
        Time in seconds until the admission of this request.
    blocked : array of bool, shape `[1, *batch]`
        Whether this request had waited for a slot.
    admission : Admission
        Result of the admission of this request.
    lost : array of int32, shape `[1, *batch]`
        Number of reads that are sent again because a brick has stopped.
    chose : array of bool, shape `[1, *batch]`
        Whether a drive chose a part.
    candidates : array of int32, shape `[1, *batch]`
        Number of parts from which the drive chose.
    incomplete : array of int32, shape `[1, *batch]`
        Number of `candidates` whose requests have not completed. The chosen part is not counted.
    claimed : array of bool, shape `[1, *batch]`
        Whether the drive claimed the part. A drive claims parts of reads. It claims parts of writes only if the write
        policy uses claims for writes.
    further : array of bool, shape `[1, *batch]`
        Whether other drives had already claimed as many parts of the request as the request needs.
    contested : array of bool, shape `[1, *batch]`
        Whether `further` is true for the first time for this request.
    twice : array of bool, shape `[1, *batch]`
        Whether, with this drive, more drives serve the request than it needs.
    served : array of bool, shape `[drive, *batch]`
        Mask of the drive whose choice became final.
    seek, rotation, transfer : array of float32, shape `[1, *batch]`
        Components of the time of the access that became final, seconds; 0 without such an access.
    number : array of int32, shape `[1, *batch]`
        Number of the request of this access; NO_REQUEST without such an access.
    replica : array of int32, shape `[1, *batch]`
        Replica that this access reads or writes.
    stream, sectors : array of int32, shape `[1, *batch]`, or None
        Stream and length of the access; None if requests have no clients.
    waited, waits : array of uint32, shape `[brick, *batch]`, or None
        For each brick, a mask of the streams with parts that the brick has not issued: `waited` after the admission,
        `waits` at the end of the event. None if requests have no clients.
    """

    elapsed: Float[Array, "1 *batch"]
    completed: RequestCompleted
    admitted: Bool[Array, "1 *batch"]
    entered: Float[Array, "1 *batch"]
    blocked: Bool[Array, "1 *batch"]
    admission: Admission
    lost: Int[Array, "1 *batch"]
    chose: Bool[Array, "1 *batch"]
    candidates: Int[Array, "1 *batch"]
    incomplete: Int[Array, "1 *batch"]
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
    """Simulate one event.

    The arrivals of requests and the choices of drives happen in the order of their times. A completion affects only the
    record, the slot, and the next request of a closed loop. The time therefore does not advance to a completion.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    incoming : Incoming
        Requests that may be admitted.
    state : State
        The state before the event.

    Returns
    -------
    state : State
        The state after the event; `state.taken` is the number of incoming requests that were admitted.
    report : Report
        The report of the event.
    """
    state, passage = enter(scenario, incoming, state)
    # if several outages begin with one request, each outage is processed in its own event
    state, lost = fail(scenario, state, jnp.where(passage.admitted, passage.entered, state.arrived))
    waited, wake = queued_streams(scenario, state), state.drives.wake
    drive, time = first_min(next_times(scenario, state))
    first_in_line = admissible(scenario, state, passage.vacant, time)
    # after a long pause the time first advances to the arrival, so that later times are computed from there
    pause = passage.admitted & (state.arrived > PAUSE)
    chooses = jnp.isfinite(time) & ~first_in_line & ~pause & ~_completion_first(scenario, state, time)
    elapsed = jnp.where(pause, state.arrived, jnp.where(chooses, time, 0.0))
    state = elapse(scenario, state, elapsed)
    acts = (row_index(scenario.system.drives, time) == drive) & chooses
    # the queue of a brick may act although no drive has become free
    chooser = acts & (wake <= time) if scenario.system.queue.issues_by_time else acts
    served = chooser & state.drives.planned
    certain, access = any_row(served), _access(state, drive, served)
    state = finish(scenario, settle(state, served), drive, certain)
    state = issue(scenario, state, acts, state.drives.planned & ~chooser, drive)
    state, choice = choose(scenario, state, drive, chooser)
    return state, Report(
        elapsed=elapsed,
        completed=passage.completed,
        admitted=passage.admitted,
        entered=jnp.maximum(passage.entered, 0.0),
        blocked=passage.blocked,
        admission=passage.admission,
        lost=lost,
        served=served,
        waited=waited,
        waits=queued_streams(scenario, state),
        **access,
        **choice,
    )


def _access(
    state: State, drive: Int[Array, "1 *batch"], served: Bool[Array, "drive *batch"]
) -> dict[str, Shaped[Array, "1 *batch"] | None]:
    """Return the fields of the report for the access of `drive`; valid only where `served` marks a drive."""
    plan, certain = state.drives.plan, any_row(served)
    seek, rotation, transfer = (jnp.where(certain, pick(part, drive), 0.0) for part in plan[:3])
    number = jnp.where(certain, pick(plan.number, drive), NO_REQUEST)
    replica, stream, sectors = pick_tree((plan.replica, plan.stream, plan.sectors), drive)
    return {
        "seek": seek,
        "rotation": rotation,
        "transfer": transfer,
        "number": number,
        "replica": replica,
        "stream": stream,
        "sectors": sectors,
    }


def _completion_first(scenario: Scenario, state: State, choice: Float[Array, "1 *batch"]) -> Bool[Array, "1 *batch"]:
    """Return whether a request completes before the time `choice`; false if no choice can depend on a completion."""
    system = scenario.system
    if not (
        scenario.arrivals.waits_for_completions or system.dispatch.withdraws_late or system.arbitration.uses_completions
    ):
        return jnp.zeros(choice.shape, bool)
    # the completions of a closed loop are its arrivals
    never = jnp.zeros(choice.shape, bool)
    return scenario.arrivals.frees_slot(never, ~never, state.arrived + state.gap) & (
        min_row(state.slots.completion) <= choice
    )


def elapse(scenario: Scenario, state: State, time: Float[Array, "1 *batch"]) -> State:
    """Return the state a given time later.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    state : State
        The state now.
    time : array of float32, shape `[1, *batch]`
        Time that passes, seconds.

    Returns
    -------
    State
        The state after this time.
    """
    drives = state.drives
    system = scenario.system
    phase = drives.phase + mechanics(scenario, state, row_index(system.drives, time)).drift(time)
    states = {name: getattr(system, name).elapse(getattr(state, name), time) for name in COMPONENTS}
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
        **states,
    )
