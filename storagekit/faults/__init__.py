"""Slowdowns and outages of bricks, the time-out of clients, and permanent failures with their repairs."""

from storagekit.faults.reliability import Domain as Domain
from storagekit.faults.reliability import Failures as Failures
from storagekit.faults.reliability import Redundancy as Redundancy
from storagekit.faults.reliability import ReliabilityModel as ReliabilityModel
from storagekit.faults.reliability import Repair as Repair
from storagekit.faults.reliability import rebuild_time as rebuild_time
from storagekit.faults.schedule import FaultSchedule as FaultSchedule
from storagekit.faults.schedule import Slowdown as Slowdown
from storagekit.faults.schedule import outage as outage
