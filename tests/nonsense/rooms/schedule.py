"""How schedulers are asked."""

from nonsense.attack import Face

from storagekit.schedule import FCFS, SATF

FACES = {
    "schedule.ScheduleSwitch": Face(lambda: {"members": (FCFS(), SATF()), "index": 1}),
    "schedule.CLOOK": Face(),
    "schedule.FCFS": Face(),
    "schedule.LOOK": Face(),
    "schedule.RSATF": Face(),
    "schedule.SSTF": Face(),
}
NOT_ASKED = {"schedule.Choice": "what the event loop asks: arrays that it has made"}
