"""Datasets to Altair charts. Knows neither JAX nor the engine; aggregates before it draws."""

from storagekit.charts.marks import bars as bars
from storagekit.charts.marks import curves as curves
from storagekit.charts.marks import explorer as explorer
from storagekit.charts.marks import paper_points as paper_points
from storagekit.charts.marks import table as table
from storagekit.charts.theme import THEME as THEME
from storagekit.charts.theme import finished as finished
