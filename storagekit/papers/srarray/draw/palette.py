"""Colours of schemes and layouts, and units of axes, for the charts of SR-Array."""

from storagekit.charts.theme import COLOURS
from storagekit.core.axes import title

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK = COLOURS
TO_MS, PERCENT = 1e3, 100.0
RESPONSE = f"{title('response')} (ms)"

SCHEMES = {"SR-Array": BLUE, "D-way mirror": PURPLE, "RAID-10": VERMILION, "Striping": GREEN}
LOOPS = {"SR-Array": BLUE, "SR-Array, RLOOK": SKY, "RAID-10": VERMILION, "Striping": GREEN}
CELLO = {"2x3x1": BLUE, "3x2x1": SKY, "1x6x1": ORANGE, "6x1x1": GREEN, "3x1x2": VERMILION, "1x1x6": PURPLE}
TPCC = {"9x4x1": BLUE, "12x3x1": SKY, "18x2x1": ORANGE, "36x1x1": GREEN, "18x1x2": VERMILION}
SCHEDULERS = {"RSATF": BLUE, "RLOOK": SKY, "SATF": GREEN, "LOOK": ORANGE}
RATES = (BLUE, ORANGE, GREEN)
REPLICAS = {"1": GREEN, "2": SKY, "3": BLUE, "4": ORANGE, "5": VERMILION, "6": PURPLE}
