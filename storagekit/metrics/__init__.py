"""Engine output to labelled Datasets: run, measure, and say how sure it is."""

from storagekit.metrics.confidence import interval as interval
from storagekit.metrics.confidence import ratio as ratio
from storagekit.metrics.demerit import demerit as demerit
from storagekit.metrics.experiment import replicate as replicate
from storagekit.metrics.experiment import run as run
from storagekit.metrics.experiment import simulate as simulate
from storagekit.metrics.experiment import sweep as sweep
from storagekit.metrics.history import History as History
from storagekit.metrics.history import history as history
from storagekit.metrics.measurement import BASES as BASES
from storagekit.metrics.measurement import Measurement as Measurement
from storagekit.metrics.measurement import with_interval as with_interval
from storagekit.metrics.measures import Measure as Measure
from storagekit.metrics.provenance import made_by as made_by
from storagekit.metrics.replaying import replay as replay
from storagekit.metrics.standard import STANDARD as STANDARD
from storagekit.metrics.streams import by_stream as by_stream
from storagekit.metrics.windows import Timed as Timed
from storagekit.metrics.windows import by_event as by_event
from storagekit.metrics.windows import joint_backlog as joint_backlog
from storagekit.metrics.windows import lasting as lasting
from storagekit.metrics.windows import logs as logs
from storagekit.metrics.windows import together as together
from storagekit.metrics.windows import windows as windows
