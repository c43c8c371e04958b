"""Synthetic traces that replace traces that are not public.

The models are Cello base, Cello disk 6 and TPC-C of (srarray, table 3), and SAP, Cello2002, WebSearch and Financial of
(dsptf, table 2). A synthetic trace matches the values that the table gives, and no other property of the original. Each
quantity that the table does not give is a named field, with a default and a reason for the default. Every result that
was measured on a synthetic trace names the synthetic trace.

>>> trace = generate(CELLO_BASE, seed=0, stop=3600.0)
>>> compare(CELLO_BASE, generate(CELLO_BASE, seed=0))      # doctest: +SKIP
>>> small = SAP.scaled(1 / 32)
>>> compare(small, generate(small, seed=0))                # doctest: +SKIP

====================================  ==================================================================
generate                              generates a trace from a model of either family
compare, Compared                     compares a generated trace with its targets, value by value
TraceModel                            a model of either family: targets and assumptions
seeking                               the family whose seeks are published (srarray, table 3)
CELLO_BASE, CELLO_DISK6, TPCC         the three columns of that table
SeekingTraceModel                     a model of this family; the targets determine its hot regions
popular                               the family whose hit rates are published (dsptf, tables 2 and 3)
SAP, CELLO2002, WEBSEARCH, FINANCIAL  the four columns of these tables
PopularTraceModel                     a model of this family: `scaled`, `cache`, `expected_hit_rate`
Popularity                            the popularity of the data of a model; the hit rate determines it
====================================  ==================================================================
"""

from storagekit.workload.synthetic import popular, seeking
from storagekit.workload.synthetic.compared import Compared
from storagekit.workload.synthetic.families import TraceModel, compare, generate
from storagekit.workload.synthetic.popular import CELLO2002, FINANCIAL, SAP, WEBSEARCH, Popularity, PopularTraceModel
from storagekit.workload.synthetic.seeking import CELLO_BASE, CELLO_DISK6, TPCC, SeekingTraceModel

__all__ = [
    "CELLO2002",
    "CELLO_BASE",
    "CELLO_DISK6",
    "FINANCIAL",
    "SAP",
    "TPCC",
    "WEBSEARCH",
    "Compared",
    "PopularTraceModel",
    "Popularity",
    "SeekingTraceModel",
    "TraceModel",
    "compare",
    "generate",
    "popular",
    "seeking",
]
