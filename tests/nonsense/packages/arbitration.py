"""Valid calls of claims."""

from nonsense.attack import ValidCall

from storagekit.arbitration import DSPTFClaims, NoArbitration, Reliable

LOOP = "arrays that only the event loop creates"
VALID_CALLS = {
    "arbitration.ArbitrationSwitch": ValidCall(lambda: {"components": (DSPTFClaims(), NoArbitration()), "index": 1}),
    "arbitration.DSPTFClaims": ValidCall(lambda: {"latency": 1e-4, "bound": 1e-4, "waits": 0, "delivery": Reliable()}),
    "arbitration.Lossy": ValidCall(lambda: {"loss": 0.1}),
    "arbitration.NoArbitration": ValidCall(),
    "arbitration.PreselectionBids": ValidCall(lambda: {"latency": 1e-4, "ahead": 1e-4, "waits": 0}),
    "arbitration.Reliable": ValidCall(),
}
NOT_ATTACKED = {"arbitration.Bid": LOOP, "arbitration.Decision": LOOP}
