"""Charts of the exhibits of SR-Array.

The argument `paper` of the functions contains the paper's numbers, by the identifiers of the claims.
"""

from storagekit.papers.srarray.draw.drive_model import fig5 as fig5
from storagekit.papers.srarray.draw.equation16 import equation16 as equation16
from storagekit.papers.srarray.draw.head_tracking import table2 as table2
from storagekit.papers.srarray.draw.loops import fig12 as fig12
from storagekit.papers.srarray.draw.loops import fig13 as fig13
from storagekit.papers.srarray.draw.memory import fig11 as fig11
from storagekit.papers.srarray.draw.planning import plan_grid as plan_grid
from storagekit.papers.srarray.draw.rates import fig9 as fig9
from storagekit.papers.srarray.draw.rates import fig10 as fig10
from storagekit.papers.srarray.draw.real_traces import traces as traces
from storagekit.papers.srarray.draw.replays import fig6 as fig6
from storagekit.papers.srarray.draw.replays import fig7 as fig7
from storagekit.papers.srarray.draw.replays import fig8 as fig8
from storagekit.papers.srarray.draw.stand_ins import table3 as table3
