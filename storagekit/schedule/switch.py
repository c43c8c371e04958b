"""Several disciplines in one batch: each lane follows its own."""

from typing import ClassVar

import jax.numpy as jnp

from storagekit.component.events import Switch
from storagekit.schedule.base import AbstractSchedule, Choice


class ScheduleSwitch(Switch, AbstractSchedule):
    """The discipline `members[index]`, see `Switch`."""

    called: ClassVar[str] = "scheduler"
    kind: ClassVar[type] = AbstractSchedule

    def cost(self, private, choice: Choice):
        costs = (member.cost(state, choice) for member, state in self.each(private))
        return self.decided(jnp.broadcast_to(cost, choice.enqueue_time.shape) for cost in costs)
