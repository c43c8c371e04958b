"""A scheduler that is selected by an index, so that a sweep over schedulers compiles only once."""

from typing import ClassVar

import jax.numpy as jnp

from storagekit.component.events import Switch
from storagekit.schedule.base import AbstractSchedule, Choice


class ScheduleSwitch(Switch, AbstractSchedule):
    """Select one of several schedulers by an index that may differ between runs; see `Switch`.

    Parameters
    ----------
    components : sequence of AbstractSchedule
        The schedulers.
    index : int
        Number of the scheduler that decides, from 0; one value, or one value for each run; by default 0.

    Raises
    ------
    InputError
        If an element of `components` is not a scheduler, or the index is out of range.
    """

    called: ClassVar[str] = "scheduler"
    kind: ClassVar[type] = AbstractSchedule

    def cost(self, private, choice: Choice):
        costs = (one.cost(state, choice) for one, state in self.each(private))
        return self.decided(jnp.broadcast_to(cost, choice.enqueue_time.shape) for cost in costs)
