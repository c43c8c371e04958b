"""Shared parts of the charts: a colour for each stream, and the units of the axes."""

from storagekit.charts.theme import COLOURS

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS
TO_MB, TO_MS = 1e-6, 1e3
RATE = "Throughput (MB/s)"

STREAMS = {"f": BLUE, "g": VERMILION, "h": GREEN}
# Colours of the totals of both streams, and of the throughput of g by brick.
WHERE = {"f": BLUE, "g": VERMILION, "g on A": ORANGE, "g elsewhere": SKY}
