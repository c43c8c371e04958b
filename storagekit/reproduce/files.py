"""Files that are whole or not there."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import altair as alt


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path, with the suffix of `path`, that becomes `path` when the block ends well.

    When it does not, the temporary file is removed and whatever `path` was stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8 with plain newlines, all or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_chart(folder: Path, name: str, chart: "alt.TopLevelMixin") -> tuple[Path, Path]:
    """Write a chart as <name>.png and <name>.svg, each all or nothing, and return their paths."""
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    with replacing(png) as path:
        chart.save(str(path), format="png", scale_factor=2)
    with replacing(svg) as path:
        chart.save(str(path), format="svg")
    return png, svg


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
