"""Replay a full-length trace through two bricks and measure memory and seconds, with compilation.

python -m benchmarks.full_length                 D-SPTF alone
python -m benchmarks.full_length all             every scheme, on equal, unequal and changing bricks
python -m benchmarks.full_length all websearch   the same with another trace
"""

import resource
import sys
import time

from storagekit.papers.dsptf.bricks import Setting, TraceSystem, settings, source
from storagekit.papers.dsptf.replays import missed, through


def main(which: str = "one", name: str = "financial", requests: int = 0) -> None:
    """Generate the trace and run it.

    Parameters
    ----------
    which : str
        "one" for D-SPTF alone, "all" for every scheme.
    name : str
        Name of the trace.
    requests : int
        Number of requests, for a short check; by default, 0, all.
    """
    began = time.perf_counter()
    given = source(name, requests)
    duration = float(given.trace.time[-1])
    runs = settings(len(given.trace), duration)
    if which == "one":
        runs = {"equal: D-SPTF": Setting("D-SPTF")}
    else:
        # four schemes and weighted hashing under three fault schedules, without other definitions of slow and LARD's windows
        runs = {run: setting for run, setting in runs.items() if "," not in run}
    print(f"trace: {len(given.trace)} requests, {time.perf_counter() - began:.1f} s, {memory():.2f} GB")
    began = time.perf_counter()
    data = through(given, TraceSystem(), runs, name, [0]).whole
    seconds = time.perf_counter() - began
    print(f"{len(runs)} runs, compilation included: {seconds:.1f} s, {memory():.2f} GB at the peak")
    print(
        f"{float(data.accesses.sum() + data.requests.sum()) / seconds / 1e6:.2f} M events (requests and accesses) a second"
    )
    for run in runs:
        row = data.sel(run=run).isel(seed=0)
        time_missed, hit = float(missed(row)) * 1e3, float(row.hit_rate)
        print(f"{run:<26} {time_missed:8.2f} ms a missed read, {hit:.3f} hit, {int(row.requests)} completed")


def memory() -> float:
    """Return the peak resident memory so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
