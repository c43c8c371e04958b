"""Completions for shells: names of drives, schemes, formats and papers, found without imports.

If no name matches, the shell completes names of files, as it does by default.
"""

from collections.abc import Callable, Iterable


def _beginning(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _drives() -> Iterable[str]:
    from storagekit.core.resources import drive_files

    return sorted(drive_files())


def _papers() -> Iterable[str]:
    from storagekit.reproduce.claims import papers

    return papers()


def _pages() -> Iterable[str]:
    from storagekit.core.resources import notebooks_path, reproductions_path

    return [path.stem for home in (notebooks_path(), reproductions_path()) for path in sorted(home.glob("*.ipynb"))]


def _lab_pages() -> Iterable[str]:
    from storagekit.lab import PAGES

    return PAGES


def _dispatchers() -> Iterable[str]:
    from storagekit.cli.catalogue import DISPATCHERS

    return DISPATCHERS.members


def _schedulers() -> Iterable[str]:
    from storagekit.cli.catalogue import SCHEDULERS

    return SCHEDULERS.members


def _writes() -> Iterable[str]:
    from storagekit.cli.catalogue import WRITES

    return WRITES.members


def _formats() -> Iterable[str]:
    from storagekit.cli.catalogue import trace_formats

    return [form.name for form in trace_formats()]


# every command accepts a drive in any of these forms
A_DRIVE = (
    "Name of a drive (see `storagekit list`), a drive file, or data-sheet values: "
    "rpm=7200,seek=1/8.5/18ms,rate=250MB/s,size=18TB."
)

drives, papers, formats = _beginning(_drives), _beginning(_papers), _beginning(_formats)
pages = _beginning(_pages)
lab_pages = _beginning(_lab_pages)
dispatchers, schedulers, writes = _beginning(_dispatchers), _beginning(_schedulers), _beginning(_writes)
