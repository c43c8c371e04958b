"""Test random requests: their distributions, and their independence of the caller."""

import numpy as np
import pytest
from helpers import assert_refused

from storagekit.core.errors import InputError
from storagekit.engine import keys
from storagekit.workload import (
    ExponentialSize,
    FixedSize,
    MixedSizes,
    RandomRequests,
    UniformSize,
    fraction,
    scramble,
    words,
)
from storagekit.workload.randomness import below

COUNT = 40_000
CAPACITY = 17_000_000


def draw(requests, seed=0, first=0, count=COUNT):
    return requests.draw(CAPACITY, keys([seed])[:, 0], np.array([first], np.int32), count)


def test_addresses_sizes_and_operations_have_their_distributions():
    """Compare with means and variances of uniform, exponential (rounded up) and Bernoulli draws.

    They agree within four standard errors.
    """
    drawn = draw(RandomRequests(ExponentialSize(8192), 0.7))
    sector, sectors, read = (np.asarray(column, float) for column in (drawn.sector, drawn.sectors, drawn.read))
    root = np.sqrt(COUNT)
    assert abs(sector.mean() - CAPACITY / 2) < 4 * CAPACITY / np.sqrt(12) / root
    # an exponential with mean m, rounded up to whole sectors, is geometric: 1 / (1 - exp(-1/m))
    mean = 1 / (1 - np.exp(-1 / 16))
    assert abs(sectors.mean() - mean) < 4 * mean / root
    assert abs(read.mean() - 0.7) < 4 * np.sqrt(0.21) / root
    assert abs(np.corrcoef(sector, sectors)[0, 1]) < 4 / root
    assert np.all(np.asarray(drawn.sector) % 8 == 0) and sectors.min() >= 1
    assert np.all(sector + sectors <= CAPACITY) and sector.min() >= 0
    assert np.asarray(drawn.number).tolist() == list(range(COUNT))


def test_a_request_does_not_depend_on_the_start_of_the_window():
    whole = draw(RandomRequests(ExponentialSize(4096), 0.5), count=300)
    part = draw(RandomRequests(ExponentialSize(4096), 0.5), first=200, count=100)
    for ours, theirs in zip(whole, part, strict=True):
        np.testing.assert_array_equal(np.asarray(ours)[200:], theirs)


def test_settings_and_batches_share_random_numbers():
    """Common random numbers: addresses do not change with size and read share; each run of a batch has separate ones."""
    plain, other = draw(RandomRequests(FixedSize(4096), 0.5)), draw(RandomRequests(FixedSize(4096), 0.9))
    np.testing.assert_array_equal(plain.sector, other.sector)
    assert np.all(np.asarray(other.read) >= np.asarray(plain.read))
    batch = RandomRequests(FixedSize(4096), 0.5).draw(CAPACITY, keys([4, 0]), np.zeros((1, 2), np.int32), COUNT)
    np.testing.assert_array_equal(batch.sector[:, 1], plain.sector)
    assert np.mean(np.asarray(batch.sector[:, 0]) == np.asarray(plain.sector)) < 0.001


def test_equal_addresses_have_equal_hashes_and_others_do_not():
    drawn = draw(RandomRequests(FixedSize(4096), 1.0))
    _, first, back = np.unique(np.asarray(drawn.sector), return_index=True, return_inverse=True)
    hashes = np.asarray(drawn.address_hash)
    np.testing.assert_array_equal(hashes[first][back], hashes)
    for replicas in (2, 3, 8):
        shares = np.bincount(hashes % replicas, minlength=replicas) / COUNT
        assert np.all(np.abs(shares - 1 / replicas) < 4.5 / np.sqrt(COUNT * replicas))


def test_a_fixed_size_is_whole_sectors():
    assert int(FixedSize(4096).largest) == 8
    assert int(FixedSize(4097).largest) == 9
    assert int(FixedSize(1).largest) == 1


def test_exponential_sizes_have_a_maximum():
    size = ExponentialSize(4096)
    assert int(size.sectors(np.float32(1 - 2.0**-24))) <= int(size.largest)
    assert int(size.sectors(np.float32(0))) == 1


@pytest.mark.parametrize(("low", "high"), [(1024, 16384), (700, 3000), (1, 512), (5000, 5000)])
def test_uniform_sizes_have_their_mean_and_stay_in_their_range(low, high):
    """The probability of k sectors equals the share of the bytes from low to high that need exactly k sectors.

    Frequencies agree within four standard errors.
    """
    size = UniformSize(low, high)
    sectors = np.asarray(draw(RandomRequests(size, 0.5)).sectors, float)
    edges = np.clip(512 * np.arange(-(-high // 512) + 1), low, high)
    share = np.diff(edges) / (high - low) if high > low else np.eye(-(-high // 512))[-1]
    possible = np.arange(1, share.size + 1)
    mean = share @ possible
    error = np.sqrt(share @ (possible - mean) ** 2 / COUNT)
    assert abs(sectors.mean() - mean) <= 4 * error
    assert sectors.min() >= -(-low // 512) and sectors.max() == int(size.largest) == -(-high // 512)
    assert int(size.sectors(np.float32(0))) == -(-low // 512)
    assert int(size.sectors(np.float32(1 - 2.0**-24))) == int(size.largest)


def test_uniform_sizes_take_a_range_for_each_batch_element():
    size = UniformSize(np.array([[512.0, 4096.0]]), np.array([[512.0, 8192.0]]))
    drawn = RandomRequests(size, 0.5).draw(CAPACITY, keys([4, 0]), np.zeros((1, 2), np.int32), COUNT)
    sectors = np.asarray(drawn.sectors)
    assert np.all(sectors[:, 0] == 1) and set(sectors[:, 1].tolist()) == set(range(9, 17))


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0, 4096, "request size 0 bytes: it must be above 0"),
        (-1, 4096, "request size -1 bytes"),
        (1, np.inf, "request size inf bytes"),
        (np.nan, 4096, "request size nan is not a number"),
        (4096, 1024, "request sizes from 4096 to 1024 bytes: give the smaller size first"),
        (4096, np.array([8192, 1024]), "request sizes from 4096 to 1024 bytes"),
    ],
)
def test_impossible_sizes_raise(low, high, message):
    assert_refused(lambda: UniformSize(low, high), message)


def test_words_to_numbers():
    """Compare with Python's integers."""
    word = np.array([0, 1, 2**31, 2**32 - 1, 123_456_789], np.uint32)
    for limit in (1, 7, 2_246_000, 2**31 - 1):
        expected = [int(w) * limit >> 32 for w in word.tolist()]
        assert np.asarray(below(word, np.int32(limit))).tolist() == expected
    np.testing.assert_array_equal(fraction(word), [(w >> 8) / 2**24 for w in word.tolist()])
    assert len(np.unique(np.asarray(scramble(np.arange(10_000))))) == 10_000


def test_words_by_counter_are_independent_of_how_they_are_drawn():
    key = keys([9])[:, 0]
    one, two = words(key, np.array([0], np.int32), 64, 0)
    later, _ = words(key, np.array([32], np.int32), 32, 0)
    np.testing.assert_array_equal(one[32:], later)
    assert not np.array_equal(one, two)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_all_reads_and_all_writes(share):
    assert np.mean(np.asarray(draw(RandomRequests(FixedSize(512), share)).read)) == share


def test_sizes_are_mixed_by_their_shares():
    """Evenly spaced numbers give 4 KB, 64 KB and 512 bytes exactly in the ratio 5 to 3 to 2."""
    mixed = MixedSizes((4096.0, 65536.0, 512.0), (5.0, 3.0, 2.0))
    found = np.asarray(mixed.sectors((np.arange(1000, dtype=np.float32) + 0.5) / 1000))
    assert {size: int((found == size).sum()) for size in (8, 128, 1)} == {8: 500, 128: 300, 1: 200}
    assert int(mixed.largest) == 128


@pytest.mark.parametrize(
    ("sizes", "shares", "message"),
    [
        ((), (), "0 request sizes with 0 shares"),
        ((512.0,), (1.0, 2.0), "1 request sizes with 2"),
        ((512.0,), (0.0,), "fraction of"),
    ],
)
def test_an_impossible_mix_raises(sizes, shares, message):
    with pytest.raises(InputError, match=message):
        MixedSizes(sizes, shares)
