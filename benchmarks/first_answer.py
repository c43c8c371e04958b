"""Measure the time until a first answer, with an empty cache of compiled programs.

    python -m benchmarks.first_answer

Each command runs in a fresh process with an empty home. Columns: wall time, the share of imports in it, processor
seconds, and the number of compiled programs. With other work on the machine, compare processor times.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
# label of the line on stderr with which a process reports the number of its programs at exit
LABEL = "programs:"
LISTENING = f"""
import atexit, sys
import storagekit, jax.monitoring
programs = []
def on_duration(name, seconds, **more):
    if name.endswith("backend_compile_duration"):
        programs.append(more["fun_name"])
jax.monitoring.register_event_duration_secs_listener(on_duration)
atexit.register(lambda: print({LABEL!r}, len(programs), file=sys.stderr))
"""
COMMAND = """
from storagekit.cli.__main__ import main
sys.argv = ["storagekit", *{words!r}]
main()
"""
PLAN = (
    "plan schemes --drive rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB --disks 12 --data-tb 60 --size-kb 64 "
    "--read-share 0.7 --rate 500 --tolerate 1"
)
COMPARE = "compare data/samples/small.spc --schemes hashing,dsptf,jsq2,lard,ars --drive cheetah9lp --drives 3"
SIMULATE = """
import storagekit as sk
system = sk.System(sk.load_drive("atlas10k"), sk.placement.Replicas(2), sk.dispatch.Hashing(), sk.schedule.SATF())
requests = sk.workload.RandomRequests(sk.workload.FixedSize(4096), read_share=1.0)
sk.simulate(sk.Scenario(system, sk.workload.ClosedLoop(requests, outstanding=8)), requests=2000)
"""
ANSWERS = {
    "storagekit plan schemes": COMMAND.format(words=PLAN.split()),
    "sk.simulate, its first example": SIMULATE,
    "storagekit compare, five schemes": COMMAND.format(words=COMPARE.split()),
}


def cold(code: str) -> tuple[float, float, float, int]:
    """Return wall seconds, processor seconds, wall seconds of imports, and programs of a fresh process that runs `code`."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "XDG_CACHE_HOME": home}
        environment.pop("JAX_COMPILATION_CACHE_DIR", None)
        before, began = _used(), time.perf_counter()
        command = [sys.executable, "-X", "importtime", "-c", LISTENING + code]
        stderr = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stderr
        return time.perf_counter() - began, _used() - before, _importing(stderr), _programs(stderr)


def _used() -> float:
    """Return the processor seconds of all child processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _importing(stderr: str) -> float:
    lines = (line.removeprefix("import time:").split("|") for line in stderr.splitlines() if "import time:" in line)
    return sum(int(own) for own, *_ in lines if own.strip().isdigit()) * 1e-6


def _programs(stderr: str) -> int:
    (line_found,) = (line for line in stderr.splitlines() if line.startswith(LABEL))
    return int(line_found.removeprefix(LABEL))


def main() -> None:
    """Print a line for each command."""
    print(f"{'':34}{'clock s':>9}{'imports':>9}{'CPU s':>8}{'programs':>10}")
    for name, code in ANSWERS.items():
        clock, used, importing, programs = cold(code)
        print(f"{name:34}{clock:>9.1f}{importing / clock:>9.0%}{used:>8.1f}{programs:>10}", flush=True)


if __name__ == "__main__":
    main()
