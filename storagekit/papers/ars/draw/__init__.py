"""The exhibits of ARS, drawn."""

from storagekit.papers.ars.draw.adapting import adapting as adapting
from storagekit.papers.ars.draw.failing import extra as extra
from storagekit.papers.ars.draw.failing import writes as writes
from storagekit.papers.ars.draw.latency import fig7 as fig7
from storagekit.papers.ars.draw.promises import moves as moves
from storagekit.papers.ars.draw.responses import fig4 as fig4
from storagekit.papers.ars.draw.responses import fig5 as fig5
from storagekit.papers.ars.draw.responses import loads as loads
from storagekit.papers.ars.draw.responses import readings as readings
from storagekit.papers.ars.draw.settling import equal as equal
from storagekit.papers.ars.draw.settling import halved as halved
from storagekit.papers.ars.draw.settling import swings as swings
from storagekit.papers.ars.draw.tables import table1 as table1
from storagekit.papers.ars.draw.tables import table2 as table2
from storagekit.papers.ars.draw.throughput import buffers as buffers
from storagekit.papers.ars.draw.throughput import fig6 as fig6
from storagekit.papers.ars.draw.throughput import fig6_readings as fig6_readings
from storagekit.papers.ars.draw.throughput import windows as windows
from storagekit.papers.ars.draw.what_if import what_if as what_if
