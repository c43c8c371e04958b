"""Charts of the exhibits of DSFQ. The argument `paper` has the numbers of the paper by identifier of the claim."""

from storagekit.papers.dsfq.draw.examples import example_delays as example_delays
from storagekit.papers.dsfq.draw.fluctuating import fig13 as fig13
from storagekit.papers.dsfq.draw.fluctuating import fig13_depths as fig13_depths
from storagekit.papers.dsfq.draw.fluctuating import fig14 as fig14
from storagekit.papers.dsfq.draw.sharing import fig8 as fig8
from storagekit.papers.dsfq.draw.sharing import fig9 as fig9
from storagekit.papers.dsfq.draw.sharing import fig10 as fig10
from storagekit.papers.dsfq.draw.sharing import fig11 as fig11
from storagekit.papers.dsfq.draw.sharing import fig12 as fig12
from storagekit.papers.dsfq.draw.theorems import counterexample as counterexample
from storagekit.papers.dsfq.draw.theorems import search as search
from storagekit.papers.dsfq.draw.virtual import equation5 as equation5
from storagekit.papers.dsfq.draw.virtual import many_coordinators as many_coordinators
