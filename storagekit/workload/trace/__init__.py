"""Block traces: read them in any of a dozen formats or as a table, select parts of them, and compute their characteristics.

>>> trace = read("Financial1.spc.xz")                      # doctest: +SKIP
>>> characteristics(trace.window(0, 3600)).read_share      # doctest: +SKIP

====================  ================================================================
read, chunks          read a whole file; read a file of any length in chunks
TraceFile             a trace that stays in its file, for replays in constant memory
convert               convert a file of any length to Parquet
FORMATS               the formats
RequestTrace          the result of both: equal-length arrays in SI units
request_trace         creates and validates one from arrays
characteristics       rate, mix, sizes, burstiness, locality (TraceCharacteristics, UNITS)
====================  ================================================================
"""

from storagekit.workload.trace.characteristics import (
    UNITS,
    Summary,
    TraceCharacteristics,
    characteristics,
)
from storagekit.workload.trace.reading import FORMATS, chunks, convert, read
from storagekit.workload.trace.records import RequestTrace, TraceSource, request_trace
from storagekit.workload.trace.stored import TraceFile

__all__ = [
    "FORMATS",
    "UNITS",
    "RequestTrace",
    "Summary",
    "TraceCharacteristics",
    "TraceFile",
    "TraceSource",
    "characteristics",
    "chunks",
    "convert",
    "read",
    "request_trace",
]
