"""Models of the three columns of (srarray, Table 3)."""

from __future__ import annotations

from storagekit.core.units import HOUR, KB
from storagekit.workload.synthetic.seeking.model import SeekingTraceModel

__all__ = ["CELLO_BASE", "CELLO_DISK6", "TPCC"]

WEEK = 7 * 24 * HOUR
# Measured for the synchronous requests of the HP Labs server trace of 2003, over an hour. The workstation trace of 1992
# has 7.9 over a week. For all requests the values are 5.1 and 9.8.
CELLO_COV = 6.5
# Seconds. The median gap of synchronous requests in the HP Labs workstation trace of May 1992 is 32 ms. A process waits
# for its last request before it sends the next request, so the disks of that year determine the gap.
CELLO_BURST_GAP = 0.03
# variance / mean of the requests in ten minutes: 600 in the workstation trace's week, 850 in the server trace's hour
CELLO_DISPERSION = 850.0

CELLO_BASE = SeekingTraceModel(
    name="Cello base",
    data=8_400_000_000,
    requests=1_717_483,
    duration=WEEK,
    read_share=0.552,
    asynchronous_share=0.189,
    locality=4.14,
    read_after_write=0.0415,
    interarrival_cov=CELLO_COV,
    burst_gap=CELLO_BURST_GAP,
    dispersion=CELLO_DISPERSION,
    request_size=8 * KB,
)
"""A week of an HP Labs server without its news disk. Assumed: requests of one file system block, 8 KB, as six in ten
requests of the workstation trace of 1992; burstiness of this trace and of the server trace of 2003 (see the source)."""

CELLO_DISK6 = SeekingTraceModel(
    name="Cello disk 6",
    data=1_300_000_000,
    requests=1_545_341,
    duration=WEEK,
    read_share=0.358,
    asynchronous_share=0.161,
    locality=16.67,
    read_after_write=0.038,
    interarrival_cov=CELLO_COV,
    burst_gap=CELLO_BURST_GAP,
    dispersion=CELLO_DISPERSION,
    request_size=8 * KB,
)
"""The news disk of the server of `CELLO_BASE`, with the same assumptions."""

TPCC = SeekingTraceModel(
    name="TPC-C",
    data=9_000_000_000,
    requests=3_598_422,
    duration=2 * HOUR,
    read_share=0.548,
    asynchronous_share=0.0,
    locality=1.04,
    read_after_write=0.148,
    interarrival_cov=1.0,
    request_size=2 * KB,
)
"""Two hours of a database benchmark on 31 disks. Assumed: Poisson arrivals, because the many terminals are independent;
pages of 2 KB, the usual size of the databases of 1994."""
