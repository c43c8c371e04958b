"""Test the fit of SSDs: known drives from simulated logs, measured logs, and files that are no logs."""

import gzip

import numpy as np
import pytest
from helpers import assert_refused
from ssd_simulation import closed_loop

from storagekit.calibrate.ssd_fit import fit_ssd
from storagekit.core.resources import data_path
from storagekit.core.units import KB

MEASURED = sorted(data_path("samples", "fio").glob("*.log.gz"))


def log(path, ends, latency, *, writes=False, size=4 * KB):
    lines = [f"{int(e * 1e3)}, {round(t * 1e9)}, {int(writes)}, {size}, 0" for e, t in zip(ends, latency, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Logs of a drive of 8 units: reads of 100 us, of which 60 us at a unit; writes in a buffer, 50,000 a second."""
    folder, found = tmp_path_factory.mktemp("logs"), []
    for count in (1, 4, 16, 64):
        ends, times = closed_loop(100e-6, 60e-6, 8, count, 20_000 if count > 1 else 4000, seed=count)
        order = np.argsort(ends)
        found.append(log(folder / f"read_{count}.log", ends[order], times[order]))
        each = max(20e-6, count / 50_000)
        done = np.arange(1, 4001) * each / count
        found.append(log(folder / f"write_{count}.log", done, np.full(4000, each), writes=True))
    return found


def test_a_known_drive_is_found_again(known):
    fitted = fit_ssd(known, 1e12, name="known")
    ssd = fitted.ssd
    assert ssd.parallel == pytest.approx(8, rel=0.25)
    assert ssd.reads[0].latency == pytest.approx(100e-6, rel=0.02)
    # 8 units of 60 us
    assert ssd.reads[0].rate == pytest.approx(8 / 60e-6, rel=0.05)
    assert ssd.writes[0].rate == pytest.approx(50_000, rel=0.05) and ssd.writes[0].latency == pytest.approx(20e-6)
    assert ssd.buffered and not fitted.notes


def test_the_second_half_of_a_known_drive_is_predicted(known):
    found = fit_ssd(known, 1e12, judge=True)
    assert found.held_out and found.comparison.sizes["log"] == 8
    assert (np.abs(found.comparison.predicted / found.comparison.measured - 1) < 0.08).all()
    assert "second half of each log, which the fit did not use" in str(found)


def test_the_second_half_of_measured_logs_is_predicted():
    """A virtual disk, measured with fio 3.33, 4,000 requests a log: each mean within 25%, their geometric mean within 8%."""
    found = fit_ssd(MEASURED, 256e9, judge=True)
    distance = np.log(found.comparison.predicted / found.comparison.measured)
    assert (np.abs(distance) < 0.3).all() and abs(float(distance.mean())) < 0.08
    assert not found.ssd.buffered and found.ssd.parallel == 2


def test_spread_has_the_quantiles_of_the_log():
    fitted = fit_ssd(MEASURED, 256e9)
    shares, multiples = fitted.ssd.spread(4 * KB)
    with gzip.open(data_path("samples", "fio") / "read_4k_1.log.gz", "rt") as stream:
        latency = np.array([float(line.split(",")[1]) for line in stream]) * 1e-9
    assert float(shares @ multiples) == pytest.approx(1)
    assert float(np.interp(0.5, np.cumsum(shares), multiples)) * latency.mean() == pytest.approx(
        np.median(latency), rel=0.1
    )


def test_logs_of_one_outstanding_request_do_not_determine_the_units(known):
    fitted = fit_ssd(known[:1], 1e12)
    assert fitted.ssd.parallel == 1
    assert any("does not determine the units" in note for note in fitted.notes)
    assert any("no log has writes" in note for note in fitted.notes)


def test_a_rate_beyond_the_logs_is_noted(known):
    assert any("is extrapolated" in note for note in fit_ssd([known[0], known[4]], 1e12).notes)


def test_reads_that_do_not_wait_show_no_rate(tmp_path):
    ends = np.arange(1, 2001) * 25e-6
    logs = [
        log(tmp_path / "one.log", np.arange(1, 2001) * 100e-6, np.full(2000, 100e-6)),
        log(tmp_path / "four.log", ends, np.full(2000, 101e-6)),
    ]
    assert_refused(lambda: fit_ssd(logs, 1e12), "add a log with a higher iodepth")


def test_averaged_logs_are_rejected(tmp_path):
    """fio writes a line for each interval with `log_avg_msec`, and microseconds in old versions."""
    assert_refused(
        lambda: fit_ssd([log(tmp_path / "a.log", np.arange(300) * 0.1, np.full(300, 1e-4))], 1e12),
        "without log_avg_msec",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no numbers\n" * 300, "give a latency log of fio"),
        ("1, 2\n" * 300, "give a latency log of fio"),
        ("1, 40000, 0, 4096, 0\n" * 20, "20 requests; give at least 200"),
        ("1, 40000, 2, 4096, 0\n" * 300, "directions other than 0"),
        ("1, 40000, 0, 4096, 0\n2, 40000, 1, 4096, 0\n" * 200, "it has several operations or sizes"),
        ("1, 40000, 0, 4096, 0\n2, 40000, 0, 8192, 0\n" * 200, "it has several operations or sizes"),
        ("1, -5, 0, 4096, 0\n" * 300, "latencies in ns above 0"),
        ("1, 50000000, 0, 4096, 0\n2, 50000000, 0, 4096, 0\n" * 200, "add a log with iodepth=1"),
        ("1, 40000, 1, 4096, 0\n" * 300, "none has reads"),
    ],
)
def test_files_that_are_no_logs_are_rejected(tmp_path, text, message):
    path = tmp_path / "some.log"
    path.write_text(text)
    assert_refused(lambda: fit_ssd([path], 1e12), message)


def test_a_missing_log_is_rejected(tmp_path):
    assert_refused(lambda: fit_ssd([tmp_path / "none.log"], 1e12), "none.log")
    assert_refused(lambda: fit_ssd([], 1e12), "give at least 1")
