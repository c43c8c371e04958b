"""The environment given to a process that will start JAX."""

import os
import subprocess
import sys
from pathlib import Path

from storagekit.reproduce.devices import cache_folder, cores, kernel_environment

OURS = (
    f"--xla_force_host_platform_device_count={cores()} "
    "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000000"
)


def test_every_core_is_a_device_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert kernel_environment()["XLA_FLAGS"] == OURS
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    assert kernel_environment()["XLA_FLAGS"] == f"--xla_dump_to=x {OURS}"
    own = "--xla_force_host_platform_device_count=7 --xla_backend_extra_options=a=1"
    monkeypatch.setenv("XLA_FLAGS", own)
    assert kernel_environment()["XLA_FLAGS"] == own


def test_the_cache_is_per_user_and_the_users_own_wins(monkeypatch, tmp_path):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    assert kernel_environment()["JAX_COMPILATION_CACHE_DIR"] == str(cache_folder())
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path))
    assert "JAX_COMPILATION_CACHE_DIR" not in kernel_environment()


def test_side_by_side_no_process_takes_a_gpu_whole(monkeypatch):
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    assert "XLA_PYTHON_CLIENT_PREALLOCATE" not in kernel_environment(1)
    assert kernel_environment(2)["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


def test_jax_takes_the_environment(tmp_path):
    code = (
        "import os; from storagekit.reproduce.devices import prepare; prepare()\n"
        "import jax, jax.numpy as jnp\n"
        "print(jax.local_device_count(), float(jax.jit(lambda x: x + 1)(jnp.ones(()))))"
    )
    environment = {"PATH": "", "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    kept = ("PYTHONPATH", "SYSTEMROOT")
    environment |= {name: os.environ[name] for name in kept if name in os.environ}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert said.stdout.split() == [str(cores()), "2.0"]
    assert any(Path(tmp_path, "storagekit", "jax").iterdir())
