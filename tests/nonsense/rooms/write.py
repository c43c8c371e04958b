"""How policies for writes are asked."""

import numpy as np
from nonsense.attack import Face

from storagekit.write import AllCopies, Immediate, Pending

LOOP = "of the event loop: arrays that it has made"


def table():
    """A write whose first copy is on disk, and another of its four is left."""
    words = {"current": np.array([1], np.uint32), "left": np.array([2], np.uint32)}
    return Pending(np.array([0]), np.array([0]), np.array([8]), np.array([0]), **words, order=np.array([1]))


FACES = {
    "write.AllCopies": Face(),
    "write.Immediate": Face(),
    "write.Background": Face(lambda: {"table": 100, "nvram": 0, "most": 200}),
    "write.WriteSwitch": Face(lambda: {"members": (AllCopies(), Immediate()), "index": 1}),
    "write.Claimed": Face(lambda: {}),
    "write.Committed": Face(lambda: {"buffer": 1e6, "most": 64}),
    "write.FirstCopy": Face(),
    "write.ReceivingBrick": Face(),
    "write.recovery": Face(lambda: {"table": table(), "sector": 4, "replicas": 4}),
}
NOT_ASKED = {"write.Delayed": LOOP, "write.Offer": LOOP, "write.Pending": "what a crash leaves, made by the run"}
