"""Compare schemes on one trace or workload: `compare`, and its result."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from storagekit.core.atomic_files import replacing
from storagekit.core.errors import InputError
from storagekit.core.units import MS
from storagekit.core.validation import Count, Positive, Validator, instance_of, several, validate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from storagekit.charts.comparison import Drawn
    from storagekit.engine import System
    from storagekit.simulation.measures import Measure
    from storagekit.workload import AbstractArrivals
    from storagekit.workload.trace import RequestTrace

# number of runs of every scheme
SEEDS = 8
# largest number of requests of a run, because request numbers have 32 bits
MOST_REQUESTS = 2**31 - 1


@validate
def compare(
    workload: "RequestTrace | AbstractArrivals",
    schemes: Annotated["Mapping[str, System]", instance_of(Mapping, "a mapping from names to systems")],
    *,
    seeds: int | Sequence[int] = SEEDS,
    against: str | None = None,
    requests: Annotated[int | None, Validator(least=1, most=MOST_REQUESTS, whole=True)] = None,
    scale: Positive = 1.0,
    measures: Annotated["Sequence[Measure]", several(lambda _, measure: measure, of="measures")] = (),
    depth: Count | None = None,
) -> "Comparison":
    """Simulate the same requests with every scheme, and compare the results.

    Arrivals may wait for a slot. A scheme is overloaded if more than 0.1% of the arrivals wait. Except in a closed
    loop, a scheme is also overloaded if its busiest brick is busy for more than 95% of the time, or if response times
    rise over the run. Response times rise if each fifth of the run has a longer mean response time than the fifth
    before it, and the last mean is more than twice the first mean.

    Parameters
    ----------
    workload : RequestTrace or AbstractArrivals
        A trace, or arrivals such as `ClosedLoop`.
    schemes : mapping of str to System
        Systems, keyed by name.
    seeds : int or sequence of int
        The number of runs of each scheme, by default 8, or their seeds. A seed determines the phases of the spindles
        and, for arrivals, also the requests. All schemes use the same seeds. Differences between schemes are therefore
        more precise than the values themselves.
    against : str, optional
        The scheme with which the other schemes are compared, by default the first scheme.
    requests : int, optional
        The number of requests, by default all requests of a trace. For other arrivals the default is 20,000, and the
        first fifth is not measured.
    scale : float
        Factor by which a trace runs faster than recorded, by default 1.
    measures : sequence of Measure
        Measures in addition to the standard measures, by default none.
    depth : int, optional
        Number of outstanding requests of a closed loop over the trace: the next request arrives when a request
        completes. By default the requests arrive at the times of the trace.

    Returns
    -------
    Comparison
        The results.

    Raises
    ------
    InputError
        If a scheme is not a system, or if a setting is impossible.

    Examples
    --------
    >>> import storagekit as sk
    >>> trace = sk.read_trace(sk.resources.data_path("samples", "small.spc"))
    >>> ways = {"hashing": sk.dispatch.Hashing(), "D-SPTF": sk.dispatch.DSPTF()}
    >>> drive, two = sk.load_drive("atlas10k"), sk.placement.Replicas(2)
    >>> found = sk.compare(trace, {name: sk.System(drive, two, way, sk.schedule.SATF()) for name, way in ways.items()})
    >>> less = found.summary.response_difference.sel(scheme="D-SPTF", statistic=["low", "high"])
    >>> print(f"D-SPTF takes {-float(less[1]):.0%} to {-float(less[0]):.0%} less time than hashing")
    D-SPTF takes 10% to 13% less time than hashing
    """
    from storagekit.engine import System
    from storagekit.simulation.comparison import compared, overloads, summarized

    if not schemes:
        raise InputError("no schemes to compare: give a mapping from names to systems")
    for name, system in schemes.items():
        if not isinstance(system, System):
            raise InputError(f"scheme {name!r} is a {type(system).__name__}: give a System")
    base = next(iter(schemes)) if against is None else against
    if base not in schemes:
        raise InputError(f"against {base!r}: give one of {', '.join(map(str, schemes))}")
    data = compared(workload, schemes, seeds=seeds, requests=requests, scale=scale, measures=measures, depth=depth)
    return Comparison(data, summarized(data, base), overloads(data))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of a comparison of schemes.

    Parameters
    ----------
    data : Dataset
        The measures of `simulate` for each `scheme` and `seed`.
    summary : Dataset
        Means and 95% intervals (`statistic`: mean, low, high) for each scheme. Each difference from the scheme
        `against` is a fraction of the value of `against`, and is computed over pairs of runs with the same seed.
    overloaded : mapping of str to str
        For each overloaded scheme, the reasons. The results of such a scheme depend on the length of the run.
    """

    data: "xr.Dataset"
    summary: "xr.Dataset"
    overloaded: Mapping[str, str]

    @property
    def against(self) -> str:
        """The scheme with which the other schemes are compared."""
        return self.summary.attrs["against"]

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with a row for each scheme; differences are fractions of the value of `against`.

        Times are in seconds.
        """
        import pandas as pd

        rows = {scheme: self._row(self.summary.sel(scheme=scheme)) for scheme in self.summary.scheme.values.tolist()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("scheme")

    def to_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON, with times in seconds and None in place of NaN."""
        rows = self.to_pandas().reset_index().to_dict("records")
        plain = [{name: None if value != value else value for name, value in row.items()} for row in rows]
        facts = {name: value for name, value in self.data.attrs.items() if name not in ("scenario", "varied")}
        return {"against": self.against, "schemes": plain, "overloaded": dict(self.overloaded), "attrs": facts}

    def to_netcdf(self, path: str | Path) -> None:
        """Write a NetCDF file with `data`, and with `summary` in the group `summary`.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        with replacing(Path(path)) as temporary:
            _storable(self.data).to_netcdf(temporary, engine="h5netcdf")
            _storable(self.summary).to_netcdf(temporary, engine="h5netcdf", group="summary", mode="a")

    def chart(self) -> "Drawn":
        """Return a chart of the response times with their quantiles, and of the differences with their intervals."""
        from storagekit.charts.comparison import comparison

        return comparison(self.summary, list(self.overloaded))

    def __str__(self) -> str:
        width = max(8, *(len(str(scheme)) for scheme in self.summary.scheme.values))
        head = (
            f"{'scheme':<{width}}{'mean ms':>10}{'p50':>9}{'p95':>9}{'p99':>9}{'p99.9':>9}{'busiest':>9}{'claims':>8}"
        )
        lines = [f"{head}{'requests/s':>12}   mean, difference from {self.against}"]
        for name, row in self.to_pandas().iterrows():
            times = "".join(f"{row[column] / MS:>9.2f}" for column in ("p50", "p95", "p99", "p999"))
            lines.append(
                f"{name:<{width}}{row['response'] / MS:>10.2f}{times}{row['busiest']:>9.0%}{row['claims_per_read']:>8.2f}"
                f"{row['request_rate']:>12,.4g}   {self._difference(str(name), row)}"
            )
        lines += [f"overloaded: {name}: {why}" for name, why in self.overloaded.items()]
        beyond = self.data.wrapped.to_series() if "wrapped" in self.data else {}
        lines += [
            f"{name}: the addresses of {share:.0%} of the requests exceed the capacity and wrap around"
            for name, share in beyond.items()
            if share > 0
        ]
        return "\n".join(lines)

    def _difference(self, scheme: str, row: "pd.Series") -> str:
        if scheme == self.against:
            return "-"
        if np.isnan(row["low"]):
            return f"{row['difference']:+.1%} (one seed: no interval)"
        return f"{row['difference']:+.1%} ({row['low']:+.1%} to {row['high']:+.1%})"

    def _row(self, one: "xr.Dataset") -> dict[str, float]:
        mean = one.sel(statistic="mean")
        shares = ("p50", "p95", "p99", "p999")
        return {
            "response": float(mean.response),
            "response_low": float(one.response.sel(statistic="low")),
            "response_high": float(one.response.sel(statistic="high")),
            **{name: float(value) for name, value in zip(shares, mean.response_quantile, strict=True)},
            "utilization": float(mean.utilization.mean()),
            "busiest": float(mean.busiest),
            "claims_per_read": float(mean.claims_per_read),
            "throughput": float(mean.throughput),
            "request_rate": float(mean.request_rate),
            "blocked": float(mean.blocked),
            "difference": float(mean.response_difference),
            "low": float(one.response_difference.sel(statistic="low")),
            "high": float(one.response_difference.sel(statistic="high")),
        }


def _storable(data: "xr.Dataset") -> "xr.Dataset":
    """Return the dataset with attributes that NetCDF can store. Values other than numbers and text become JSON."""
    plain = {
        name: value if isinstance(value, str | int | float) else json.dumps(value, default=str)
        for name, value in data.attrs.items()
    }
    return data.assign_attrs(plain)
