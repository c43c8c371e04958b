"""`storagekit lab`: JupyterLab in a folder of the user with copies of the notebooks."""

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from storagekit.cli import completion
from storagekit.core.errors import InputError
from storagekit.core.optional_packages import require_extra

FOLDER = Path("storagekit-lab")
CONFIGURED = Path(__file__).with_name("jupyter")
HIGHEST_PORT = 65_535


def join(app: typer.Typer) -> None:
    """Add `lab` to the command line."""
    app.command()(lab)


def lab(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="[PAGE]",
            help="Page to open: the name of a notebook, or of an interactive page of `storagekit export`.",
            autocompletion=completion.pages,
        ),
    ] = None,
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Folder for your copies of the pages.")] = FOLDER,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help=("Do not open a browser; only print the address."))
    ] = False,
    port: Annotated[int | None, typer.Option(help="Port; by default 8888 or the next free port.")] = None,
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help=("Allow JupyterLab to run as root, for example in a container."))
    ] = False,
) -> None:
    """Open JupyterLab in your copies of the pages and of the papers' notebooks.

    A page that you have changed is never overwritten.
    """
    from storagekit.cli.lab_folder import fill, find

    if port is not None and not 0 < port <= HIGHEST_PORT:
        raise InputError(f"port {port}: give a number from 1 to {HIGHEST_PORT}")
    require_extra("lab", "jupyterlab", "ipywidgets", "anywidget")
    if hasattr(os, "geteuid") and os.geteuid() == 0 and not allow_root:
        raise InputError(
            "lab as root: JupyterLab would give its users all rights on this machine; run as another user, or add "
            "--allow-root"
        )
    filled = fill(folder)
    opened = f"/lab/tree/{find(page, folder, filled.pages)}" if page else "/lab"
    for name in filled.kept:
        print(
            f"{name}.ipynb has your changes and is kept; to get the package's version too, rename your copy", flush=True
        )
    options = [
        f"--ServerApp.root_dir={folder.resolve()}",
        f"--LabApp.default_url={opened}",
        "--ServerApp.kernel_spec_manager_class=storagekit.cli.kernels.ThisInterpreter",
    ]
    options += ["--no-browser"] if no_browser else []
    options += [f"--ServerApp.port={port}"] if port else []
    options += ["--allow-root"] if allow_root else []
    # this configuration turns off Jupyter's question whether it may fetch news
    known = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(CONFIGURED), *([known] if known else [])])
    import_module("jupyterlab.labapp").main(options)
