"""What a run was made from, so that a second run redoes only what changed."""

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
# folders of data/ that have a file for each paper; of the package papers/ has a folder for each
_OF_PAPERS = ("claims", "real_traces")
_VERSIONS = (
    *("jax", "jaxlib", "equinox", "numpy", "scipy", "xarray", "pandas"),
    *("h5py", "h5netcdf", "altair", "vl-convert-python", "papermill", "ipykernel"),
)
# variables that tell JAX and XLA how to compute; of these the second kind change no number: where compiled programs are kept,
# what is said meanwhile, how much memory is taken at the start, and the number of devices
_COMPUTING = ("JAX_", "XLA_", "CUDA_VISIBLE_DEVICES")
_CHANGING_NOTHING = (
    *("JAX_COMPILATION_CACHE_", "JAX_PERSISTENT_CACHE_", "JAX_ENABLE_COMPILATION_CACHE", "JAX_LOG", "JAX_TRACEBACK_"),
    *("JAX_NUM_CPU_DEVICES", "XLA_PYTHON_CLIENT_"),
)
# in place of the fingerprint of a run that is not whole, and of one whose inputs became others meanwhile
UNFINISHED, CHANGED = "", "its inputs changed while it ran"


def fingerprint(paper: str, notebook: Path, parameters: Mapping[str, Any]) -> str:
    """A digest of all that decides a run's results.

    The package's source, the data files and `notebook`, less what belongs to other papers alone;
    `parameters`, profile and seed among them, and of the folder that `traces` names the files that the paper
    runs; versions of Python and of what computes and draws, the kind of machine, and the variables that tell JAX how to
    compute. paper: "" for what no paper but everything of the package may decide.
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
    """The variables that decide numbers, as a notebook's kernel has them."""
    told = os.environ | devices.environment()
    return {
        name: told[name]
        for name in sorted(told)
        if name.startswith(_COMPUTING) and not name.startswith(_CHANGING_NOTHING)
    }


def inputs(paper: str) -> Iterator[tuple[str, Path]]:
    """Name and path of each file of the package and of data/ that a run of `paper` may use."""
    others = set(papers()) - {paper} if paper else set()
    for root in (PACKAGE, data_path()):
        for path in sorted(root.rglob("*")):
            parts = path.relative_to(root).with_suffix("").parts
            foreign = len(parts) > 1 and _whose(root, *parts[:2]) in others
            # in a wheel, data and notebooks lie in the package, in folders that begin with _
            copies = bool({"_data", "_docs", "_notebooks", "_reproductions"} & set(parts[:1]))
            # the book is made of results and decides none
            book = parts[:2] == ("reproduce", "site")
            hidden = copies or book or "__pycache__" in path.parts or path.suffix == ".ipynb"
            if path.is_file() and not foreign and not hidden:
                yield f"{root.name}/{path.relative_to(root).as_posix()}", path


def _whose(root: Path, folder: str, name: str) -> str:
    """The paper to which a file or folder of the package, or of data/, belongs, if it is a paper's."""
    if root == PACKAGE:
        return name if folder == "papers" else ""
    return name if folder in _OF_PAPERS else name.partition("_")[0] if folder == "reference" else ""


def pages(paper: str) -> tuple[str, ...]:
    """The files that every whole run of `paper` makes."""
    return (f"{paper}.ipynb",)


def is_finished(out: Path, paper: str) -> bool:
    """Whether the last run of `paper` in `out` came to its end."""
    record = _read(out / paper)
    return bool(record.get("fingerprint")) and record["outputs"].keys() >= set(pages(paper))


def is_current(folder: Path, wanted: str, made: Iterable[str]) -> bool:
    """Whether `folder` holds the whole outcome of a run with the fingerprint `wanted`.

    made: files that every such run makes.
    """
    record = _read(folder)
    if record.get("fingerprint") != wanted or not record["outputs"].keys() >= set(made):
        return False
    outputs = record["outputs"]
    return all((folder / name).is_file() and digest(folder / name) == its for name, its in outputs.items())


def place(made: Path, folder: Path, wanted: str, leftovers: Iterable[str] = ()) -> None:
    """Move what a whole run made, all that lies in `made`, into `folder`, and mark it there with its fingerprint `wanted` and
    the digest of every file.

    An earlier run's files and `leftovers` go; what is nobody's stays. As long as not all is there the record is that of an
    unfinished run: whenever this process ends, what is accepted is whole.
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
    """Remove from `folder` the files `names` and what an earlier run wrote, less those to `keep`, and nothing else."""
    outputs = _read(folder).get("outputs", {})
    for name in {*names, *outputs, FINGERPRINT} - set(keep):
        if not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)


def _mark(made: Path, folder: Path, fingerprint: str, outputs: Mapping[str, str]) -> None:
    """Write the record of `folder`, in `made` first, which goes with its run."""
    write_text(made / FINGERPRINT, json.dumps({"fingerprint": fingerprint, "outputs": outputs}, indent=1) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    os.replace(made / FINGERPRINT, folder / FINGERPRINT)


def _is_plain(name: str) -> bool:
    """Whether this is the name of a file that a run makes: in its folder, and not hidden."""
    return name != FINGERPRINT and name.isprintable() and re.fullmatch(r"[^./\\][^/\\]*", name) is not None


def _read(folder: Path) -> dict[str, Any]:
    """The record of `folder`; empty where there is none or it is none that a run makes."""
    try:
        record = json.loads((folder / FINGERPRINT).read_text(encoding="utf-8"))
        outputs = dict(record["outputs"].items())
        fingerprint = record["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    told = isinstance(fingerprint, str) and all(isinstance(one, str) for one in outputs.values())
    return record if told and outputs and all(map(_is_plain, outputs)) else {}
