"""What queueing theory and geometry say without simulating events: closed forms, the recursion of fork-join queues
(`forkjoin`), proportional sharing and the unfairness that a log had (`fairness`), and for head tracking a Monte Carlo
(`headtracking`)."""

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
    from storagekit.analytic import fairness as fairness
    from storagekit.analytic import forkjoin as forkjoin
    from storagekit.analytic import headtracking as headtracking

__getattr__, __dir__ = loader(__name__, ("array", "fairness", "forkjoin", "headtracking"))
