"""Run scenarios, sweeps, replays and comparisons; results are Datasets with labelled axes."""

from storagekit.simulation.compare import compare as compare
from storagekit.simulation.confidence import interval as interval
from storagekit.simulation.confidence import ratio as ratio
from storagekit.simulation.data_loss import data_loss as data_loss
from storagekit.simulation.delayed_writes import pending as pending
from storagekit.simulation.experiment import replicate as replicate
from storagekit.simulation.experiment import simulate as simulate
from storagekit.simulation.experiment import sweep as sweep
from storagekit.simulation.history import History as History
from storagekit.simulation.history import history as history
from storagekit.simulation.measures import Measure as Measure
from storagekit.simulation.provenance import described as described
from storagekit.simulation.rebuilding import rebuild_scenario as rebuild_scenario
from storagekit.simulation.replaying import replay as replay
from storagekit.simulation.shards import run as run
from storagekit.simulation.splitting import splitting as splitting
from storagekit.simulation.standard_measures import STANDARD as STANDARD
from storagekit.simulation.streams import by_stream as by_stream
from storagekit.simulation.windows import Timed as Timed
from storagekit.simulation.windows import by_event as by_event
from storagekit.simulation.windows import joint_backlog as joint_backlog
from storagekit.simulation.windows import lasting as lasting
from storagekit.simulation.windows import logs as logs
from storagekit.simulation.windows import together as together
from storagekit.simulation.windows import windows as windows
from storagekit.simulation.workers import local_workers as local_workers
