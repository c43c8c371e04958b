"""A board in one HTML file that answers without a kernel or a network."""

from pathlib import Path

from storagekit.charts.live.board import Board


def export(board: Board, path: str | Path, *, title: str, lead: str = "") -> Path:
    """Write one HTML file in which the board answers at every combination of its controls' `stops`, asked beforehand.

    title, lead: what stands above it, plain text. Takes as long as all these answers, with a bar; returns the path. Raises
    InputError where they are too many.
    """
    raise NotImplementedError
