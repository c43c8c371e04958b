"""Names of the schemes, and identifiers of the claims. Both the findings and the charts use them."""

from storagekit.core.units import KB
from storagekit.papers.claim_table import ClaimTable

# Name of each scheme, by the key that stands for the scheme in the identifiers of claims.
KEYS = {
    "central": "Central SPTF",
    "dsptf": "D-SPTF",
    "hashing": "Hashing",
    "lard": "LARD",
    "weighted_hash": "Weighted hash",
}
FOUR = {key: name for key, name in KEYS.items() if key != "weighted_hash"}
TRACES = ("sap", "cello2002", "websearch", "financial")
FAST, SLOW = 0, 1

FIG1 = ClaimTable("dsptf.fig1.{depth}", depth={"no_gain_at_2": 2, "gain_at_16": 16})
TABLE1 = ClaimTable(
    "dsptf.table1.{scheme}.{quantity}",
    scheme=FOUR,
    quantity={"throughput": "throughput", "idle": "idle", "service": "service_time"},
)
GAINS = ClaimTable("dsptf.fig5.gain_{replicas}", replicas=(2, 8))
TABLE2 = ClaimTable(
    "dsptf.table2.{trace}[{figure}]",
    trace=TRACES,
    figure={"reads": "reads", "size_kb": "size", "requests": "requests", "hours": "duration"},
)
TABLE3 = ClaimTable("dsptf.table3.{scheme}[{trace}]", scheme=FOUR, trace=TRACES)
TABLE4 = ClaimTable("dsptf.table4.{brick}[{scheme}]", brick={"fast": FAST, "slow": SLOW}, scheme=KEYS)
TABLE5 = ClaimTable("dsptf.table5.way{replicas}[{bricks}]", replicas=(2, 4, 6, 8), bricks=(16, 32, 64, 128))
OVERHEAD = ClaimTable("dsptf.table5.overhead_{size}", size={"4kb": 4 * KB, "64kb": 64 * KB}, replicas=(8,))
TABLE6 = ClaimTable("dsptf.table6.conflicts[{replicas}]", replicas=(2, 4, 6, 8))
FIG8 = ClaimTable(
    "dsptf.fig8.{state}_{scheme}", state=("normal", "degraded"), scheme={"dsptf": "D-SPTF", "hash": "Hashing"}
)
FIG8_RATIOS = ClaimTable("dsptf.fig8.ratio_{state}", state=("normal", "degraded"))
FIG8_MISSED = ClaimTable(
    "dsptf.fig8.missed[{state}_{scheme}]", state=("normal", "degraded"), scheme={"dsptf": "D-SPTF", "hash": "Hashing"}
)
