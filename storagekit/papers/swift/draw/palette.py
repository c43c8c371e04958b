"""Colours by number of disks and by striping unit, and units of measurement of axes, for the charts of all exhibits."""

from storagekit.charts.theme import COLOURS
from storagekit.core.units import KB

MEGA, GIGA = 1e6, 1e9
DISK_COLOURS: dict[str, str] = dict(zip(("4", "8", "16", "32"), COLOURS, strict=False))
UNIT_COLOURS: dict[str, str] = dict(zip(("4 KB", "16 KB", "32 KB"), COLOURS, strict=False))


def in_kb(size: float) -> str:
    """Return the text for a striping unit in a legend, such as "32 KB"."""
    return f"{size / KB:.0f} KB"
