"""Wu and Burns, Improving I/O Performance of Clustered Storage Systems by Adaptive Request Distribution, HPDC 2006.

Each kind of exhibit has a module, which computes its data and the findings on the paper's claims. The module of the
same name in `draw` has its charts. `cluster` is the system of the paper.
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.papers.ars.adapting import adapting as adapting
from storagekit.papers.ars.cluster import FOUR as FOUR
from storagekit.papers.ars.cluster import PROTOCOLS as PROTOCOLS
from storagekit.papers.ars.cluster import effort as effort
from storagekit.papers.ars.failing import extra as extra
from storagekit.papers.ars.failing import failing_findings as failing_findings
from storagekit.papers.ars.failing import reads as reads
from storagekit.papers.ars.failing import writes as writes
from storagekit.papers.ars.financial import financial as financial
from storagekit.papers.ars.latency import fig7 as fig7
from storagekit.papers.ars.latency import fig7_findings as fig7_findings
from storagekit.papers.ars.promises import algorithm_findings as algorithm_findings
from storagekit.papers.ars.promises import histories as histories
from storagekit.papers.ars.promises import moves as moves
from storagekit.papers.ars.responses import fig4 as fig4
from storagekit.papers.ars.responses import fig4_findings as fig4_findings
from storagekit.papers.ars.responses import fig5 as fig5
from storagekit.papers.ars.responses import fig5_findings as fig5_findings
from storagekit.papers.ars.responses import loads as loads
from storagekit.papers.ars.settling import equal as equal
from storagekit.papers.ars.settling import halved as halved
from storagekit.papers.ars.settling import settled as settled
from storagekit.papers.ars.tables import table1 as table1
from storagekit.papers.ars.tables import table2 as table2
from storagekit.papers.ars.throughput import buffers as buffers
from storagekit.papers.ars.throughput import fig6 as fig6
from storagekit.papers.ars.throughput import fig6_findings as fig6_findings
from storagekit.papers.ars.throughput import fig6_interpretations as fig6_interpretations
from storagekit.papers.ars.throughput import windows as windows

if TYPE_CHECKING:
    from storagekit.papers.ars import draw as draw

__getattr__, __dir__ = loader(__name__, ("draw",))
