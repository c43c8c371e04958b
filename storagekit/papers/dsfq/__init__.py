"""Wang and Merchant, Proportional-Share Scheduling for Distributed Storage Systems, FAST 2007.

Each kind of exhibit has a module, which computes its data and the findings on the paper's claims. The module of the
same name in `draw` has its charts. `bricks` is the system of the paper.
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.papers.dsfq.bricks import DEPTH as DEPTH
from storagekit.papers.dsfq.bricks import ShareEffort as ShareEffort
from storagekit.papers.dsfq.bricks import StreamThreads as StreamThreads
from storagekit.papers.dsfq.bricks import effort as effort
from storagekit.papers.dsfq.bricks import shared_bricks as shared_bricks
from storagekit.papers.dsfq.bricks import shared_servers as shared_servers
from storagekit.papers.dsfq.examples import example_delays as example_delays
from storagekit.papers.dsfq.examples import example_findings as example_findings
from storagekit.papers.dsfq.fewest import counterexample as counterexample
from storagekit.papers.dsfq.fluctuating import by_second as by_second
from storagekit.papers.dsfq.fluctuating import fig13 as fig13
from storagekit.papers.dsfq.fluctuating import fig13_depths as fig13_depths
from storagekit.papers.dsfq.fluctuating import fig13_findings as fig13_findings
from storagekit.papers.dsfq.fluctuating import fig14 as fig14
from storagekit.papers.dsfq.fluctuating import fig14_findings as fig14_findings
from storagekit.papers.dsfq.fluctuating import smoothed as smoothed
from storagekit.papers.dsfq.promises import busy as busy
from storagekit.papers.dsfq.promises import minimums as minimums
from storagekit.papers.dsfq.promises import promise_findings as promise_findings
from storagekit.papers.dsfq.promises import returning as returning
from storagekit.papers.dsfq.search import SearchEffort as SearchEffort
from storagekit.papers.dsfq.search import search_effort as search_effort
from storagekit.papers.dsfq.search import searched as searched
from storagekit.papers.dsfq.sharing import MINIMUM as MINIMUM
from storagekit.papers.dsfq.sharing import fig8 as fig8
from storagekit.papers.dsfq.sharing import fig8_findings as fig8_findings
from storagekit.papers.dsfq.sharing import fig9 as fig9
from storagekit.papers.dsfq.sharing import fig9_findings as fig9_findings
from storagekit.papers.dsfq.sharing import fig10 as fig10
from storagekit.papers.dsfq.sharing import fig10_findings as fig10_findings
from storagekit.papers.dsfq.sharing import fig11 as fig11
from storagekit.papers.dsfq.sharing import fig11_findings as fig11_findings
from storagekit.papers.dsfq.sharing import fig12 as fig12
from storagekit.papers.dsfq.sharing import fig12_findings as fig12_findings
from storagekit.papers.dsfq.sharing import theorem3_findings as theorem3_findings
from storagekit.papers.dsfq.theorems import partition as partition
from storagekit.papers.dsfq.theorems import reduces as reduces
from storagekit.papers.dsfq.theorems import theorem_findings as theorem_findings
from storagekit.papers.dsfq.virtual import equation5 as equation5
from storagekit.papers.dsfq.virtual import equation5_findings as equation5_findings
from storagekit.papers.dsfq.virtual import many_coordinators as many_coordinators

if TYPE_CHECKING:
    from storagekit.papers.dsfq import draw as draw

__getattr__, __dir__ = loader(__name__, ("draw",))
