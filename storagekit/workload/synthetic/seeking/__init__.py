"""Synthetic traces whose seeks are published: the three traces of (srarray, Table 3).

The table gives seek locality and the share of reads that access recently written data. In the models, a request
therefore accesses either a popular range of addresses (a hot region), or any address. Some reads access recently
written data (re-reads).
"""

from storagekit.workload.synthetic.seeking.blocks import generate as generate
from storagekit.workload.synthetic.seeking.comparison import compare as compare
from storagekit.workload.synthetic.seeking.model import SeekingTraceModel as SeekingTraceModel
from storagekit.workload.synthetic.seeking.published import CELLO_BASE as CELLO_BASE
from storagekit.workload.synthetic.seeking.published import CELLO_DISK6 as CELLO_DISK6
from storagekit.workload.synthetic.seeking.published import TPCC as TPCC
