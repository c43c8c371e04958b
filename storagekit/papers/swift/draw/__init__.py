"""Charts of Swift's exhibits."""

from storagekit.papers.swift.draw.figures import fig3 as fig3
from storagekit.papers.swift.draw.figures import fig4 as fig4
from storagekit.papers.swift.draw.figures import fig5 as fig5
from storagekit.papers.swift.draw.figures import fig6 as fig6
from storagekit.papers.swift.draw.prototype import intervals as intervals
from storagekit.papers.swift.draw.prototype import reads as reads
from storagekit.papers.swift.draw.prototype import tables as tables
from storagekit.papers.swift.draw.sessions import allocation as allocation
from storagekit.papers.swift.draw.sessions import choices as choices
from storagekit.papers.swift.draw.studies import check_data as check_data
from storagekit.papers.swift.draw.studies import modern as modern
from storagekit.papers.swift.draw.studies import redundancy as redundancy
