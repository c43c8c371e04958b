"""Write charts to the files that an option names."""

from collections.abc import Sequence
from pathlib import Path

from storagekit.core.errors import InputError

CHARTS = (".png", ".svg", ".pdf", ".html")


def require_suffix(paths: Sequence[Path] | None, known: Sequence[str]) -> None:
    """Raise InputError if a file of the option --out has none of the known suffixes."""
    for path in paths or []:
        if path.suffix not in known:
            raise InputError(f"--out {str(path)!r}: give a name that ends in one of {', '.join(known)}")


def save_chart(chart, path: Path) -> None:
    """Save a chart in the format of the suffix. The file is written completely or not at all."""
    from storagekit.core.atomic_files import replacing

    with replacing(path) as temporary:
        chart.save(str(temporary), scale_factor=2)
