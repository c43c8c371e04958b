"""Run one notebook: papermill, a kernel of its own, one file of HTML at the end."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import papermill
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbformat import NotebookNode
from papermill.exceptions import PapermillExecutionError
from traitlets import Dict
from traitlets.config import Config

from storagekit.errors import harmless
from storagekit.reproduce.one_file import html
from storagekit.whole_files import write_text


class NotebookError(RuntimeError):
    """A notebook that did not run to its end: the message names it, the cell and the error."""


class Kernel(AsyncKernelManager):
    """This interpreter's kernel, whatever others the user has installed."""

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
    """Run `notebook` and write <name>.ipynb and <name>.html, executed, into `folder`.

    on_cell is called with each code cell that has run. sockets: a short folder for what its kernel is talked to by, see
    `folders.short`; where temporary files go if not given. as_if: what is written in place of the executed notebook's text.
    Raises NotebookError where a cell fails or the kernel dies; what ran until then is kept as <name>.failed.ipynb.
    """
    name = notebook.stem
    running = folder / f".{name}.running.ipynb"
    finished, failed = folder / f"{name}.ipynb", folder / f"{name}.failed.ipynb"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _execute(notebook, running, parameters, environment, on_cell, sockets)
        _rewrite(running, as_if)
        write_text(folder / f"{name}.html", html(running))
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


def _what(fault: Exception) -> str:
    """Cell, class and message of what went wrong, in one line."""
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
        # Windows has no IPC transport; elsewhere TCP ports race when kernels start together
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
