"""Paths: parsed at the door, shown without surprises."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import BadPath, OutsideRoot
from readroom.core.limits import MAX_PATH_BYTES, MAX_PATH_DEPTH
from readroom.core.paths import WorkPath, ancestors, basename, join, parent, parse, parts
from readroom.core.quoting import quote
from tests.each import each

# Any bytes that a file system allows in a name, as Python shows them.
_names = (
    st.binary(min_size=1, max_size=12)
    .filter(lambda data: b"/" not in data and b"\0" not in data and data not in (b".", b".."))
    .map(os.fsdecode)
)
_odd = st.text(
    'ab ."\\\n\r\t\x7f\u200b\u202e\u2028\ufe0f\u00a0\u3164\U000e0041é', min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))
_paths = st.lists(_names | _odd, min_size=1, max_size=5).map("/".join)


@given(_paths)
def test_a_quoted_path_parses_back_to_itself(path: str) -> None:
    assert parse(quote(path)) == path


@given(_paths)
def test_a_shown_path_has_nothing_that_a_reader_cannot_see(path: str) -> None:
    shown = quote(path)
    assert shown.isprintable()
    assert shown.encode("utf-8").decode() == shown
    assert not any("\ufe00" <= char <= "\ufe0f" or char == "\u3164" for char in shown)


@given(_paths)
def test_a_normalized_path_parses_to_itself_unless_it_looks_quoted(path: str) -> None:
    if not (len(path) > 1 and path.startswith('"') and path.endswith('"')):
        assert parse(path) == path


@given(st.lists(st.sampled_from(["a", "b", "..", ".", "", "..."]), max_size=12).map("/".join))
def test_dots_are_resolved_as_text_and_never_leave_the_root(path: str) -> None:
    expected = os.path.normpath("x/" * 20 + path)
    try:
        found = parse(path)
    except BadPath:
        assert path == ""
    except OutsideRoot:
        depth = lowest = 0
        for part in path.strip("/").split("/") if not path.startswith("/") else []:
            depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
            lowest = min(lowest, depth)
        assert path.startswith("/") or lowest < 0
    else:
        assert os.path.normpath("x/" * 20 + found) == expected
        assert ".." not in found.split("/")


@each(
    ("given_path", "normalized"),
    [
        ("a/b", "a/b"),
        ("./a//b/", "a/b"),
        ("a/../b", "b"),
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("~/x", "~/x"),
        ("a\\b", "a\\b"),
        (" a ", " a "),
        ('"a b"', "a b"),
        (r'"a\tb\"c\\d"', 'a\tb"c\\d'),
        (r'"\303\251"', "é"),
        (r'"\377"', "\udcff"),
        ('"', '"'),
    ],
)
def test_forms_of_a_relative_path(given_path: str, normalized: str) -> None:
    assert parse(given_path) == normalized


@each(
    ("given_path", "normalized"),
    [
        ("/work/tree", "."),
        ("/work/tree/", "."),
        ("/work/tree/a/b", "a/b"),
        ("//work/./tree//a", "a"),
        ("/work/other/../tree/a", "a"),
        ("/real/tree/a", "a"),
    ],
)
def test_absolute_paths_below_a_name_of_the_root(given_path: str, normalized: str) -> None:
    assert parse(given_path, ("/work/tree", "/real/tree/")) == normalized


@each(
    "path",
    ["/", "/work", "/work/tree2/a", "/work/tree/../x", "/etc/passwd", "..", "a/../../b", "../work/tree/a"],
)
def test_paths_above_or_beside_the_root_are_outside(path: str) -> None:
    with pytest.raises(OutsideRoot):
        parse(path, ("/work/tree",))


def test_everything_is_below_the_root_folder_of_the_machine() -> None:
    assert parse("/etc/passwd", ("/",)) == "etc/passwd"


@each(
    "path",
    [
        "",
        '""',
        "a\0b",
        r'"a\000b"',
        r'"a\qb"',
        '"a\\"',
        '"a"b"',
        "a" * MAX_PATH_BYTES,
        "é" * (MAX_PATH_BYTES // 2),
        "a/" * (MAX_PATH_DEPTH + 1),
        "\ud800",
        '"\ud800"',
        '"\\\ud800"',
    ],
)
def test_paths_that_no_file_can_have(path: str) -> None:
    with pytest.raises(BadPath) as caught:
        parse(path)
    str(caught.value).encode("utf-8")


def test_one_name_has_one_spelling() -> None:
    """Or a rule that names the character would miss the escaped bytes."""
    assert parse("caf\udcc3\udca9") == "café"


@given(_paths)
def test_parts_join_to_the_path(path: str) -> None:
    whole = WorkPath(path)
    folder = WorkPath(".")
    for name in parts(whole):
        folder = join(folder, name)
    assert folder == whole
    assert join(parent(whole), basename(whole)) == whole
    assert ancestors(whole) == [
        WorkPath("/".join(parts(whole)[:count])) for count in range(1, len(parts(whole)))
    ]


def test_the_root_has_no_parts_and_is_its_own_parent() -> None:
    root = WorkPath(".")
    assert (parts(root), parent(root), ancestors(root)) == ([], ".", [])
