"""Extract the table of delayed writes from a state."""

from typing import Any

import jax
import numpy as np

from storagekit.engine import State
from storagekit.placement import AbstractPlacement
from storagekit.write import Pending

# types of the columns of `Pending`
_KINDS = (np.int32, np.int32, np.int32, np.int32, np.uint32, np.uint32, np.int32)


def pending(state: State, placement: AbstractPlacement, run: int = 0) -> Pending:
    """Return the metadata table of one run of a system with `Background` writes, after the last event of `state`.

    A write has a row as soon as a drive has chosen its first copy, because a crash may leave this copy half written.

    Parameters
    ----------
    state : State
        State of the runs.
    placement : AbstractPlacement
        Placement of the system.
    run : int
        Number of the run, by default 0.

    Returns
    -------
    Pending
        The table, as NumPy arrays.
    """
    batched = state.taken.ndim > 1

    def of_run(leaf: Any) -> np.ndarray:
        values = np.asarray(leaf)
        return values[..., run] if batched and values.ndim > 1 else values

    delayed, slots, plan, planned = jax.tree.map(
        of_run, (state.write, state.slots, state.drives.plan, state.drives.planned)
    )
    parts, each = (int(of_run(value).ravel()[0]) for value in (placement.parts, placement.replicas))
    every = np.uint32(2 ** (parts * each) - 1)
    copies = jax.tree.map(np.asarray, delayed.table.in_use())
    copies = jax.tree.map(lambda column: column[np.argsort(copies.order)], copies)
    # the slot may already belong to another request, because a completion may be processed before its time
    first = delayed.backlog.of_slot & (slots.number[plan.slot] == plan.number) & ~slots.read[plan.slot]
    drives = np.flatnonzero(planned & first)
    slot, replica = plan.slot[drives], plan.replica[drives]
    location = jax.tree.map(lambda leaf: leaf[slot], slots.location)
    written = np.left_shift(1, np.asarray(placement.part_on(drives.astype(np.int32), location)) * each + replica)
    nothing = np.zeros(len(drives), np.int32)

    def home(location: Any) -> np.ndarray:
        # NumPy arrays of the many lengths of the table compile no programs
        return np.asarray(placement.drive_of(np.zeros(1, np.int32), location))

    settled = (
        copies.number,
        copies.start,
        copies.stop,
        home(copies.location),
        every & ~copies.left,
        copies.left,
        copies.order,
    )
    begun = (plan.number[drives], delayed.start[slot], delayed.stop[slot], home(location), nothing, written, nothing)
    columns = [np.concatenate(both) for both in zip(settled, begun, strict=True)]
    return Pending(*(column.astype(kind) for column, kind in zip(columns, _KINDS, strict=True)))
