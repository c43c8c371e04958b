"""Charts of the exhibits of D-SPTF. The argument `paper` has the numbers of the paper by identifier of the claim."""

from storagekit.papers.dsptf.draw.conflicts import table5 as table5
from storagekit.papers.dsptf.draw.conflicts import table6 as table6
from storagekit.papers.dsptf.draw.failing import failing as failing
from storagekit.papers.dsptf.draw.loops import fig1 as fig1
from storagekit.papers.dsptf.draw.loops import fig5 as fig5
from storagekit.papers.dsptf.draw.loops import fig9 as fig9
from storagekit.papers.dsptf.draw.loops import interpretations as interpretations
from storagekit.papers.dsptf.draw.loops import table1 as table1
from storagekit.papers.dsptf.draw.network import explored as explored
from storagekit.papers.dsptf.draw.network import messages as messages
from storagekit.papers.dsptf.draw.network import network as network
from storagekit.papers.dsptf.draw.replays import fig6 as fig6
from storagekit.papers.dsptf.draw.replays import fig7 as fig7
from storagekit.papers.dsptf.draw.replays import fig8 as fig8
from storagekit.papers.dsptf.draw.traces import table2 as table2
from storagekit.papers.dsptf.draw.traces import table3 as table3
from storagekit.papers.dsptf.draw.traces import traces as traces
from storagekit.papers.dsptf.draw.unequal import speeds as speeds
from storagekit.papers.dsptf.draw.unequal import table4 as table4
