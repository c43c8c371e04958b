"""Stand-ins for traces that are not public: those of (srarray, Table 3), Cello base, Cello disk 6 and TPC-C, and those
of (dsptf, Table 2), SAP, Cello2002, WebSearch and Financial.

A stand-in matches every figure that its table gives and nothing else; what the table leaves open is a named field with
a default and its reason. Whatever is measured on one says so.

>>> trace = generate(CELLO_BASE, seed=0, stop=3600.0)
>>> compare(CELLO_BASE, generate(CELLO_BASE, seed=0))      # doctest: +SKIP
>>> small = SAP.scaled(1 / 32)
>>> compare(small, generate(small, seed=0))                # doctest: +SKIP

====================================  ==========================================================
generate                              a trace of a model of either family
compare, Compared                     a generated trace against its targets, figure by figure
StandIn                               a model of either family: targets, assumptions
seeking                               the family known by its seeks, (srarray, Table 3)
CELLO_BASE, CELLO_DISK6, TPCC         its three columns
SeekingStandIn                        a model of one: how hot its hot places are, solved from the targets
popular                               the family known by its hit rate, (dsptf, Tables 2 and 3)
SAP, CELLO2002, WEBSEARCH, FINANCIAL  its four columns
PopularStandIn                        a model of one: `scaled`, `cache`, `expected_hit_rate`
Popularity                            which data is asked for how often, solved from the hit rate
====================================  ==========================================================
"""

from storagekit.workload.synthetic import popular, seeking
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.families import StandIn, compare, generate
from storagekit.workload.synthetic.popular import CELLO2002, FINANCIAL, SAP, WEBSEARCH, Popularity, PopularStandIn
from storagekit.workload.synthetic.seeking import CELLO_BASE, CELLO_DISK6, TPCC, SeekingStandIn

__all__ = [
    "CELLO2002",
    "CELLO_BASE",
    "CELLO_DISK6",
    "FINANCIAL",
    "SAP",
    "TPCC",
    "WEBSEARCH",
    "Compared",
    "PopularStandIn",
    "Popularity",
    "SeekingStandIn",
    "StandIn",
    "compare",
    "generate",
    "popular",
    "seeking",
]
