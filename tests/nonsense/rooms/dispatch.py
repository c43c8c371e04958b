"""How dispatchers are asked."""

from nonsense.attack import Face

from storagekit.arbitration import Reliable
from storagekit.dispatch import Broadcast, Hashing

FACES = {
    "dispatch.ARS": Face(
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
    "dispatch.DispatchSwitch": Face(lambda: {"members": (Broadcast(), Hashing()), "index": 1}),
    "dispatch.Central": Face(lambda: {"service": (0.01, 0.01), "write_service": (0.01, 0.01), "exact": False}),
    "dispatch.DSPTF": Face(lambda: {"latency": 1e-4, "bound": 1e-4, "waits": 0, "delivery": Reliable()}),
    "dispatch.Broadcast": Face(),
    "dispatch.Hashing": Face(),
    "dispatch.Hedged": Face(lambda: {"delay": 0.01}),
    "dispatch.LARD": Face(lambda: {"low": 25.0, "high": 65.0, "allocated": 0.5, "window": 1.0, "targets": 4096}),
    "dispatch.NearestIdle": Face(),
    "dispatch.Preselection": Face(lambda: {"latency": 1e-4, "ahead": 1e-4, "waits": 0}),
    "dispatch.Randomized": Face(),
    "dispatch.Redundant": Face(lambda: {"choices": 2, "finishing": False}),
    "dispatch.ShortestQueue": Face(lambda: {"choices": 2}),
    "dispatch.WeightedHashing": Face(lambda: {"weights": (1.0, 2.0)}),
    "dispatch.central": Face(),
}
NOT_ASKED = {"dispatch.View": "what the event loop asks: arrays that it has made"}
