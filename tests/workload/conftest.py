"""Where the real traces are, for tests that read them."""

from pathlib import Path

import helpers
import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real traces."""
    return helpers.shared("traces")
