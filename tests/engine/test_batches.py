"""Division of a sweep into batches, and the results of a run in batches of different widths."""

import jax
import numpy as np
import pytest

import storagekit as sk
from storagekit.engine import Record, Scenario, batch, keys, stack
from storagekit.engine.run import Runner
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of


def closed_loop(slots: int = 64) -> Scenario:
    """Eight bricks with two copies of each block, and 16 outstanding requests."""
    drive, copies = sk.load_drive("atlas10k"), sk.placement.Declustered(8, 2)
    system = sk.System(
        drive, copies, sk.dispatch.DSPTF(50e-6), sk.schedule.SATF(), sk.write.ReceivingBrick(), slots=slots
    )
    return Scenario(system, sk.workload.ClosedLoop(sk.workload.RandomRequests(sk.workload.FixedSize(4096), 0.7), 16))


@pytest.mark.parametrize(
    ("runs", "among", "slots", "full"),
    [
        (1, None, 64, [1]),
        (100, None, 64, [32, 32, 32, 32]),
        (2047, None, 64, [32] * 64),
        (2048, None, 64, [128] * 16),
        (2066, None, 64, [128] * 16 + [32]),
        (100, 4000, 64, [32] * 4),
        (200, 4000, 64, [128, 32, 32, 32]),
        # the state of a run with 4,096 slots has about 400 KB
        (20, None, 4096, [16, 16]),
    ],
)
def test_large_sweeps_have_wide_batches_as_long_as_they_are_full(monkeypatch, runs, among, slots, full):
    monkeypatch.setattr(batch, "FEW_RUNS", 16)
    monkeypatch.setattr(jax, "devices", lambda: [None, None])
    stacked, key = stack([closed_loop(slots)], range(runs))
    made = list(batch.batches(stacked, key, among=among))
    assert [some.shape[1] for _, some, _ in made] == full
    used = np.concatenate([some[:, :count] for _, some, count in made], axis=1)
    np.testing.assert_array_equal(used, key)


@pytest.mark.parametrize(("runs", "made"), [(16, 16), (12, 12), (11, 12), (17, 64), (40, 64), (65, 64)])
def test_batches_that_need_no_padding_keep_their_size_only_if_they_are_small(monkeypatch, runs, made):
    monkeypatch.setattr(batch, "FEW_RUNS", 32)
    monkeypatch.setattr(jax, "devices", lambda: [None, None])
    stacked, key = stack([closed_loop()], range(runs))
    assert {some.shape[1] for _, some, _ in batch.batches(stacked, key, padded=False)} == {made}


def test_a_run_does_not_depend_on_the_width_of_its_batch_in_any_bit():
    devices = len(jax.devices())

    def sums(seeds: range):
        stacked, _ = stack([closed_loop()], seeds)
        tally, _ = Runner(stacked, keys(seeds), Record(sums_of(STANDARD))).advance(4)
        return tally

    wide, narrow = sums(range(64 * devices)), sums(range(16 * devices))
    for name, values in narrow.items():
        assert np.asarray(values).tobytes() == np.asarray(wide[name])[..., : 16 * devices].tobytes(), name
