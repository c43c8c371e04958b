"""Charts of Swift's exhibits."""

from storagekit.charts.swift.figures import fig3 as fig3
from storagekit.charts.swift.figures import fig4 as fig4
from storagekit.charts.swift.figures import fig5 as fig5
from storagekit.charts.swift.figures import fig6 as fig6
from storagekit.charts.swift.figures import what_if as what_if
from storagekit.charts.swift.prototype import intervals as intervals
from storagekit.charts.swift.prototype import tables as tables
from storagekit.charts.swift.sessions import allocation as allocation
from storagekit.charts.swift.sessions import choices as choices
from storagekit.charts.swift.studies import check_data as check_data
from storagekit.charts.swift.studies import modern as modern
from storagekit.charts.swift.studies import redundancy as redundancy
