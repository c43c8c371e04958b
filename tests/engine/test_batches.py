"""Division of a sweep into batches, and the results of a run in batches of different widths."""

import jax
import numpy as np
import pytest

import storagekit as sk
from storagekit.core.errors import InputError
from storagekit.engine import AbstractLog, Record, ResponseLog, Scenario, batch, keys, stack
from storagekit.engine.run import Runner, state_bytes
from storagekit.simulation import STANDARD
from storagekit.simulation.measures import sums_of
from storagekit.simulation.segments import _per_batch

# before the fixtures change it
FEW_RUNS = batch.FEW_RUNS


def closed_loop(slots: int | None = 64) -> Scenario:
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
        (2048, None, 4096, [16] * 128),
        # a single remaining run has the width of its sweep
        (1, 40, 64, [32]),
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


@pytest.mark.parametrize(
    ("state_size", "wide"), [(1, 32), (2**17, 32), (2**17 + 1, 16), (2**22, 1), (2**22 + 1, 1), (2**40, 1)]
)
def test_a_batch_has_32_runs_or_the_runs_whose_states_have_4_mib(monkeypatch, state_size, wide):
    monkeypatch.setattr(batch, "FEW_RUNS", FEW_RUNS)
    monkeypatch.setattr(jax, "devices", lambda: [None, None])
    assert sk.engine.width(2, state_size=state_size) == 2 * wide
    assert sk.engine.width(1, state_size=state_size) == 1
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert sk.engine.width(2, state_size=state_size) == 4096


def test_a_run_with_a_state_of_megabytes_is_simulated():
    stacked, key = stack([closed_loop(slots=2**14)], range(2))
    assert sum(used for _, _, used in batch.batches(stacked, key)) == 2
    large = sk.System(
        sk.load_drive("atlas10k"), sk.placement.Replicas(1), sk.dispatch.Hashing(), sk.schedule.SATF(), slots=2**14
    )
    assert _per_batch(large) == 2 * len(jax.devices())


def test_batches_without_a_number_of_slots_are_an_input_error():
    with pytest.raises(InputError, match=r"System\.slots is not given"):
        list(batch.batches(*stack([closed_loop(slots=None)], range(4))))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_a_log_of_another_shape_is_an_input_error(shape):
    class Wrong(AbstractLog):
        def keep(self, scenario, state, report):
            return np.zeros(shape)

    stacked, key = stack([closed_loop()], range(4))
    with pytest.raises(InputError, match=r"Wrong\.keep returned an array of float64 of shape .*\[row, \*batch\]"):
        Runner(stacked, key, Record(sums_of(STANDARD), Wrong())).advance(1)


@pytest.mark.parametrize(("runs", "made"), [(16, 16), (12, 12), (11, 12), (17, 64), (40, 64), (65, 64)])
def test_batches_that_need_no_padding_keep_their_size_only_if_they_are_small(monkeypatch, runs, made):
    monkeypatch.setattr(batch, "FEW_RUNS", 32)
    monkeypatch.setattr(jax, "devices", lambda: [None, None])
    stacked, key = stack([closed_loop()], range(runs))
    assert {some.shape[1] for _, some, _ in batch.batches(stacked, key, padded=False)} == {made}
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert {some.shape[1] for _, some, _ in batch.batches(stacked, key, padded=False)} == {runs + runs % 2}


@pytest.mark.parametrize(("runs", "made"), [(1, 1), (4000, 4000), (10_000, 4096)])
def test_a_batch_on_an_accelerator_has_at_most_4096_runs(monkeypatch, runs, made):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [None, None])
    stacked, key = stack([closed_loop()], range(runs))
    assert {some.shape[1] for _, some, _ in batch.batches(stacked, key, padded=False)} == {made}


@pytest.mark.parametrize(
    "system",
    [
        closed_loop().system,
        closed_loop(2**14).system,
        sk.System(
            sk.load_drive("toshiba_mg10_20tb"),
            sk.placement.Replicas(2),
            sk.dispatch.Hashing(),
            sk.schedule.SATF(),
            sk.write.Background(100),
            slots=64,
        ),
    ],
)
def test_the_size_of_a_state_is_known_before_the_run(system):
    scenario = Scenario(system, sk.workload.ClosedLoop(sk.workload.RandomRequests(sk.workload.FixedSize(4096), 0.7), 2))
    stacked, key = stack([scenario], range(2))
    state = Runner(stacked, key, Record()).run
    held = sum(leaf.nbytes for leaf in jax.tree.leaves(state)) / 2
    assert state_bytes(batch.select_runs(stacked, np.zeros(1, int)), key[:, :1]) == held
    # a replay estimates this size without tables
    assert held > system.slots * batch.SLOT_BYTES / 2
    if not isinstance(system.write, sk.write.Background):
        assert held < system.slots * batch.SLOT_BYTES * 2


def test_a_run_does_not_depend_on_the_width_of_its_batch_in_any_bit():
    devices = len(jax.devices())

    def results(seeds: range):
        stacked, _ = stack([closed_loop()], seeds)
        return Runner(stacked, keys(seeds), Record(sums_of(STANDARD), ResponseLog())).advance(4)

    narrow, usual, wide = (jax.tree.leaves(results(range(runs * devices))) for runs in (16, 32, 64))
    for other in (usual, wide):
        for one, same in zip(narrow, other, strict=True):
            assert one.tobytes() == np.ascontiguousarray(same[..., : 16 * devices]).tobytes()
