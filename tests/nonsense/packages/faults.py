"""Arguments of the public functions and classes of `faults`."""

from nonsense.attack import ValidCall
from nonsense.public_callables import method_of

from storagekit.faults import Domain, Failures, Redundancy, ReliabilityModel, Repair


def model() -> ReliabilityModel:
    return ReliabilityModel(Redundancy(8, 2, pool=20), Failures(0.02), Repair(1e5))


VALID_CALLS = {
    "faults.Domain": ValidCall(lambda: {"name": "rack", "count": 5, "failures": Failures(0.01)}),
    "faults.Failures": ValidCall(
        lambda: {
            "annual": 0.02,
            "given_as": "probability",
            "days": 365.25,
            "shape": 1.2,
            "matched": 5.0,
            "acceleration": 2.0,
        }
    ),
    "faults.Redundancy": ValidCall(lambda: {"data": 8, "parities": 2, "groups": 5, "pool": 50, "capacity": 2e13}),
    "faults.ReliabilityModel": ValidCall(
        lambda: {
            "redundancy": Redundancy(8, 2, capacity=2e13),
            "failures": Failures(0.02),
            "repair": Repair(1e5),
            "domains": [Domain("rack", 5, Failures(0.01))],
            "bit_error_rate": 1e-15,
        }
    ),
    "faults.ReliabilityModel.exposed_share": ValidCall(
        lambda: {"failed": 2}, through=method_of(model, "exposed_share")
    ),
    "faults.ReliabilityModel.rebuild_time": ValidCall(lambda: {"failed": 2}, through=method_of(model, "rebuild_time")),
    "faults.Repair": ValidCall(
        lambda: {"time": 1e5, "at_once": 1, "detection": 3600.0, "shape": 1.0, "spares": 1, "refill": 1e5}
    ),
    "faults.rebuild_time": ValidCall(lambda: {"capacity": 2e13, "bandwidth": 2e8, "share": 0.5, "filled": 0.8}),
    "faults.FaultSchedule": ValidCall(lambda: {"seeking": 1.0, "turning": 0.5, "timeout": 1.0, "detection": 2.0}),
    "faults.Slowdown": ValidCall(lambda: {"brick": 0, "speed": 0.5, "begins": 10, "ends": 100}),
    "faults.outage": ValidCall(lambda: {"brick": 0, "begins": 10, "ends": 100}),
}
NOT_ATTACKED: dict[str, str] = {}
