"""Valid calls of caches."""

import numpy as np
from nonsense.attack import ValidCall

from storagekit.cache import BrickLRU

LOOP = "arrays that only the event loop creates"
VALID_CALLS = {
    "cache.BrickLRU": ValidCall(
        lambda: {
            "capacity": 1e6,
            "bricks": 2,
            "sets": 64,
            "hit_time": 1e-4,
            "central": 0,
            "ways": 16,
            "sectors": 16,
        }
    ),
    "cache.BrickLRU.sized": ValidCall(
        lambda: {
            "capacity": (1e6, 2e6),
            "bricks": 2,
            "hit_time": 1e-4,
            "central": 0,
            "ways": 16,
            "sectors": 16,
        },
        through=BrickLRU.sized,
    ),
    "cache.LRU": ValidCall(lambda: {"capacity": 1e6, "hit_time": 1e-4, "sets": 64, "ways": 32, "sectors": 16}),
    "cache.NoCache": ValidCall(lambda: {"hit_time": 1e-4}),
    "cache.RecordedLRU": ValidCall(
        lambda: {"distances": np.array([1, 2, 3]), "capacity": 1e6, "hit_time": 1e-4, "sectors": 16}
    ),
    "cache.sets_for": ValidCall(lambda: {"capacity": 1e6, "ways": 32, "sectors": 16}),
}
NOT_ATTACKED = {"cache.LookUp": LOOP, "cache.LookUpQuery": LOOP, "cache.blocks_held": "part of the state of a run"}
