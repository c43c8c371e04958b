"""Record the inputs of each run, so that the next run repeats only the parts whose inputs changed."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from storagekit.core import devices
from storagekit.core.atomic_files import write_text
from storagekit.core.resources import PACKAGE, data_path, real_traces
from storagekit.reproduce.claims import papers
from storagekit.reproduce.files import digest

FINGERPRINT = "fingerprint.json"
# Folders of data/ with a file for each paper. In the package, papers/ has a folder for each paper.
_OF_PAPERS = ("claims", "real_traces")
_VERSIONS = (
    *("jax", "jaxlib", "equinox", "numpy", "scipy", "xarray", "pandas"),
    *("h5py", "h5netcdf", "altair", "vl-convert-python", "papermill", "ipykernel"),
)
# Variables that configure JAX and XLA. The second group changes no result: location of compiled programs, logging,
# memory reserved at the start, and number of devices.
_COMPUTING = ("JAX_", "XLA_", "CUDA_VISIBLE_DEVICES")
_CHANGING_NOTHING = (
    *("JAX_COMPILATION_CACHE_", "JAX_PERSISTENT_CACHE_", "JAX_ENABLE_COMPILATION_CACHE", "JAX_LOG", "JAX_TRACEBACK_"),
    *("JAX_NUM_CPU_DEVICES", "XLA_PYTHON_CLIENT_"),
)
# Values in place of the fingerprint of an incomplete run, and of a run whose inputs changed while it ran, respectively.
UNFINISHED, CHANGED = "", "its inputs changed during the run"


def fingerprint(paper: str, notebook: Path, parameters: Mapping[str, Any]) -> str:
    """Return a digest of all inputs that determine a run's results.

    Parameters
    ----------
    paper : str
        Key of the paper; "" for results that depend on the whole package but not on a single paper.
    notebook : Path
        The notebook.
    parameters : mapping of str to any
        Parameters of the notebook, profile and seed included.

    Returns
    -------
    str
        SHA-256, hexadecimal.

    Notes
    -----
    The digest covers the package's source and the data files, without the files that only other papers use. It covers
    `notebook`, `parameters`, and the trace files that the paper uses from the folder in the parameter `traces`. It also
    covers the versions of Python and of the packages that compute and draw, the kind of machine, and the environment
    variables that configure JAX.
    """
    total = hashlib.sha256()
    for name, path in inputs(paper):
        total.update(f"{name} {digest(path)}\n".encode())
    for name, path in real_traces(paper, parameters.get("traces", "")).items():
        total.update(f"trace {name} {path.name} {digest(path)}\n".encode())
    rest = {
        "notebook": digest(notebook),
        "parameters": {name: repr(value) for name, value in sorted(parameters.items())},
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _VERSIONS},
        "machine": [platform.system(), platform.machine()],
        "computing": _computing(),
    }
    total.update(json.dumps(rest).encode())
    return total.hexdigest()


def _computing() -> dict[str, str]:
    """Return the environment variables that affect numbers, with their values in a notebook's kernel."""
    variables = os.environ | devices.environment()
    return {
        name: variables[name]
        for name in sorted(variables)
        if name.startswith(_COMPUTING) and not name.startswith(_CHANGING_NOTHING)
    }


def inputs(paper: str) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each file of the package and of data/ that a run of `paper` may use."""
    others = set(papers()) - {paper} if paper else set()
    for root in (PACKAGE, data_path()):
        for path in sorted(root.rglob("*")):
            parts = path.relative_to(root).with_suffix("").parts
            foreign = len(parts) > 1 and _whose(root, *parts[:2]) in others
            # In a wheel, data and notebooks are in folders of the package whose names begin with _.
            copies = bool({"_data", "_docs", "_notebooks", "_reproductions"} & set(parts[:1]))
            # The site is made from results and does not affect them.
            site = parts[:2] == ("reproduce", "site")
            hidden = copies or site or "__pycache__" in path.parts or path.suffix == ".ipynb"
            if path.is_file() and not foreign and not hidden:
                yield f"{root.name}/{path.relative_to(root).as_posix()}", path


def _whose(root: Path, folder: str, name: str) -> str:
    """Return the paper that owns a file or folder of the package or of data/; "" if no paper owns it."""
    if root == PACKAGE:
        return name if folder == "papers" else ""
    return name if folder in _OF_PAPERS else name.partition("_")[0] if folder == "reference" else ""


def pages(paper: str) -> tuple[str, ...]:
    """Return the names of the files that every complete run of `paper` writes."""
    return (f"{paper}.ipynb",)


def is_finished(out: Path, paper: str) -> bool:
    """Return whether the last run of `paper` in `out` was completed."""
    record = _read(out / paper)
    return bool(record.get("fingerprint")) and record["outputs"].keys() >= set(pages(paper))


def is_current(folder: Path, wanted: str, made: Iterable[str]) -> bool:
    """Return whether `folder` contains all results of a run with the fingerprint `wanted`.

    made: names of files that every run of this kind writes.
    """
    record = _read(folder)
    if record.get("fingerprint") != wanted or not record["outputs"].keys() >= set(made):
        return False
    outputs = record["outputs"]
    return all((folder / name).is_file() and digest(folder / name) == its for name, its in outputs.items())


def move_into(made: Path, folder: Path, wanted: str, leftovers: Iterable[str] = ()) -> None:
    """Move the files of a completed run from `made` into `folder`. Record the fingerprint and a digest of each file.

    Files of an earlier run and `leftovers` are removed; other files stay. Until all files are moved, the record says
    that the run is unfinished. If a record is accepted, its results are therefore complete, even if this process ends
    early.
    """
    whole = {path.relative_to(made).as_posix(): path for path in sorted(made.rglob("*")) if not path.is_dir()}
    outputs = {name: digest(path) for name, path in whole.items() if _is_plain(name)}
    _mark(made, folder, UNFINISHED, dict.fromkeys(_read(folder).get("outputs", {}), "") | outputs)
    clear(folder, leftovers, keep=(FINGERPRINT, *outputs))
    for name, path in whole.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, folder / name)
    _mark(made, folder, wanted, outputs)


def clear(folder: Path, names: Iterable[str], keep: Iterable[str] = ()) -> None:
    """Remove from `folder` the files in `names` and the files of an earlier run, except the files in `keep`."""
    outputs = _read(folder).get("outputs", {})
    for name in {*names, *outputs, FINGERPRINT} - set(keep):
        if not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)


def _mark(made: Path, folder: Path, fingerprint: str, outputs: Mapping[str, str]) -> None:
    """Write the record of `folder`.

    The record is first written in `made`, the private folder of the run, and then moved.
    """
    write_text(made / FINGERPRINT, json.dumps({"fingerprint": fingerprint, "outputs": outputs}, indent=1) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    os.replace(made / FINGERPRINT, folder / FINGERPRINT)


def _is_plain(name: str) -> bool:
    """Return whether a name can be a file of a run: directly in its folder, and not hidden."""
    return name != FINGERPRINT and name.isprintable() and re.fullmatch(r"[^./\\][^/\\]*", name) is not None


def _read(folder: Path) -> dict[str, Any]:
    """Return the record of `folder`; empty if the file is missing or is not a record of a run."""
    try:
        record = json.loads((folder / FINGERPRINT).read_text(encoding="utf-8"))
        outputs = dict(record["outputs"].items())
        fingerprint = record["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    valid = isinstance(fingerprint, str) and all(isinstance(one, str) for one in outputs.values())
    return record if valid and outputs and all(map(_is_plain, outputs)) else {}
