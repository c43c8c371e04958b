"""Lumb, Golding and Ganger, D-SPTF: Decentralized Request Distribution in Brick-based Storage Systems, ASPLOS 2004.

`exhibits`, `unequal`, `traces`, `failing` and `network` hold a function for each table and figure; the findings state what
they show beside the paper's claims.
"""

from storagekit.papers.dsptf.exhibits import Effort as Effort
from storagekit.papers.dsptf.exhibits import effort as effort
from storagekit.papers.dsptf.exhibits import fig1 as fig1
from storagekit.papers.dsptf.exhibits import fig5 as fig5
from storagekit.papers.dsptf.exhibits import fig5_readings as fig5_readings
from storagekit.papers.dsptf.exhibits import fig9 as fig9
from storagekit.papers.dsptf.exhibits import one_at_a_time as one_at_a_time
from storagekit.papers.dsptf.exhibits import protocol as protocol
from storagekit.papers.dsptf.exhibits import replicas_and_reads as replicas_and_reads
from storagekit.papers.dsptf.exhibits import table1 as table1
from storagekit.papers.dsptf.exhibits import table1_readings as table1_readings
from storagekit.papers.dsptf.exhibits import table5 as table5
from storagekit.papers.dsptf.exhibits import table6 as table6
from storagekit.papers.dsptf.failing import failing as failing
from storagekit.papers.dsptf.findings import fig1_findings as fig1_findings
from storagekit.papers.dsptf.findings import fig5_findings as fig5_findings
from storagekit.papers.dsptf.findings import fig9_findings as fig9_findings
from storagekit.papers.dsptf.findings import protocol_findings as protocol_findings
from storagekit.papers.dsptf.findings import table1_findings as table1_findings
from storagekit.papers.dsptf.findings import table5_findings as table5_findings
from storagekit.papers.dsptf.findings import table6_findings as table6_findings
from storagekit.papers.dsptf.findings_traces import real_findings as real_findings
from storagekit.papers.dsptf.findings_traces import replay_findings as replay_findings
from storagekit.papers.dsptf.findings_traces import table2_findings as table2_findings
from storagekit.papers.dsptf.findings_traces import table3_findings as table3_findings
from storagekit.papers.dsptf.findings_unequal import failing_findings as failing_findings
from storagekit.papers.dsptf.findings_unequal import table4_findings as table4_findings
from storagekit.papers.dsptf.network import messages as messages
from storagekit.papers.dsptf.network import network as network
from storagekit.papers.dsptf.traces import TRACES as TRACES
from storagekit.papers.dsptf.traces import Length as Length
from storagekit.papers.dsptf.traces import compared as compared
from storagekit.papers.dsptf.traces import length as length
from storagekit.papers.dsptf.traces import missed as missed
from storagekit.papers.dsptf.traces import real as real
from storagekit.papers.dsptf.traces import replays as replays
from storagekit.papers.dsptf.traces import table2 as table2
from storagekit.papers.dsptf.traces import table3 as table3
from storagekit.papers.dsptf.unequal import table4 as table4
