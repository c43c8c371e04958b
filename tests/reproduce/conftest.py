"""Fixtures: tiny notebooks to run, and the command line."""

from command_line import notebooks, storagekit, write  # noqa: F401  fixtures
