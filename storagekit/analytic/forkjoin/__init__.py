"""Fork-join queues: a request is divided into parts for several servers, and completes when its last part completes.

`exponential` contains queues with exponential service times. `bounds` contains queues with the block times of a disk.
`tail` contains a bound on the probability that several blocks take longer than a given time. `parts`, `striping` and
`striped_system` model striping over a network (swift). `completion` simulates this model with the recursion of
`recursion`. JAX differentiates the formulas and the recursion; `sensitivity` adds the derivatives of quantiles and of the
sustainable rate.
"""

from storagekit.analytic.forkjoin.bounds import completion_bounds as completion_bounds
from storagekit.analytic.forkjoin.bounds import latest as latest
from storagekit.analytic.forkjoin.completion import Simulation as Simulation
from storagekit.analytic.forkjoin.exponential import harmonic as harmonic
from storagekit.analytic.forkjoin.exponential import response_bounds as response_bounds
from storagekit.analytic.forkjoin.exponential import response_interpolated as response_interpolated
from storagekit.analytic.forkjoin.exponential import response_scaled as response_scaled
from storagekit.analytic.forkjoin.exponential import response_two as response_two
from storagekit.analytic.forkjoin.parts import Disk as Disk
from storagekit.analytic.forkjoin.parts import Host as Host
from storagekit.analytic.forkjoin.parts import Network as Network
from storagekit.analytic.forkjoin.recursion import Path as Path
from storagekit.analytic.forkjoin.recursion import Paths as Paths
from storagekit.analytic.forkjoin.recursion import RequestStream as RequestStream
from storagekit.analytic.forkjoin.recursion import completion_times as completion_times
from storagekit.analytic.forkjoin.sensitivity import completion_quantile as completion_quantile
from storagekit.analytic.forkjoin.sensitivity import sustainable_rate as sustainable_rate
from storagekit.analytic.forkjoin.striped_system import StripedSystem as StripedSystem
from storagekit.analytic.forkjoin.striping import Striping as Striping
from storagekit.analytic.forkjoin.tail import lateness_bound as lateness_bound
