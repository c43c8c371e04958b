"""Fixture with the folder of the real traces."""

from pathlib import Path

import helpers
import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real traces."""
    return helpers.shared("traces")
