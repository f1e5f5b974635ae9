"""Law 2 for documents: following `next` alone shows every line of every part once.

Only the output of a cell among others is left to the call that `omitted` names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.documents.reading.making import code, notebook, pdf, printed
from tests.hostile import office
from tests.laws.driving import Driver, fact, one_call

Lines: TypeAlias = dict[int, str]
_HEAD = re.compile(r"## (?:\w+ (\d+) of \d+|contents)")
_ROW = re.compile(r"(\d+)(?::(\d+))?\t")
_MARK = re.compile(r" \[\+(\d+) chars\]\Z")


@dataclass
class Read:
    """What the replies have shown so far: parts in their order, lines joined from their pieces."""

    parts: dict[int, Lines] = field(default_factory=dict)
    left: dict[tuple[int, int], int] = field(default_factory=dict)
    outputs: dict[tuple[int, int], Any] = field(default_factory=dict)

    def take(self, reply: Reply) -> None:
        """Take one reply: as its text shows it, with the numbers that stand there."""
        assert not reply.is_error, reply.text
        one_call(reply)
        part = None
        for row in reply.text.split("\n")[1:-1]:
            if head := _HEAD.match(row):
                part = int(head[1] or 0)
                self.parts.setdefault(part, {})
            elif part is not None and (numbered := _ROW.match(row)):
                self._line(part, int(numbered[1]), int(numbered[2] or 1), row[numbered.end() :])
        for item in fact(reply, "omitted"):
            if item["reason"] == "output":
                self.outputs[item["part"], item["from"]] = item["call"]

    def _line(self, part: int, number: int, column: int, text: str) -> None:
        lines, mark = self.parts[part], _MARK.search(text)
        text = text[: mark.start()] if mark else text
        if column == 1 and number == 1 and lines.get(1) is not None and 2 in lines:
            return  # the first row of a sheet, above a later window
        if column == 1:
            assert number not in lines
            assert not lines or number == max(lines) + 1
        assert len(lines.get(number, "")) == column - 1, f"line {number} from {column}"
        assert text or column == 1, "a piece of a line shows nothing"
        lines[number] = lines.get(number, "") + text
        self.left.pop((part, number), None)
        if mark:
            self.left[part, number] = int(mark[1])


def everything(driver: Driver, path: str, **arguments: object) -> list[tuple[int, Lines]]:
    """Every part that following `next` alone shows, and the outputs of cells that it does not."""
    read = Read()
    for reply in driver.pages("read_file", path=path, **arguments):
        read.take(reply)
    for (part, line), call in read.outputs.items():
        if line not in read.parts[part]:
            first = driver.follow(call)
            for reply in [first, *driver.rest(first)]:
                read.take(reply)
    assert not read.left
    return sorted(read.parts.items())


_words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), max_size=30)
_line = st.one_of(
    _words, _words, _words.map(lambda text: (text or "x") * 300), st.just(""), st.just("ab日" * 4000)
)
_text = st.lists(_line, min_size=1, max_size=30).map(lambda lines: [*lines, "end"])
_cells = st.lists(st.tuples(_text, st.integers(0, 60)), max_size=12)
_plain = st.from_regex(r"[a-z]{1,9}( [a-z]{1,9}){0,9}", fullmatch=True)
_page = st.lists(_plain, min_size=1, max_size=30)
_sizes = st.sampled_from([MIN_REPLY_BYTES, 4000, 32768])


@settings(max_examples=12)
@given(cells=_cells, size=_sizes)
def test_following_a_notebook_shows_every_line_once(cells: list[tuple[list[str], int]], size: int) -> None:
    made, wanted = [], []
    for number, (lines, output) in enumerate(cells, 1):
        outputs = [printed("".join(f"out {n}\n" for n in range(output)))] if output else []
        made.append(code("\n".join(lines), *outputs))
        more = ["[output]", *(f"out {n}" for n in range(output))] if output else []
        seen = [line.replace("\0", "\N{SYMBOL FOR NULL}") for line in lines]
        wanted.append((number, dict(enumerate([*seen, *more], 1))))
    check(notebook(*made), "d.ipynb", size, wanted)


@settings(max_examples=10)
@given(pages=st.lists(_page, min_size=1, max_size=12), size=_sizes)
def test_following_a_pdf_shows_every_line_once(pages: list[list[str]], size: int) -> None:
    wanted = [(number, dict(enumerate(lines, 1))) for number, lines in enumerate(pages, 1)]
    check(pdf(pages), "d.pdf", size, wanted)


def check(data: bytes, name: str, size: int, wanted: list[tuple[int, Lines]]) -> None:
    driver = Driver(MemoryStore({name: data}), reply_bytes=size)
    try:
        assert everything(driver, name) == wanted
    finally:
        driver.workspace.close()


@settings(max_examples=8)
@given(rows=st.integers(1, 3000), size=_sizes, wide=st.booleans())
def test_following_a_sheet_shows_every_row_once(rows: int, size: int, wide: bool) -> None:
    rows = min(rows, 60) if wide else rows
    filled = {row: "w" * (row * 197 % 9000) if wide and row > 1 else "" for row in range(1, rows + 1)}
    cells = "".join(
        f'<row r="{row}"><c r="A{row}"><v>{row}</v></c>'
        + (f'<c r="B{row}" t="inlineStr"><is><t>{text}</t></is></c>' if text else "")
        + "</row>"
        for row, text in filled.items()
    )
    driver = Driver(MemoryStore({"d.xlsx": office.workbook(cells)}), reply_bytes=size)
    try:
        ((part, found),) = everything(driver, "d.xlsx")
        assert part == 1
        wanted = {row: f"{row}\t{text}".rstrip() for row, text in filled.items()}
        assert {row: text.rstrip() for row, text in found.items()} == wanted
    finally:
        driver.workspace.close()
