"""Run one notebook: papermill, a kernel of its own, an HTML page at the end."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import papermill
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from papermill.exceptions import PapermillExecutionError
from traitlets import Dict
from traitlets.config import Config

from storagekit.reproduce.files import write_text


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
    on_cell: Callable[[], None],
) -> None:
    """Run `notebook` and write <name>.ipynb and <name>.html, executed, into `folder`.

    on_cell is called after each code cell. Raises NotebookError where a cell fails or the kernel
    dies; what ran until then is kept as <name>.failed.ipynb.
    """
    name = notebook.stem
    running = folder / f".{name}.running.ipynb"
    finished, failed = folder / f"{name}.ipynb", folder / f"{name}.failed.ipynb"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _execute(notebook, running, parameters, environment, on_cell)
        write_text(folder / f"{name}.html", html(running))
        os.replace(running, finished)
        failed.unlink(missing_ok=True)
    except Exception as fault:
        kept = "nothing of it was kept"
        if running.exists():
            os.replace(running, failed)
            kept = f"as far as it ran: {failed}"
        raise NotebookError(f"{notebook.name}, {_what(fault)}; {kept}") from fault


def _what(fault: Exception) -> str:
    """Cell, class and message of what went wrong, in one line."""
    if isinstance(fault, PapermillExecutionError):
        message = " ".join(str(fault.evalue).split())
        return f"cell [{fault.exec_count}]: {fault.ename}: {message}"
    return f"{type(fault).__name__}: {' '.join(str(fault).split())}"


def _execute(
    notebook: Path,
    running: Path,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    on_cell: Callable[[], None],
) -> None:
    with tempfile.TemporaryDirectory(prefix="sk") as sockets, closing(ensure_event_loop()):
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


def _tick(on_cell: Callable[[], None], **_cell: Any) -> None:
    on_cell()


# what the template would fetch (RequireJS, MathJax, Mermaid, widgets) is left out
_FOLDED = """
{%- extends 'lab/index.html.j2' -%}
{%- block input -%}
<details class="storagekit-code"><summary>Code</summary>
{{ super() }}
</details>
{%- endblock input -%}
{%- block html_head_js -%}{%- endblock html_head_js -%}
{%- block html_head_js_mathjax -%}{%- endblock html_head_js_mathjax -%}
{%- block html_head_js_mermaidjs -%}{%- endblock html_head_js_mermaidjs -%}
{%- block jupyter_widgets -%}{%- endblock jupyter_widgets -%}
{%- block data_svg scoped -%}
{%- set about = output.metadata.get('image/svg+xml', {}) -%}
<div class="jp-RenderedSVG jp-OutputArea-output {{ extra_class }}">
<img alt="{{ about.get('alt', '') | escape_html }}"
 src="data:image/svg+xml;base64,{{ output.data['image/svg+xml'] | text_base64 }}">
</div>
{%- endblock data_svg -%}
{%- block html_head_css -%}
{{ super() }}
<style>
.storagekit-code > summary { color: #777; cursor: pointer; font: 12px system-ui, sans-serif }
.jp-RenderedSVG img { max-width: 100%; height: auto }
body.jp-Notebook { max-width: 70rem; margin: 0 auto }
</style>
{%- endblock html_head_css -%}
"""


def html(notebook: Path) -> str:
    """An executed notebook as one page that asks nothing of any network; its code is folded.

    What cells wrote to stderr, progress bars above all, stays in the notebook.
    """
    from jinja2 import DictLoader
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        extra_loaders=[DictLoader({"storagekit.html.j2": _FOLDED})],
        template_file="storagekit.html.j2",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    page = nbformat.read(notebook, as_version=4)
    for cell in page.cells:
        if cell.cell_type == "code":
            cell["outputs"] = [out for out in cell["outputs"] if out.get("name") != "stderr"]
    name = notebook.stem.strip(".").removesuffix(".running")
    body, _ = exporter.from_notebook_node(page, resources={"metadata": {"name": name}})
    return body
