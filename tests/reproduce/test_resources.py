"""Test the files included in the package, in a checkout and in an installation."""

import re
import tomllib
from itertools import chain

import pytest
import yaml

import storagekit
from storagekit.core import resources

ROOT = resources.Path(storagekit.__file__).parent.parent
checkout = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="needs a checkout, this is an installed package"
)


def test_data_and_notebooks_are_found():
    assert resources.data_path("claims", "dsptf.yaml").is_file()
    assert resources.data_path("drives", "atlas10k.json").is_file()
    assert resources.reproduction_path("dsptf").name == "dsptf.ipynb"


def test_an_installed_package_uses_its_included_files(tmp_path, monkeypatch):
    package = tmp_path / "storagekit"
    (package / "_data").mkdir(parents=True)
    monkeypatch.setattr(resources, "PACKAGE", package)
    assert resources.data_path("claims") == package / "_data" / "claims"
    assert resources.reproduction_path("dsptf") == tmp_path / "reproductions" / "dsptf.ipynb"


@checkout
def test_environment_yml_mirrors_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    python = f"python{project['requires-python']}"
    assert listed[:2] == [python, "pip"]
    extras = project["optional-dependencies"]
    assert listed[2:-1] == sorted({*project["dependencies"], *extras["lab"], *extras["reproduce"]})
    own, *tools = extras["test"]
    assert own == "storagekit[distributed,lab,reproduce]"
    assert listed[-1] == {"pip": sorted([*extras["distributed"], *tools])}


@checkout
def test_constraints_pin_every_dependency_and_name_no_index():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in lines}
    extras = chain.from_iterable(project["optional-dependencies"].values())
    wanted = [*project["dependencies"], *extras]
    names = {re.split(r"[\[<>=!~;]", entry)[0].strip().lower() for entry in wanted} - {project["name"]}
    assert names <= pinned
    assert all(re.fullmatch(r"[a-z0-9._-]+==\S+( ; .+)?", line) for line in lines)


def test_real_traces_are_read_only_from_the_given_folder(tmp_path, monkeypatch):
    """Neither a folder next to the checkout nor an environment variable counts: every clone scores the same rows."""
    lying = tmp_path / "shared" / "traces" / "spc"
    lying.mkdir(parents=True)
    (lying / "Financial1.spc.xz").touch()
    (lying / "Financial1.first10000.spc").touch()
    monkeypatch.setenv("STORAGEKIT_SHARED", str(tmp_path / "shared"))
    monkeypatch.setattr(resources, "PACKAGE", tmp_path / "checkout" / "storagekit")
    monkeypatch.setattr(resources, "_folder", lambda name: ROOT / name)
    monkeypatch.chdir(lying)
    assert resources.real_traces("dsptf") == resources.real_traces("dsptf", "") == {}
    found = resources.real_traces("dsptf", tmp_path)
    assert found == {"financial": lying / "Financial1.spc.xz", "financial1": lying / "Financial1.first10000.spc"}
    assert resources.real_traces("ars", ".") == {"financial": resources.Path("Financial1.spc.xz")}
    assert resources.real_traces("swift", tmp_path) == {}


def test_every_paper_that_uses_traces_names_them():
    takers = {path.stem for path in resources.reproductions_path().glob("*.ipynb") if "traces = " in path.read_text()}
    assert (
        takers
        == {path.stem for path in resources.data_path("real_traces").glob("*.toml")}
        == {"ars", "dsptf", "srarray"}
    )
