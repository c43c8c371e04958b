"""dev.py, the command for a fresh clone, and the wheel."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import storagekit

ROOT = Path(storagekit.__file__).parent.parent
pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="needs a checkout, this is an installed package"
)


@pytest.fixture
def dev(tmp_path, monkeypatch):
    """dev.py as a module, in a temporary checkout; `ran` lists the commands it would run."""
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "python")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "storagekit.stamp")
    monkeypatch.chdir(tmp_path)
    module.ran = []

    def note(command, **_options):
        module.ran.append([str(word) for word in command])
        return SimpleNamespace(returncode=7)

    def become(python, words):
        assert words[0] == str(python)
        raise SystemExit(note(words).returncode)

    def make(**_options):
        def create(folder):
            folder.mkdir(exist_ok=True)
            (folder / "python").touch()

        return SimpleNamespace(create=create)

    monkeypatch.setattr(module.subprocess, "run", note)
    monkeypatch.setattr(module.os, "execv", become)
    monkeypatch.setattr(module.venv, "EnvBuilder", make)
    return module


def call(dev, monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["dev.py", *words])
    dev.ran.clear()
    with pytest.raises(SystemExit) as left:
        dev.main()
    return left.value.code


def test_it_installs_once_and_again_when_its_inputs_change(dev, monkeypatch):
    monkeypatch.setattr(dev.shutil, "which", lambda _name: None)
    assert call(dev, monkeypatch, "reproduce", "dsptf") == 7
    install, run = dev.ran
    assert install[1:4] == ["-m", "pip", "install"]
    assert install[-4:] == ["--constraint", "constraints.txt", "--editable", ".[test]"]
    assert run[1:] == ["-m", "storagekit.cli", "reproduce", "dsptf"]
    call(dev, monkeypatch, "list")
    assert [command[1:] for command in dev.ran] == [["-m", "storagekit.cli", "list"]]
    (dev.ROOT / "constraints.txt").write_text("changed")
    call(dev, monkeypatch, "list")
    assert len(dev.ran) == 2


def test_a_removed_interpreter_is_installed_again(dev, monkeypatch):
    monkeypatch.setattr(dev.shutil, "which", lambda _name: None)
    call(dev, monkeypatch, "list")
    dev.PYTHON.unlink()
    dev.PYTHON.symlink_to(dev.ROOT / "an interpreter that is gone")
    monkeypatch.setattr(dev.venv, "EnvBuilder", lambda **_options: SimpleNamespace(create=lambda folder: None))
    call(dev, monkeypatch, "list")
    assert dev.ran[0][1:4] == ["-m", "pip", "install"] and dev.ran[1][1:] == ["-m", "storagekit.cli", "list"]


def test_an_interpreter_that_does_not_run_is_reported_in_one_line(dev, monkeypatch):
    call(dev, monkeypatch, "list")

    def refused(*_given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(dev.os, "execv", refused)
    said = call(dev, monkeypatch, "list")
    assert said == f"storagekit: {dev.PYTHON} cannot be run: Permission denied; remove {dev.VENV} and run again"


def test_ctrl_c_during_the_installation_is_reported_in_one_line(dev, monkeypatch, capsys):
    def pressed(_command, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(dev.subprocess, "run", pressed)
    assert call(dev, monkeypatch, "list") == 130
    assert capsys.readouterr().err.splitlines()[-1].startswith("storagekit: stopped; .venv is not finished")
    assert not dev.STAMP.exists()


def test_it_installs_with_uv_where_uv_exists(dev, monkeypatch):
    monkeypatch.setattr(dev.shutil, "which", lambda _name: "the-uv")
    call(dev, monkeypatch, "list")
    assert dev.ran[0][:4] == ["the-uv", "pip", "install", "--python"]


def test_the_tests_run_on_two_workers(dev, monkeypatch):
    call(dev, monkeypatch, "test", "-k", "claims")
    assert dev.ran[-1][1:5] == ["-m", "pytest", "-n", "2"]
    assert dev.ran[-1][-2:] == ["-k", "claims"]


def test_a_failed_installation_is_not_used(dev, monkeypatch):
    def breaks(command, **_options):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(dev.subprocess, "run", breaks)
    assert "could not be set up" in str(call(dev, monkeypatch, "test"))
    assert not dev.STAMP.exists()


def test_an_old_python_is_rejected_in_one_line(dev, monkeypatch):
    monkeypatch.setattr(dev.sys, "version_info", (3, 9, 2))
    said = call(dev, monkeypatch, "test")
    assert said == "storagekit: Python 3.9.2 is too old; run dev.py with Python 3.11 or newer"


def test_a_wheel_has_its_data_and_its_notebooks(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    command = [sys.executable, "-m", "storagekit.cli", "list", "--json"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    said = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    sections = json.loads(said.stdout)
    assert "atlas10k" in [entry["name"] for entry in sections["drives"]]
    dsptf = next(entry for entry in sections["papers"] if entry["name"] == "dsptf")
    assert dsptf["what"].endswith("claims, a notebook")
    assert (tmp_path / "site" / "storagekit" / "py.typed").exists()
    assert not list((tmp_path / "site").rglob("tests"))
