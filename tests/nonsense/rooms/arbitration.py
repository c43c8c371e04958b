"""How claims are asked."""

from nonsense.attack import Face

from storagekit.arbitration import DSPTF, NoClaims, Reliable

ANSWER = "what the event loop asks, or is answered: arrays that it has made"
FACES = {
    "arbitration.ByNumber": Face(lambda: {"members": (DSPTF(), NoClaims()), "index": 1}),
    "arbitration.DSPTF": Face(lambda: {"latency": 1e-4, "bound": 1e-4, "waits": 0, "delivery": Reliable()}),
    "arbitration.Lossy": Face(lambda: {"loss": 0.1}),
    "arbitration.NoClaims": Face(),
    "arbitration.Preselection": Face(lambda: {"latency": 1e-4, "ahead": 1e-4, "waits": 0}),
    "arbitration.Reliable": Face(),
}
NOT_ASKED = {"arbitration.Claim": ANSWER, "arbitration.Verdict": ANSWER}
