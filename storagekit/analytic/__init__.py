"""Closed forms and other models without an event simulation.

- `queueing`: single queues and closed networks
- `array`: formulas of a disk array
- `forkjoin`: fork-join queues and their recursion
- `durability`: the probability of data loss, and the path that leads to it
- `fairness`: proportional sharing, and the unfairness in a log
- `headtracking`: a Monte Carlo model of head tracking
"""

from typing import TYPE_CHECKING

from storagekit.analytic.queueing import closed_network as closed_network
from storagekit.analytic.queueing import mean_rotation as mean_rotation
from storagekit.analytic.queueing import mean_seek as mean_seek
from storagekit.analytic.queueing import response_md1 as response_md1
from storagekit.analytic.queueing import response_mg1 as response_mg1
from storagekit.analytic.queueing import response_mm1 as response_mm1
from storagekit.analytic.queueing import response_mmc as response_mmc
from storagekit.core.lazy_loading import loader

if TYPE_CHECKING:
    from storagekit.analytic import array as array
    from storagekit.analytic import durability as durability
    from storagekit.analytic import fairness as fairness
    from storagekit.analytic import forkjoin as forkjoin
    from storagekit.analytic import headtracking as headtracking

__getattr__, __dir__ = loader(__name__, ("array", "durability", "fairness", "forkjoin", "headtracking"))
