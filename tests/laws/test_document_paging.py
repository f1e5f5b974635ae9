"""Law 2 for documents: following `next` and the calls in `omitted` shows every line of every part once."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.limits import MIN_REPLY_BYTES
from readroom.model import Reply
from readroom.stores.memory import MemoryStore
from tests.engine.documents import code, notebook, pdf, printed
from tests.hostile import office
from tests.laws.driving import Driver, fact

Lines: TypeAlias = dict[int, str]
_HEAD = re.compile(r"## (?:\w+ (\d+) of \d+|contents)")
_MARK = re.compile(r" \[\+\d+ chars\]\Z")


def shown(reply: Reply) -> list[tuple[int, Lines]]:
    """The parts of a reply as its text shows them, with the numbers that stand there."""
    found: list[tuple[int, Lines]] = []
    for row in reply.text.split("\n")[1:-1]:
        head = _HEAD.match(row)
        if head:
            found.append((int(head[1] or 0), {}))
        elif found and (numbered := re.match(r"(\d+)\t", row)):
            found[-1][1][int(numbered[1])] = row[numbered.end() :]
    return found


def everything(driver: Driver, path: str, **arguments: object) -> list[tuple[int, Lines]]:
    """Every part in the order of the replies, its lines completed by the calls that are named."""
    found: list[tuple[int, Lines]] = []
    for reply in driver.pages("read_file", path=path, **arguments):
        assert not reply.is_error, reply.text
        here = [(part, _completed(driver, reply, part, lines)) for part, lines in shown(reply)]
        for part, lines in here:
            if found and found[-1][0] == part and min(lines, default=1) > 1:
                assert min(lines) == max(found[-1][1]) + 1
                found[-1][1].update(lines)
            else:
                found.append((part, lines))
    return found


def _completed(driver: Driver, reply: Reply, part: int, lines: Lines) -> Lines:
    for item in fact(reply, "omitted"):
        if item.get("part") != part:
            continue
        if item["what"] == "columns":
            number = item["line"]
            whole = _MARK.sub("", lines[number])
            assert len(whole) == item["from"] - 1
            lines[number] = whole + "".join(_pieces(driver, item["call"]))
        elif item["reason"] == "output":
            first = reply_to(driver, item["call"])
            for rest in [first, *driver.rest(first)]:
                lines.update(_completed(driver, rest, part, shown(rest)[0][1]))
    return lines


def reply_to(driver: Driver, call: dict[str, Any]) -> Reply:
    reply = driver.follow(call)
    assert not reply.is_error, reply.text
    return reply


def _pieces(driver: Driver, call: dict[str, Any]) -> list[str]:
    first = reply_to(driver, call)
    return [
        _MARK.sub("", text)
        for reply in [first, *driver.rest(first)]
        for _, lines in shown(reply)
        for text in lines.values()
    ]


_words = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), max_size=30)
_line = st.one_of(_words, _words, _words.map(lambda text: (text or "x") * 300), st.just(""))
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
        wanted.append((number, dict(enumerate([*lines, *more], 1))))
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
    cells = "".join(
        f'<row r="{row}"><c r="A{row}"><v>{row}</v></c>'
        + (
            f'<c r="B{row}" t="inlineStr"><is><t>{"w" * (row % 3000)}</t></is></c>'
            if wide and row > 1
            else ""
        )
        + "</row>"
        for row in range(1, (rows if not wide else min(rows, 60)) + 1)
    )
    count = rows if not wide else min(rows, 60)
    wanted = {row: f"{row}" + (f"\t{'w' * row}" if wide and row > 1 else "") for row in range(1, count + 1)}
    driver = Driver(MemoryStore({"d.xlsx": office.workbook(cells)}), reply_bytes=size)
    try:
        found: Lines = {}
        for part, lines in everything(driver, "d.xlsx"):
            assert part == 1
            found.update(lines)
        assert {row: text.rstrip() for row, text in found.items()} == wanted
    finally:
        driver.workspace.close()
