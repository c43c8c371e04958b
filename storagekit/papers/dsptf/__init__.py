"""Lumb, Golding and Ganger, D-SPTF: Decentralized Request Distribution in Brick-based Storage Systems, ASPLOS 2004.

Each kind of exhibit has a module: first the functions that compute its data, then the findings on the paper's claims.
The function in `draw` that charts an exhibit has the name of the exhibit. The systems of the paper are in `brick_group`
and `bricks`.
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.papers.dsptf.brick_group import SCHEMES as SCHEMES
from storagekit.papers.dsptf.brick_group import effort as effort
from storagekit.papers.dsptf.conflicts import one_at_a_time as one_at_a_time
from storagekit.papers.dsptf.conflicts import protocol as protocol
from storagekit.papers.dsptf.conflicts import protocol_findings as protocol_findings
from storagekit.papers.dsptf.conflicts import served_twice as served_twice
from storagekit.papers.dsptf.conflicts import table5 as table5
from storagekit.papers.dsptf.conflicts import table5_findings as table5_findings
from storagekit.papers.dsptf.conflicts import table6 as table6
from storagekit.papers.dsptf.conflicts import table6_findings as table6_findings
from storagekit.papers.dsptf.failing import failing as failing
from storagekit.papers.dsptf.failing import failing_findings as failing_findings
from storagekit.papers.dsptf.loops import fig1 as fig1
from storagekit.papers.dsptf.loops import fig1_findings as fig1_findings
from storagekit.papers.dsptf.loops import fig5 as fig5
from storagekit.papers.dsptf.loops import fig5_findings as fig5_findings
from storagekit.papers.dsptf.loops import fig5_interpretations as fig5_interpretations
from storagekit.papers.dsptf.loops import fig9 as fig9
from storagekit.papers.dsptf.loops import fig9_findings as fig9_findings
from storagekit.papers.dsptf.loops import gain_findings as gain_findings
from storagekit.papers.dsptf.loops import gains as gains
from storagekit.papers.dsptf.loops import table1 as table1
from storagekit.papers.dsptf.loops import table1_findings as table1_findings
from storagekit.papers.dsptf.loops import table1_interpretations as table1_interpretations
from storagekit.papers.dsptf.luns import table3_luns as table3_luns
from storagekit.papers.dsptf.network import messages as messages
from storagekit.papers.dsptf.network import network as network
from storagekit.papers.dsptf.replays import replay_findings as replay_findings
from storagekit.papers.dsptf.replays import replays as replays
from storagekit.papers.dsptf.replays import trace_effort as trace_effort
from storagekit.papers.dsptf.traces import compared as compared
from storagekit.papers.dsptf.traces import real as real
from storagekit.papers.dsptf.traces import real_findings as real_findings
from storagekit.papers.dsptf.traces import table2 as table2
from storagekit.papers.dsptf.traces import table2_findings as table2_findings
from storagekit.papers.dsptf.traces import table3 as table3
from storagekit.papers.dsptf.traces import table3_findings as table3_findings
from storagekit.papers.dsptf.unequal import table4 as table4
from storagekit.papers.dsptf.unequal import table4_findings as table4_findings
from storagekit.papers.effort import Effort as Effort

if TYPE_CHECKING:
    from storagekit.papers.dsptf import draw as draw

__getattr__, __dir__ = loader(__name__, ("draw",))
