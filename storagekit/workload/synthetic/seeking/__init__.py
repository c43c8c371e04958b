"""Stand-ins known by their seeks: the three traces of (srarray, Table 3).

Their table gives seek locality and how often reads ask for what was lately written, so requests go to places that stay hot
or anywhere, and some re-read.
"""

from storagekit.workload.synthetic.seeking.blocks import generate as generate
from storagekit.workload.synthetic.seeking.comparison import compare as compare
from storagekit.workload.synthetic.seeking.model import SeekingTraceModel as SeekingTraceModel
from storagekit.workload.synthetic.seeking.published import CELLO_BASE as CELLO_BASE
from storagekit.workload.synthetic.seeking.published import CELLO_DISK6 as CELLO_DISK6
from storagekit.workload.synthetic.seeking.published import TPCC as TPCC
