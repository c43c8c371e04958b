"""Test response times in bins: the error of a bin's representative, and the completions that count."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.engine import ResponseBins, binned, quantiles
from storagekit.engine.histogram import BINS, MOST_STREAMS, NOTHING, code, counts_until, edges

# the width of a bin, and the rounding of float32
WITHIN = 1 / 64 + 1e-6
TIMES = st.lists(st.floats(2**-20, 2**16, width=32), min_size=1, max_size=40)


def codes(times, read=True, counts=True) -> np.ndarray:
    """Return the codes that the log stores for completions with these response times."""
    times = jnp.asarray(times, jnp.float32)
    columns = (jnp.broadcast_to(jnp.asarray(value), times.shape) for value in (read, counts))
    return np.asarray(code(times, *columns))


def counts(noted: np.ndarray) -> np.ndarray:
    """Return the reads and writes of one run, by bin."""
    return binned(noted.reshape(1, -1, 1), np.ones((1, 1), bool))[0]


@given(st.floats(2**-20, 2**16, width=32))
def test_a_bin_contains_its_times_and_has_a_width_of_at_most_a_sixty_fourth(time):
    low, high = edges()[:, codes([time])[0] - 1]
    assert low <= time < high <= low * WITHIN + low


def test_times_too_short_or_too_long_for_all_bins():
    ends = [0, 0, 0, np.inf, np.inf]
    assert edges()[:, codes([0.0, -1e-9, 9e-7, 2e5, np.inf]) - 1].tolist() == [ends, ends]


@given(TIMES)
def test_quantiles_agree_with_numpy_within_a_sixty_fourth(times):
    shares = np.array([0.0, 0.3, 0.5, 0.95, 0.999, 1.0])
    found = quantiles(counts(codes(times))[0], shares)[:, 0]
    np.testing.assert_allclose(found, np.quantile(np.float32(times), shares), rtol=WITHIN)


def test_quantiles_differ_within_a_bin():
    """The bin begins at 1 s. If its requests all counted as its middle, all quantiles would be equal."""
    times = 1 + np.arange(1000) / 1000 / 64
    shares = np.array([0.1, 0.5, 0.9])
    bins = counts(codes(times))[0]
    found = quantiles(bins, shares)
    np.testing.assert_allclose(found[:, 0], np.quantile(times, shares), rtol=1e-5)
    np.testing.assert_allclose(counts_until(bins, found)[:, 0], 1000 * shares, atol=1)


def test_the_number_of_requests_until_a_time_is_that_of_all_times_in_earlier_bins():
    bins = counts(codes([0.0, 1.0, 2.0, 4.0]))[0]
    until = counts_until(bins, np.array([[0.0, 0.5, 1.5, 3.0, 5.0, np.nan]]).T)[:, 0]
    np.testing.assert_array_equal(until, [1, 1, 2, 3, 4, np.nan])


def test_reads_and_writes_are_counted_separately_and_only_where_they_count():
    times = [1.0, 1.0, 2.0, 4.0, 8.0]
    noted = codes(times, read=[True, False, False, False, True], counts=[True, True, True, False, False])
    assert noted[3:].tolist() == [NOTHING, NOTHING]
    reads, writes = counts(noted)
    assert (reads.sum(), writes.sum()) == (1, 2)
    assert quantiles(reads, np.array([1.0])) == pytest.approx(1, rel=WITHIN)
    assert quantiles(writes, np.array([1.0])) == pytest.approx(2, rel=WITHIN)
    assert np.isnan(quantiles(np.zeros((1, BINS), int), np.array([0.5]))).all()


def test_each_stream_has_its_own_bins():
    """Streams 0 to 2 are separate; stream 3 is counted with the other streams."""
    generator = np.random.default_rng(0)
    stream, read, times = generator.integers(0, 4, 400), generator.random(400) < 0.7, generator.exponential(0.01, 400)
    noted = code(
        jnp.asarray(times, jnp.float32), jnp.asarray(read), jnp.ones(400, bool), jnp.asarray(stream, jnp.int32)
    )
    found = binned(np.asarray(noted).reshape(1, -1, 1), np.ones((1, 1), bool), 3)
    assert found.shape == (4, 2, 1, BINS)
    for number in range(4):
        for which, mine in enumerate((read, ~read)):
            expected, _ = counts(codes(times[(stream == number) & mine]))
            np.testing.assert_array_equal(found[number, which], expected)


def test_the_codes_of_the_last_stream_have_room_in_16_bits():
    last = code(jnp.float32(np.inf), jnp.asarray(False), jnp.asarray(True), jnp.int32(MOST_STREAMS))
    assert int(last) == 2 * BINS * (MOST_STREAMS + 1) < 2**16
    with pytest.raises(InputError, match="streams 13"):
        ResponseBins(13)


def test_only_kept_chunks_count_each_in_its_batch_element():
    times = np.float32(2.0) ** np.arange(-6, 6).reshape(3, 2, 2)  # chunk, event, batch element
    kept = np.array([[True, False], [False, False], [True, True]])
    ((reads, _),) = binned(codes(times.ravel()).reshape(times.shape), kept)
    for element in range(2):
        expected = np.sort(times[kept[:, element], :, element].ravel())
        np.testing.assert_allclose(edges()[0, np.flatnonzero(reads[element])], expected, rtol=WITHIN)
