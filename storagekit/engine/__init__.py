"""The simulator: state, one event, the loop, the batch. The only home of loops over events.

Where to start: `event` tells the moments of one event in their order; `state` says what it carries, `answer` when a request
is answered, `record` what is kept. Lanes, independent runs, stand last: an array is `[slot, *lanes]`, `[drive, *lanes]` or,
for one number a lane, `[1, *lanes]`, with `lanes` `()` for a single run (`storagekit.lanes` says why). What is decided for
the system is decided by its members, which hear of moments and keep private state (`storagekit.moments`).

A recursion over requests is not one: where each request is served in its turn, and needs of the past only what the one
before it left behind, nobody chooses and no timers run (`analytic.forkjoin`, `metrics.measured_drive`).
"""

from storagekit.engine.batch import Outcome as Outcome
from storagekit.engine.batch import batches as batches
from storagekit.engine.batch import execute as execute
from storagekit.engine.batch import lanes_of as lanes_of
from storagekit.engine.batch import stack as stack
from storagekit.engine.batch import steps as steps
from storagekit.engine.batch import structure as structure
from storagekit.engine.batch import width as width
from storagekit.engine.condition import Condition as Condition
from storagekit.engine.condition import Spell as Spell
from storagekit.engine.condition import stopped as stopped
from storagekit.engine.event import Report as Report
from storagekit.engine.histogram import ResponseBins as ResponseBins
from storagekit.engine.histogram import binned as binned
from storagekit.engine.histogram import quantiles as quantiles
from storagekit.engine.pending import pending as pending
from storagekit.engine.record import ADMITTED as ADMITTED
from storagekit.engine.record import ANSWERED as ANSWERED
from storagekit.engine.record import CHOICES as CHOICES
from storagekit.engine.record import AbstractLog as AbstractLog
from storagekit.engine.record import AccessLog as AccessLog
from storagekit.engine.record import NoLog as NoLog
from storagekit.engine.record import Record as Record
from storagekit.engine.record import ResponseLog as ResponseLog
from storagekit.engine.record import ServiceLog as ServiceLog
from storagekit.engine.record import Services as Services
from storagekit.engine.record import Sum as Sum
from storagekit.engine.record import Tally as Tally
from storagekit.engine.record import answered as answered
from storagekit.engine.run import Runner as Runner
from storagekit.engine.run import keys as keys
from storagekit.engine.state import NOBODY as NOBODY
from storagekit.engine.state import State as State
from storagekit.engine.system import AS_NEEDED as AS_NEEDED
from storagekit.engine.system import Scenario as Scenario
from storagekit.engine.system import System as System
