"""Charts as files, whole or not there; what a file holds."""

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
# pixels at its right edge that a picture has to spare: a reader's fonts may be wider than those it was measured with
_SPARE = 48


def picture_size(svg: str) -> list[str]:
    """Return width and height of a picture in pixels, as it says; nothing where it does not."""
    found = _SAID.search(svg)
    return list(found.groups()) if found else []


def _roomy(svg: str) -> str:
    """A picture with room to spare at its right edge."""
    found = _SIZE.search(svg)
    if found is None:
        return svg
    width, height = float(found[1]) + _SPARE, float(found[2])
    wide = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return svg.replace(found[0], wide, 1).replace(f'<rect width="{found[1]}" ', f'<rect width="{width:g}" ', 1)


def as_svg(chart: "alt.TopLevelMixin") -> str:
    """Return a chart as SVG, with room to spare at its right edge."""
    words = StringIO()
    chart.save(words, format="svg")
    return _roomy(words.getvalue())


def write_chart(folder: Path, name: str, chart: "alt.TopLevelMixin") -> tuple[Path, Path]:
    """Write a chart as <name>.png and <name>.svg, each all or nothing, and return their paths."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    pixels = BytesIO()
    chart.save(pixels, format="png", scale_factor=2)
    with replacing(png) as path:
        path.write_bytes(pixels.getvalue())
    write_text(svg, as_svg(chart))
    return png, svg


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
