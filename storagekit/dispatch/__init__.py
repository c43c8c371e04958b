"""Dispatchers, which select the parts that a request is sent to."""

from storagekit.dispatch.ars import ARS as ARS
from storagekit.dispatch.base import AbstractDispatch as AbstractDispatch
from storagekit.dispatch.base import AsManyAsNeeded as AsManyAsNeeded
from storagekit.dispatch.base import View as View
from storagekit.dispatch.broadcast import DSPTF as DSPTF
from storagekit.dispatch.broadcast import Broadcast as Broadcast
from storagekit.dispatch.broadcast import Preselection as Preselection
from storagekit.dispatch.broadcast import central as central
from storagekit.dispatch.c3 import C3 as C3
from storagekit.dispatch.hashing import Hashing as Hashing
from storagekit.dispatch.hashing import WeightedHashing as WeightedHashing
from storagekit.dispatch.hedged import Hedged as Hedged
from storagekit.dispatch.idle_queue import JoinIdleQueue as JoinIdleQueue
from storagekit.dispatch.lard import LARD as LARD
from storagekit.dispatch.memory import ShortestQueueWithMemory as ShortestQueueWithMemory
from storagekit.dispatch.mirror import NearestIdle as NearestIdle
from storagekit.dispatch.nodes import Central as Central
from storagekit.dispatch.nodes import Randomized as Randomized
from storagekit.dispatch.prequal import Prequal as Prequal
from storagekit.dispatch.sampled import Redundant as Redundant
from storagekit.dispatch.sampled import ShortestQueue as ShortestQueue
from storagekit.dispatch.switch import DispatchSwitch as DispatchSwitch
