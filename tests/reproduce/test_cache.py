"""Test the inputs from which the cache decides whether a run is current."""

from pathlib import Path

import pytest

from storagekit.reproduce import cache

PAPERS = ("dsptf", "swift")
MINE = (
    "storagekit/papers/dsptf/loops.py",
    "storagekit/papers/dsptf/draw/loops.py",
    "data/claims/dsptf.yaml",
    "data/real_traces/dsptf.toml",
    "data/reference/dsptf_table.csv",
    "dsptf.ipynb",
)
ALL = (
    "storagekit/charts/marks.py",
    "storagekit/papers/rows.py",
    # the choice of the drive in the engine, not the claims of a paper
    "storagekit/arbitration/dsptf.py",
    "data/drives/atlas10k.json",
    "data/reference/disksim_atlas10k.csv",
)
NOBODYS = ("storagekit/_data/claims/dsptf.yaml", "storagekit/__pycache__/axes.pyc", "storagekit/_notebooks/tour.ipynb")


@pytest.fixture
def tree(tmp_path, monkeypatch) -> Path:
    """Create a package, its data and two notebooks, with a few words in each file."""
    for name in (*MINE, *ALL, *NOBODYS, "swift.ipynb", "data/claims/swift.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("before")
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "storagekit")
    monkeypatch.setattr(cache, "data_path", lambda: tmp_path / "data")
    monkeypatch.setattr(cache, "papers", lambda: list(PAPERS))
    return tmp_path


def prints(tree: Path) -> dict[str, str]:
    return {paper: cache.fingerprint(paper, tree / f"{paper}.ipynb", {}) for paper in PAPERS}


@pytest.mark.parametrize(
    ("name", "changed"),
    [(name, {"dsptf"}) for name in MINE] + [(name, set(PAPERS)) for name in ALL] + [(name, set()) for name in NOBODYS],
)
def test_an_edit_reruns_the_papers_that_it_concerns(tree, name, changed):
    before = prints(tree)
    (tree / name).write_text("after")
    after = prints(tree)
    assert {paper for paper in PAPERS if before[paper] != after[paper]} == changed
