"""Functions for a reproduction notebook: show an exhibit, and state measurements.

>>> page = Page(out, "dsptf", profile, seed)  # doctest: +SKIP
>>> page.show("table1", dataset, chart)  # doctest: +SKIP
>>> page.claim([Measurement("dsptf.table1.gain", 1.41, 1.39, 1.43)])  # doctest: +SKIP

For an exhibit, a page writes the data (<name>.nc), the same data as a table (.csv), and the chart (.svg). A summary
(.summary.csv) has means with intervals and the paper's numbers. Each file contains its provenance (`provenance`). A
table of more than `MOST_CSV` bytes is not written, because the NetCDF file contains all data.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storagekit.core.atomic_files import replacing, write_text
from storagekit.core.compilation import announce_compilations
from storagekit.core.errors import InputError
from storagekit.core.validation import one_of
from storagekit.reproduce import provenance
from storagekit.reproduce.claims import load_claims, load_exhibits, numbers
from storagekit.reproduce.files import as_svg
from storagekit.reproduce.report import html_table, summary
from storagekit.reproduce.scorecard import Measurement, ScorecardRow, score
from storagekit.reproduce.summaries import is_of, with_paper
from storagekit.reproduce.summaries import summary as summarized
from storagekit.reproduce.tables import folded

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from IPython.display import HTML

PROFILES = ("quick", "full")
MEASUREMENTS = "measurements.json"
# Largest number of points of a table, as a multiple of the points of the largest variable.
MOSTLY_FULL = 16
# Size of the largest table that is written as CSV, bytes.
MOST_CSV = 10**6
# Lossless compression of numbers in a NetCDF file, to between half and four fifths of the size.
_PACKED = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
# A variable of fewer bytes would grow by compression.
_FEWEST = 4096


@dataclass(frozen=True)
class _Shown:
    """An exhibit that a page has shown: its numbers, measures and attributes, and the cell output with the table.

    The cell output is None outside a notebook.
    """

    rows: "pd.DataFrame"
    about: tuple[str, ...]
    attributes: Mapping[str, Any]
    output: Any


class Page:
    """The reproduction of one paper, which writes its exhibits and measurements to OUT/<paper>.

    Parameters
    ----------
    out : str or Path
        Folder of all results.
    paper : str
        Key of the paper, as in data/claims.
    profile : str
        One of `PROFILES`. It is written into every Dataset.
    seed : int
        Seed of the run. It is written into every Dataset.

    Raises
    ------
    InputError
        If the paper or the profile is unknown.
    """

    def __init__(self, out: str | Path, paper: str, profile: str, seed: int):
        one_of(*PROFILES)("profile", profile)
        announce_compilations()
        self.paper, self.profile, self.seed = paper, profile, seed
        self.folder = Path(out).resolve() / paper
        self._claims = load_claims(paper)
        self._shows = {exhibit.id: exhibit.shows for exhibit in load_exhibits(paper)}
        self._measured: dict[str, Measurement] = {}
        self._shown: dict[str, _Shown] = {}

    def show(
        self,
        name: str,
        dataset: "xr.Dataset",
        chart,
        *,
        about: Sequence[str] = (),
        made_from: "Sequence[xr.Dataset]" = (),
    ) -> None:
        """Write the files of an exhibit, and show its picture. A folded table below the picture has the numbers.

        The files are <name>.nc, .csv (one row for each point), .summary.csv and .svg. A table of more than `MOST_CSV`
        bytes is not written. The picture is SVG, which needs no script and no network. When `claim` states the
        measurements, the paper's numbers are added to the table.

        Parameters
        ----------
        name : str
            Name of the exhibit ("table1"), a file name without suffix.
        dataset : Dataset
            The data.
        chart : altair chart
            A chart of the data.
        about : sequence of str
            Names of the measures that the table shows, for data with many measures; see `tables.measures`.
        made_from : sequence of Dataset
            The Datasets from which `dataset` was computed, if its attributes lack the provenance.

        Raises
        ------
        InputError
            If the name is not a file name, or if the data lack a measure.
        """
        if not re.fullmatch(r"\w[\w.-]*", name):
            raise InputError(f"exhibit name {name!r}: use letters, digits, '-' and '_' only")
        strange = [one for one in about if one not in dataset.data_vars]
        if strange:
            raise InputError(
                f"{name}: measure {strange[0]!r} is unknown; give one of {', '.join(map(str, dataset.data_vars))}"
            )
        attributes = self._attributes(name, dataset, made_from)
        self._write_data(name, dataset, attributes)
        words = self._in_words(name, chart)
        picture = provenance.in_svg(as_svg(chart), attributes, words)
        write_text(self.folder / f"{name}.svg", picture)
        _display_picture(picture, {"alt": words, "exhibit": f"{self.paper}.{name}"})
        rows = summarized(dataset, about)
        self._shown[name] = _Shown(rows, tuple(about), attributes, _table_output())
        self._show_table(name)

    def claim(self, measurements: Iterable[Measurement]) -> "HTML":
        """Record measurements, and return a table that compares them with the paper's claims.

        The method may be called once for each exhibit. A later measurement of a claim replaces the earlier one. The method
        writes OUT/<paper>/measurements.json.

        Parameters
        ----------
        measurements : iterable of Measurement
            The measurements.

        Returns
        -------
        HTML
            The table.

        Raises
        ------
        InputError
            If a measurement belongs to no claim of the paper, or if its value has the wrong kind for the claim.
        """
        from IPython.display import HTML

        new = list(measurements)
        rows = [row for row in score(self._claims, new) if row.id in {m.id for m in new}]
        self._measured |= {m.id: m for m in new}
        entries = [asdict(m) for m in self._measured.values()]
        write_text(self.folder / MEASUREMENTS, json.dumps(entries, indent=1) + "\n")
        stated = [claim for claim in self._claims if claim.id in {m.id for m in new}]
        for name, shown in self._shown.items():
            if any(is_of(claim, str(shown.attributes["exhibit"])) for claim in stated):
                self._show_table(name)
        says = {claim.id: claim.says for claim in self._claims}
        table = f"{html_table(rows, says)}<p>{summary((row.evidence, row.verdict) for row in rows)}</p>"
        return HTML(table, metadata={"claims": [row.id for row in rows]})

    def expected(self) -> dict[str, float]:
        """Return the paper's numbers, keyed by claim id, for marks in a chart; see `claims.numbers`."""
        return numbers(self.paper)

    def _attributes(self, name: str, dataset: "xr.Dataset", made_from: "Sequence[xr.Dataset]") -> dict[str, Any]:
        from storagekit.core.provenance import made_jointly

        exhibit = f"{self.paper}.{name}"
        # The attribute `exhibit` of the sources is not the name of this exhibit.
        joint = {
            key: value for key, value in made_jointly([one.attrs for one in made_from]).items() if key != "exhibit"
        }
        run = {"paper": self.paper, "profile": self.profile, "seed": self.seed}
        return provenance.whole(joint | dataset.attrs, exhibit, run)

    def _write_data(self, name: str, dataset: "xr.Dataset", attributes: Mapping[str, Any]) -> None:
        described = dataset.drop_attrs(deep=False).assign_attrs(attributes)
        with replacing(self.folder / f"{name}.nc") as path:
            described.to_netcdf(path, engine="h5netcdf", encoding=_packed(described))
        values = sum(variable.size for variable in dataset.data_vars.values())
        self._write_table(f"{name}.csv", _tidy(dataset) if values <= MOST_CSV else None, attributes)

    def _write_table(self, file: str, rows: "pd.DataFrame | None", attributes: Mapping[str, Any]) -> bool:
        """Write a table as CSV, and return whether it was written. `rows` is None if the table is too large."""
        body = None if rows is None else _csv(rows)
        if body is None:
            (self.folder / file).unlink(missing_ok=True)
        else:
            write_text(self.folder / file, provenance.csv_head(attributes) + body)
        return body is not None

    def _in_words(self, name: str, chart) -> str:
        """Return a description of a picture for blind readers: its title, its finding, the content of the exhibit."""
        heading = chart.to_dict().get("title") or ""
        parts = [heading] if isinstance(heading, str) else [heading.get("text", ""), heading.get("subtitle", "")]
        said = [" ".join(part) if isinstance(part, list) else part for part in parts]
        texts = [part.strip() for part in (*said, self._shows.get(f"{self.paper}.{name}", "")) if part]
        sentences = [part if part.endswith((".", "?", "!")) else f"{part}." for part in texts]
        return " ".join(sentences) or name

    def _show_table(self, name: str) -> None:
        """Write the means of an exhibit and show its table, with the paper's numbers for the measurements so far."""
        shown, file = self._shown[name], f"{name}.summary.csv"
        exhibit = str(shown.attributes["exhibit"])
        rows = with_paper(shown.rows, self._claims, self._measured, exhibit)
        if not self._write_table(file, rows, shown.attributes):
            file = f"{name}.nc"
        if shown.output is not None:
            from IPython.display import HTML

            shown.output.update(HTML(folded(rows, shown.about, self._claims, self._measured, exhibit, file)))


def _display_picture(svg: str, about: Mapping[str, str]) -> None:
    if _in_notebook():
        from IPython.display import SVG, display

        display(SVG(data=svg, metadata=dict(about)))


def _table_output() -> Any:
    """Return an empty output of the running cell, which the table fills later; None outside a notebook."""
    if not _in_notebook():
        return None
    from IPython.display import HTML, display

    return display(HTML(""), display_id=True)


def _in_notebook() -> bool:
    from IPython import get_ipython

    return get_ipython() is not None


def _packed(dataset: "xr.Dataset") -> dict[str, dict[str, Any]]:
    """Return the encodings of the larger numeric variables of a dataset."""
    large = {str(name) for name, its in dataset.variables.items() if its.dtype.kind in "iuf" and its.nbytes >= _FEWEST}
    return dict.fromkeys(large, _PACKED)


def _csv(rows: "pd.DataFrame") -> str | None:
    """Return a table as CSV, or None if the CSV has more than `MOST_CSV` bytes. Each cell takes at least one byte."""
    if rows.size > MOST_CSV:
        return None
    body = rows.to_csv(index=False, lineterminator="\n")
    return body if len(body) <= MOST_CSV else None


def _tidy(dataset: "xr.Dataset") -> "pd.DataFrame":
    """Return one row per point, axes first; a dataset without axes makes one row.

    If the variables have different axes, and most points of the joint grid would be empty, each group of variables with
    the same axes has separate rows.
    """
    if not dataset.sizes:
        return dataset.to_pandas().to_frame().T
    largest = max((variable.size for variable in dataset.data_vars.values()), default=0)
    if math.prod(dataset.sizes.values()) <= MOSTLY_FULL * largest:
        return dataset.to_dataframe().reset_index()
    alike: dict[tuple, list] = {}
    for name, variable in dataset.data_vars.items():
        alike.setdefault(variable.dims, []).append(name)
    import pandas as pd

    return pd.concat([_tidy(dataset[names].reset_coords(drop=True)) for names in alike.values()], ignore_index=True)


def load_measurements(out: Path, paper: str) -> list[Measurement]:
    """Return the measurements of the run of `paper` in `out`; an empty result if the run stated no measurement."""
    path = out / paper / MEASUREMENTS
    if not path.exists():
        return []
    try:
        return [Measurement(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as fault:
        raise InputError(f"{path}: {fault}; remove this file and run `storagekit reproduce`") from fault


def score_paper(out: Path, paper: str) -> list[ScorecardRow]:
    """Return the scorecard rows of `paper` from the measurements of its run in `out`."""
    return score(load_claims(paper), load_measurements(out, paper))
