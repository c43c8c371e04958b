"""The exhibits of SR-Array, drawn. `paper` maps claim ids to the paper's numbers."""

from storagekit.charts.srarray.accuracy import fig5 as fig5
from storagekit.charts.srarray.accuracy import plan_grid as plan_grid
from storagekit.charts.srarray.accuracy import table2 as table2
from storagekit.charts.srarray.accuracy import table3 as table3
from storagekit.charts.srarray.loops import equation16 as equation16
from storagekit.charts.srarray.loops import fig12 as fig12
from storagekit.charts.srarray.loops import fig13 as fig13
from storagekit.charts.srarray.replays import fig6 as fig6
from storagekit.charts.srarray.replays import fig7 as fig7
from storagekit.charts.srarray.replays import fig8 as fig8
from storagekit.charts.srarray.replays import fig9 as fig9
from storagekit.charts.srarray.replays import fig10 as fig10
from storagekit.charts.srarray.replays import fig11 as fig11
from storagekit.charts.srarray.replays import traces as traces
from storagekit.charts.srarray.what_if import best_layouts as best_layouts
from storagekit.charts.srarray.what_if import ranking as ranking
