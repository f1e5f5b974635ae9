"""Diffs: applied to the text before they give the text after, and their numbers are right."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.limits import DIFF_CONTEXT, DIFF_HUNK_BYTES, DIFF_LINE_CHARS
from readroom.core.text.edits import prepare, scan
from readroom.core.text.edits.diff import (
    DIFF_CELLS,
    NO_NEWLINE,
    DiffBlock,
    between,
    blocks,
    cost,
    hunks,
    shorten,
    split,
    within,
)
from readroom.core.text.edits.splice import spliced, touched
from readroom.core.text.encodings import UTF8, Encoding, decode, named
from readroom.core.text.hashes import Hashing
from readroom.core.values.changes import Edit, Hunk
from tests.core.text.files import contents, texts
from tests.core.text.held import HeldBytes

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=30).map("".join)
ENDS = st.sampled_from(["", "x", "y"])
TEXTS = st.tuples(LINES, ENDS).map("".join)
EVERYTHING = 1 << 30


def applied(old: str, found: Iterable[Hunk]) -> str:
    """The text that a strict reader of the diff makes of the old one."""
    before, after, at = split(old), [], 0
    for hunk in found:
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        assert start >= at
        after += before[at:start]
        assert len(after) == (hunk.new_start - 1 if hunk.new_count else hunk.new_start)
        removed, added = _sides(hunk.lines)
        assert before[start : start + hunk.old_count] == removed
        assert len(added) == hunk.new_count
        after += added
        at = start + hunk.old_count
    return "".join(after + before[at:])


def _sides(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    removed: list[str] = []
    added: list[str] = []
    last: list[list[str]] = []
    for line in lines:
        if line == NO_NEWLINE:
            for side in last:
                side[-1] = side[-1][:-1]
            continue
        last = {" ": [removed, added], "-": [removed], "+": [added]}[line[0]]
        for side in last:
            side.append(line[1:] + "\n")
    return removed, added


class TestLaws:
    @given(TEXTS, TEXTS)
    def test_the_hunks_turn_the_old_text_into_the_new(self, old: str, new: str) -> None:
        assert applied(old, between(old, new, EVERYTHING).hunks) == new

    @given(TEXTS, TEXTS)
    def test_no_hunk_has_more_context_than_stated(self, old: str, new: str) -> None:
        for hunk in between(old, new, EVERYTHING).hunks:
            marks = "".join(line[0] for line in hunk.lines if line != NO_NEWLINE)
            assert len(marks) - len(marks.lstrip(" ")) <= DIFF_CONTEXT
            assert len(marks) - len(marks.rstrip(" ")) <= DIFF_CONTEXT
            assert " " * (2 * DIFF_CONTEXT + 1) not in marks
            assert marks.strip(" ")

    @given(TEXTS, TEXTS, st.integers(0, 300))
    def test_a_diff_keeps_to_its_room_and_counts_the_rest(self, old: str, new: str, room: int) -> None:
        whole, part = between(old, new, EVERYTHING), between(old, new, room)
        assert len(part.text.encode()) <= room
        assert len(part.hunks) + part.left_out == len(whole.hunks)
        assert list(part.hunks) == list(whole.hunks)[: len(part.hunks)]
        if part.left_out:
            missing = whole.hunks[len(part.hunks)]
            assert part.left_first == max(1, missing.new_start)
            assert part.left_last >= part.left_first

    @given(st.text())
    def test_lines_joined_are_the_text(self, text: str) -> None:
        assert "".join(split(text)) == text
        assert all(line.count("\n") == line.endswith("\n") for line in split(text))

    @given(st.data())
    def test_hunks_read_around_changes_are_those_of_the_whole_file(self, draw: st.DataObject) -> None:
        encoding = draw.draw(st.sampled_from([UTF8, named("utf-16-le"), named("cp1252"), named("gbk")]))
        data = draw.draw(contents(encoding, sound=True, max_size=120))
        edits = [Edit(draw.draw(texts(encoding, min_size=1, max_size=2)), draw.draw(texts(encoding)), True)]
        changes = [prepare(edit, bom=False) for edit in edits]
        found = scan(HeldBytes(data), encoding, changes, Deadline(), Hashing())
        after = b"".join(spliced(HeldBytes(data), found.splices, Deadline(), Hashing()))
        old, new = decode(data, encoding), decode(after, encoding)
        shown = applied(_bare(old), touched(HeldBytes(data), encoding, found.splices))
        assert shown == _bare(new)


def _bare(text: str) -> str:
    """Without the carriage returns of line ends, which diffs do not show."""
    return text.replace("\r\n", "\n")


def test_equal_texts_have_no_hunks() -> None:
    assert between("a\nb\n", "a\nb\n", EVERYTHING).text == ""


def test_one_changed_line_of_a_large_file_is_one_small_hunk() -> None:
    old = "".join(f"line {number}\n" for number in range(50_000)) + "}\n" * 20_000
    diff = between(old, old.replace("line 25000\n", "changed\n"), EVERYTHING)
    assert diff.text == (
        "@@ -24998,7 +24998,7 @@\n line 24997\n line 24998\n line 24999\n-line 25000\n+changed\n"
        " line 25001\n line 25002\n line 25003\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "heading"),
    [
        ("a\n", "b\n", "@@ -1 +1 @@"),
        ("", "b\n", "@@ -0,0 +1 @@"),
        ("a\n", "", "@@ -1 +0,0 @@"),
        ("a\nb\n", "b\n", "@@ -1,2 +1 @@"),
    ],
)
def test_a_single_line_has_no_count_as_diff_prints_it(old: str, new: str, heading: str) -> None:
    assert between(old, new, EVERYTHING).text.startswith(f"{heading}\n")
    printed = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
    assert heading in list(printed)


def test_a_middle_too_large_to_compare_is_one_block() -> None:
    side = int(DIFF_CELLS**0.5) + 1
    old = [f"a{number}\n" for number in range(side)]
    assert blocks(old, ["b\n"] * side) == [DiffBlock(0, side, 0, side)]


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
def test_patch_applies_the_text_of_a_diff(tmp_path: Path) -> None:
    old = "".join(f"{number}\n" for number in range(100)) + "end"
    new = old.replace("10\n", "ten\n").replace("50\n", "50\n50b\n").replace("end", "END")
    (tmp_path / "file").write_text(old, encoding="utf-8", newline="")
    text = f"--- file\n+++ file\n{between(old, new, EVERYTHING).text}"
    subprocess.run(["patch", "-p0", "file"], cwd=tmp_path, input=text, text=True, check=True)
    assert (tmp_path / "file").read_text(encoding="utf-8") == new


class TestLongLines:
    def test_a_long_line_is_shown_around_what_changed_in_it(self) -> None:
        old = "a" * 3000 + "X" + "b" * 3000
        text = between(old, old.replace("X", "Y"), EVERYTHING).text
        assert len(text) < 3 * DIFF_LINE_CHARS
        assert "X" in text
        assert "Y" in text
        assert "-…aaa" in text
        assert "bbb…\n" in text

    def test_a_long_line_of_context_is_shown_from_its_start(self) -> None:
        line = "start" + "x" * 2000
        assert shorten(line, line) == line[:DIFF_LINE_CHARS] + "…"

    def test_a_huge_line_is_not_read_whole(self) -> None:
        data = HeldBytes(b"x" * 5_000_000 + b"needle" + b"y" * 5_000_000)
        found = scan(data, UTF8, [prepare(Edit("needle", "thread"), bom=False)], Deadline(), Hashing())
        data.reads.clear()
        (hunk,) = touched(data, UTF8, found.splices)
        assert data.bytes_read < 100_000
        assert (hunk.old_start, hunk.new_start, hunk.old_count, hunk.new_count) == (1, 1, 1, 1)
        assert "needle" in hunk.lines[0]
        assert "thread" in hunk.lines[2 if hunk.lines[1] == NO_NEWLINE else 1]

    @pytest.mark.parametrize("name", ["utf-8", "utf-16-be", "gbk", "shift_jis"])
    def test_text_around_a_change_in_a_huge_line_starts_with_a_whole_character(self, name: str) -> None:
        encoding = named(name)
        text = "漢 字" * 9000
        data = HeldBytes(f"{text}x{text}".encode(name))
        found = scan(data, encoding, [prepare(Edit("x", "y"), bom=False)], Deadline(), Hashing())
        (hunk,) = touched(data, encoding, found.splices)
        assert set("".join(hunk.lines)) - set(NO_NEWLINE) <= set("…-+漢 字xy[] chars0123456789")


def test_a_stretch_too_large_to_compare_has_numbers_and_no_lines() -> None:
    data = HeldBytes(b"first\n" + b"line\n" * DIFF_HUNK_BYTES + b"last\n")
    change = prepare(Edit("first\n" + "line\n" * DIFF_HUNK_BYTES, "few\n"), bom=False)
    found = scan(data, Encoding("utf-8"), [change], Deadline(), Hashing())
    diff = within(touched(data, UTF8, found.splices), EVERYTHING)
    assert diff.hunks == []
    assert (diff.left_out, diff.left_first) == (1, 1)


def test_the_cost_of_a_hunk_is_its_size_in_the_diff() -> None:
    (hunk,) = hunks(["é\n"], ["漢\n"])
    assert cost(hunk) == len(between("é\n", "漢\n", EVERYTHING).text.encode())
