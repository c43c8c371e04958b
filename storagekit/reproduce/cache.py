"""What a run was made from, so that a second run redoes only what changed."""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from storagekit.reproduce.claims import papers
from storagekit.reproduce.files import digest
from storagekit.resources import PACKAGE, data_path, real_traces
from storagekit.whole_files import write_text

FINGERPRINT = "fingerprint.json"
# folders of data/ that have a file for each paper; of the package papers/ has a folder for each
_OF_PAPERS = ("claims", "real_traces")
_VERSIONS = ("jax", "jaxlib", "numpy", "scipy", "xarray", "altair", "vl-convert-python")


def fingerprint(paper: str, notebook: Path, parameters: Mapping[str, Any]) -> str:
    """A digest of all that decides a run's results.

    The package's source, the data files and `notebook`, less what belongs to other papers alone;
    `parameters`, profile and seed among them, and of the folder that `traces` names the files that the paper
    runs; versions of Python and of what computes and draws.
    """
    total = hashlib.sha256()
    for name, path in _inputs(paper):
        total.update(f"{name} {digest(path)}\n".encode())
    for name, path in real_traces(paper, parameters.get("traces", "")).items():
        total.update(f"trace {name} {path.name} {digest(path)}\n".encode())
    rest = {
        "notebook": digest(notebook),
        "parameters": {name: repr(value) for name, value in sorted(parameters.items())},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _VERSIONS},
    }
    total.update(json.dumps(rest).encode())
    return total.hexdigest()


def _inputs(paper: str) -> Iterator[tuple[str, Path]]:
    """Name and path of each file of the package and of data/ that a run of `paper` may use."""
    others = set(papers()) - {paper}
    for root in (PACKAGE, data_path()):
        for path in sorted(root.rglob("*")):
            parts = path.relative_to(root).with_suffix("").parts
            foreign = len(parts) > 1 and _whose(root, *parts[:2]) in others
            # in a wheel, data and notebooks lie in the package, in folders that begin with _
            copies = bool({"_data", "_docs", "_notebooks", "_reproductions"} & set(parts[:1]))
            # the book is made of results and decides none
            book = parts[:2] == ("reproduce", "book")
            hidden = copies or book or "__pycache__" in path.parts or path.suffix == ".ipynb"
            if path.is_file() and not foreign and not hidden:
                yield f"{root.name}/{path.relative_to(root).as_posix()}", path


def _whose(root: Path, folder: str, name: str) -> str:
    """The paper to which a file or folder of the package, or of data/, belongs, if it is a paper's."""
    if root == PACKAGE:
        return name if folder == "papers" else ""
    return name if folder in _OF_PAPERS else name.partition("_")[0] if folder == "reference" else ""


def is_finished(folder: Path) -> bool:
    """Whether the last run in `folder` came to its end."""
    return bool(_read(folder))


def is_current(folder: Path, wanted: str) -> bool:
    """Whether `folder` holds the whole outcome of a run with the fingerprint `wanted`."""
    record = _read(folder)
    if record.get("fingerprint") != wanted:
        return False
    outputs = record["outputs"]
    return all((folder / n).is_file() and digest(folder / n) == d for n, d in outputs.items())


def files(folder: Path) -> dict[str, int]:
    """The files in `folder`, hidden ones left out: name and time of last writing."""
    if not folder.is_dir():
        return {}
    found = (p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    return {p.name: p.stat().st_mtime_ns for p in sorted(found)}


def finish(folder: Path, wanted: str, before: Mapping[str, int]) -> None:
    """Mark the run in `folder` as whole: its fingerprint and the digest of every file it wrote.

    before: `files(folder)` as the run began.
    """
    written = [name for name, time in files(folder).items() if before.get(name) != time]
    record = {"fingerprint": wanted, "outputs": {name: digest(folder / name) for name in written}}
    write_text(folder / FINGERPRINT, json.dumps(record, indent=1) + "\n")


def clear(folder: Path, names: Iterable[str]) -> None:
    """Remove from `folder` the files `names` and what an earlier run wrote, and nothing else."""
    outputs = _read(folder).get("outputs", {})
    for name in (FINGERPRINT, *names, *outputs):
        (folder / name).unlink(missing_ok=True)


def _read(folder: Path) -> dict[str, Any]:
    """The record of `folder`; empty where there is none or it is not one."""
    try:
        record = json.loads((folder / FINGERPRINT).read_text(encoding="utf-8"))
        names = list(record["outputs"])
        record["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return record if all(Path(name).name == name for name in names) else {}
