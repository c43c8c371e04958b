"""What a reproduction notebook calls: show an exhibit, state what was measured.

>>> page = Page(out, "dsptf", profile, seed)  # doctest: +SKIP
>>> page.show("table1", dataset, chart)  # doctest: +SKIP
>>> page.claim([Measurement("dsptf.table1.gain", 1.41, 1.39, 1.43)])  # doctest: +SKIP
"""

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from storagekit.errors import InputError
from storagekit.reproduce.claims import load_claims, load_exhibits
from storagekit.reproduce.files import replacing, write_chart, write_text
from storagekit.reproduce.report import html_table, summary
from storagekit.reproduce.scorecard import Measurement, Row, score

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from IPython.display import HTML, SVG

PROFILES = ("quick", "full")
MEASUREMENTS = "measurements.json"
# how many times the largest variable's points a table may have in all
MOSTLY_FULL = 16


class Page:
    """One paper's reproduction: its exhibits and measurements go to OUT/<paper>.

    out: the folder of all results. paper: its key, as in data/claims. profile: one of `PROFILES`.
    seed: of the run; both are written into every Dataset. Raises InputError for an unknown paper
    or profile.
    """

    def __init__(self, out: str | Path, paper: str, profile: str, seed: int):
        if profile not in PROFILES:
            raise InputError(f"profile {profile!r}: unknown; it is one of {', '.join(PROFILES)}")
        self.paper, self.profile, self.seed = paper, profile, seed
        self.folder = Path(out).resolve() / paper
        self._claims = load_claims(paper)
        self._shows = {exhibit.id: exhibit.shows for exhibit in load_exhibits(paper)}
        self._measured: dict[str, Measurement] = {}

    def show(self, name: str, dataset: "xr.Dataset", chart) -> "SVG":
        """Write an exhibit and return its picture, to be a cell's last expression.

        name: the exhibit's ("table1"), a file name without suffix. dataset: an xarray Dataset.
        chart: an Altair chart of it. Writes <name>.nc, .csv (one row per point), .png and .svg.
        The picture is SVG: it needs no script and no network, in JupyterLab or in a page sent on.
        """
        if not re.fullmatch(r"\w[\w.-]*", name):
            raise InputError(f"exhibit name {name!r}: use letters, digits, '-' and '_' only")
        from IPython.display import SVG

        self._write_dataset(name, dataset)
        _, picture = write_chart(self.folder, name, chart)
        alt = self._shows.get(f"{self.paper}.{name}", name)
        about = {"alt": alt, "exhibit": f"{self.paper}.{name}"}
        return SVG(data=picture.read_text(encoding="utf-8"), metadata=about)

    def claim(self, measurements: Iterable[Measurement]) -> "HTML":
        """State what was measured; returns the claims answered, beside the paper's, as a table.

        May be called once per exhibit; a claim stated again replaces what was said before. Writes
        OUT/<paper>/measurements.json. Raises InputError where a measurement belongs to no claim of
        the paper or is no answer to it.
        """
        from IPython.display import HTML

        new = list(measurements)
        rows = [row for row in score(self._claims, new) if row.id in {m.id for m in new}]
        self._measured |= {m.id: m for m in new}
        entries = [asdict(m) for m in self._measured.values()]
        write_text(self.folder / MEASUREMENTS, json.dumps(entries, indent=1) + "\n")
        says = {claim.id: claim.says for claim in self._claims}
        table = f"{html_table(rows, says)}<p>{summary((row.rests, row.verdict) for row in rows)}</p>"
        return HTML(table, metadata={"claims": [row.id for row in rows]})

    def expected(self) -> dict[str, float]:
        """The paper's numbers by claim id, for a chart to mark; claims without a single number are left out."""
        return {claim.id: float(claim.expected) for claim in self._claims if isinstance(claim.expected, int | float)}

    def _write_dataset(self, name: str, dataset: "xr.Dataset") -> None:
        from storagekit.metrics.provenance import storable

        made_by = {
            "paper": self.paper,
            "exhibit": f"{self.paper}.{name}",
            "profile": self.profile,
            "seed": self.seed,
            "version": version("storagekit"),
        }
        attributes = {key: storable(value) for key, value in (made_by | dataset.attrs).items()}
        with replacing(self.folder / f"{name}.nc") as path:
            dataset.assign_attrs(attributes).to_netcdf(path, engine="h5netcdf")
        write_text(self.folder / f"{name}.csv", _tidy(dataset).to_csv(index=False, lineterminator="\n"))


def _tidy(dataset: "xr.Dataset") -> "pd.DataFrame":
    """One row per point, axes first; single numbers make one row.

    Where variables have so different axes that most points of all of them together have nothing to say, each group of
    variables with the same axes has its own rows.
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
    """What the run of `paper` in `out` measured; none where it stated nothing."""
    path = out / paper / MEASUREMENTS
    if not path.exists():
        return []
    try:
        return [Measurement(**entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError) as fault:
        raise InputError(f"{path}: {fault}; remove it and run `storagekit reproduce`") from fault


def score_paper(out: Path, paper: str) -> list[Row]:
    """The scorecard rows of `paper` from what its run in `out` measured."""
    return score(load_claims(paper), load_measurements(out, paper))
