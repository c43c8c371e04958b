"""The unit interval: invariants over any history, comparison with scalar integer programs, and the result of hashing to
it.
"""

from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import assert_refused
from hypothesis import example, given
from hypothesis import strategies as st

from storagekit.dispatch.unit_interval import (
    FREE,
    HALF,
    MOST_PROBES,
    ONE,
    UnitInterval,
    _divided,
    apportioned,
    empty,
    inclusion,
    lengths,
    lengths_for,
    probe,
    select,
    subregions,
    tune,
)

NODES = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 8, 16])
# ties and zeros more often than by chance, and values beyond the exact range of float32's sums and products
WEIGHTS = st.one_of(
    st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 1e-30, 1e30]),
    st.floats(-30, 30).map(lambda exponent: 10.0**exponent),
    st.floats(0.5, 2.0, width=32),
)


def history(nodes: int):
    """Repeated metrics of the nodes, and which nodes are usable."""
    metrics = st.lists(WEIGHTS, min_size=nodes, max_size=nodes).map(lambda values: np.asarray(values, np.float32))
    usable = st.lists(st.booleans(), min_size=nodes, max_size=nodes).map(np.asarray)
    return st.lists(st.tuples(metrics, usable), min_size=1, max_size=8)


def shares_of(weights: list[int]) -> list[int]:
    """HALF in proportion to whole weights by largest remainders, in exact fractions; ties go to the lowest node."""
    exact = [Fraction(weight * HALF, sum(weights)) for weight in weights]
    found = [int(share) for share in exact]
    order = sorted(range(len(exact)), key=lambda node: (found[node] - exact[node], node))
    for node in order[: HALF - sum(found)]:
        found[node] += 1
    return found


def tuned_one_by_one(owner: list[int], filled: list[int], target: list[int]) -> tuple[list[int], list[int]]:
    """Tune the interval node after node, as in (ars, section 4.1): first all shrinking nodes, then all growing ones."""
    owner, filled, unit = list(owner), list(filled), ONE // len(owner)

    def more(node):
        return target[node] - sum(fill for who, fill in zip(owner, filled, strict=True) if who == node)

    for node in range(len(target)):
        in_part = [at for at in range(len(owner)) if owner[at] == node and filled[at] < unit]
        whole = [at for at in range(len(owner)) if owner[at] == node and filled[at] == unit]
        for at in in_part + whole[::-1]:
            filled[at] -= min(filled[at], max(-more(node), 0))
            owner[at] = node if filled[at] else FREE
    for node in range(len(target)):
        in_part = [at for at in range(len(owner)) if owner[at] == node and filled[at] < unit]
        for at in in_part + [at for at in range(len(owner)) if owner[at] == FREE]:
            wanted = min(unit - filled[at], max(more(node), 0))
            if wanted:
                owner[at], filled[at] = node, filled[at] + wanted
    return owner, filled


def mixed(word: int) -> int:
    """MurmurHash3's finalizer, in Python integers."""
    word = (word ^ (word >> 16)) * 0x85EBCA6B % 2**32
    word = (word ^ (word >> 13)) * 0xC2B2AE35 % 2**32
    return word ^ (word >> 16)


def hashed(owner: list[int], filled: list[int], key: int) -> tuple[int, int]:
    """The node of a hashed key, and the number of probes."""
    unit = ONE // len(owner)
    for tried in range(1000):
        at, offset = divmod(mixed((key + mixed(tried)) % 2**32) >> 8, unit)
        if offset < filled[at]:
            return owner[at], tried + 1
    raise AssertionError("no chance")


def selected(owner: list[int], filled: list[int], target: list[int], key: int, count: int) -> tuple[list[int], int]:
    """Select `count` nodes one after the other, on a copy. Returns the nodes and the number of probes."""
    target, left, chosen, probes = list(target), list(range(len(target))), [], 0
    for number in range(count):
        assert sum(filled) == HALF
        node, tried = hashed(owner, filled, mixed((key + mixed(number)) % 2**32))
        chosen, probes = [*chosen, node], probes + tried
        left.remove(node)
        if left:
            target = [target[one] if one in left else 0 for one in range(len(target))]
            target = shares_of(target if sum(target) else [int(one in left) for one in range(len(target))])
            owner, filled = tuned_one_by_one(owner, filled, target)
    return chosen, probes


def all_usable(weights) -> np.ndarray:
    return np.ones(np.shape(weights), bool)


def interval_of(weights, runs: int) -> UnitInterval:
    """A fresh interval, the same in every run of the batch."""
    columns = np.broadcast_to(np.asarray(weights, np.float32)[:, None], (len(weights), runs))
    target = lengths_for(columns, all_usable(columns))
    return tune(empty(target), target)


def words(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (1, count), dtype=np.uint32)


def assert_invariants(interval: UnitInterval, target: np.ndarray):
    """Half of the interval is mapped. Each node fills all its subregions except one and has its target length. One
    subregion is free."""
    owner, filled = interval
    nodes, unit = len(target), ONE // len(owner)
    assert len(owner) == subregions(nodes) >= 2 * nodes
    assert owner.dtype == filled.dtype == np.int32
    assert filled.sum() == HALF and np.all((filled >= 0) & (filled <= unit))
    np.testing.assert_array_equal(owner == FREE, filled == 0)
    in_part = owner[(filled > 0) & (filled < unit)]
    assert len(in_part) == len(np.unique(in_part))
    assert np.any(owner == FREE)
    np.testing.assert_array_equal(lengths(interval, nodes), target)


@pytest.mark.parametrize(
    ("nodes", "expected"), [(1, 2), (2, 4), (3, 8), (4, 8), (5, 16), (8, 16), (9, 32), (16, 32), (17, 64)]
)
def test_subregions_are_a_power_of_two_and_at_least_two_per_node(nodes, expected):
    assert subregions(nodes) == expected


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 1, 2], [HALF // 4, HALF // 4, HALF // 2]),
        # 2^23 is 3 x 2,796,202 and 2
        ([7, 7, 7], [2_796_203, 2_796_203, 2_796_202]),
        ([0, 0, 0], [2_796_203, 2_796_203, 2_796_202]),
        ([0, 5, 0], [0, HALF, 0]),
        ([1e30, 1e-30, 1e30], [HALF // 2, 0, HALF // 2]),
        ([1e-30, 3e-30, 0], [HALF // 4, 3 * HALF // 4, 0]),
        ([np.inf, 1e30, 1.0], [HALF // 2, HALF // 2, 0]),
        ([np.nan, 1.0, -1.0], [0, HALF, 0]),
        ([1e-38, 0, 0], [2_796_203, 2_796_203, 2_796_202]),
    ],
)
def test_lengths_worked_by_hand(weights, expected):
    weights = np.asarray(weights, np.float32)
    assert lengths_for(weights, all_usable(weights)).tolist() == expected


def test_unusable_nodes_have_length_zero():
    weights, usable = np.asarray([5, 0, 0, 1], np.float32), np.asarray([False, True, True, False])
    assert lengths_for(weights, usable).tolist() == [0, HALF // 2, HALF // 2, 0]
    assert lengths_for(weights, usable | True).tolist() != lengths_for(weights, usable).tolist()
    assert lengths_for(weights, usable & False).tolist() == [HALF // 4] * 4


@given(st.lists(st.integers(0, HALF) | st.integers(0, 3), min_size=1, max_size=16))
def test_apportioning_is_exact(weights):
    """The result equals exact fractions. The weights have products with HALF of 46 bits, and add up to at most HALF."""
    weights = [weight // (sum(weights) // HALF + 1) for weight in weights]
    given_weights = np.asarray(weights, np.int32)
    expected = shares_of(weights if sum(weights) else [1] * len(weights))
    assert apportioned(given_weights, all_usable(weights)).tolist() == expected


# 255 times the divisor minus one, which a floating-point quotient rounds up
@example(255 * 8_388_607 - 1, 8_388_607)
@given(st.integers(0, 2**31 - 1), st.integers(1, HALF))
def test_digits_are_exact(dividend, divisor):
    dividend = min(dividend, 256 * divisor - 1)
    for convert in (np.asarray, jnp.asarray):
        found = _divided(*(convert([one], np.int32) for one in (dividend, divisor)))
        assert tuple(int(one[0]) for one in found) == divmod(dividend, divisor)


@given(NODES.flatmap(history))
def test_lengths_are_in_proportion(steps):
    """Lengths are in proportion to the rounded weights. Each weight is off by up to one half, and their sum by one half
    per node."""
    for weights, usable in steps:
        found = lengths_for(weights, usable)
        assert found.sum() == HALF and found.dtype == np.int32
        counted = np.where(usable, weights, 0).astype(float)
        if counted.any():
            assert not np.any(found[counted == 0])
            np.testing.assert_allclose(
                found, HALF * counted / counted.sum(), rtol=0, atol=2 * len(weights) * (len(weights) + 1) + 2
            )
            assert np.all(np.diff(found[np.argsort(counted, kind="stable")]) >= -1)
        else:
            assert np.ptp(found[usable] if usable.any() else found) <= 1
            assert not usable.any() or not np.any(found[~usable])


@given(NODES.flatmap(history))
def test_tuning_keeps_its_invariants_over_any_history(steps):
    """The result equals tuning node by node and subregion by subregion. Tuning to the current lengths changes
    nothing."""
    interval = None
    for weights, usable in steps:
        target = lengths_for(weights, usable)
        before = empty(target) if interval is None else interval
        interval = tune(before, target)
        assert_invariants(interval, target)
        owner, filled = tuned_one_by_one(before.owner.tolist(), before.filled.tolist(), target.tolist())
        assert (interval.owner.tolist(), interval.filled.tolist()) == (owner, filled)
        again = tune(interval, target)
        assert all(np.array_equal(one, other) for one, other in zip(again, interval, strict=True))


def test_tuning_worked_by_hand():
    """Two nodes share an interval in quarters. At 1:1, node 0 has the first quarter and node 1 the second.

    At 3:1, node 1 cuts its quarter and node 0 takes the third. At 1:3, node 0 gives up the third quarter and cuts the
    first; node 1 fills the second and takes the third. At last node 1 gives up everything.
    """
    quarter = ONE // 4
    steps = [
        ([2, 2], [0, 1, FREE, FREE], [1, 1, 0, 0]),
        ([3, 1], [0, 1, 0, FREE], [1, 0.5, 0.5, 0]),
        ([1, 3], [0, 1, 1, FREE], [0.5, 1, 0.5, 0]),
        ([4, 0], [0, 0, FREE, FREE], [1, 1, 0, 0]),
    ]
    interval = empty(np.zeros(2, np.int32))
    for weights, owner, filled in steps:
        interval = tune(interval, np.asarray(weights, np.int32) * (HALF // 4))
        assert interval.owner.tolist() == owner
        assert (interval.filled / quarter).tolist() == filled


@given(NODES.flatmap(history), st.integers(0, 2**32 - 1), st.integers(1, 5), st.data())
def test_nodes_are_selected_as_by_the_scalar_program(steps, key, count, data):
    """The nodes are all different, and their number is the requested one or the number of usable nodes."""
    for weights, usable in steps:
        target = lengths_for(weights, usable | ~usable.any())
        interval = tune(empty(target), target)
    usable = usable | ~usable.any()
    most = data.draw(st.integers(count, 5))
    run = UnitInterval(interval.owner[:, None], interval.filled[:, None])
    nodes, probes = select(
        run, np.full((1, 1), key, np.uint32), np.full((1, 1), count, np.int32), usable[:, None], most
    )
    can = min(count, int(usable.sum()))
    assert nodes.shape == (most, 1)
    assert np.all(nodes[can:] == FREE)
    chosen = nodes[:can, 0]
    assert len(np.unique(chosen)) == can and usable[chosen].all()
    # the scalar program has no unusable nodes: number the usable ones
    nodes_of = np.flatnonzero(usable).tolist()
    owners = [nodes_of.index(one) if one != FREE else FREE for one in interval.owner.tolist()]
    expected, tried = selected(owners, interval.filled.tolist(), target[nodes_of].tolist(), key, can)
    assert (chosen.tolist(), int(probes[0, 0])) == ([nodes_of[one] for one in expected], tried)


def test_after_the_nodes_with_a_length_the_others_follow_with_equal_probability():
    runs = 4000
    interval = interval_of([0, 3, 0, 0], runs)
    nodes, _ = select(interval, words(runs), np.full((1, runs), 2, np.int32), np.ones((4, runs), bool), 2)
    assert np.all(nodes[0] == 1)
    counts = np.bincount(nodes[1], minlength=4)
    assert counts[1] == 0
    assert np.all(np.abs(counts[[0, 2, 3]] - runs / 3) < 4 * np.sqrt(runs * 2 / 9))


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 8, 16])
def test_numpy_and_jax_give_the_same_numbers(nodes):
    """A compiled history of six retunes in a batch of 300, with zeros, ties and unusable nodes, is followed by a
    selection."""
    random, runs, most = np.random.default_rng(nodes), 300, min(nodes, 4)
    ours = theirs = None
    compiled = jax.jit(lambda before, *step: (target := lengths_for(*step), tune(before, target)))
    for _ in range(6):
        weights = np.exp(random.normal(0, 3, (nodes, runs))).astype(np.float32)
        weights = np.where(random.random((nodes, runs)) < 0.3, random.choice([0, 1, 1e30, 1e-30]), weights)
        weights, usable = weights.astype(np.float32), random.random((nodes, runs)) < 0.9
        target = lengths_for(weights, usable)
        ours = tune(empty(target) if ours is None else ours, target)
        theirs = jax.tree.map(jnp.asarray, empty(target)) if theirs is None else theirs
        found, theirs = compiled(theirs, jnp.asarray(weights), jnp.asarray(usable))
        for one, other in zip((target, *ours), (found, *theirs), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    key, count = words(runs, nodes), random.integers(0, most + 1, (1, runs)).astype(np.int32)
    usable = lengths(ours, nodes) > 0
    expected = select(ours, key, count, usable, most)
    found = jax.jit(partial(select, most=most))(theirs, jnp.asarray(key), jnp.asarray(count), jnp.asarray(usable))
    for one, other in zip(expected, found, strict=True):
        assert isinstance(one, np.ndarray) and one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("weights", [[1], [1, 1, 1], [5, 1, 0, 2], [1, 0, 0, 0, 0, 0, 0, 9]])
def test_two_probes_find_a_node_and_shares_are_lengths(weights):
    """Half of all offsets are mapped, so the number of probes is geometric with mean 2. Its standard deviation is 1.41,
    here 0.2% of 2."""
    runs, shares = 100_000, np.asarray(weights) / np.sum(weights)
    node, probes = probe(interval_of(weights, runs), words(runs))
    assert probes.mean() == pytest.approx(2, rel=0.01)
    assert np.var(probes) == pytest.approx(2, rel=0.05)
    found = np.bincount(node[0], minlength=len(weights)) / runs
    assert np.all(np.abs(found - shares) <= 4 * np.sqrt(shares * (1 - shares) / runs))


@pytest.mark.parametrize(
    ("weights", "count"), [([1, 1, 1, 1], 2), ([8, 4, 2, 1], 2), ([8, 4, 2, 1], 3), ([1, 2, 3, 4, 5, 6, 7, 8], 3)]
)
def test_several_nodes_are_included_as_in_successive_sampling(weights, count):
    """2m probes find m nodes within 1%, and every node's probability is within four standard deviations."""
    runs = 100_000
    interval, usable = interval_of(weights, runs), np.ones((len(weights), runs), bool)
    nodes, probes = select(interval, words(runs, 1), np.full((1, runs), count, np.int32), usable, count)
    assert probes.mean() == pytest.approx(2 * count, rel=0.01)
    chances = inclusion(np.asarray(weights), count)
    found = np.bincount(nodes.ravel(), minlength=len(weights)) / runs
    assert np.all(np.abs(found - chances) <= 4 * np.sqrt(chances * (1 - chances) / runs))
    # probabilities in proportion to the shares would be different
    plain = count * np.asarray(weights) / np.sum(weights)
    assert len(set(weights)) == 1 or np.max(np.abs(plain - chances)) > 0.01


def test_a_search_continues_from_a_given_probe():
    runs = 2000
    interval, key = interval_of([3, 1, 2], runs), words(runs)
    node, probes = probe(interval, key)
    again, more = probe(interval, key, probes)
    late, late_probes = probe(interval, key, probes - 1)
    np.testing.assert_array_equal(late, node)
    assert np.all(late_probes == 1)
    expected = [hashed(interval.owner[:, 0].tolist(), interval.filled[:, 0].tolist(), int(one)) for one in key[0, :50]]
    assert list(zip(node[0, :50].tolist(), probes[0, :50].tolist(), strict=True)) == expected
    # the next node is an independent draw, equal by chance with probability 9/36 + 1/36 + 4/36
    assert np.mean(again == node) == pytest.approx(14 / 36, abs=4 * np.sqrt(14 * 22 / 36**2 / runs))
    assert more.mean() == pytest.approx(2, abs=4 * np.sqrt(2 / runs))


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_every_search_ends(convert):
    """One unit in 2^24 is mapped, to node 2. No hash finds it, but it is the result. In an empty interval no node is
    found. An unwanted search takes no probes."""
    owner, filled = np.full((8, 3), FREE, np.int32), np.zeros((8, 3), np.int32)
    owner[5, :2], filled[5, :2] = 2, 1
    interval = UnitInterval(convert(owner), convert(filled))
    wanted = convert(np.asarray([[True, False, True]]))
    node, probes = probe(interval, convert(words(3)), wanted=wanted)
    assert np.asarray(node).tolist() == [[2, FREE, FREE]]
    assert np.asarray(probes).tolist() == [[MOST_PROBES, 0, MOST_PROBES]]


def moved(one: UnitInterval, other: UnitInterval, key: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes of the keys in both intervals, and whether they differ."""
    before, after = probe(one, key)[0][0], probe(other, key)[0][0]
    return before, after, before != after


def test_a_retune_moves_few_keys_and_only_where_it_must():
    """The metrics of 4 nodes drift in 20 histories of 5000 keys. If the shares change by v, at least v of the keys
    move.

    At most 2 v / (1 + v) move: the keys whose first mapped probe falls into the 2 v of the mapped half that changed.
    """
    random, histories, keys = np.random.default_rng(3), 20, 5000
    weights = np.exp(random.normal(0, 0.5, (6, 4, histories)).cumsum(axis=0)).astype(np.float32)
    key, rebuilt, least = words(keys * histories, 2), [], []
    interval, targets = None, [lengths_for(one, all_usable(one)) for one in weights]
    spread = [np.repeat(target, keys, axis=1) for target in targets]
    for old, new in pairwise(spread):
        interval = tune(empty(old), old) if interval is None else interval
        following = tune(interval, new)
        before, after, moves = moved(interval, following, key)
        # a key moves only from a node that shrank or to a node that grew
        column = np.arange(len(before))
        assert np.all((new < old)[before, column][moves] | (new > old)[after, column][moves])
        share = np.abs(new - old)[:, ::keys].sum(axis=0) / 2 / HALF
        found = moves.reshape(histories, keys).mean(axis=1)
        sigma = 4 * np.sqrt(0.25 / keys)
        assert np.all(found >= share - sigma)
        assert np.all(found <= 2 * share / (1 + share) + sigma)
        rebuilt.append(moved(interval, tune(empty(new), new), key)[2].mean())
        least.append(share.mean())
        interval = following
    # an interval built afresh after some history moves more keys than any retune
    assert np.all(np.asarray(rebuilt[1:]) > 2 * np.asarray(least[1:]))


def test_keys_stay_while_the_metrics_stay():
    runs = 3000
    interval = interval_of([5, 1, 3], runs)
    same = tune(interval, lengths(interval, 3))
    assert not moved(interval, same, words(runs))[2].any()


def test_inclusion_of_two_is_the_closed_form():
    shares = np.array([0.4, 0.3, 0.2, 0.1])
    others = [sum(q * p / (1 - q) for j, q in enumerate(shares) if j != i) for i, p in enumerate(shares)]
    np.testing.assert_allclose(inclusion(shares, 2), shares + others, rtol=1e-12)
    np.testing.assert_allclose(inclusion(10 * shares, 1), shares, rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
def test_inclusion_is_the_sum_over_all_orders(count):
    shares = np.array([0.35, 0.25, 0.2, 0.15, 0.05])
    expected = np.zeros(5)
    for order in permutations(range(5), count):
        left = 1 - np.concatenate([[0], np.cumsum(shares[list(order)])[:-1]]) if count else 1
        expected[list(order)] += np.prod(shares[list(order)] / left)
    np.testing.assert_allclose(inclusion(shares, count), expected, rtol=1e-12, atol=1e-15)
    assert inclusion(shares, count).sum() == pytest.approx(count)


def test_inclusion_without_shares_is_equal():
    np.testing.assert_allclose(inclusion(np.array([1.0, 0, 0]), 2), [1, 0.5, 0.5])
    np.testing.assert_allclose(inclusion(np.zeros(4), 3), [0.75] * 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: subregions(0), "nodes of a unit interval 0: give a whole number, between 1 and 1000000"),
        (lambda: inclusion(np.array([0.5, -0.1]), 1), "a share of -0.1: it must be 0 or more and finite"),
        (lambda: inclusion(np.array([0.5, 0.5]), 3), "nodes chosen 3: it must be at most 2"),
        (
            lambda: select(interval_of([1], 1), words(1), np.ones((1, 1), np.int32), np.ones((1, 1), bool), 0),
            "rounds of a selection 0: give a whole number, between 1 and 1000000",
        ),
    ],
)
def test_impossible_arguments_are_rejected(call, message):
    assert_refused(call, message)
