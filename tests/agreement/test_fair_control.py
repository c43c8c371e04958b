"""Fair queues before bricks of disks: the engine against the scalar control of benchmarks/, which computes its tags
independently.

Figure 9 of dsfq: stream f has 30 threads on brick A; g has 30 on A and 15 on B. Each brick has four disks, each serving
in order of arrival, with TOTAL delays.
"""

import numpy as np
import pytest

from storagekit.core.units import SECTOR
from storagekit.drive import load_drive
from storagekit.papers.dsfq.bricks import DRIVE, READ_SHARE, SMALL, StreamThreads, shared_bricks
from storagekit.simulation import windows

pytestmark = pytest.mark.optimized

SECONDS, WARM_UP = 15.0, 5.0
THREADS = [StreamThreads(0, (0,), 30, 30), StreamThreads(1, (0,), 30, 30), StreamThreads(1, (1,), 15, 15)]


@pytest.mark.parametrize("weights", [pytest.param((1, 1), marks=pytest.mark.slow), (1, 2)])
def test_rates_by_stream_and_brick(control, fair_control, weights):
    """The rates agree within one percent plus four standard errors."""
    scenario = shared_bricks(THREADS, weights=weights)
    routed = fair_control.sharing(scenario, sizes=SMALL, read_share=READ_SHARE)
    drive = control.layout(load_drive(DRIVE))
    runs = [fair_control.fair_bricks(drive, routed, seed, SECONDS, WARM_UP) for seed in range(1, 33)]
    theirs = np.array([run.sectors * SECTOR / run.elapsed for run in runs])
    data = windows(lambda: scenario, {}, seconds=SECONDS, window=WARM_UP, seeds=range(12))
    ours = data.service.isel(window=slice(1, None)).mean("window").transpose("seed", "stream", "brick").values
    spread = np.sqrt(theirs.var(axis=0, ddof=1) / len(theirs) + ours.var(axis=0, ddof=1) / len(ours))
    apart = np.abs(ours.mean(axis=0) - theirs.mean(axis=0))
    assert np.all(apart <= 0.01 * theirs.mean(axis=0) + 4 * spread)
    # in figure 9 both streams receive equal service for their weight, or f receives all of A
    assert ours[:, 0, 1].max() == theirs[:, 0, 1].max() == 0
    np.testing.assert_allclose(ours.mean(axis=0).sum(axis=0), theirs.mean(axis=0).sum(axis=0), rtol=0.01)
