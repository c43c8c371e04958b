"""How what is of no room is asked."""

from functools import cache

from nonsense.attack import Face

import storagekit as sk


@cache
def schemes() -> dict:
    drive = sk.drive.ideal_drive(full_seek=8e-3, revolution=6e-3)
    ways = sk.dispatch.Hashing(), sk.dispatch.Randomized()
    two = sk.placement.Replicas(2)
    return {type(way).__name__: sk.System(drive, two, way, sk.schedule.FCFS()) for way in ways}


@cache
def arrivals() -> sk.workload.ClosedLoop:
    return sk.workload.ClosedLoop(sk.workload.RandomRequests(sk.workload.FixedSize(4096.0), 1.0), 2)


FACES = {
    "compare": Face(
        lambda: {
            "asked": arrivals(),
            "schemes": schemes(),
            "seeds": 1,
            "against": next(iter(schemes())),
            "requests": 50,
            "scale": 1.0,
            "measures": (),
        }
    ),
    "core.units.revolution": Face(lambda: {"rpm": 7200.0}),
    "core.units.sectors": Face(lambda: {"size": 4096.0}),
}
NOT_ASKED: dict[str, str] = {}
