"""What the exhibits share: a colour for each stream, and the units of their axes."""

from storagekit.charts.theme import COLOURS

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS
TO_MB, TO_MS = 1e-6, 1e3
RATE = "Throughput (MB/s)"

STREAMS = {"f": BLUE, "g": VERMILION, "h": GREEN}
# the totals of both streams, and where g gets its own
WHERE = {"f": BLUE, "g": VERMILION, "g on A": ORANGE, "g elsewhere": SKY}
