"""Valid calls of dispatchers."""

from nonsense.attack import ValidCall

from storagekit.arbitration import Reliable
from storagekit.dispatch import Broadcast, Hashing

VALID_CALLS = {
    "dispatch.ARS": ValidCall(
        lambda: {
            "window": 0.03,
            "patience": 1.0,
            "block": 128,
            "clients": 5,
            "shared": False,
            "pool": 16,
            "extra": 1,
        }
    ),
    "dispatch.C3": ValidCall(lambda: {"clients": 5, "weight": 0.9}),
    "dispatch.DispatchSwitch": ValidCall(lambda: {"components": (Broadcast(), Hashing()), "index": 1}),
    "dispatch.Central": ValidCall(lambda: {"service": (0.01, 0.01), "write_service": (0.01, 0.01), "exact": False}),
    "dispatch.DSPTF": ValidCall(lambda: {"latency": 1e-4, "bound": 1e-4, "waits": 0, "delivery": Reliable()}),
    "dispatch.Broadcast": ValidCall(),
    "dispatch.Hashing": ValidCall(),
    "dispatch.Hedged": ValidCall(lambda: {"delay": 0.01}),
    "dispatch.JoinIdleQueue": ValidCall(lambda: {"dispatchers": 2, "choices": 2}),
    "dispatch.LARD": ValidCall(lambda: {"low": 25.0, "high": 65.0, "allocated": 0.5, "window": 1.0, "targets": 4096}),
    "dispatch.NearestIdle": ValidCall(),
    "dispatch.Preselection": ValidCall(lambda: {"latency": 1e-4, "ahead": 1e-4, "waits": 0}),
    "dispatch.Prequal": ValidCall(
        lambda: {"probes": 3.0, "pool": 16, "age": 1.0, "quantile": 0.84, "removals": 1.0, "surplus": 1.0}
    ),
    "dispatch.Randomized": ValidCall(),
    "dispatch.Redundant": ValidCall(lambda: {"choices": 2, "finishing": False}),
    "dispatch.ShortestQueue": ValidCall(lambda: {"choices": 2}),
    "dispatch.ShortestQueueWithMemory": ValidCall(lambda: {"choices": 2, "memory": 1}),
    "dispatch.WeightedHashing": ValidCall(lambda: {"weights": (1.0, 2.0)}),
    "dispatch.central": ValidCall(),
}
NOT_ATTACKED = {
    "dispatch.C3.scores": "arrays that only the event loop creates",
    "dispatch.View": "arrays that only the event loop creates",
}
