"""Stand-ins for traces that are not public: those of (srarray, Table 3), Cello base, Cello disk 6 and TPC-C, and those
of (dsptf, Table 2), SAP, Cello2002, WebSearch and Financial.

A stand-in matches every figure that its table gives and nothing else; what the table leaves open is a named field with
a default and its reason. Whatever is measured on one says so.

>>> trace = CELLO_BASE.generate(seed=0, stop=3600.0)       # doctest: +SKIP
>>> compare(CELLO_BASE, CELLO_BASE.generate(seed=0))       # doctest: +SKIP
>>> small = SAP.scaled(1 / 32)                             # doctest: +SKIP
>>> compare_popular(small, small.generate(seed=0))         # doctest: +SKIP

====================================  ==========================================================
CELLO_BASE, CELLO_DISK6, TPCC         the three columns of (srarray, Table 3)
StandIn                               a model of one: targets, assumptions, `generate`
Mixture, calibrate                    how often requests jump and re-read, solved from the targets
compare, Compared                     a generated trace against its targets, figure by figure
SAP, CELLO2002, WEBSEARCH, FINANCIAL  the four columns of (dsptf, Tables 2 and 3)
PopularStandIn                        a model of one: targets, assumptions, `scaled`, `generate`
Popularity                            which data is asked for how often, solved from the hit rate
compare_popular                       a generated trace against its targets, figure by figure
====================================  ==========================================================
"""

from storagekit.workload.standin.popular.compared import compare_popular
from storagekit.workload.standin.popular.model import PopularStandIn
from storagekit.workload.standin.popular.popularity import Popularity
from storagekit.workload.standin.popular.published import CELLO2002, FINANCIAL, SAP, WEBSEARCH
from storagekit.workload.standin.seeking.calibration import calibrate
from storagekit.workload.standin.seeking.compared import Compared, compare
from storagekit.workload.standin.seeking.model import Mixture, StandIn
from storagekit.workload.standin.seeking.published import CELLO_BASE, CELLO_DISK6, TPCC

__all__ = [
    "CELLO2002",
    "CELLO_BASE",
    "CELLO_DISK6",
    "FINANCIAL",
    "SAP",
    "TPCC",
    "WEBSEARCH",
    "Compared",
    "Mixture",
    "PopularStandIn",
    "Popularity",
    "StandIn",
    "calibrate",
    "compare",
    "compare_popular",
]
