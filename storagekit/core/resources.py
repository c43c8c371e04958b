"""Paths of the files that come with the package: drives, claims, notebooks and documents.

In a checkout these folders are next to the package. In an installed wheel they are inside the package.
"""

import tomllib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def data_path(*parts: str) -> Path:
    """Return the path of a file or folder below data/, whether or not it exists.

    Parameters
    ----------
    *parts : str
        Components of the path.

    Returns
    -------
    Path
        The path.
    """
    return _folder("data").joinpath(*parts)


def drive_files() -> dict[str, Path]:
    """Return the files of the drives that come with the package, by name.

    Returns
    -------
    dict of str to Path
        A JSON file with the fields of a drive, or a TOML file with its data sheet.
    """
    return {path.stem: path for kind in ("json", "toml") for path in data_path("drives").glob(f"*.{kind}")}


def reproductions_path() -> Path:
    """Return the folder of the reproduction notebooks."""
    return _folder("reproductions")


def reproduction_path(paper: str) -> Path:
    """Return the notebook that reproduces `paper`, whether or not it exists."""
    return reproductions_path() / f"{paper}.ipynb"


def notebooks_path() -> Path:
    """Return the folder of the interactive notebooks."""
    return _folder("notebooks")


def trace_names(paper: str) -> dict[str, str]:
    """Return the file names of the real traces that the reproduction of a paper uses if they are present.

    Parameters
    ----------
    paper : str
        Name of the paper.

    Returns
    -------
    dict of str to str
        File name of each trace, by the name of the trace in the paper.
    """
    path = data_path("real_traces", f"{paper}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def real_traces(paper: str, folder: str | Path = "") -> dict[str, Path]:
    """Return the real traces of a paper that are present in a folder or below it.

    Parameters
    ----------
    paper : str
        Name of the paper.
    folder : str or Path
        The folder, by default "": no folder and no traces.

    Returns
    -------
    dict of str to Path
        Path of each trace of `trace_names(paper)` that is present, by name.
    """
    if not str(folder):
        return {}
    below = Path(folder).expanduser()
    found = {
        name: sorted(path for path in below.rglob(file) if path.is_file()) for name, file in trace_names(paper).items()
    }
    return {name: paths[0] for name, paths in found.items() if paths}


def docs_path() -> Path:
    """Return the folder of the tutorials, the how-tos and the description of the model."""
    return _folder("docs")


def _folder(name: str) -> Path:
    inside = PACKAGE / f"_{name}"
    return inside if inside.is_dir() else PACKAGE.parent / name
