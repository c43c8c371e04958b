"""The environment given to a process that will start JAX."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storagekit.core.devices import cache_folder, compiler_options, cores, environment

OPTIONS = "xla_cpu_small_while_loop_byte_threshold=1000000000,xla_cpu_use_multi_output_fusion=true"
BACKEND = f"--xla_backend_extra_options={OPTIONS}"
LEVEL = "--xla_backend_optimization_level"


def test_every_core_is_a_device_unless_the_user_sets_another_number(monkeypatch):
    monkeypatch.delenv("JAX_NUM_CPU_DEVICES", raising=False)
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert environment()["JAX_NUM_CPU_DEVICES"] == str(cores())
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=7")
    assert "JAX_NUM_CPU_DEVICES" not in environment()
    monkeypatch.delenv("XLA_FLAGS")
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "7")
    assert "JAX_NUM_CPU_DEVICES" not in environment()


@pytest.mark.parametrize(
    "given, found",
    [
        ("", f"{BACKEND} {LEVEL}=1"),
        ("--xla_dump_to=x", f"--xla_dump_to=x {BACKEND} {LEVEL}=1"),
        ("--xla_backend_extra_options=a=1", f"--xla_backend_extra_options=a=1 {LEVEL}=1"),
        (f"{LEVEL}=3", f"{LEVEL}=3 {BACKEND}"),
    ],
)
def test_flags_of_the_user_stay(monkeypatch, given, found):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("XLA_FLAGS", given)
    assert environment()["XLA_FLAGS"] == found
    monkeypatch.setenv("XLA_FLAGS", found)
    assert "XLA_FLAGS" not in environment()


def test_an_accelerator_keeps_its_own_level(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "jax_plugins")
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert environment()["XLA_FLAGS"] == BACKEND


def test_the_vectors_that_the_user_prefers(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert compiler_options() == {"xla_cpu_prefer_vector_width": 512}
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_prefer_vector_width=256")
    assert compiler_options() == {}


def test_the_cache_is_per_user_and_the_users_own_wins(monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    assert environment()["JAX_COMPILATION_CACHE_DIR"] == str(cache_folder())
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    assert "JAX_COMPILATION_CACHE_DIR" not in environment()


def test_side_by_side_no_process_takes_a_gpu_whole(monkeypatch):
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    assert "XLA_PYTHON_CLIENT_PREALLOCATE" not in environment(1)
    assert environment(2)["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def python(code: str, folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    """Run the code in a new interpreter without the settings of this one; it compiles quickly."""
    environment = {"PATH": "", "HOME": str(folder), "XDG_CACHE_HOME": str(folder), **more}
    environment["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    kept = ("PYTHONPATH", "SYSTEMROOT")
    environment |= {name: os.environ[name] for name in kept if name in os.environ}
    command = [sys.executable, *arguments, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment)


SIMULATED = (
    "parts = sk.drive.RateServer(1e5), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.FCFS()\n"
    "system = sk.System(*parts, slots=2)\n"
    "requests = sk.workload.RandomRequests(sk.workload.FixedSize(512), read_share=1.0)\n"
    "loop = sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=2))\n"
    "for _ in range(2): sk.simulate(loop, requests=10)\n"
)


@pytest.mark.parametrize(
    "first", ["import jax; import storagekit", pytest.param("import storagekit", marks=pytest.mark.slow)]
)
def test_importing_storagekit_prepares_jax(tmp_path, first):
    """Also where JAX was imported before, but not used."""
    code = "import jax.numpy as jnp; print(jax.local_device_count(), float(jax.jit(lambda x: x + 1)(jnp.ones(()))))"
    said = python(f"{first}; import jax; {code}", tmp_path)
    assert said.stdout.split() == [str(cores()), "2.0"]
    assert any(Path(tmp_path, "storagekit", "jax").iterdir())


def test_the_users_settings_of_jax_are_kept(tmp_path):
    said = python(
        "import jax; jax.config.update('jax_num_cpu_devices', 5); import storagekit; print(len(jax.devices()))",
        tmp_path,
    )
    assert said.stdout.split() == ["5"]


@pytest.mark.skipif(cores() < 2, reason="one core needs one device")
def test_a_late_import_is_reported_once(tmp_path):
    said = python(f"import jax; jax.devices(); import storagekit as sk\n{SIMULATED}", tmp_path, "-W", "always").stderr
    assert said.count("JAX started before storagekit was imported") == 1 and "JAX_NUM_CPU_DEVICES=" in said
    assert "one device for all cores and with a pool of threads" in said


@pytest.mark.parametrize(
    ("settings", "late"),
    [
        pytest.param({"JAX_NUM_CPU_DEVICES": "1"}, True, marks=pytest.mark.slow),
        ({"JAX_NUM_CPU_DEVICES": "1", "XLA_FLAGS": BACKEND}, False),
    ],
)
def test_the_users_settings_are_not_reported_as_missing(tmp_path, settings, late):
    said = python(
        f"import jax; jax.devices(); import storagekit as sk\n{SIMULATED}", tmp_path, "-W", "always", **settings
    ).stderr
    assert ("with a pool of threads for every step" in said) == late
    assert "one device for all cores" not in said


def test_each_setting_of_jax_stays_by_itself(tmp_path):
    code = (
        "import jax; jax.config.update('jax_persistent_cache_min_compile_time_secs', 7); import storagekit\n"
        "print(jax.config.jax_persistent_cache_min_compile_time_secs, jax.config.jax_num_cpu_devices)"
    )
    assert python(code, tmp_path).stdout.split() == ["7", str(cores())]


# a program with a constant that XLA computes for some seconds
ALARMING = (
    "import numpy as np, jax; from jax import lax, numpy as jnp\n"
    "many = jnp.asarray(np.ones((400, 400), np.float32))\n"
    "jax.jit(lambda: lax.reduce_window(many, -jnp.inf, lax.max, (9, 9), (1, 1), 'SAME'))().block_until_ready()"
)


@pytest.mark.slow
def test_xlas_alarms_are_not_printed_unless_requested(tmp_path, monkeypatch):
    assert "is taking >" in python(ALARMING, tmp_path).stderr
    assert python(f"import storagekit\n{ALARMING}", tmp_path).stderr == ""
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    assert "TF_CPP_MIN_LOG_LEVEL" not in environment()
