"""How memory is asked."""

import numpy as np
from nonsense.attack import Face

from storagekit.cache import BrickLRU

LOOP = "of the event loop: arrays that it has made"
FACES = {
    "cache.BrickLRU": Face(
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
    "cache.BrickLRU.sized": Face(
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
    "cache.LRU": Face(lambda: {"capacity": 1e6, "hit_time": 1e-4, "sets": 64, "ways": 32, "sectors": 16}),
    "cache.NoCache": Face(lambda: {"hit_time": 1e-4}),
    "cache.RecordedLRU": Face(
        lambda: {"distances": np.array([1, 2, 3]), "capacity": 1e6, "hit_time": 1e-4, "sectors": 16}
    ),
    "cache.sets_for": Face(lambda: {"capacity": 1e6, "ways": 32, "sectors": 16}),
}
NOT_ASKED = {"cache.LookUp": LOOP, "cache.Sought": LOOP, "cache.blocks_held": "what is in the state of a run"}
