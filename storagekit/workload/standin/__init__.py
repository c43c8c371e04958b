"""Stand-ins for the traces of (srarray, Table 3) that are not public: Cello base, Cello disk 6 and TPC-C.

A stand-in matches every figure that the table gives and nothing else; what the table leaves open is a named field with a
default and its reason. Whatever is measured on one says so.

>>> trace = CELLO_BASE.generate(seed=0, stop=3600.0)       # doctest: +SKIP
>>> compare(CELLO_BASE, CELLO_BASE.generate(seed=0))       # doctest: +SKIP

=============================  =================================================================
CELLO_BASE, CELLO_DISK6, TPCC  the three columns of the table
StandIn                        a model of one: targets, assumptions, `generate`
Mixture, calibrate             how often requests jump and re-read, solved from the targets
compare, Compared              a generated trace against its targets, figure by figure
=============================  =================================================================
"""

from storagekit.workload.standin.compared import Compared, compare
from storagekit.workload.standin.mixture import calibrate
from storagekit.workload.standin.model import Mixture, StandIn
from storagekit.workload.standin.published import CELLO_BASE, CELLO_DISK6, TPCC

__all__ = ["CELLO_BASE", "CELLO_DISK6", "TPCC", "Compared", "Mixture", "StandIn", "calibrate", "compare"]
