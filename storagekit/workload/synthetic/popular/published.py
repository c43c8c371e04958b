"""Models of the four columns of (dsptf, Tables 2 and 3). 1 KB is 1024 bytes."""

from __future__ import annotations

from storagekit.core.units import HOUR, KB
from storagekit.workload.synthetic.popular.model import PopularTraceModel

__all__ = ["CELLO2002", "FINANCIAL", "SAP", "WEBSEARCH"]

SAP = PopularTraceModel(
    name="SAP", requests=4_512_361, duration=15 * HOUR, read_share=0.62, mean_size=10 * KB, hit_rate=0.74
)
"""A database of billing records. With the assumptions of `PopularTraceModel` alpha is 1.116."""

CELLO2002 = PopularTraceModel(
    name="Cello2002", requests=5_248_101, duration=24 * HOUR, read_share=0.68, mean_size=11.5 * KB, hit_rate=0.76
)
"""Twenty developers of a research lab. With the assumptions of `PopularTraceModel` alpha is 1.115."""

WEBSEARCH = PopularTraceModel(
    name="WebSearch", requests=4_579_809, duration=4 * HOUR, read_share=0.90, mean_size=8.2 * KB, hit_rate=0.68
)
"""A search engine. With the assumptions of `PopularTraceModel` alpha is 1.044."""

FINANCIAL = PopularTraceModel(
    name="Financial", requests=5_334_987, duration=12 * HOUR, read_share=0.85, mean_size=9 * KB, hit_rate=0.71
)
"""Financial transactions. With the assumptions of `PopularTraceModel` alpha is 1.061."""
