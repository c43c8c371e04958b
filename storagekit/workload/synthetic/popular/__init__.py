"""Synthetic traces whose hit rates are published: the four traces of (dsptf, Tables 2 and 3).

The tables give the hit rate of one large cache, but no seek distances. The models therefore use data of unequal
popularity.
"""

from storagekit.workload.synthetic.popular.comparison import compare as compare
from storagekit.workload.synthetic.popular.generation import generate as generate
from storagekit.workload.synthetic.popular.model import PopularTraceModel as PopularTraceModel
from storagekit.workload.synthetic.popular.popularity import Popularity as Popularity
from storagekit.workload.synthetic.popular.published import CELLO2002 as CELLO2002
from storagekit.workload.synthetic.popular.published import FINANCIAL as FINANCIAL
from storagekit.workload.synthetic.popular.published import SAP as SAP
from storagekit.workload.synthetic.popular.published import WEBSEARCH as WEBSEARCH
