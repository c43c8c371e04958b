"""`storagekit lab`: a user's folder with the package's notebooks, and JupyterLab in it with this interpreter."""

import json
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from browsing import running_lab

from storagekit import lab
from storagekit.cli import lab_folder
from storagekit.cli.kernels import ThisInterpreter
from storagekit.core import optional_packages, resources


@pytest.fixture
def shipped(tmp_path, monkeypatch) -> Path:
    """A package with two pages and one paper."""
    package = tmp_path / "storagekit"
    monkeypatch.setattr(resources, "PACKAGE", package)
    (package / "_notebooks").mkdir(parents=True)
    (package / "_reproductions").mkdir()
    for prefix, source in {"_notebooks/tour": "1", "_notebooks/shares": "2", "_reproductions/swift": "3"}.items():
        write(package / f"{prefix}.ipynb", source)
    return package / "_notebooks"


@pytest.fixture
def started(monkeypatch) -> list[list[str]]:
    """Arguments with which JupyterLab would be started."""
    from jupyterlab import labapp

    calls: list[list[str]] = []
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "mine")
    monkeypatch.setattr(labapp, "main", calls.append)
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    return calls


def write(path: Path, source: str, outputs: tuple[str, ...] = ()) -> None:
    cell = {"cell_type": "code", "source": [source], "outputs": list(outputs), "execution_count": len(outputs) or None}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def source(path: Path) -> str:
    return json.loads(path.read_text())["cells"][0]["source"][0]


def test_the_pages_are_copied_and_the_named_one_is_opened(storagekit, shipped, started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text, _ = storagekit("lab", "tour", "--no-browser", "--port", "8899")
    folder = tmp_path / "storagekit-lab"
    assert status == 0 and text == ""
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*.ipynb")} == {
        "tour.ipynb",
        "shares.ipynb",
        "papers/swift.ipynb",
    }
    (options,) = started
    assert f"--ServerApp.root_dir={folder}" in options and "--LabApp.default_url=/lab/tree/tour.ipynb" in options
    configured, own = os.environ["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert own == "mine" and "announcements" in (Path(configured) / "labconfig" / "page_config.json").read_text()
    assert "--no-browser" in options and "--ServerApp.port=8899" in options and "--allow-root" not in options
    storagekit("lab", "swift.ipynb", "--folder", str(folder), "--allow-root")
    assert "--LabApp.default_url=/lab/tree/papers/swift.ipynb" in started[1] and "--allow-root" in started[1]


def test_a_notebook_is_found_by_every_page_that_it_has(tmp_path):
    pages = lab_folder.fill(tmp_path).pages
    found = {lab_page: lab_folder.find(lab_page, tmp_path, pages) for lab_page in lab.PAGES}
    assert found["tour"] == "tour.ipynb" and found["array"] == found["sr_array"] == "lay_out_an_array.ipynb"
    # one page has charts that no slider changes
    assert {*found.values(), "last_millisecond.ipynb"} == {f"{page}.ipynb" for page in pages if "/" not in page}


def test_changed_pages_are_kept_and_reported(storagekit, shipped, started, tmp_path):
    folder = tmp_path / "mine"
    call = ("lab", "--folder", str(folder))
    storagekit(*call)
    write(folder / "shares.ipynb", "my own")
    write(folder / "tour.ipynb", "1", outputs=("run",))
    assert storagekit(*call)[1].splitlines() == [
        "shares.ipynb has your changes and is kept; to get the package's version too, rename your copy"
    ]
    assert source(folder / "shares.ipynb") == "my own" and "run" in (folder / "tour.ipynb").read_text()
    # a newer package: a page that was only run is replaced, a changed page is not
    write(shipped / "tour.ipynb", "newer")
    write(shipped / "shares.ipynb", "newer")
    assert storagekit(*call)[1].count("\n") == 1
    assert source(folder / "shares.ipynb") == "my own" and source(folder / "tour.ipynb") == "newer"


def test_an_earlier_notebook_belongs_to_the_user(shipped, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tour.ipynb").write_bytes(b"\xff no notebook")
    filled = lab_folder.fill(tmp_path / "mine")
    assert filled.kept == ["tour"] and "tour" in filled.pages
    assert (tmp_path / "mine" / "tour.ipynb").read_bytes() == b"\xff no notebook"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["nowhere"], "page 'nowhere': not in "),
        (["--port", "70000"], "port 70000: give a number from 1 to 65535"),
        (["--folder", "{file}"], "File exists; give a writable folder"),
    ],
)
def test_bad_input_is_one_line_with_status_2(storagekit, shipped, started, tmp_path, monkeypatch, more, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    status, text, error = storagekit("lab", *(one.format(file=tmp_path / "file") for one in more))
    assert status == 2 and not text and not started
    assert says in error and len(error.strip().splitlines()) == 1


def test_without_jupyterlab_the_message_names_the_packages_to_install(storagekit, tmp_path, monkeypatch):
    monkeypatch.setattr(optional_packages, "find_spec", lambda name: None if name == "jupyterlab" else object())
    monkeypatch.chdir(tmp_path)
    status, _, error = storagekit("lab")
    assert status == 2 and 'pip install "storagekit[lab]"' in error and error.count("\n") == 1
    assert not (tmp_path / "storagekit-lab").exists()


def test_reproduce_without_its_extra_names_the_packages_to_install(storagekit, monkeypatch):
    monkeypatch.setattr(optional_packages, "find_spec", lambda name: None if name == "papermill" else object())
    status, _, error = storagekit("reproduce", "swift")
    assert status == 2 and error.count("\n") == 1
    assert 'papermill is not installed; run `pip install "storagekit[reproduce]"`' in error


def test_the_kernel_is_this_interpreter_whatever_else_is_installed(tmp_path, monkeypatch):
    other = tmp_path / "kernels" / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text(json.dumps({"argv": ["elsewhere"], "display_name": "x", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    kernels = ThisInterpreter()
    assert kernels.get_kernel_spec("python3").argv[0] == sys.executable
    assert kernels.get_all_specs()["python3"]["spec"]["argv"][0] == sys.executable


def test_jupyterlab_really_starts_and_has_the_pages(tmp_path):
    with running_lab(tmp_path, {}) as (address, token):
        # the address is printed before the server listens
        for _ in range(100):
            try:
                listed = get_json(f"{address}/api/contents", token)
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        names = {one["name"] for one in listed["content"]}
        kernel = get_json(f"{address}/api/kernelspecs", token)["kernelspecs"]["python3"]["spec"]
    assert {path.name for path in resources.notebooks_path().glob("*.ipynb")} <= names and "papers" in names
    assert kernel["argv"][0] == sys.executable


def get_json(address: str, token: str) -> dict:
    request = urllib.request.Request(address, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 200
        return json.load(response)


def test_for_root_the_message_names_the_missing_option(storagekit, shipped, started, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    status, _, errors = storagekit("lab", "--no-browser")
    assert status == 2 and "--allow-root" in errors and len(errors.splitlines()) == 1 and not started


def test_help_names_every_page(storagekit):
    _, text, _ = storagekit("export", "-h")
    assert all(name in text for name in lab.PAGES)
