"""Charts that answer: controls, an answer in words and a chart, redrawn in place by a kernel or in a page without one.

A `Board` is a question: controls, what answers at their values, the answer in words, the answer drawn. `live(board)` is the
board in JupyterLab, every value asked of Python as it is chosen; `export(board, path)` is one HTML file of it for which every
combination of some values has been asked beforehand, alive without a kernel or a network.
"""

from storagekit.charts.live.board import Board as Board
from storagekit.charts.live.board import FilledBoard as FilledBoard
from storagekit.charts.live.board import Shown as Shown
from storagekit.charts.live.board import Template as Template
from storagekit.charts.live.controls import ChoiceControl as ChoiceControl
from storagekit.charts.live.controls import Control as Control
from storagekit.charts.live.controls import Slider as Slider
from storagekit.charts.live.controls import StepsControl as StepsControl
from storagekit.charts.live.exported import export as export
from storagekit.charts.live.kernel import live as live
from storagekit.charts.live.offline import offline as offline
from storagekit.charts.live.words import Said as Said
