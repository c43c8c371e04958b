"""Valid calls of queues."""

from nonsense.attack import ValidCall

from storagekit.queue import ByBytes, ByRequests, FairQueue, Hybrid, MinimumOnly, OneCoordinator, Total

LOOP = "arrays that only the event loop creates"


def shares(kind):
    """Return a function that creates minimum shares through a queue, which validates them."""

    def with_minimum(minimum):
        delay = kind(minimum)
        FairQueue(8, (1.0, 1.0), delay)
        return delay

    return with_minimum


VALID_CALLS = {
    "queue.AtRandom": ValidCall(lambda: {"count": 2, "most": 4}),
    "queue.ByBrick": ValidCall(),
    "queue.ByBytes": ValidCall(),
    "queue.ByRequests": ValidCall(),
    "queue.ByTime": ValidCall(lambda: {"access": 0.005, "rate": 1e8}),
    "queue.Depth": ValidCall(lambda: {"depth": 4}),
    "queue.Unlimited": ValidCall(),
    "queue.FairQueue": ValidCall(
        lambda: {
            "depth": 8,
            "weights": (1.0, 2.0),
            "delay": Total(),
            "coordinators": OneCoordinator(),
            "cost": ByBytes(),
        }
    ),
    "queue.Hybrid": ValidCall(lambda: {"minimum": (0.1, 0.2)}, through=shares(Hybrid)),
    "queue.InTurn": ValidCall(lambda: {"count": 2, "most": 4}),
    "queue.MClock": ValidCall(
        lambda: {
            "depth": 1,
            "weights": (1.0, 2.0),
            "reservations": (50.0, 0.0),
            "limits": (100.0, 200.0),
            "credits": (0, 4),
            "coordinators": OneCoordinator(),
            "cost": ByRequests(),
        }
    ),
    "queue.MinimumOnly": ValidCall(lambda: {"minimum": (0.1, 0.2)}, through=shares(MinimumOnly)),
    "queue.OneCoordinator": ValidCall(),
    "queue.Single": ValidCall(),
    "queue.Total": ValidCall(),
}
NOT_ATTACKED = {"queue.Queued": LOOP, "queue.account": LOOP, "queue.empty_ledger": LOOP, "queue.prices": LOOP}
