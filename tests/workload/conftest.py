"""Where the real traces are, for tests that read them."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces; not redistributable, so not in the repository."""
    named = os.environ.get("STORAGEKIT_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    if not (folder / "traces").is_dir():
        pytest.skip(f"no traces in {folder}; set STORAGEKIT_SHARED to the folder that has them")
    return folder / "traces"
