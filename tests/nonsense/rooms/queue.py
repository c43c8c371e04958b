"""How queues are asked."""

from nonsense.attack import Face

from storagekit.queue import ByBytes, FairQueue, Hybrid, MinimumOnly, OneCoordinator, Total

LOOP = "of the event loop: arrays that it has made"


def shares(kind):
    """Minimum shares, as the queue that leaves them to its streams takes them."""

    def asked(minimum):
        delay = kind(minimum)
        FairQueue(8, (1.0, 1.0), delay)
        return delay

    return asked


FACES = {
    "queue.AtRandom": Face(lambda: {"count": 2, "most": 4}),
    "queue.ByBrick": Face(),
    "queue.ByBytes": Face(),
    "queue.ByRequests": Face(),
    "queue.ByTime": Face(lambda: {"access": 0.005, "rate": 1e8}),
    "queue.Depth": Face(lambda: {"depth": 4}),
    "queue.Unlimited": Face(),
    "queue.FairQueue": Face(
        lambda: {
            "depth": 8,
            "weights": (1.0, 2.0),
            "delay": Total(),
            "coordinators": OneCoordinator(),
            "cost": ByBytes(),
        }
    ),
    "queue.Hybrid": Face(lambda: {"minimum": (0.1, 0.2)}, through=shares(Hybrid)),
    "queue.InTurn": Face(lambda: {"count": 2, "most": 4}),
    "queue.MinimumOnly": Face(lambda: {"minimum": (0.1, 0.2)}, through=shares(MinimumOnly)),
    "queue.OneCoordinator": Face(),
    "queue.Single": Face(),
    "queue.Total": Face(),
}
NOT_ASKED = {"queue.Queued": LOOP, "queue.account": LOOP, "queue.ledger": LOOP, "queue.prices": LOOP}
