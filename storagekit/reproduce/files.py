"""Write charts as files, so that a file is either complete or missing, and compute digests of files."""

import hashlib
import re
from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from storagekit.core.atomic_files import replacing, write_text

if TYPE_CHECKING:
    import altair as alt


_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)" viewBox="0 0 [\d.]+ [\d.]+"')
_SAID = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)" height="([\d.]+)"')
# Free space at the right edge of a picture, pixels. A reader's fonts may be wider than the fonts of the layout.
_SPARE = 48


def picture_size(svg: str) -> list[str]:
    """Return the width and height of a picture in pixels from its SVG element; an empty list without a size."""
    found = _SAID.search(svg)
    return list(found.groups()) if found else []


def _roomy(svg: str) -> str:
    """Return a picture with free space at its right edge."""
    found = _SIZE.search(svg)
    if found is None:
        return svg
    width, height = float(found[1]) + _SPARE, float(found[2])
    wide = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return svg.replace(found[0], wide, 1).replace(f'<rect width="{found[1]}" ', f'<rect width="{width:g}" ', 1)


def as_svg(chart: "alt.TopLevelMixin") -> str:
    """Return a chart as SVG, with free space at its right edge."""
    words = StringIO()
    chart.save(words, format="svg")
    return _roomy(words.getvalue())


def write_chart(folder: Path, name: str, chart: "alt.TopLevelMixin") -> tuple[Path, Path]:
    """Write a chart as <name>.png and <name>.svg, and return both paths. An interrupt leaves no partial file."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    pixels = BytesIO()
    chart.save(pixels, format="png", scale_factor=2)
    with replacing(png) as path:
        path.write_bytes(pixels.getvalue())
    write_text(svg, as_svg(chart))
    return png, svg


def digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
