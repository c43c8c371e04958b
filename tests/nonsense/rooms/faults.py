"""Arguments of the public functions and classes of `faults`."""

from nonsense.attack import Face

FACES = {
    "faults.FaultSchedule": Face(lambda: {"seeking": 1.0, "turning": 0.5, "timeout": 1.0}),
    "faults.Slowdown": Face(lambda: {"brick": 0, "speed": 0.5, "begins": 10, "ends": 100}),
    "faults.outage": Face(lambda: {"brick": 0, "begins": 10, "ends": 100}),
}
NOT_ASKED: dict[str, str] = {}
