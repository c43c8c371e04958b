"""Measure figure 4 of ars at full length: seconds with compilation, and the bytes that one run of a batch keeps.

python -m benchmarks.ars_figure4             64 seeds, four protocols, three settings, 10,604 requests each
python -m benchmarks.ars_figure4 16 2000     fewer seeds and requests, for a short check
"""

import sys
import time

import jax
import numpy as np

from storagekit.engine import Record, Runner, keys
from storagekit.papers.ars.cluster import ADAPTIVE, FOUR, PROTOCOLS, REQUESTS, cluster, synthetic
from storagekit.papers.ars.responses import fig4
from storagekit.papers.effort import Effort

# requests in the system at the same time. This load needs few; the notebook uses more, for exhibits that need them
SLOTS = 16


def main(seeds: int = 64, requests: int = REQUESTS) -> None:
    """Run the figure and print its cost."""
    began = time.perf_counter()
    data = fig4(Effort(seeds=seeds, requests=requests), protocols=FOUR, slots=SLOTS)
    seconds = time.perf_counter() - began
    print(f"{data.response.size} runs of {requests} requests: {seconds:.1f} s, compilation included")
    print(f"{float(data.blocked.sum()):g} requests waited for one of {SLOTS} slots")
    for protocol, means in (data.response.mean("seed") * 1e3).to_pandas().iterrows():
        print(f"{protocol:<12}" + "".join(f"{name} {value:.2f} ms  " for name, value in means.items()))
    state = Runner(cluster(PROTOCOLS[ADAPTIVE](), synthetic(), slots=SLOTS), keys([0])[:, 0], Record()).run.state
    whole, own = (sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(part)) for part in (state, state.dispatch))
    print(f"a run of ARS stores {whole:,} bytes: {own:,} for the clients' views, {whole - own:,} for the rest")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
