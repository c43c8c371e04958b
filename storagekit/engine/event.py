"""One event: an answer leaves, a request enters, the drive that is next to choose chooses.

Each step is a function of the state that can be called alone. Nothing here knows which protocol, scheduler or paper it
serves, and nothing branches: what does not happen in a lane is masked.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped, UInt32

from storagekit.engine.admission import Admission
from storagekit.engine.arrival import Incoming, admissible, enter
from storagekit.engine.failure import fail
from storagekit.engine.service import choose, finish, settle
from storagekit.engine.state import MEMBERS, NOBODY, State, hand_over, mechanics, queued_streams
from storagekit.engine.system import Scenario
from storagekit.lanes import first_min, least, pick, pick_tree, rows, some
from storagekit.moments import Answered
from storagekit.workload import AbstractClients

# seconds; float32 holds times up to it to 4 ns
PAUSE = 0.05


class Report(NamedTuple):
    """What one event did, for the record.

    elapsed: seconds since the event before. admitted, held_up: a request entered; it had waited outside for a slot;
    admission: what else became of it. lost: reads that a brick which stopped was to serve, to be sent again.
    chose: a drive chose one of `candidates` parts; without it, `unanswered` are of requests not completed. claimed: a read;
    further: another drive had claimed it too; contested: for the first time; twice: both serve it.
    entered: seconds until the one that was admitted did so.
    served: the drive whose earlier choice became certain (all False if none), with the parts of that access
    (0 if none was), the number of the request (NOBODY if none) and the replica it went to; stream, sectors: for whom and how
    much; waited, waits: for each brick, the streams of which it has parts that it has not handed over, one bit each, once a
    request has entered and at the end; None where requests have no clients.
    """

    elapsed: Float[Array, "1 *lanes"]
    answered: Answered
    admitted: Bool[Array, "1 *lanes"]
    entered: Float[Array, "1 *lanes"]
    held_up: Bool[Array, "1 *lanes"]
    admission: Admission
    lost: Int[Array, "1 *lanes"]
    chose: Bool[Array, "1 *lanes"]
    candidates: Int[Array, "1 *lanes"]
    unanswered: Int[Array, "1 *lanes"]
    claimed: Bool[Array, "1 *lanes"]
    further: Bool[Array, "1 *lanes"]
    contested: Bool[Array, "1 *lanes"]
    twice: Bool[Array, "1 *lanes"]
    served: Bool[Array, "drive *lanes"]
    seek: Float[Array, "1 *lanes"]
    rotation: Float[Array, "1 *lanes"]
    transfer: Float[Array, "1 *lanes"]
    number: Int[Array, "1 *lanes"]
    replica: Int[Array, "1 *lanes"]
    stream: Int[Array, "1 *lanes"] | None
    sectors: Int[Array, "1 *lanes"] | None
    waited: UInt32[Array, "brick *lanes"] | None
    waits: UInt32[Array, "brick *lanes"] | None


def event(scenario: Scenario, incoming: Incoming, state: State) -> tuple[State, Report]:
    """One event. `state.taken` says how many of the incoming requests have entered.

    Arrivals and choices happen in the order of their times; an answer counts for nothing but the record, the next request
    of a closed loop and its slot, so that none is waited for.
    """
    state, passage = enter(scenario, incoming, state)
    # a second brick that stops with a request has its turn in the event after that
    state, lost = fail(scenario, state, jnp.where(passage.admitted, passage.entered, state.arrived))
    waited = queued_streams(scenario, state)
    which, time = first_min(state.drives.wake)
    first_in_line = admissible(scenario, state, passage.vacant, time)
    # after a long pause time first moves to the arrival, so that what follows is reckoned from there
    pause = passage.admitted & (state.arrived > PAUSE)
    chooses = jnp.isfinite(time) & ~first_in_line & ~pause & ~_answer_first(scenario, state, time)
    elapsed = jnp.where(pause, state.arrived, jnp.where(chooses, time, 0.0))
    state = elapse(scenario, state, elapsed)
    chooser = (rows(scenario.system.drives, time) == which) & chooses
    served = chooser & state.drives.planned
    certain, access = some(served), _access(state, which, served)
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
    state: State, which: Int[Array, "1 *lanes"], served: Bool[Array, "drive *lanes"]
) -> dict[str, Shaped[Array, "1 *lanes"] | None]:
    """The fields of the report that tell of the access of drive `which`, where it is `served`."""
    plan, certain = state.drives.plan, some(served)
    seek, rotation, transfer = (jnp.where(certain, pick(part, which), 0.0) for part in plan[:3])
    number = jnp.where(certain, pick(plan.number, which), NOBODY)
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


def _answer_first(scenario: Scenario, state: State, choice: Float[Array, "1 *lanes"]) -> Bool[Array, "1 *lanes"]:
    """Whether somebody is answered before a choice at that time, where the choice may hang on that."""
    system = scenario.system
    clients = isinstance(scenario.arrivals, AbstractClients)
    if not (clients or system.dispatch.withdraws_late or system.claims.answers_tell):
        return jnp.zeros(choice.shape, bool)
    # the answers of a closed loop are its arrivals
    never = jnp.zeros(choice.shape, bool)
    return scenario.arrivals.leaves(never, ~never) & (least(state.slots.answer) <= choice)


def elapse(scenario: Scenario, state: State, time: Float[Array, "1 *lanes"]) -> State:
    """The state `time` seconds later."""
    drives = state.drives
    system = scenario.system
    phase = drives.phase + mechanics(scenario, state, rows(system.drives, time)).drift(time)
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
