"""Configuration of JAX before it starts: a device for each core, threads, level of optimization, and a cache.

By default JAX uses a CPU as one device; this must be changed before the first operation of JAX. `import storagekit`
changes it by environment variables and by the configuration of JAX. Settings of the user have priority.
"""

import importlib.util
import math
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType

_DEVICES = "JAX_NUM_CPU_DEVICES"
# XLA logs its warnings about slow compilations as errors. JAX sets level 1 by default.
_LOG, _JAX_ASKS, _QUIET = "TF_CPP_MIN_LOG_LEVEL", "1", "3"
_FORCED_DEVICES = "--xla_force_host_platform_device_count"
_BACKEND, _LEVEL = "--xla_backend_extra_options", "--xla_backend_optimization_level"
# The threshold keeps small while loops in one thread, because issuing a step to a pool of threads takes longer than
# the step. Multi-output fusion computes a value that several outputs share only once: batches run two to three times as
# fast and compile sooner. The compiler_options of jit reject both options, so that they are flags of the process. A
# version of XLA without one of the options ignores it (tested with jaxlib 0.10.2 and 0.12.0).
_OPTIONS = "xla_cpu_small_while_loop_byte_threshold=1000000000,xla_cpu_use_multi_output_fusion=true"
# Level 1 compiles a third faster than level 3, the default of XLA, and gives the same results in every bit. The event
# loop then takes between 20% less time (fair queue) and 8% more (D-SPTF); measured with jaxlib 0.10.2.
_COMPILED_AT = "1"
_ACCELERATED = ("jax_plugins", "libtpu")

# Values of the settings of JAX before they are changed.
_UNSET: dict[str, float | None] = {
    _DEVICES: -1,
    "JAX_COMPILATION_CACHE_DIR": None,
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 1,
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": 0,
}
_LACKING = {_DEVICES: "with one device for all cores", "XLA_FLAGS": "with a pool of threads for every step"}
# Settings that were too late for JAX, and have not been reported yet.
_missed: list[str] = []


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> float:
    """Return the size of the memory that arrays may use, in bytes.

    With accelerators the result is the limit of the memory of the accelerators. On a CPU it is the memory of the
    machine, or of the container that the process runs in. It is inf if the limit is unknown.
    """
    import jax

    if jax.default_backend() != "cpu":
        return sum((one.memory_stats() or {}).get("bytes_limit", math.inf) for one in jax.devices())
    try:
        installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return math.inf
    try:
        allowed = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return installed
    return min(installed, int(allowed)) if allowed.isdigit() else installed


def cache_folder() -> Path:
    """Return the folder where the compiled programs of this user are stored."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "storagekit" / "jax"


def environment(jobs: int = 1) -> dict[str, str]:
    """Return the variables to add to the environment of a process that runs JAX.

    Variables and XLA flags of the user have priority. The number of devices does not depend on `jobs`. Results
    therefore do not depend on `jobs` either.

    Parameters
    ----------
    jobs : int
        Number of such processes that run at the same time, by default 1.

    Returns
    -------
    dict of str to str
        The variables.
    """
    flags = os.environ.get("XLA_FLAGS", "").split()
    wanted = {
        "JAX_COMPILATION_CACHE_DIR": str(cache_folder()),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    if not any(flag.startswith(_FORCED_DEVICES) for flag in flags):
        wanted[_DEVICES] = str(cores())
    if jobs > 1:  # otherwise the first process reserves most of the memory of a GPU
        wanted["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    new = {name: value for name, value in wanted.items() if name not in os.environ}
    if os.environ.get(_LOG, _JAX_ASKS) == _JAX_ASKS:
        new[_LOG] = _QUIET
    added = {_BACKEND: _OPTIONS}
    # The level was not measured on accelerators. If a plugin for one is installed, the level of XLA remains.
    if not any(importlib.util.find_spec(name) for name in _ACCELERATED):
        added[_LEVEL] = _COMPILED_AT
    missing = [f"{name}={value}" for name, value in added.items() if not any(flag.startswith(name) for flag in flags)]
    if missing:
        new["XLA_FLAGS"] = " ".join([*flags, *missing])
    return new


def compiler_options() -> dict[str, int]:
    """Return the compiler options of the event loop.

    On a CPU with vectors of 512 bits, XLA prefers half of this width. With the full width, batches are 10 to 25% faster
    and the results are identical in every bit (measured with jaxlib 0.10.2; 0.12.0 has the option too). If the user has
    set a width, no option is returned.

    Returns
    -------
    dict of str to int
        The options.
    """
    name = "xla_cpu_prefer_vector_width"
    return {} if f"--{name}=" in os.environ.get("XLA_FLAGS", "") else {name: 512}


def prepare() -> None:
    """Set the environment of this process for JAX, and the configuration of JAX if JAX is imported but not started."""
    flags, new = os.environ.get("XLA_FLAGS", ""), environment()
    os.environ.update(new)
    jax = sys.modules.get("jax")
    if jax is None:
        return
    if _started(jax):
        unthreaded = _BACKEND in new.get("XLA_FLAGS", "") and _BACKEND not in flags
        _missed.extend(name for name, missed in ((_DEVICES, _DEVICES in new), ("XLA_FLAGS", unthreaded)) if missed)
    for name, unset in _UNSET.items():
        late = name in _missed
        if name in new and not late and getattr(jax.config, name.lower()) == unset:
            jax.config.update(name.lower(), new[name] if unset is None else int(new[name]))


def _started(jax: ModuleType) -> bool:
    """Return whether JAX has begun to compute, after which the number of its devices cannot be changed."""
    devices = jax.config.jax_num_cpu_devices
    try:
        jax.config.update("jax_num_cpu_devices", devices + 2)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", devices)
    return False


def say_if_late() -> None:
    """Warn once if JAX had started on a CPU before storagekit was imported."""
    if not _missed or sys.modules["jax"].default_backend() != "cpu":
        return
    lacking = " and ".join(_LACKING[name] for name in _missed)
    settings = " ".join(f"{name}={os.environ[name]}" for name in _missed)
    _missed.clear()
    warnings.warn(
        f"JAX started before storagekit was imported, {lacking}: runs may take three to five times as long. Import "
        f"storagekit before the first use of JAX, or start Python with {settings}",
        RuntimeWarning,
        stacklevel=2,
    )
