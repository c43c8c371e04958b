"""How claims are asked."""

from nonsense.attack import Face

from storagekit.claims import DSPTF, NoClaims, Reliable

ANSWER = "what the event loop asks, or is answered: arrays that it has made"
FACES = {
    "claims.ByNumber": Face(lambda: {"members": (DSPTF(), NoClaims()), "index": 1}),
    "claims.DSPTF": Face(lambda: {"latency": 1e-4, "bound": 1e-4, "waits": 0, "delivery": Reliable()}),
    "claims.Lossy": Face(lambda: {"loss": 0.1}),
    "claims.NoClaims": Face(),
    "claims.Preselection": Face(lambda: {"latency": 1e-4, "ahead": 1e-4, "waits": 0}),
    "claims.Reliable": Face(),
}
NOT_ASKED = {"claims.Claim": ANSWER, "claims.Verdict": ANSWER}
