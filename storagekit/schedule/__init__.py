"""Schedulers, which select the next part that a drive serves."""

from storagekit.schedule.base import AbstractSchedule as AbstractSchedule
from storagekit.schedule.base import Choice as Choice
from storagekit.schedule.disciplines import CLOOK as CLOOK
from storagekit.schedule.disciplines import FCFS as FCFS
from storagekit.schedule.disciplines import LOOK as LOOK
from storagekit.schedule.disciplines import RLOOK as RLOOK
from storagekit.schedule.disciplines import RSATF as RSATF
from storagekit.schedule.disciplines import SATF as SATF
from storagekit.schedule.disciplines import SSTF as SSTF
from storagekit.schedule.switch import ScheduleSwitch as ScheduleSwitch
