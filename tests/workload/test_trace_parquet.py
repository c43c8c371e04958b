"""Test the conversion to Parquet: a converted trace is the same trace, and damage to a file raises in one line."""

from random import Random

import damaged_traces
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from strict_traces import TABLE_COLUMNS

from storagekit.core.errors import InputError
from storagekit.workload.trace import convert, read, text

KINDS = [kind for kind in damaged_traces.KINDS if kind not in ("srt13", "srt17")]


def assert_same(one, other):
    assert one.devices == other.devices and one.origin == other.origin
    assert one.source.skipped == other.source.skipped and one.source.notes == other.source.notes
    assert one.columns().keys() == other.columns().keys()
    for name, column in one.columns().items():
        np.testing.assert_array_equal(column, other.columns()[name], err_msg=name)
        assert column.dtype == other.columns()[name].dtype


@pytest.mark.filterwarnings("ignore:.*events were lost")
@pytest.mark.parametrize("kind", damaged_traces.KINDS)
def test_a_converted_trace_is_the_same_trace(tmp_path, kind, monkeypatch):
    columns, converted = TABLE_COLUMNS if kind == "table" else None, 0
    for number in range(12):
        rng = Random(f"{kind} {number}")
        monkeypatch.setattr(text, "BLOCK", rng.choice([2**21, 200]))
        source, target = tmp_path / "trace", tmp_path / "trace.parquet"
        source.write_bytes(damaged_traces.valid(kind, rng))
        try:
            whole = read(source, columns=columns)
        except InputError:  # a log of fio may have one offset in all lines
            continue
        made = convert(source, target, columns=columns)
        assert_same(read(target), whole)
        assert made.skipped == whole.source.skipped
        converted += 1
    assert converted > 6


def test_the_units_of_the_columns_are_in_the_file(tmp_path):
    (tmp_path / "t.spc").write_text("0,8,4096,r,1.5\n")
    convert(tmp_path / "t.spc", tmp_path / "t.parquet")
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert schema.field("time").metadata == {b"unit": b"s"} and schema.field("offset").metadata == {b"unit": b"bytes"}


def test_a_trace_that_raises_leaves_no_file(tmp_path):
    (tmp_path / "t.spc").write_text("0,8,4096,r,1.5\n0,x,4096,r,1.5\n")
    with pytest.raises(InputError, match="line 2"):
        convert(tmp_path / "t.spc", tmp_path / "t.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.spc"]
    with pytest.raises(InputError, match=r"ends in \.parquet"):
        convert(tmp_path / "t.spc", tmp_path / "t.csv")


def table(folder, **columns):
    pd.DataFrame(columns).to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


GOOD = dict(time_us=[5, 7, 9], lba=[1, 2, 3], size_bytes=[512, 1024, 512], op=["R", "W", "trim"])


def test_any_parquet_table_is_read_by_its_names_or_by_columns(tmp_path):
    for given in (None, "time=time_us:us,offset=lba:sectors,size=size_bytes,operation=op"):
        trace = read(table(tmp_path, **GOOD), columns=given)
        assert trace.time.tolist() == [0.0, 2e-6] and trace.offset.tolist() == [512, 1024]
        assert trace.read.tolist() == [True, False] and trace.source.skipped == {"trim": 1}


def test_a_table_without_operations_has_one_for_all_requests(tmp_path):
    columns = "time=time_us:us,offset=lba:sectors,size=size_bytes,operation=:write"
    trace = read(table(tmp_path, **{name: values for name, values in GOOD.items() if name != "op"}), columns=columns)
    assert trace.read.tolist() == [False] * 3 and trace.offset.tolist() == [512, 1024, 1536]


def test_requests_without_data_are_skipped_and_counted(tmp_path):
    trace = read(table(tmp_path, **(GOOD | {"size_bytes": [0, 1024, 0]})))
    assert trace.size.tolist() == [1024] and trace.source.skipped == {"empty": 1, "trim": 1}


def test_timestamps_have_the_unit_of_their_type(tmp_path):
    times = pd.date_range("2026-01-01", periods=3, freq="10ms").as_unit("us")
    for columns in (None, "time=when,offset=lba:sectors,size=size_bytes,operation=op"):
        name = "time" if columns is None else "when"
        path = table(tmp_path, **({key: value for key, value in GOOD.items() if key != "time_us"} | {name: times}))
        assert read(path, columns=columns).time.tolist() == pytest.approx([0, 0.01])
    with pytest.raises(InputError, match="column when has timestamps in us; give time=when"):
        read(path, columns="time=when:ns,offset=lba:sectors,size=size_bytes,operation=op")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("lba", [1, -2, 3], "record 2 has lba '-2', must be an integer from 0"),
        ("lba", [1, None, 3], "record 2 has no lba"),
        ("lba", [1.5, 2, 3], "column lba has type double, must be an integer"),
        ("lba", ["a", "b", "c"], "column lba has type (large_)?string, must be an integer"),
        ("op", ["R", "what", "W"], "record 2 has op 'what', must be a word such as R, read"),
        ("time_us", [5, float("nan"), 9], "record 2 has (no time_us|time_us 'nan')"),
    ],
)
def test_a_wrong_value_in_a_table_raises_with_its_record(tmp_path, name, values, message):
    with pytest.raises(InputError, match=message):
        read(table(tmp_path, **(GOOD | {name: values})))


def test_damaged_metadata_of_a_converted_file_raises(tmp_path):
    (tmp_path / "t.spc").write_text("0,8,4096,r,1.5\n")
    convert(tmp_path / "t.spc", tmp_path / "t.parquet")
    whole = pq.read_table(tmp_path / "t.parquet")
    for text_of, message in (("{", "damaged metadata"), ('{"origin": "x"}', "damaged metadata")):
        pq.write_table(whole.replace_schema_metadata({"storagekit": text_of}), tmp_path / "d.parquet")
        with pytest.raises(InputError, match=message):
            read(tmp_path / "d.parquet")
    named = whole.schema.metadata or {b"storagekit": pq.read_metadata(tmp_path / "t.parquet").metadata[b"storagekit"]}
    pq.write_table(whole.drop_columns(["size"]).replace_schema_metadata(named), tmp_path / "d.parquet")
    with pytest.raises(InputError, match="has no column size"):
        read(tmp_path / "d.parquet")


def test_damage_to_a_parquet_file_raises_in_one_line_or_gives_a_lawful_trace(tmp_path, monkeypatch):
    # the file contains the name of its source: with a relative name it has the same bytes every time
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.spc").write_bytes(damaged_traces.valid("spc", Random(4)))
    convert("t.spc", "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    refused = 0
    for number in range(200):
        rng = Random(number)
        (tmp_path / "d.parquet").write_bytes(damaged_traces.damaged(data, rng))
        try:
            trace = read(tmp_path / "d.parquet", "parquet", disorder_limit=np.inf)
        except InputError as fault:
            refused += 1
            assert str(fault).isprintable() and len(str(fault)) < 400 + len(str(tmp_path)), fault
        else:
            assert (trace.offset >= 0).all() and (trace.size >= 1).all() and np.isfinite(trace.time).all()
    assert refused > 50
