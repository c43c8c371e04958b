"""Run one notebook with papermill in a separate kernel."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import nbformat
import papermill
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from traitlets import Dict
from traitlets.config import Config

from storagekit.core.atomic_files import write_text
from storagekit.core.errors import harmless
from storagekit.reproduce.files import picture_size

_SVG = "image/svg+xml"


class NotebookError(RuntimeError):
    """Raised for a notebook that did not run to its end; the message names the notebook, the cell and the error."""


class Kernel(AsyncKernelManager):
    """A kernel of this interpreter, independent of other kernels that the user has installed."""

    environment = Dict(help="variables added to the kernel's environment").tag(config=True)

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(**{**get_kernel_dict(), "env": self.environment})


def run_notebook(
    notebook: Path,
    folder: Path,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    on_cell: Callable[[NotebookNode], None],
    as_if: Callable[[str], str] = str,
    sockets: Path | None = None,
) -> None:
    """Run a notebook, and write the executed notebook to `folder` as <name>.ipynb.

    Pictures of exhibits in the executed notebook are links to the files in the same folder.

    Parameters
    ----------
    notebook : Path
        The notebook.
    folder : Path
        Folder of the results.
    parameters : mapping of str to any
        Values of the parameters cell.
    environment : mapping of str to str
        Environment variables of the kernel.
    on_cell : callable
        Function that is called after each code cell, with the cell.
    as_if : callable
        Function that maps the text of the executed notebook to the text that is written; unchanged by default.
    sockets : Path, optional
        A folder with a short path for the kernel's sockets, see `folders.short`; the folder of temporary files by
        default.

    Raises
    ------
    NotebookError
        If a cell fails or the kernel dies. The executed part is kept as <name>.failed.ipynb.
    """
    name = notebook.stem
    running = folder / f".{name}.running.ipynb"
    finished, failed = folder / f"{name}.ipynb", folder / f"{name}.failed.ipynb"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _execute(notebook, running, parameters, environment, on_cell, sockets)
        _rewrite(running, as_if)
        _link_pictures(running)
        os.replace(running, finished)
        failed.unlink(missing_ok=True)
    except Exception as fault:
        if running.exists():
            _rewrite(running, as_if)
            os.replace(running, failed)
        raise NotebookError(as_if(f"{notebook.name}, {_what(fault)}")) from fault


def _rewrite(path: Path, as_if: Callable[[str], str]) -> None:
    text = path.read_text(encoding="utf-8")
    if as_if(text) != text:
        write_text(path, as_if(text))


def _link_pictures(path: Path) -> None:
    """Replace the pictures of exhibits in a notebook by links to the picture files, to store each picture once."""
    notebook = nbformat.read(path, as_version=4)
    for output in (output for cell in notebook.cells for output in cell.get("outputs", ())):
        about = output.get("metadata", {}).get(_SVG, {})
        if "exhibit" in about:
            name, alt = about["exhibit"].partition(".")[2], about.get("alt", "")
            about["size"] = picture_size(output.data[_SVG])
            output.data = {"text/html": f'<img src="{name}.svg" alt="{escape(alt)}">'}
    write_text(path, nbformat.writes(notebook))


def _what(fault: Exception) -> str:
    """Return the cell, the class and the message of an error, in one line."""
    if isinstance(fault, PapermillExecutionError):
        message = " ".join(str(fault.evalue).split())
        return harmless(f"cell [{fault.exec_count}]: {fault.ename}: {message}")
    return harmless(f"{type(fault).__name__}: {' '.join(str(fault).split())}")


def _execute(
    notebook: Path,
    running: Path,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    on_cell: Callable[[NotebookNode], None],
    within: Path | None,
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="sk", dir=within, ignore_cleanup_errors=True) as sockets,
        closing(ensure_event_loop()),
    ):
        # IPC is used wherever it exists (not on Windows), because kernels that start together compete for TCP ports
        transport = {} if os.name == "nt" else {"transport": "ipc", "ip": f"{sockets}/k"}
        kernel = {
            **transport,
            "connection_file": f"{sockets}/kernel.json",
            "environment": dict(environment),
        }
        papermill.execute_notebook(
            str(notebook),
            str(running),
            dict(parameters),
            kernel_name="python3",
            language="python",
            progress_bar=False,
            kernel_manager_class=Kernel,
            config=Config({"Kernel": kernel}),
            on_cell_executed=partial(_tick, on_cell),
        )


def _tick(on_cell: Callable[[NotebookNode], None], *, cell: NotebookNode, **_how: Any) -> None:
    on_cell(cell)
