"""Interactive charts: controls, an answer in words and a chart, updated by a kernel or in a static page.

A `Dashboard` has controls, a function that computes an answer from the values of the controls, the answer in words, and
a chart of the answer. `live(dashboard)` is the dashboard in JupyterLab, where Python computes every answer.
`export(dashboard, path)` writes one HTML file with the answers for all combinations of some values. This file needs no
kernel and no network.
"""

from storagekit.charts.live.controls import ChoiceControl as ChoiceControl
from storagekit.charts.live.controls import Control as Control
from storagekit.charts.live.controls import Slider as Slider
from storagekit.charts.live.controls import StepsControl as StepsControl
from storagekit.charts.live.dashboard import Dashboard as Dashboard
from storagekit.charts.live.dashboard import DashboardContent as DashboardContent
from storagekit.charts.live.dashboard import FilledDashboard as FilledDashboard
from storagekit.charts.live.dashboard import Template as Template
from storagekit.charts.live.exported import export as export
from storagekit.charts.live.kernel import live as live
from storagekit.charts.live.offline import offline as offline
from storagekit.charts.live.words import AnswerText as AnswerText
