"""Altair charts from Datasets. The package imports neither JAX nor the engine."""

from storagekit.charts.live import AnswerText as AnswerText
from storagekit.charts.live import ChoiceControl as ChoiceControl
from storagekit.charts.live import Dashboard as Dashboard
from storagekit.charts.live import Slider as Slider
from storagekit.charts.live import StepsControl as StepsControl
from storagekit.charts.live import Template as Template
from storagekit.charts.live import export as export
from storagekit.charts.live import live as live
from storagekit.charts.live import offline as offline
from storagekit.charts.marks import AxisStyle as AxisStyle
from storagekit.charts.marks import bars as bars
from storagekit.charts.marks import curves as curves
from storagekit.charts.marks import level as level
from storagekit.charts.marks import lines as lines
from storagekit.charts.marks import paper_points as paper_points
from storagekit.charts.marks import table as table
from storagekit.charts.theme import THEME as THEME
from storagekit.charts.theme import finished as finished
from storagekit.charts.tornado import tornado as tornado
