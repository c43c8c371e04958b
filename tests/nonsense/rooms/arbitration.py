"""How claims are asked."""

from nonsense.attack import Face

from storagekit.arbitration import DSPTFClaims, NoArbitration, Reliable

ANSWER = "what the event loop asks, or is answered: arrays that it has made"
FACES = {
    "arbitration.ArbitrationSwitch": Face(lambda: {"members": (DSPTFClaims(), NoArbitration()), "index": 1}),
    "arbitration.DSPTFClaims": Face(lambda: {"latency": 1e-4, "bound": 1e-4, "waits": 0, "delivery": Reliable()}),
    "arbitration.Lossy": Face(lambda: {"loss": 0.1}),
    "arbitration.NoArbitration": Face(),
    "arbitration.PreselectionBids": Face(lambda: {"latency": 1e-4, "ahead": 1e-4, "waits": 0}),
    "arbitration.Reliable": Face(),
}
NOT_ASKED = {"arbitration.Bid": ANSWER, "arbitration.Decision": ANSWER}
