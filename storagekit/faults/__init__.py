"""Slowdowns and outages of bricks, and the time-out of clients."""

from storagekit.faults.schedule import FaultSchedule as FaultSchedule
from storagekit.faults.schedule import Slowdown as Slowdown
from storagekit.faults.schedule import outage as outage
