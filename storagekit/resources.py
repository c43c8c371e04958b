"""Where the files that come with the package are: drives, claims, notebooks.

In a checkout they lie beside the package, in an installed wheel inside it.
"""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


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


def docs_path() -> Path:
    """The folder of tutorials, how-tos and what the model is."""
    return _folder("docs")


def real_traces(folder: str | Path = "") -> Path:
    """Where real traces lie, whether or not they do: `folder`, or if that is empty traces/ of the folder that the environment
    variable STORAGEKIT_SHARED names, or of `shared` beside the checkout."""
    if str(folder) not in ("", "."):
        return Path(folder).expanduser()
    named = os.environ.get("STORAGEKIT_SHARED")
    return (Path(named) if named else PACKAGE.parent.parent / "shared") / "traces"


def _folder(name: str) -> Path:
    inside = PACKAGE / f"_{name}"
    return inside if inside.is_dir() else PACKAGE.parent / name
