"""The syntax of DiskSim's parameter files: written values are read back, and invalid files are rejected with one
line."""

import re
from pathlib import Path

import pytest
from helpers import assert_refused
from hypothesis import given, settings
from hypothesis import strategies as st

from storagekit.core.errors import InputError
from storagekit.drive.parv import DEEPEST, ParameterBlock, read_blocks

NUMBER = re.compile(r"[+-]?[\d.]+([eE][+-]?\d+)?|-?0[xX][\da-fA-F]+")
BETWEEN = (" ", "\n", "\t ", "\r\n", "  # a note {, = ]\n", " #\n")
word = st.from_regex(r"[A-Za-z(./][A-Za-z0-9_./()#+-]{0,8}", fullmatch=True).filter(lambda text: text != "source")
words = st.lists(word, min_size=1, max_size=4).map(" ".join)
plain = st.one_of(
    st.integers(-(10**12), 10**12),
    st.floats(-1e9, 1e9).map(lambda number: float(f"{number:.6f}")),
    words.filter(lambda text: not NUMBER.fullmatch(text)),
)
FILE = Path("blocks.parv")


def blocks(values) -> st.SearchStrategy:
    named = st.dictionaries(words, values, max_size=4)
    return st.builds(
        lambda kind, name, inside: ParameterBlock(kind, name, inside, FILE), word, st.just("") | words, named
    )


value = st.recursive(plain, lambda inner: st.lists(inner, max_size=4) | blocks(inner), max_leaves=12)


def tokens(one) -> list[str]:
    """A value as it is written, token by token. A comma may follow the last item of a list or block."""
    if isinstance(one, ParameterBlock):
        inside = [token for name, held in one.values.items() for token in (*name.split(), "=", *tokens(held), ",")]
        return [one.kind, *one.name.split(), "{", *inside, "}"]
    if isinstance(one, list):
        inside = [token for held in one for token in (*tokens(held), ",")]
        return ["[", *inside[: -1 if len(one) % 2 else None], "]"]
    return f"{one:.6f}".split() if isinstance(one, float) else str(one).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("parv")


def read(folder: Path, text: str, name: str = "blocks.parv") -> list[ParameterBlock]:
    path = folder / name
    path.write_text(text, newline="")
    return read_blocks(path)


def without_files(one):
    """The same value with every block in FILE."""
    if isinstance(one, ParameterBlock):
        return one._replace(values={name: without_files(held) for name, held in one.values.items()}, file=FILE)
    return [without_files(held) for held in one] if isinstance(one, list) else one


@settings(max_examples=30)
@given(
    st.lists(
        st.builds(lambda kind, values: ParameterBlock(kind, "", values, FILE), word, st.dictionaries(words, value))
    ),
    st.randoms(),
)
def test_written_values_are_read_back(folder, written, random):
    text = "".join(token + random.choice(BETWEEN) for block in written for token in tokens(block))
    found = read(folder, text)
    assert [without_files(block) for block in found] == written
    kinds = [[type(held) for held in block.values.values()] for block in written]
    assert [[type(held) for held in block.values.values()] for block in found] == kinds


@given(st.text(alphabet="ab1.- {}[],=;:#\n", max_size=40))
def test_any_text_is_read_or_rejected_in_one_line(folder, text):
    try:
        read(folder, text)
    except InputError as fault:
        assert "\n" not in str(fault)


def test_numbers_are_numbers_and_other_values_are_text(folder):
    written = "x { a = 1, b = -2.50, c = 1e-3, d = 0x1F, e = 1.2.3, f = 10k rpm, g = disk0 .. disk3, h = 2.0e+2, }"
    [block] = read(folder, written)
    assert block.values == {
        "a": 1,
        "b": -2.5,
        "c": 0.001,
        "d": 31,
        "e": "1.2.3",
        "f": "10k rpm",
        "g": "disk0 .. disk3",
        "h": 200.0,
    }
    assert isinstance(block.values["a"], int)


def test_a_comment_ends_with_its_line_and_a_name_may_contain_its_mark(folder):
    [block] = read(folder, "x NAME { # y {\n a#1 = b, #, c = d\n}# the end")
    assert (block.name, block.values) == ("NAME", {"a#1": "b"})


def test_instances_and_their_topology_are_ignored(folder):
    text = "x { }\ninstantiate [ disk0, disk1 .. disk3 ] as X\ntopology a b [ c d [ e f [] ], g h [] ]\ny { }"
    assert [block.kind for block in read(folder, text)] == ["x", "y"]


def test_a_file_may_include_another(folder):
    """As a value, and in place of blocks; paths are relative to the folder of the including file."""
    (folder / "inner").mkdir(exist_ok=True)
    (folder / "inner" / "leaf.model").write_text("leaf L { n = 2 } # end")
    (folder / "inner" / "other.diskspecs").write_text("other O { Model = source leaf.model, n = 3 }\n")
    [first, second] = read(folder, "first { n = 1 }\nsource inner/other.diskspecs")
    assert (first.kind, second.values["n"]) == ("first", 3)
    leaf = second.values["Model"]
    assert isinstance(leaf, ParameterBlock) and leaf.values == {"n": 2} and leaf.file.name == "leaf.model"
    assert leaf.where == f"drive file {folder / 'inner' / 'leaf.model'}: leaf L"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x A {\n a = 1", r"line 1: block 'x A' is not closed; add '}'"),
        ("x A {\n a = [1, 2", r"line 2: a list is not closed; add ']'"),
        ("x A {\n a = y { b = 1 \n", r"line 2: block 'y' is not closed"),
        ("x { a = 1 b = 2 }", r"line 1: '=' instead of ','"),
        ("x { a = 1, a = 2 }", r"parameter 'a' is given twice; keep one of them"),
        ("x { a }", r"'}' instead of '='"),
        ("x { = 1 }", r"'=' instead of a parameter"),
        ("x { a = , }", r"',' instead of a value"),
        ("x { a = ", r"the file ends before a value"),
        ("x : y { }", r"':' instead of '\['"),
        ("{ }", r"'{' instead of a block"),
        ("topology a [ b [ ]", r"a list without ']'"),
        ("instantiate [ a ] as", r"ends before the name of a block"),
        ("x { a = source }", r"'source' without a file; give a file name after 'source'"),
        ("source gone.model", r"gone\.model: No such file or directory \(included by "),
        ("source blocks.parv", r"blocks\.parv, which includes this file"),
        ("Disk brand name: HP_C2247A\nAccess time: -2", r"the syntax is of DiskSim 2"),
        ("x { a = " + "[" * DEEPEST, r"more than 32 nested blocks and lists"),
    ],
)
def test_invalid_text_is_rejected_with_its_line(tmp_path, monkeypatch, text, says):
    monkeypatch.chdir(tmp_path)
    assert_refused(lambda: read(Path(), text), says)
