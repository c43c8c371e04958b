"""Arguments of the public functions and classes of `faults`."""

from nonsense.attack import ValidCall

VALID_CALLS = {
    "faults.FaultSchedule": ValidCall(lambda: {"seeking": 1.0, "turning": 0.5, "timeout": 1.0}),
    "faults.Slowdown": ValidCall(lambda: {"brick": 0, "speed": 0.5, "begins": 10, "ends": 100}),
    "faults.outage": ValidCall(lambda: {"brick": 0, "begins": 10, "ends": 100}),
}
NOT_ATTACKED: dict[str, str] = {}
