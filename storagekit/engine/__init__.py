"""The simulator: the state, one event, the loop over events, and the batch.

This package contains all loops over events. `event` processes one event in several steps. `state` describes the data
that an event changes, `completion` the completion of a request, and `record` the results. Independent runs form a batch.
The axes of the batch are the last axes of every array. An array has the shape `[1, *batch]` if it contains one number
for each run, and otherwise a shape such as `[slot, *batch]` or `[drive, *batch]`. The argument `batch` is the shape of
the batch, `()` for a single run (see `storagekit.core.batching`). The components of a system make all decisions,
receive events and store private state (see `storagekit.component.events`).

Models that serve requests in a fixed order, without choices and timers, are recursions over requests. They are not in
this package; see `analytic.forkjoin` and `calibrate.measured_drive`.
"""

from storagekit.engine.batch import Outcome as Outcome
from storagekit.engine.batch import batches as batches
from storagekit.engine.batch import execute as execute
from storagekit.engine.batch import select_runs as select_runs
from storagekit.engine.batch import stack as stack
from storagekit.engine.batch import steps as steps
from storagekit.engine.batch import structure as structure
from storagekit.engine.batch import width as width
from storagekit.engine.event import Report as Report
from storagekit.engine.histogram import ResponseBins as ResponseBins
from storagekit.engine.histogram import binned as binned
from storagekit.engine.histogram import quantiles as quantiles
from storagekit.engine.record import ADMITTED as ADMITTED
from storagekit.engine.record import CHOICES as CHOICES
from storagekit.engine.record import COMPLETED as COMPLETED
from storagekit.engine.record import AbstractLog as AbstractLog
from storagekit.engine.record import AccessLog as AccessLog
from storagekit.engine.record import NoLog as NoLog
from storagekit.engine.record import Record as Record
from storagekit.engine.record import ResponseLog as ResponseLog
from storagekit.engine.record import ServiceLog as ServiceLog
from storagekit.engine.record import Services as Services
from storagekit.engine.record import Sum as Sum
from storagekit.engine.record import Tally as Tally
from storagekit.engine.record import completed as completed
from storagekit.engine.run import Runner as Runner
from storagekit.engine.run import keys as keys
from storagekit.engine.state import NO_REQUEST as NO_REQUEST
from storagekit.engine.state import State as State
from storagekit.engine.system import AUTO as AUTO
from storagekit.engine.system import Scenario as Scenario
from storagekit.engine.system import System as System
