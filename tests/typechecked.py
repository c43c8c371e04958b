"""The rooms whose annotations hold for every call: imported before storagekit is, this sees to it that they are checked.

Left out are `analytic` and `plan`, whose formulas declare arrays and return NumPy's numbers where they are given numbers;
`metrics.measurement`, which is given NumPy's numbers and holds Python's; and what is called so often on the host that a
check costs more than the work: stand-ins, and what is behind the face of the mediator.
"""

from typing import Any

from beartype import BeartypeConf, beartype
from jaxtyping import install_import_hook

ROOMS = (
    "lanes",
    "drive",
    "workload.arrivals",
    "workload.counts",
    "workload.randomness",
    "workload.recorded",
    "workload.requests",
    "workload.reuse",
    "workload.sizes",
    "workload.threads",
    "workload.trace",
    "placement",
    "moments",
    "claims",
    "queue",
    "write",
    "schedule",
    "dispatch",
    "cache",
    "engine",
    "metrics.confidence",
    "metrics.experiment",
    "metrics.history",
    "metrics.measured_drive",
    "metrics.measures",
    "metrics.pieces",
    "metrics.provisioning",
    "metrics.replaying",
    "metrics.standard",
    "metrics.stored",
    "metrics.sweeping",
    "metrics.workers",
    "mediator.mediator",
    "mediator.policy",
    "mediator.rehearsal",
    "mediator.request",
)
# a whole number will do for a float (PEP 484); of a list the first item is looked at, because Hypothesis allows nobody
# else's random numbers
check = beartype(conf=BeartypeConf(is_pep484_tower=True, is_random=False))


def check_outer(definition: Any) -> Any:
    """Return a class or function with its annotations checked, and a function within another one as it is.

    Python defines an inner function again with each call of the outer one, and writing its check takes half a millisecond
    each time.
    """
    return definition if "<locals>" in definition.__qualname__ else check(definition)


install_import_hook([f"storagekit.{room}" for room in ROOMS], f"{__name__}.check_outer")
