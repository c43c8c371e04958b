"""Rooms look only where DESIGN lets them: the import-linter contracts of pyproject.toml."""

from pathlib import Path

import pytest
from importlinter.cli import lint_imports

import storagekit

ROOT = Path(storagekit.__file__).parent.parent


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs a checkout, this is an installed package")
def test_imports_keep_to_the_contracts(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert status == 0, capsys.readouterr().out
