"""Yu, Gum, Chen, Wang, Li, Krishnamurthy and Anderson, Trading Capacity for Performance in a Disk Array, OSDI 2000.

Each module covers one kind of exhibit. It contains the functions that return the data, and the functions that compare
the data with the claims of the paper. The module of the same name in `draw` has the charts. The modules `disk` and
`disk_array` contain the systems of the paper.
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.papers.srarray.delayed import delayed_findings as delayed_findings
from storagekit.papers.srarray.delayed import delayed_writes as delayed_writes
from storagekit.papers.srarray.delayed import full_table as full_table
from storagekit.papers.srarray.disk import ArrayEffort as ArrayEffort
from storagekit.papers.srarray.disk import effort as effort
from storagekit.papers.srarray.disk import formula_drive as formula_drive
from storagekit.papers.srarray.disk import paper_drive as paper_drive
from storagekit.papers.srarray.drive_model import fig5 as fig5
from storagekit.papers.srarray.drive_model import fig5_findings as fig5_findings
from storagekit.papers.srarray.drive_model import measured_drives as measured_drives
from storagekit.papers.srarray.equation16 import model_error as model_error
from storagekit.papers.srarray.equations import equations_findings as equations_findings
from storagekit.papers.srarray.head_tracking import table2 as table2
from storagekit.papers.srarray.head_tracking import table2_findings as table2_findings
from storagekit.papers.srarray.loops import fig12 as fig12
from storagekit.papers.srarray.loops import fig12_findings as fig12_findings
from storagekit.papers.srarray.loops import fig13 as fig13
from storagekit.papers.srarray.loops import fig13_findings as fig13_findings
from storagekit.papers.srarray.memory import fig11 as fig11
from storagekit.papers.srarray.memory import fig11_findings as fig11_findings
from storagekit.papers.srarray.planning import plan_findings as plan_findings
from storagekit.papers.srarray.planning import plan_grid as plan_grid
from storagekit.papers.srarray.rates import fig9_findings as fig9_findings
from storagekit.papers.srarray.rates import fig10 as fig10
from storagekit.papers.srarray.rates import fig10_findings as fig10_findings
from storagekit.papers.srarray.rates import sustained as sustained
from storagekit.papers.srarray.real_traces import traces as traces
from storagekit.papers.srarray.real_traces import traces_findings as traces_findings
from storagekit.papers.srarray.replays import DISKS as DISKS
from storagekit.papers.srarray.replays import TPCC_DISKS as TPCC_DISKS
from storagekit.papers.srarray.replays import by_aspect as by_aspect
from storagekit.papers.srarray.replays import by_scheme as by_scheme
from storagekit.papers.srarray.replays import fig6 as fig6
from storagekit.papers.srarray.replays import fig6_findings as fig6_findings
from storagekit.papers.srarray.replays import fig7_findings as fig7_findings
from storagekit.papers.srarray.replays import fig8 as fig8
from storagekit.papers.srarray.replays import fig8_findings as fig8_findings
from storagekit.papers.srarray.replays import recommended as recommended
from storagekit.papers.srarray.stand_ins import table3 as table3
from storagekit.papers.srarray.stand_ins import table3_findings as table3_findings

if TYPE_CHECKING:
    from storagekit.papers.srarray import draw as draw

__getattr__, __dir__ = loader(__name__, ("draw",))
