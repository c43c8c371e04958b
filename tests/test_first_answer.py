"""The programs and imports of a first result, counted in fresh processes. The time it takes is in `benchmarks`."""

import os
import subprocess
import sys

COUNTED = """
import jax.monitoring
programs = []
def record(name, seconds, **more):
    if name.endswith("backend_compile_duration"):
        programs.append(more["fun_name"])
jax.monitoring.register_event_duration_secs_listener(record)
"""


def last_line(code: str) -> list[str]:
    """The words of the last line that a fresh Python prints. It compiles with few optimizations, which is faster."""
    quickly = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=quickly)
    return done.stdout.splitlines()[-1].split()


def test_the_planner_compiles_nothing_and_brings_no_optimizer():
    code = """
import sys, storagekit as sk
drive = sk.load_drive("rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB")
sk.plan.schemes(drive, 12, data=60e12, size=64 * sk.units.KB, read_share=0.7, rate=500, tolerate=1)
print("programs:", *programs, *(name for name in ("scipy", "xarray", "pandas", "altair") if name in sys.modules))
"""
    assert last_line(COUNTED + code) == ["programs:"]


def test_a_run_compiles_its_start_and_its_loop_and_no_third_program():
    code = """
import sys, storagekit as sk
system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.FCFS())
requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=4)), requests=50)
print(*sorted(programs), *(name for name in ("scipy.stats", "scipy.optimize", "altair") if name in sys.modules))
"""
    assert last_line(COUNTED + code) == ["jit(_advance)", "jit(_begin)"]


def test_schemes_on_a_trace_compile_one_start_and_one_loop_each():
    code = """
import storagekit as sk
trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
drive, two = sk.load_drive("atlas10k"), sk.placement.Replicas(2)
ways = {"hashing": sk.dispatch.Hashing(), "random": sk.dispatch.ShortestQueue(1), "again": sk.dispatch.Hashing()}
schemes = {name: sk.System(drive, two, way, sk.schedule.FCFS()) for name, way in ways.items()}
sk.compare(trace, schemes, requests=20, seeds=3)
print(*sorted(programs))
"""
    assert last_line(COUNTED + code) == ["jit(_advance)"] * 2 + ["jit(_begin)"] * 2
