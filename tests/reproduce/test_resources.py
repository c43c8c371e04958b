"""The files that come along, in a checkout and beside the environment files."""

import re
import tomllib
from itertools import chain

import pytest
import yaml

import storagekit
from storagekit import resources

ROOT = resources.Path(storagekit.__file__).parent.parent
checkout = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="needs a checkout, this is an installed package"
)


def test_data_and_notebooks_are_found():
    assert resources.data_path("claims", "dsptf.yaml").is_file()
    assert resources.data_path("drives", "atlas10k.json").is_file()
    assert resources.reproduction_path("dsptf").name == "dsptf.ipynb"


def test_an_installed_package_looks_inside_itself(tmp_path, monkeypatch):
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
    assert listed[2:-1] == project["dependencies"]
    assert listed[-1] == {"pip": project["optional-dependencies"]["test"]}


@checkout
def test_constraints_pin_every_dependency_and_name_no_index():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0] for line in lines}
    extras = chain.from_iterable(project["optional-dependencies"].values())
    wanted = [*project["dependencies"], *extras]
    names = {re.split(r"[\[<>=!~;]", entry)[0].strip().lower() for entry in wanted}
    assert names <= pinned
    assert all(re.fullmatch(r"[a-z0-9._-]+==\S+( ; .+)?", line) for line in lines)
