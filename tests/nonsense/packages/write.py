"""Valid calls of policies for writes."""

import numpy as np
from nonsense.attack import ValidCall

from storagekit.write import AllCopies, Immediate, Pending

LOOP = "arrays that only the event loop creates"


def table():
    """Return the table of a write whose first copy is on disk and one of its four copies is left."""
    words = {"current": np.array([1], np.uint32), "left": np.array([2], np.uint32)}
    return Pending(np.array([0]), np.array([0]), np.array([8]), np.array([0]), **words, order=np.array([1]))


VALID_CALLS = {
    "write.AllCopies": ValidCall(),
    "write.Immediate": ValidCall(),
    "write.Background": ValidCall(lambda: {"table": 100, "nvram": 0, "most": 200}),
    "write.WriteSwitch": ValidCall(lambda: {"components": (AllCopies(), Immediate()), "index": 1}),
    "write.Claimed": ValidCall(lambda: {}),
    "write.Committed": ValidCall(lambda: {"buffer": 1e6, "most": 64}),
    "write.FirstCopy": ValidCall(),
    "write.ReceivingBrick": ValidCall(),
    "write.recovery": ValidCall(lambda: {"table": table(), "sector": 4, "replicas": 4}),
}
NOT_ATTACKED = {
    "write.Delayed": LOOP,
    "write.WaitingParts": LOOP,
    "write.Pending": "the table after a crash, created by the run",
}
