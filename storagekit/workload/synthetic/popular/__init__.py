"""Stand-ins known by their hit rate: the four traces of (dsptf, Tables 2 and 3).

Their tables give how often one large cache answers, and no distances, so some data is more popular than other.
"""

from storagekit.workload.synthetic.popular.comparison import compare as compare
from storagekit.workload.synthetic.popular.generation import generate as generate
from storagekit.workload.synthetic.popular.model import PopularTraceModel as PopularTraceModel
from storagekit.workload.synthetic.popular.popularity import Popularity as Popularity
from storagekit.workload.synthetic.popular.published import CELLO2002 as CELLO2002
from storagekit.workload.synthetic.popular.published import FINANCIAL as FINANCIAL
from storagekit.workload.synthetic.popular.published import SAP as SAP
from storagekit.workload.synthetic.popular.published import WEBSEARCH as WEBSEARCH
