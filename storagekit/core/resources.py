"""Where the files that come with the package are: drives, claims, notebooks.

In a checkout they lie beside the package, in an installed wheel inside it.
"""

import tomllib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def data_path(*parts: str) -> Path:
    """The file or folder `parts` of data/, whether or not it exists."""
    return _folder("data").joinpath(*parts)


def drive_files() -> dict[str, Path]:
    """The files of the drives that come with the package, by name: facts of a drive, JSON, or a data sheet, TOML."""
    return {path.stem: path for kind in ("json", "toml") for path in data_path("drives").glob(f"*.{kind}")}


def reproductions_path() -> Path:
    """The folder of the reproduction notebooks."""
    return _folder("reproductions")


def reproduction_path(paper: str) -> Path:
    """The notebook that reproduces `paper`, whether or not it exists."""
    return reproductions_path() / f"{paper}.ipynb"


def notebooks_path() -> Path:
    """The folder of the interactive notebooks."""
    return _folder("notebooks")


def trace_names(paper: str) -> dict[str, str]:
    """The real traces that `paper` runs where it has them: what their files are called, by its own name for them."""
    path = data_path("real_traces", f"{paper}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def real_traces(paper: str, folder: str | Path = "") -> dict[str, Path]:
    """Those of `trace_names(paper)` that lie in `folder` or below it, by name; no others are looked for.

    folder: "" for none, which is what a run has that was given none.
    """
    if not str(folder):
        return {}
    below = Path(folder).expanduser()
    found = {
        name: sorted(path for path in below.rglob(file) if path.is_file()) for name, file in trace_names(paper).items()
    }
    return {name: paths[0] for name, paths in found.items() if paths}


def docs_path() -> Path:
    """The folder of tutorials, how-tos and what the model is."""
    return _folder("docs")


def _folder(name: str) -> Path:
    inside = PACKAGE / f"_{name}"
    return inside if inside.is_dir() else PACKAGE.parent / name
