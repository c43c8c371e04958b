"""The exhibits of D-SPTF, drawn. `paper` maps claim ids to the paper's numbers."""

from storagekit.charts.dsptf.look import COLOUR as COLOUR
from storagekit.charts.dsptf.look import KEYS as KEYS
from storagekit.charts.dsptf.look import SCHEMES as SCHEMES
from storagekit.charts.dsptf.look import TO_MS as TO_MS
from storagekit.charts.dsptf.loops import fig1 as fig1
from storagekit.charts.dsptf.loops import fig5 as fig5
from storagekit.charts.dsptf.loops import fig9 as fig9
from storagekit.charts.dsptf.loops import readings as readings
from storagekit.charts.dsptf.loops import table1 as table1
from storagekit.charts.dsptf.loops import table5 as table5
from storagekit.charts.dsptf.loops import table6 as table6
from storagekit.charts.dsptf.network import explored as explored
from storagekit.charts.dsptf.network import messages as messages
from storagekit.charts.dsptf.network import network as network
from storagekit.charts.dsptf.replays import fig6 as fig6
from storagekit.charts.dsptf.replays import fig7 as fig7
from storagekit.charts.dsptf.replays import fig8 as fig8
from storagekit.charts.dsptf.traces import table2 as table2
from storagekit.charts.dsptf.traces import table3 as table3
from storagekit.charts.dsptf.traces import traces as traces
from storagekit.charts.dsptf.unequal import failing as failing
from storagekit.charts.dsptf.unequal import speeds as speeds
from storagekit.charts.dsptf.unequal import table4 as table4
