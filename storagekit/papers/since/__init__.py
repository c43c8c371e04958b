"""Protocols from later papers, on the same engine and with the same random requests as the five papers.

`selection` compares policies that select a replica: with exact results for servers, and with one another on disks.
`sharing` compares mClock with a fair queue, and dmClock with mClock at each brick. `declustering` simulates declustered
parity, and `codes` counts the losses that codes tolerate. The function in `draw` that charts an exhibit has the name of the
exhibit.
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.papers.since.codes import codes as codes
from storagekit.papers.since.codes import codes_findings as codes_findings
from storagekit.papers.since.declustering import declustering as declustering
from storagekit.papers.since.declustering import declustering_findings as declustering_findings
from storagekit.papers.since.selection import effort as effort
from storagekit.papers.since.selection import floors as floors
from storagekit.papers.since.selection import floors_findings as floors_findings
from storagekit.papers.since.selection import mean_fields as mean_fields
from storagekit.papers.since.selection import mean_fields_findings as mean_fields_findings
from storagekit.papers.since.selection import tails as tails
from storagekit.papers.since.selection import tails_findings as tails_findings
from storagekit.papers.since.sharing import bricks as bricks
from storagekit.papers.since.sharing import bricks_findings as bricks_findings
from storagekit.papers.since.sharing import shares as shares
from storagekit.papers.since.sharing import shares_findings as shares_findings
from storagekit.papers.since.sharing import tenants as tenants
from storagekit.papers.since.sharing import tenants_findings as tenants_findings

if TYPE_CHECKING:
    from storagekit.papers.since import draw as draw

__getattr__, __dir__ = loader(__name__, ("draw",))
