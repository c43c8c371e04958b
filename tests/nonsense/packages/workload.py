"""Valid calls of workloads, traces and synthetic traces."""

from functools import cache
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from nonsense.attack import ValidCall
from nonsense.public_callables import method_of

import storagekit as sk
from storagekit import workload
from storagekit.workload import synthetic, trace


@cache
def requests() -> workload.RandomRequests:
    return workload.RandomRequests(workload.FixedSize(4096.0), 0.7)


@cache
def small_trace() -> trace.RequestTrace:
    return trace.request_trace(
        time=np.array([0.0, 0.01, 0.5]),
        device=np.zeros(3, int),
        offset=np.array([0, 8192, 4096]),
        size=np.full(3, 4096),
        read=np.array([True, False, True]),
    )


@cache
def arrivals() -> workload.RecordedArrivals:
    return workload.recorded(small_trace(), 100_000)


def path() -> str:
    return str(sk.resources.data_path("samples", "small.spc"))


POPULAR = {
    "name": "mail",
    "requests": 100_000,
    "duration": 100.0,
    "read_share": 0.7,
    "mean_size": 10_000.0,
    "hit_rate": 0.3,
    "central_cache": 2**27,
    "luns": 5,
    "data": 2**30,
    "head": 1e-4,
    "together": False,
    "scale": 1.0,
}
SEEKING = {
    "name": "mail",
    "data": 2**33,
    "requests": 100_000,
    "duration": 7200.0,
    "read_share": 0.5,
    "asynchronous_share": 0.2,
    "locality": 4.0,
    "read_after_write": 0.05,
    "interarrival_cov": 1.5,
    "burst_gap": 0.001,
    "request_size": 8192,
    "dispersion": 2.0,
    "read_region": 0.042,
    "write_region": 0.005,
    "flush_period": 30.0,
    "flush_gap": 0.0004,
}


@cache
def model() -> synthetic.SeekingTraceModel:
    return synthetic.SeekingTraceModel(**SEEKING)


@cache
def generated() -> trace.RequestTrace:
    return synthetic.generate(model(), seed=0, stop=10.0)


@cache
def popular() -> synthetic.PopularTraceModel:
    return synthetic.PopularTraceModel(**POPULAR)


def law() -> synthetic.Popularity:
    return synthetic.Popularity(1.0, 1e-4)


VALID_CALLS = {
    "workload.ClosedLoop": ValidCall(
        lambda: {"requests": requests(), "outstanding": 4, "replaced_before_choice": False},
    ),
    "workload.ExponentialSize": ValidCall(lambda: {"mean": 4096.0}),
    "workload.FixedSize": ValidCall(lambda: {"size": 4096.0}),
    "workload.Group": ValidCall(
        lambda: {
            "requests": requests(),
            "threads": 4,
            "think": 0.01,
            "stream": 1,
            "volumes": [0, 1, 2, 3, 4],
            "most": 5,
        }
    ),
    "workload.MixedRequests": ValidCall(lambda: {"models": [requests(), requests()], "shares": [0.5, 0.5]}),
    "workload.MixedSizes": ValidCall(lambda: {"sizes": [4096.0, 8192.0], "shares": [0.5, 0.5]}),
    "workload.OnOff": ValidCall(lambda: {"threads": 4, "on": 10.0, "off": 5.0}),
    "workload.ClosedOrOpen": ValidCall(lambda: {"requests": requests(), "outstanding": 4, "rate": 100.0}),
    "workload.PoissonArrivals": ValidCall(lambda: {"requests": requests(), "rate": 100.0}),
    "workload.RandomRequests": ValidCall(
        lambda: {"size": workload.FixedSize(4096.0), "read_share": 0.7, "locality": 2.0, "alignment": 8}
    ),
    "workload.RecordedArrivals": ValidCall(
        lambda: {
            "requests": arrivals().requests,
            "gap": np.array([0.01, 0.49, 1.0]),
            "scale": 1.0,
            "clients": False,
            "first": 5,
        }
    ),
    "workload.Sinusoid": ValidCall(lambda: {"low": 1.0, "high": 5.0, "period": 60.0, "phase": 0.25}, signed=("phase",)),
    "workload.Steady": ValidCall(lambda: {"threads": 4}),
    "workload.Steps": ValidCall(lambda: {"times": [1.0, 2.0], "counts": [3, 2, 4]}),
    "workload.Threads": ValidCall(
        lambda: {"groups": [workload.Group(requests(), 4, volumes=[0, 1, 2, 3])], "volume": 8192},
    ),
    "workload.UniformSize": ValidCall(lambda: {"low": 512.0, "high": 4096.0}),
    "workload.VolumeRequests": ValidCall(
        lambda: {
            "size": workload.FixedSize(4096.0),
            "read_share": 0.7,
            "locality": 2.0,
            "alignment": 8,
            "volumes": [8192, 8192],
            "shares": [0.5, 0.5],
            "clients": 3,
        }
    ),
    "workload.recorded": ValidCall(
        lambda: {"trace": small_trace(), "capacity": 100_000, "scale": 1.0, "unit": 8, "depth": 2}
    ),
    "workload.wrapped": ValidCall(lambda: {"trace": small_trace(), "capacity": 100_000}),
    "workload.synthetic.PopularTraceModel": ValidCall(lambda: POPULAR),
    "workload.synthetic.PopularTraceModel.cache": ValidCall(
        lambda: {"size": 2.0**27}, through=method_of(popular, "cache")
    ),
    "workload.synthetic.PopularTraceModel.expected_hit_rate": ValidCall(
        lambda: {"size": 2.0**27}, through=method_of(popular, "expected_hit_rate")
    ),
    "workload.synthetic.PopularTraceModel.scaled": ValidCall(
        lambda: {"fraction": 0.5}, through=method_of(popular, "scaled")
    ),
    "workload.synthetic.Popularity.intensity": ValidCall(
        lambda: {"rank": np.array([0.0, 0.5])}, through=method_of(law, "intensity")
    ),
    "workload.synthetic.Popularity.rank": ValidCall(
        lambda: {"share": np.array([0.0, 0.5])}, through=method_of(law, "rank")
    ),
    "workload.synthetic.Popularity": ValidCall(lambda: {"alpha": 1.0, "head": 1e-4}),
    "workload.synthetic.SeekingTraceModel": ValidCall(lambda: SEEKING),
    "workload.synthetic.compare": ValidCall(lambda: {"model": model(), "trace": generated()}),
    "workload.synthetic.generate": ValidCall(lambda: {"model": model(), "seed": 0, "start": 1.0, "stop": 2.0}),
    "workload.trace.RequestTrace.compacted": ValidCall(
        lambda: {"extent": 4096}, through=method_of(small_trace, "compacted")
    ),
    "workload.trace.RequestTrace.concatenated": ValidCall(
        lambda: {"capacity": {"0": 2**20}}, through=method_of(small_trace, "concatenated"), optional=("capacity",)
    ),
    "workload.trace.RequestTrace.select": ValidCall(lambda: {"device": "0"}, through=method_of(small_trace, "select")),
    "workload.trace.RequestTrace.sampled": ValidCall(lambda: {"share": 1.0}, through=method_of(small_trace, "sampled")),
    "workload.trace.RequestTrace.take": ValidCall(
        lambda: {"which": np.array([0, 2])}, through=method_of(small_trace, "take")
    ),
    "workload.trace.RequestTrace.window": ValidCall(
        lambda: {"start": 0.005, "stop": 0.5}, through=method_of(small_trace, "window"), signed=("start", "stop")
    ),
    "workload.trace.TraceSource": ValidCall(
        lambda: {
            "name": "mail",
            "format": "spc",
            "disorder": 0,
            "skipped": {"trim": 1},
            "notes": ("a note",),
            "timed": True,
        }
    ),
    "workload.trace.characteristics": ValidCall(lambda: {"trace": small_trace()}),
    "workload.trace.TraceFile": ValidCall(
        lambda: {
            "path": path(),
            "format": "spc",
            "disorder_limit": 1.0,
            "requests": 5,
            "skip_bad": 1,
            "select": lambda parts: parts,
            "compact": False,
        },
        optional=("format", "requests", "select"),
    ),
    "workload.trace.chunks": ValidCall(
        lambda: {"path": path(), "format": "spc", "disorder_limit": 1.0},
        through=lambda **given: list(trace.chunks(**given)),
        optional=("format",),
    ),
    "workload.trace.convert": ValidCall(
        lambda: {
            "path": path(),
            "target": str(Path(gettempdir()) / "storagekit-nonsense.parquet"),
            "format": "spc",
            "requests": 5,
            "skip_bad": 1,
        },
        optional=("requests",),
    ),
    "workload.trace.read": ValidCall(
        lambda: {"path": path(), "format": "spc", "disorder_limit": 1.0, "requests": 5, "skip_bad": 1},
        optional=("requests",),
    ),
    "workload.trace.request_trace": ValidCall(
        lambda: {
            "time": np.array([0.0, 0.01, 0.5]),
            "device": np.zeros(3, int),
            "offset": np.array([0, 8192, 4096]),
            "size": np.full(3, 4096),
            "read": np.array([True, False, True]),
            "devices": ["one"],
            "origin": 0.0,
            "asynchronous": np.zeros(3, bool),
            "measured_response": np.full(3, 0.01),
            "think": np.full(3, 0.01),
            "source": trace.TraceSource(),
        },
        signed=("origin",),
    ),
}
SUMS = "adds up parts of traces, which read and chunks validate"
RESULT = "a result: measurements of a trace"
# values are traced while a program is compiled and cannot be validated
COMPILED = "arithmetic on arrays within the engine's compiled programs; the engine creates the arguments"
NOT_ATTACKED = {
    "workload.Requests": COMPILED,
    "workload.Window": COMPILED,
    "workload.below": COMPILED,
    "workload.fraction": COMPILED,
    "workload.empty_request": COMPILED,
    "workload.scramble": COMPILED,
    "workload.words": COMPILED,
    "workload.synthetic.Compared": RESULT,
    "workload.trace.RequestTrace": "created by read, chunks and request_trace, which validate it",
    "workload.trace.Summary": SUMS,
    "workload.trace.Summary.add": SUMS,
    "workload.trace.Summary.result": SUMS,
    "workload.trace.TraceCharacteristics": RESULT,
}
