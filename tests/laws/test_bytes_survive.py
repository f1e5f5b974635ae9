"""Law 3: text that was read and edited keeps every byte outside the edited span.

The table that peers are measured by (`benchmarks/suites/integrity.py`) is among it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchmarks.editors import Editor, readroom, readroom_named
from benchmarks.suites import integrity
from readroom.core.values import Reply
from tests.core.text import files
from tests.laws.driving import STORES, Driver, StoreName, fact, stored
from tests.suites import daily

ENCODINGS = [
    *[("utf-8", b""), ("utf-8", b"\xef\xbb\xbf"), ("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")],
    *[("utf-16-le", b""), ("utf-16-be", b""), ("utf-32-le", b"\xff\xfe\0\0"), ("latin-1", b"")],
    *[("cp1252", b""), ("shift_jis", b""), ("gbk", b""), ("big5", b""), ("euc_kr", b""), ("koi8_r", b"")],
]
NATIVE = {
    "latin-1": "Größe naïve façade Å",
    "cp1252": "„Größe“ – 5 € naïve",
    "shift_jis": "日本語のテキスト表ソ能",
    "gbk": "中文文本，编码测试。",
    "big5": "中文許功蓋測試",
    "euc_kr": "한국어 텍스트 시험",
    "koi8_r": "Русский текст, проверка",
}
"""Words of each encoding; of Shift-JIS and Big5 those whose second byte is a backslash."""
UNICODE = "naïve 日本語 😀 “quoted” е́"
UNMARKED = "naïve “quoted” 😀"
"""Without a mark UTF-16 is told by one script that it makes."""

LINE_ENDS = {"lf": ["\n"], "crlf": ["\r\n"], "mixed": ["\r\n", "\n", "\n"]}

EDITS = {
    "a word": [("needle", "thread")],
    "a longer word": [("needle", "needle and thread")],
    "a word away": [("needle ", "")],
    "a line": [("third needle line\n", "third line\n")],
    "a line more": [("third needle line\n", "third needle line\nand one more\n")],
    "a line away": [("third needle line\n", "")],
    "several lines": [("second line\nthird needle line\nfourth", "second\nthird\nmiddle\nfourth")],
    "the first word": [("first", "FIRST")],
    "the last word": [("the end", "THE END")],
    "two places": [("first", "1st"), ("the end", "the very end")],
}


@dataclass(frozen=True)
class Sheet:
    """A file of the table."""

    encoding: str
    mark: bytes
    ends: list[str]
    final: bool

    @property
    def lines(self) -> list[str]:
        unmarked = self.encoding.startswith("utf-16") and not self.mark
        word = NATIVE.get(self.encoding, UNMARKED if unmarked else UNICODE)
        middle = [f"{number} {word} {number}" for number in range(30)]
        return [
            "first line " + word,
            "second line",
            "third needle line",
            "fourth " + word,
            *middle,
            "the end",
        ]

    def ended(self) -> list[str]:
        """The lines with their ends."""
        found = [line + self.ends[at % len(self.ends)] for at, line in enumerate(self.lines)]
        return found if self.final else [*found[:-1], self.lines[-1]]

    def stored(self, ended: list[str]) -> bytes:
        return self.mark + "".join(ended).encode(self.encoding)


def by_hand(ended: list[str], old: str, new: str) -> list[str]:
    """The lines after an edit: untouched ones with their own ends, new ones with that of the place."""
    bare = [line.rstrip("\r\n") for line in ended]
    text = "\n".join(bare)
    at = text.index(old)
    first = text.count("\n", 0, at)
    last = first + old.removesuffix("\n").count("\n")
    own = [line[len(line.rstrip("\r\n")) :] for line in ended[first : last + 1]]
    replaced = "\n".join(bare[first : last + 1]).replace(old.removesuffix("\n"), new.removesuffix("\n"), 1)
    if not new:
        return ended[:first] + ended[last + 1 :] if old.endswith("\n") else [
            *ended[:first], replaced + own[0], *ended[last + 1 :]
        ]  # fmt: skip
    fresh = replaced.split("\n")
    return [*ended[:first], *_with_ends(fresh, bare[first : last + 1], own), *ended[last + 1 :]]


def _with_ends(fresh: list[str], before: list[str], own: list[str]) -> list[str]:
    """A line that stays keeps its end, one that replaces another takes its end, a new one that above it."""
    found: list[str] = []
    end = own[0]
    for at, line in enumerate(fresh):
        if line in before:
            end = own[before.index(line)]
        elif at < len(before) and before[at] not in fresh:
            end = own[at]
        found.append(line + end)
    return found


@daily(21, "final", [True, False], ids=["ended", "open"])
@pytest.mark.parametrize("ends", LINE_ENDS)
@pytest.mark.parametrize(("encoding", "mark"), ENCODINGS, ids=lambda part: str(part))
def test_no_byte_outside_an_edit_changes(encoding: str, mark: bytes, ends: str, final: bool) -> None:
    sheet = Sheet(encoding, mark, LINE_ENDS[ends], final)
    with stored("memory", {}) as store:
        driver = Driver(store)
        for name, edits in EDITS.items():
            data = sheet.stored(sheet.ended())
            store.put("f", data)  # type: ignore[attr-defined]  # a store in memory
            sent = [{"old_text": old, "new_text": new} for old, new in edits]
            reply = driver.call(
                "edit_file", path="f", expected_hash=known(driver), edits=sent, **named(sheet)
            )
            assert not reply.is_error, (name, reply.text)
            expected = sheet.ended()
            for old, new in edits:
                expected = by_hand(expected, old, new)
            assert contents(driver) == sheet.stored(expected), name


@daily(1, "editor", [readroom, readroom_named])
def test_the_table_that_peers_are_measured_by_has_no_damage(editor: Editor, tmp_path: Path) -> None:
    sheets = integrity.table()
    for sheet in sheets:
        (tmp_path / sheet.job.path).write_bytes(sheet.data)
    answers = editor(tmp_path, [sheet.job for sheet in sheets])
    assert [
        (sheet.form, sheet.edit)
        for sheet, answer in zip(sheets, answers, strict=True)
        if answer is not None or (tmp_path / sheet.job.path).read_bytes() != sheet.expected
    ] == []


def named(sheet: Sheet) -> dict[str, object]:
    """Encodings that cannot be told from their bytes for sure are named, as a caller would."""
    return (
        {}
        if sheet.mark or sheet.encoding in ("utf-8", "utf-16-le", "utf-16-be")
        else {"encoding": sheet.encoding}
    )


def known(driver: Driver) -> str:
    return "sha256:" + hashlib.sha256(contents(driver)).hexdigest()


def contents(driver: Driver) -> bytes:
    with driver.workspace.guard.open("f") as source:
        return source.read_at(0, source.size)


@daily(1, "store", STORES)
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.data())
def test_what_was_shown_can_be_edited_and_nothing_else_changes(store: StoreName, draw: st.DataObject) -> None:
    """Any lines of a reply, sent back as they were shown, are found; all bytes outside them stay."""
    encoding = draw.draw(files.encodings())
    # Noise only after a mark: without one the encoding has to be named, and is then decoded strictly.
    data = encoding.bom + draw.draw(files.contents(encoding, sound=not encoding.bom))
    with stored(store, {"f": data}) as opened:
        driver = Driver(opened)
        asked = {} if encoding.bom else {"encoding": encoding.name}
        reply = driver.call("read_file", path="f", **asked)
        assume(not reply.is_error)
        lines = shown_lines(reply)
        first, last = sorted(
            draw.draw(st.lists(st.sampled_from(range(len(lines) + 1)), min_size=2, max_size=2))
        )
        old = "\n".join(lines[first:last])
        # Lines that end in CR CR LF have a test of their own: a CR at the end may also mean a line end.
        assume(old and "\ufffd" not in old and not any(line.endswith("\r") for line in lines[first:last]))
        new = draw.draw(files.texts(encoding)).replace("\r", "")
        assume(new != old)
        edit = driver.call(
            "edit_file",
            path="f",
            expected_hash=fact(reply, "content_hash"),
            edits=[{"old_text": old, "new_text": new}],
            **asked,
        )
        after = contents(driver)
        if edit.is_error:
            assert after == data
            assert fact(edit, "error")["code"] in ("many_matches", "broken_place"), edit.text
            return
        assert fact(edit, "content_hash") == known(driver)
        # The bytes of the lines before and after the shown ones, counted in the bytes themselves.
        begins, ends = span(data, encoding.name, len(encoding.bom), first, last)
        assert after.startswith(data[:begins])
        assert after.endswith(data[ends:])


def shown_lines(reply: Reply) -> list[str]:
    rows = reply.text.split("\n")[1:-1]
    assume(rows and not fact(reply, "omitted") and fact(reply, "next") is None)
    return [row.split("\t", 1)[1] for row in rows]


def span(data: bytes, encoding: str, start: int, first: int, last: int) -> tuple[int, int]:
    """Where the lines `first` to `last` (exclusive, from 0) begin and end, without the last line's end."""
    feed, back = "\n".encode(encoding), "\r".encode(encoding)
    borders = [start]
    at = start
    while (at := data.find(feed, at)) >= 0:
        if (at - start) % len(feed) == 0:
            borders.append(at + len(feed))
        at += 1
    end = borders[last] - len(feed) if last < len(borders) else len(data)
    if last < len(borders) and data[:end].endswith(back):
        end -= len(back)
    return borders[first], max(end, borders[first])
