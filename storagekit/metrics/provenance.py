"""What made a result: carried by every Dataset."""

import platform
from importlib import metadata

import jax
import numpy as np

from storagekit.engine import Scenario


def provenance(scenario: Scenario, seeds: list[int], requests: int, warm_up: int, wall: float) -> dict:
    """Attributes of a simulated result; `wall` is the seconds it took."""
    system = scenario.system
    return {
        "basis": "simulated",
        "storagekit": version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "precision": "float32",
        "backend": jax.default_backend(),
        "drive": getattr(system.drive, "name", type(system.drive).__name__),
        "dispatch": type(system.dispatch).__name__,
        "schedule": type(system.schedule).__name__,
        "completion": type(system.completion).__name__,
        "seeds": [int(seed) for seed in seeds],
        "requests_per_run": int(requests),
        "warm_up_requests": int(warm_up),
        "wall_seconds": round(float(wall), 3),
    }


def version() -> str:
    """The version of this package."""
    try:
        return metadata.version("storagekit")
    except metadata.PackageNotFoundError:
        return "not installed"
