"""Valid calls of schedulers."""

from nonsense.attack import ValidCall

from storagekit.schedule import FCFS, SATF

VALID_CALLS = {
    "schedule.ScheduleSwitch": ValidCall(lambda: {"components": (FCFS(), SATF()), "index": 1}),
    "schedule.CLOOK": ValidCall(),
    "schedule.FCFS": ValidCall(),
    "schedule.LOOK": ValidCall(),
    "schedule.RSATF": ValidCall(),
    "schedule.SSTF": ValidCall(),
}
NOT_ATTACKED = {"schedule.Choice": "arrays that only the event loop creates"}
