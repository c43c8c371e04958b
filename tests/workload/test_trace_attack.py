"""Test damaged files of every format.

A file raises in one line, or a second, plain reader gives the same trace; both are fast.
"""

import time
import warnings
from collections import Counter
from random import Random

import damaged_traces
import numpy as np
import pytest
from damaged_traces import KINDS, PACKERS
from strict_traces import TABLE_COLUMNS, strict

from storagekit.core.errors import InputError
from storagekit.workload.trace import RequestTrace, characteristics, read, text

FORMAT = dict(zip(KINDS, KINDS, strict=True)) | {
    "srt13": "srt", "srt17": "srt", "blkparse-issue": "blkparse", "blkparse-remap": "blkparse",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_gets_through(tmp_path, monkeypatch, kind):
    attack(tmp_path, monkeypatch, kind, 100)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_of_twenty_thousand_gets_through(tmp_path, monkeypatch, kind):
    counts = attack(tmp_path, monkeypatch, kind, 20_000)
    print(f"\n{kind}: {dict(counts)}")


def attack(folder, monkeypatch, kind: str, count: int) -> Counter:
    """Read damaged files and return the counts of outcomes; a violation is reported with its number and bytes."""
    monkeypatch.chdir(folder)
    counts: Counter = Counter()
    for number in range(count):
        rng = Random(f"{kind} {number}")
        # use blocks of a few lines, or of one line, so that both passes occur within a file
        monkeypatch.setattr(text, "BLOCK", rng.choice([2**21, 2**21, 40, 200]))
        plain = damaged_traces.valid(kind, rng)
        packed = PACKERS[rng.choice(list(PACKERS))].compress(plain) if rng.random() < 0.15 else plain
        data = damaged_traces.damaged(packed, rng)
        try:
            outcome = outcome_of(data, FORMAT[kind] if rng.random() < 0.7 or kind == "table" else None)
        except Exception as fault:
            fault.add_note(f"{kind} {number}: {data[:2000]!r}")
            raise
        counts.update(outcome)
    assert counts["accepted"] > count / 20 and counts["refused"] > count / 20
    return counts


def outcome_of(data: bytes, format_name: str | None) -> tuple[str, ...]:
    """Return the outcome of one file; raise AssertionError for an outcome that is not allowed."""
    with open("sample", "wb") as file:
        file.write(data)
    # the type checks of the tests take a millisecond a line, in formats that are read line by line
    began, longest = time.process_time(), 1 + len(data) / 40_000
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            columns = TABLE_COLUMNS if format_name == "table" else None
            trace = read("sample", format_name, columns=columns)
        except InputError as fault:
            assert_one_line(str(fault))
            assert time.process_time() - began < longest and not noted
            assert format_name is None or unpacked(data) is None or refused(format_name, unpacked(data))
            return ("refused",)
        figures = characteristics(trace).as_dict()
    assert time.process_time() - began < longest
    bare = unpacked(data)
    assert bare is not None
    if trace.source.format == "table" and format_name is None:
        # a damaged header of another format is the header of a table, whose interpretation is noted
        assert trace.source.notes
        assert_lawful(trace)
        return ("accepted",)
    expected = strict(trace.source.format, bare)
    for one in noted:
        assert_one_line(str(one.message))
    assert any("no line end" in str(one.message) for one in noted) == expected.unfinished
    assert_lawful(trace)
    assert_same(trace, expected.requests)
    assert all(value is None or np.isfinite(value) or name == "seek_locality" for name, value in figures.items())
    return ("accepted", "warned") if noted else ("accepted",)


def unpacked(data: bytes) -> bytes | None:
    """Return the file without its compression, or None if it is damaged or of an unknown compression."""
    # no file of this attack is compressed by zstd, so that its mark is damage
    if data.startswith((b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c")):
        return None
    magic = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
    packer = next((PACKERS[name] for begin, name in magic.items() if data.startswith(begin)), None)
    try:
        return packer.decompress(data) if packer else data
    except Exception:
        return None


def refused(name: str, data: bytes) -> bool:
    try:
        strict(name, data)
    except ValueError:
        return True
    return False


def assert_one_line(line: str):
    assert line.isprintable() and 0 < len(line) < 400 and "sample" in line, line


def assert_lawful(trace: RequestTrace):
    assert len(trace) and trace.time[0] == 0 and np.isfinite(trace.time).all() and (np.diff(trace.time) >= 0).all()
    assert trace.device.min() >= 0 and trace.device.max() < len(trace.devices) == len(set(trace.devices))
    assert trace.offset.min() >= 0 and trace.offset.max() <= 2**62
    assert trace.size.min() >= 1 and trace.size.max() <= 2**40
    assert np.isfinite(trace.origin)
    for column in (trace.measured_response, trace.think):
        assert column is None or (np.isfinite(column).all() and column.min() >= 0)


def assert_same(trace: RequestTrace, expected):
    assert len(trace) == len(expected)
    assert [trace.devices[index] for index in trace.device] == [one.device for one in expected]
    assert trace.offset.tolist() == [one.offset for one in expected]
    assert trace.size.tolist() == [one.size for one in expected]
    assert trace.read.tolist() == [one.read for one in expected]
    # as good as the clock's own number: integers are exact, floats are not
    largest = max(abs(float(one.clock)) for one in expected)
    seconds = [float(one.clock - expected[0].clock) for one in expected]
    np.testing.assert_allclose(trace.time, seconds, rtol=1e-12, atol=1e-13 * largest)
    np.testing.assert_allclose(trace.origin, float(expected[0].clock), rtol=1e-12, atol=1e-13 * largest)
    if trace.asynchronous is not None:
        assert trace.asynchronous.tolist() == [one.asynchronous for one in expected]
    responses = [one.response for one in expected]
    if trace.measured_response is None:
        assert responses == [None] * len(expected)
    else:
        np.testing.assert_allclose(trace.measured_response, [float(one) for one in responses], rtol=1e-12)
