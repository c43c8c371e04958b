"""Test files that cannot be opened, and compressed files: whole, cut, damaged."""

import bz2
import gzip
import lzma
import os
import threading
from random import Random

import damaged_traces
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.workload.trace import convert, read, text
from storagekit.workload.trace.streams import HEAD, ByteStream

BLKPARSE = """\
  8,3    0        0   311.902013000    77  Q  WS 81375318 + 1 [fio]
  8,3    1        1   312.084966000    77  C  WS 81375318 + 1 [fio]
"""
PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
LINES = b"".join(b"%d,%d,512,%s,%d.25\n" % (i % 5, i * 37 % 9973, b"rw"[i % 2 : i % 2 + 1], i)
                 for i in range(20_000))  # fmt: skip


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("extension", ["", ".txt", ".gz", ".xz"])
def test_compression_is_seen_by_content_not_by_name(tmp_path, name, extension):
    path = tmp_path / f"trace{extension}"
    path.write_bytes(PACKERS[name](LINES))
    plain = tmp_path / "plain"
    plain.write_bytes(LINES)
    assert len(read(path)) == 20_000
    np.testing.assert_array_equal(read(path).offset, read(plain).offset)


@pytest.mark.parametrize("name", PACKERS)
def test_several_streams_in_one_file_are_joined(tmp_path, name):
    path = tmp_path / "joined"
    half = LINES.index(b"\n", len(LINES) // 2) + 1
    path.write_bytes(PACKERS[name](LINES[:half]) + PACKERS[name](LINES[half:]))
    assert len(read(path)) == 20_000


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("share", [0.2, 0.9, 0.999])
def test_a_cut_stream_is_named(tmp_path, name, share):
    packed = PACKERS[name](LINES)
    path = tmp_path / "cut"
    path.write_bytes(packed[: int(share * len(packed))])
    with pytest.raises(InputError, match=f"cut is truncated: its {name} stream ends early"):
        read(path)


@pytest.mark.parametrize("name", PACKERS)
def test_a_stream_cut_after_the_last_record_is_named(tmp_path, monkeypatch, name):
    """Records of blkparse end at its summary, and the rest of the file is not needed for them."""
    monkeypatch.setattr(text, "BLOCK", 2**16)
    summary = "\n".join(f" Reads Queued: {number}" for number in range(20_000))
    packed = PACKERS[name](f"{BLKPARSE}\nCPU0 (8,0):\n{summary}\n".encode())
    path = tmp_path / "cut"
    path.write_bytes(packed)
    assert len(read(path)) == 1
    path.write_bytes(packed[: int(0.9 * len(packed))])
    with pytest.raises(InputError, match=f"cut is truncated: its {name} stream ends early"):
        read(path)


@pytest.mark.parametrize("name", PACKERS)
def test_a_damaged_stream_is_named(tmp_path, name):
    packed = bytearray(PACKERS[name](LINES))
    middle = len(packed) // 2
    packed[middle : middle + 200] = bytes(255 - byte for byte in packed[middle : middle + 200])
    path = tmp_path / "harmed"
    path.write_bytes(bytes(packed))
    with pytest.raises(InputError, match=f"harmed cannot be read: its {name} stream is damaged"):
        read(path)


@pytest.mark.parametrize("name", PACKERS)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), junk=st.binary(max_size=6), keep=st.booleans())
def test_any_damage_is_an_input_error_or_a_trace(tmp_path, name, at, junk, keep):
    packed = PACKERS[name](LINES[:2000])
    i = int(at * len(packed))
    path = tmp_path / "harmed"
    path.write_bytes(packed[:i] + junk + (packed[i + len(junk) :] if keep else b""))
    try:
        read(path, "spc")
    except InputError as error:
        assert "harmed" in str(error) and "\n" not in str(error)


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    with pytest.raises(InputError, match="missing does not exist"):
        read(tmp_path / "missing")
    with pytest.raises(InputError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(InputError, match="cannot be read: embedded null"):
        read("a\0b")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InputError, match="cannot be read: Not a directory"):
        read(tmp_path / "file" / "below")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_forbidden_file_is_named(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(LINES)
    path.chmod(0)
    with pytest.raises(InputError, match="Permission denied"):
        read(path)


@pytest.mark.parametrize("kind", ["srt", "parquet"])
def test_damaged_lines_of_a_binary_file_cannot_be_left_out(tmp_path, kind):
    path = tmp_path / f"trace.{kind}"
    (tmp_path / "t.spc").write_bytes(LINES)
    if kind == "parquet":
        convert(tmp_path / "t.spc", path)
    else:
        path.write_bytes(damaged_traces.valid("srt17", Random(1)))
    with pytest.raises(
        InputError, match=f"trace.{kind} is a binary file without lines, so that skip_bad 2 has no effect"
    ):
        read(path, skip_bad=2)
    assert len(read(path, skip_bad=0))


@pytest.mark.parametrize("data", [b"", *(pack(b"") for pack in PACKERS.values())], ids=["plain", *PACKERS])
def test_an_empty_file_is_named(tmp_path, data):
    (tmp_path / "none").write_bytes(data)
    with pytest.raises(InputError, match="none is empty"):
        read(tmp_path / "none")


@pytest.mark.parametrize(("data", "remedy"), [(b"7z\xbc\xaf\x27\x1cabc", "7z x"), (b"PK\x03\x04abc", "unzip")])
def test_other_compressions_name_the_tool(tmp_path, data, remedy):
    (tmp_path / "other").write_bytes(data)
    with pytest.raises(InputError, match=remedy):
        read(tmp_path / "other")


def test_reading_gives_the_head_again_and_then_the_rest(tmp_path):
    data = os.urandom(HEAD + 1000)
    (tmp_path / "bytes").write_bytes(data)
    with ByteStream(tmp_path / "bytes") as stream:
        assert stream.head == data[:HEAD]
        assert stream.read(10) + stream.read(HEAD) + stream.read(10**6) == data
        assert stream.read(1) == b""


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    lines = b"".join(b"0,%d,512,r,%d\n" % (i, i) for i in range(20_000))
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_bytes(lines))
    writer.start()
    assert len(read(tmp_path / "pipe")) == 20_000
    writer.join()
