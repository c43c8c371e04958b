"""The environment of a process that is about to start JAX.

Set by the command line and for the kernels it starts, never by importing the library.
"""

import os
import sys
from pathlib import Path

# every core a device, so that a batch spreads over all of them; the threshold keeps small
# while loops in one thread, where handing each step to a pool would cost more than the step
_DEVICES = "--xla_force_host_platform_device_count"
_BACKEND = "--xla_backend_extra_options"
_SMALL_LOOP = "xla_cpu_small_while_loop_byte_threshold=1000000000"


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cache_folder() -> Path:
    """Where this user's compiled programs are kept."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "storagekit" / "jax"


def kernel_environment(jobs: int = 1) -> dict[str, str]:
    """What to add to the environment of a process that runs JAX, `jobs` of them side by side.

    A variable or XLA flag that the user has set is left as it is. The number of devices does not
    depend on `jobs`, so that results do not either.
    """
    flags = os.environ.get("XLA_FLAGS", "").split()
    if not any(flag.startswith(_DEVICES) for flag in flags):
        flags.append(f"{_DEVICES}={cores()}")
    if not any(flag.startswith(_BACKEND) for flag in flags):
        flags.append(f"{_BACKEND}={_SMALL_LOOP}")
    wanted = {
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    if jobs > 1:  # or the first to start would take most of a GPU's memory
        wanted["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    unset = {name: value for name, value in wanted.items() if name not in os.environ}
    return {"XLA_FLAGS": " ".join(flags), **unset}


def prepare() -> None:
    """Give this process that environment; call it before anything imports JAX."""
    os.environ.update(kernel_environment())
