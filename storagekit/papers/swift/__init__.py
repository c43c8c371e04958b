"""Cabrera and Long, Exploiting Multiple I/O Streams to Provide High Data-Rates, USENIX Summer 1991.

Each kind of exhibit has a module. It contains the functions that compute the data, and then the functions that compare
the data with the claims of the paper. The function in `draw` that charts an exhibit has the name of the exhibit.

`ethernet` is a small model of the prototype. `gigabit_system` is the simulated
system of section 5.
"""

from typing import TYPE_CHECKING

from storagekit.core.lazy_loading import loader
from storagekit.papers.swift.figures import fig3 as fig3
from storagekit.papers.swift.figures import fig3_findings as fig3_findings
from storagekit.papers.swift.figures import fig4 as fig4
from storagekit.papers.swift.figures import fig4_findings as fig4_findings
from storagekit.papers.swift.figures import fig5 as fig5
from storagekit.papers.swift.figures import fig5_findings as fig5_findings
from storagekit.papers.swift.figures import fig6 as fig6
from storagekit.papers.swift.figures import fig6_findings as fig6_findings
from storagekit.papers.swift.figures import largest_loads as largest_loads
from storagekit.papers.swift.figures import shared_findings as shared_findings
from storagekit.papers.swift.gigabit_system import StreamEffort as StreamEffort
from storagekit.papers.swift.gigabit_system import effort as effort
from storagekit.papers.swift.gigabit_system import gigabit as gigabit
from storagekit.papers.swift.measured import checked_tables as checked_tables
from storagekit.papers.swift.prototype import predictions as predictions
from storagekit.papers.swift.prototype import sensitivity as sensitivity
from storagekit.papers.swift.prototype import table1_findings as table1_findings
from storagekit.papers.swift.prototype import table2_findings as table2_findings
from storagekit.papers.swift.prototype import table3_findings as table3_findings
from storagekit.papers.swift.prototype import table4_findings as table4_findings
from storagekit.papers.swift.reads import reads as reads
from storagekit.papers.swift.sessions import admitted as admitted
from storagekit.papers.swift.sessions import allocation as allocation
from storagekit.papers.swift.sessions import choices as choices
from storagekit.papers.swift.sessions import cluster as cluster
from storagekit.papers.swift.sessions import mediator_findings as mediator_findings
from storagekit.papers.swift.sessions import survival as survival
from storagekit.papers.swift.studies import check_data as check_data
from storagekit.papers.swift.studies import modern as modern
from storagekit.papers.swift.studies import redundancy as redundancy
from storagekit.papers.swift.studies import what_if as what_if

if TYPE_CHECKING:
    from storagekit.papers.swift import draw as draw

__getattr__, __dir__ = loader(__name__, ("draw",))
