"""Test the columns of biosnoop of BCC, in the shapes that its versions print."""

import numpy as np
import pytest

from storagekit.core.errors import InputError
from storagekit.workload.trace import read

PLAIN = b"""\
TIME(s)     COMM           PID    DISK    T SECTOR     BYTES   LAT(ms)
0.000004    supervise      1950   xvda1   W 13092560   4096       0.74
0.000178    Web Content    1950   xvda1   R 13092432   1024       0.61
0.001469    ?              0              R 18446744073709551615 0   1.24
0.001588    kworker/0:3    1956   xvdb    R 18446744073709551615 0   0.50
1.022346    supervise      1950   xvdb    W 13115272   65536      2.00
"""
QUEUED = b"""\
TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)
0.000004    supervise      1950    xvda1   WS   13092560   4096      0.010   0.740
0.000178    Web Content    1950    xvda1   RA   13092432   1024     -1.000   0.610
0.000300    fstrim         1957    xvda1   DS   13092432   1024      0.005   0.100
0.000400    jbd2/xvda1     1958    xvda1   FF   -1         0         0.005   0.100
1.022346    supervise      1950    xvdb    W    13115272   65536     0.005   2.000
"""


def save(folder, data):
    path = folder / "sample"
    path.write_bytes(data)
    return path


def without_disk(data):
    """Return a file without the line in which the name of the disk is empty."""
    return b"".join(line for line in data.splitlines(keepends=True) if b"?" not in line)


def with_pattern(data):
    """Return a file with the column P, which the option -P adds."""
    for size in (b"BYTES", b"4096", b"1024", b" 0 ", b"65536"):
        data = data.replace(size + b" ", size + (b" P " if size == b"BYTES" else b" S "))
    return data


@pytest.mark.parametrize("titled", [True, False])
@pytest.mark.parametrize("data", [without_disk(PLAIN), QUEUED, with_pattern(QUEUED)])
def test_a_sample_by_hand(tmp_path, data, titled):
    """Requests arrive at TIME - LAT: -736, -432 and 1,020,346 us."""
    trace = read(save(tmp_path, data if titled else data.partition(b"\n")[2]))
    assert trace.source.format == "biosnoop" and trace.devices == ("xvda1", "xvdb")
    np.testing.assert_allclose(trace.time, [0, 304e-6, 1.021082], rtol=1e-12)
    np.testing.assert_allclose(trace.origin, -736e-6, rtol=1e-12)
    np.testing.assert_allclose(trace.measured_response, [0.74e-3, 0.61e-3, 2e-3], rtol=1e-12)
    assert trace.device.tolist() == [0, 0, 1] and trace.read.tolist() == [False, True, False]
    assert (trace.offset // 512).tolist() == [13092560, 13092432, 13115272] and trace.size.tolist() == [
        4096,
        1024,
        65536,
    ]
    assert trace.source.skipped == ({"empty": 1} if b"QUE" not in data else {"trim": 1, "flush": 1})
    assert trace.source.notes == ("arrivals are TIME - LAT, when the request is sent to the drive",)


def test_a_line_without_a_disk_is_damaged(tmp_path):
    path = save(tmp_path, PLAIN)
    with pytest.raises(InputError, match=r"line 4 has 7 fields"):
        read(path)
    assert read(path, skip_bad=1).source.skipped == {"damaged": 1, "empty": 1}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"0.74", b"-0.74", r"line 2 has LAT\(ms\) '-0.74'"),
        (b"13092560", b"-1", "line 2 has SECTOR '-1'"),
        (b"13092560   4096", b"x 0", "line 2 has SECTOR 'x'"),
        (b" W 13092560", b" X 13092560", "line 2 has T 'X', must be R, W, or the letters RWBS"),
        (b"supervise      1950   xvda1", b"supervise      me   xvda1", "line 2 has PID 'me'"),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, old, new, message):
    with pytest.raises(InputError, match=message):
        read(save(tmp_path, without_disk(PLAIN).replace(old, new, 1)))


def test_the_output_of_bpftrace_raises_with_the_reason(tmp_path):
    data = b"Attaching 3 probes...\nTIME(ms)     DISK    COMM    PID    LAT(ms)\n611  nvme0n1 bash   4179   10\n"
    with pytest.raises(
        InputError, match=r"biosnoop.bt of bpftrace, which prints neither sectors nor sizes; use biosnoop of BCC"
    ):
        read(save(tmp_path, data))
