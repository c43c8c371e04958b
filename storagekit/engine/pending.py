"""The table of delayed writes, read off a state."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from storagekit.engine.state import State
from storagekit.placement import AbstractPlacement
from storagekit.write import Pending


def pending(state: State, placement: AbstractPlacement, lane: int = 0) -> Pending:
    """The metadata table of one lane of a system with `Background` writes, as of the last event of `state`.

    A first copy is in it from the moment it is scheduled, because a crash may leave it half written. Arrays are NumPy's.
    """

    def of_lane(leaf: Any) -> np.ndarray:
        values = np.asarray(leaf)
        return values if values.ndim < 2 else values[:, lane]

    slots = state.slots
    home = placement.drive_of(jnp.zeros_like(slots.number), slots.place)
    number, read, home = map(of_lane, (slots.number, slots.read, home))
    replicas, order, start, stop = map(of_lane, state.write[:4])
    parts, each = (int(of_lane(value).ravel()[0]) for value in (placement.parts, placement.replicas))
    every = np.uint32(2 ** (parts * each) - 1)
    left = np.where(~read & (order > 0), replicas, np.uint32(0))
    drives = state.drives
    planned, slot, owner, replica = map(
        of_lane, (drives.planned, drives.plan.slot, drives.plan.number, drives.plan.replica)
    )
    for drive in np.flatnonzero(planned & (number[slot] == owner) & ~read[slot] & (order[slot] == 0)):
        place = jax.tree.map(lambda leaf, drive=drive: jnp.asarray(of_lane(leaf)[slot[drive]]), state.slots.place)
        part = int(placement.part_on(jnp.asarray(drive), place))
        left[slot[drive]] |= 1 << (part * each + replica[drive])
    rows_held = np.flatnonzero(left)
    rank = np.where(order == 0, np.iinfo(np.int32).max, order)[rows_held]
    rows_held = rows_held[np.argsort(rank, kind="stable")]
    current = np.where(order > 0, every & ~left, np.uint32(0))
    return Pending(*(column[rows_held] for column in (number, start, stop, home, current, left, order)))
