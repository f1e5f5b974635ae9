"""Changes of notebooks by cells: what was valid stays valid, and what was not changed keeps its bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import nbformat as untyped
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.cells import parsed
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import digest
from tests.each import each
from tests.laws.driving import fact

nbformat: Any = untyped

LINES = st.lists(
    st.sampled_from(
        ["import os", "print('hi')", 'x = "ü\\n"', "", "# T", "| a |", "\ta\u2028b", "日本 \U0001f600"]
    ),
    max_size=5,
).map("\n".join)
KINDS = st.sampled_from(["code", "markdown", "raw"])
DUMPS: Sequence[dict[str, Any]] = (
    {"indent": 1, "ensure_ascii": False},
    {"indent": 4},
    {"indent": "\t"},
    {},
    {"separators": (",", ":")},
)


def made(seed: random.Random, cells: Sequence[tuple[str, str]], minor: int) -> Any:
    """A valid notebook of these kinds and sources, with outputs, metadata and attachments here and there."""
    book = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "P"}})
    for kind, source in cells:
        cell = getattr(nbformat.v4, f"new_{kind}_cell")(source)
        if seed.random() < 0.3:
            cell.metadata = {"tags": ["a[", '"]'], "nested": {"x": [1, {}]}}
        if kind == "code" and seed.random() < 0.6:
            cell.execution_count = seed.randrange(9)
            cell.outputs = [
                nbformat.v4.new_output("stream", text='a\n]}"\n'),
                nbformat.v4.new_output(
                    "display_data", data={"image/png": "iVBORw0KGgo=", "text/plain": "<F>"}
                ),
            ][: seed.randrange(3)]
        book.cells.append(cell)
    book.nbformat_minor = minor
    if minor < 5:
        for cell in book.cells:
            cell.pop("id", None)
    nbformat.validate(book)
    return book


def dumped(book: Any, dump: dict[str, Any]) -> bytes:
    return (json.dumps(nbformat.v4.rwbase.split_lines(nbformat.from_dict(book)), **dump) + "\n").encode()


class Book:
    """A notebook in a workspace."""

    def __init__(self, data: bytes) -> None:
        self.store = MemoryStore({"n.ipynb": data})
        self.before = data

    def edit(self, *edits: dict[str, Any], **more: Any) -> Reply:
        sent = [{"old_text": "", "new_text": "", **one} for one in edits]
        arguments = {"path": "n.ipynb", "expected_hash": digest(self.before), "edits": sent, **more}
        with Workspace(self.store) as space:
            return space.call("edit_file", arguments)

    @property
    def data(self) -> bytes:
        with self.store.open(WorkPath("n.ipynb")) as source:
            return source.read_at(0, source.size)


def cells_of(data: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(data)["cells"]
    return found


def bytes_of(data: bytes) -> list[bytes]:
    book = parsed(data, Deadline())
    assert book is not None
    return [data[cell.span.start : cell.span.end] for cell in book.cells]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def require_valid(data: bytes) -> None:
    nbformat.validate(nbformat.reads(data.decode(), as_version=nbformat.NO_CONVERT))


NOTEBOOKS = st.tuples(
    st.randoms(use_true_random=False),
    st.lists(st.tuples(KINDS, LINES), max_size=6),
    st.sampled_from([4, 5]),
    st.sampled_from(DUMPS),
).map(lambda parts: dumped(made(*parts[:3]), parts[3]))


@settings(max_examples=200)
@given(NOTEBOOKS, st.data())
def test_every_change_leaves_a_valid_notebook_and_the_bytes_of_other_cells(
    data: bytes, draw: st.DataObject
) -> None:
    book, old = Book(data), bytes_of(data)
    total = len(old)
    actions = ["insert"] if not total else ["insert", "replace", "delete", "move"]
    action = draw.draw(st.sampled_from(actions))
    number, kind, text = draw.draw(st.integers(1, max(1, total))), draw.draw(KINDS), draw.draw(LINES)
    place = draw.draw(st.integers(0, total))
    said = {
        "insert": f"after {place} {kind}",
        "replace": f"{number}",
        "delete": f"delete {number}",
        "move": f"move {number} after {place}",
    }[action]
    reply = book.edit({"cell": said, "new_text": text})
    require_valid(book.data)
    new = bytes_of(book.data)
    if reply.is_error:
        assert "would leave every cell as it is" in reply.text, reply.text
        assert book.data == data
        return
    at = number - 1
    if action == "insert":
        assert new[:place] + new[place + 1 :] == old
        assert (source(cells_of(book.data)[place]), cells_of(book.data)[place]["cell_type"]) == (text, kind)
    if action == "delete":
        assert new == old[:at] + old[at + 1 :]
    if action == "move":
        left = [*old[:at], *old[at + 1 :]]
        left.insert(place - (place > at), old[at])
        assert new == left
    if action == "replace":
        assert new[:at] + new[at + 1 :] == old[:at] + old[at + 1 :]
        before, after = cells_of(data)[at], cells_of(book.data)[at]
        assert source(after) == text
        kept = {"source", "outputs", "execution_count"}
        assert {k: v for k, v in after.items() if k not in kept} == {
            k: v for k, v in before.items() if k not in kept
        }
        if "outputs" in after:
            assert (after["outputs"], after["execution_count"]) == ([], None)
    around = data[: data.find(b"[", data.find(b'"cells"'))], data[data.rfind(b"]") :]
    assert book.data.startswith(around[0])
    assert book.data.endswith(around[1])


@settings(max_examples=150)
@given(NOTEBOOKS, st.data())
def test_text_that_a_read_shows_is_replaced_within_its_cell(data: bytes, draw: st.DataObject) -> None:
    book, old = Book(data), bytes_of(data)
    shown = [(at, source(cell)) for at, cell in enumerate(cells_of(data)) if source(cell).strip()]
    if not shown:
        return
    at, text = draw.draw(st.sampled_from(shown))
    lines = text.split("\n")
    first = draw.draw(st.integers(0, len(lines) - 1))
    last = draw.draw(st.integers(first, len(lines) - 1))
    piece = "\n".join(lines[first : last + 1])
    if not piece or text.count(piece) != 1:
        return
    new = draw.draw(LINES.filter(lambda made: made != piece))
    ended = draw.draw(st.booleans()) and last + 1 == len(lines)  # a read does not show whether it has an end
    keep = draw.draw(st.booleans())
    edit = {
        "old_text": piece + "\n" * ended,
        "new_text": new + "\n" * ended,
        "cell": f"{at + 1}{', keep outputs' * keep}",
    }
    reply = book.edit(edit)
    assert not reply.is_error, reply.text
    require_valid(book.data)
    now = bytes_of(book.data)
    assert now[:at] + now[at + 1 :] == old[:at] + old[at + 1 :]
    before, after = cells_of(data)[at], cells_of(book.data)[at]
    assert source(after) == text.replace(piece, new)
    ran = bool(before.get("outputs")) or before.get("execution_count") is not None
    codes = [item["code"] for item in fact(reply, "warnings")]
    assert ("outputs_kept" in codes, "outputs_cleared" in codes) == (ran and keep, ran and not keep)
    if keep:
        assert after.get("outputs") == before.get("outputs")
    assert f"cell {at + 1}" in reply.text


def _code(text: str, **more: Any) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": text,
        **more,
    }


def _book(*cells: dict[str, Any]) -> Book:
    data = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return Book(json.dumps(data, indent=1).encode())


def test_a_text_in_two_cells_is_refused_with_their_numbers_until_a_cell_is_named() -> None:
    book = _book(_code("a = 1"), _code("b"), _code("a = 1"))
    refused = book.edit({"old_text": "a = 1", "new_text": "c"})
    assert "2 times, in cells 1, 3" in refused.text
    assert not book.edit({"old_text": "a = 1", "new_text": "c", "cell": "3"}).is_error
    assert [source(cell) for cell in cells_of(book.data)] == ["a = 1", "b", "c"]


def test_several_edits_and_cells_of_one_call_are_made_together() -> None:
    book = _book(_code("a"), _code("b"), _code("c"), _code("d"))
    reply = book.edit(
        {"old_text": "a", "new_text": "A"},
        {"cell": "delete 2"},
        {"cell": "after 3", "new_text": "new"},
        {"cell": "after 3 markdown", "new_text": "# new"},
        {"cell": "move 4 after 0"},
    )
    assert not reply.is_error, reply.text
    assert [source(cell) for cell in cells_of(book.data)] == ["d", "A", "c", "new", "# new"]
    assert "5 replacements in cells 1-5 of 5" in reply.text


@each(
    ("edits", "words"),
    [
        ([{"old_text": "a\nb", "new_text": "x"}], "It goes from cell 1 to cell 2"),
        ([{"old_text": "bb", "new_text": "x"}], "In cell 2"),
        ([{"old_text": "a", "new_text": "x", "cell": "2"}], "It is not in cell 2, but in cell 1."),
        ([{"old_text": "a", "new_text": "x", "cell": "9"}], "The notebook has 3 cells."),
        ([{"cell": "delete 9"}], "is not there: the notebook has cells 1-3"),
        ([{"cell": "delete 0"}], "is not there"),
        ([{"cell": "after 4"}], "is not there"),
        ([{"cell": "move 1 after 4"}], "is not there"),
        ([{"cell": "after 1 picture"}], "names no kind of cell"),
        ([{"cell": "the last"}], "names no cell"),
        ([{"cell": "delete 1"}, {"cell": "move 1 after 2"}], "is changed twice"),
        ([{"cell": "delete 1"}, {"old_text": "a", "new_text": "x"}], "is changed twice"),
        ([{"old_text": "a", "new_text": "x"}, {"old_text": "zz", "new_text": "x"}], "edits[1].old_text"),
        ([{"old_text": "ccc", "new_text": "x"}, {"old_text": "c1", "new_text": "y"}], "overlap"),
        ([{"cell": "1", "new_text": "a"}], "would leave every cell as it is"),
        ([{"cell": "1", "new_text": "\udcff"}], "surrogate"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(edits: list[dict[str, Any]], words: str) -> None:
    book = _book(_code("a"), _code("b"), _code("ccc1"))
    reply = book.edit(*edits)
    assert reply.is_error
    assert words in reply.text, reply.text
    assert book.data == book.before


def test_a_file_without_cells_says_so() -> None:
    with Workspace(MemoryStore({"a.py": "x\n"})) as space:
        edits = [{"old_text": "", "new_text": "", "cell": "delete 1"}]
        reply = space.call("edit_file", {"path": "a.py", "expected_hash": digest(b"x\n"), "edits": edits})
    assert "is for notebooks" in reply.text


def test_stored_json_is_changed_where_no_cell_has_the_text_or_an_encoding_is_named() -> None:
    book = _book(_code("a"))
    assert not book.edit(
        {"old_text": '"metadata": {},\n   "out', "new_text": '"metadata": {"x": 1},\n   "out'}
    ).is_error
    assert cells_of(book.data)[0]["metadata"] == {"x": 1}
    book = _book(_code("a"))
    assert not book.edit({"old_text": '"a"', "new_text": '"b"'}, encoding="utf-8").is_error
    assert source(cells_of(book.data)[0]) == "b"


def test_a_notebook_of_format_3_is_changed_by_cells() -> None:
    v3 = nbformat.v3
    book = v3.new_notebook(
        worksheets=[
            v3.new_worksheet(
                cells=[
                    v3.new_code_cell(input="a\nb", prompt_number=3, outputs=[v3.new_output("stream", "x")]),
                    v3.new_text_cell("markdown", source="# T"),
                ]
            )
        ]
    )
    made = Book(v3.writes_json(book).encode())
    reply = made.edit(
        {"old_text": "b", "new_text": "c"},
        {"cell": "after 2", "new_text": "d"},
        {"cell": "after 0 markdown", "new_text": "e"},
    )
    assert not reply.is_error, reply.text
    require_valid(made.data)
    cells = json.loads(made.data)["worksheets"][0]["cells"]
    assert ["".join(cell.get("input", cell.get("source"))) for cell in cells] == ["e", "a\nc", "# T", "d"]
    assert (cells[1]["outputs"], cells[1]["prompt_number"]) == ([], None)


@each(
    "data",
    [
        b'{"cells": [',
        b'{"cells": {}}',
        b"[]",
        b'{"cells": [1, null, "x", [], {}]}',
        b'{"cells": [{"source": 7}, {"source": [1, "a"]}, {"source": {"a": "b"}}]}',
        b'{"cells": [{"source": "\\ud800 a"}]}',
        b'{"cells": [{"source": "a", "source": "b"}], "cells": [{"source": "a"}]}',
        b"\xef\xbb\xbf" + b'{"cells": [{"source": "a"}]}',
        ('{"cells": [{"source": "a"}]}').encode("utf-16"),
        b'{"cells": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
)
def test_odd_notebooks_are_changed_or_refused_and_stay_json(data: bytes) -> None:
    for edit in (
        {"old_text": "a", "new_text": 'z"'},
        {"cell": "1", "new_text": "z"},
        {"cell": "delete 1"},
        {"cell": "after 1", "new_text": "z"},
    ):
        book = Book(data)
        reply = book.edit(edit)
        if reply.is_error:
            assert book.data == data
        elif data.startswith(b"{") and data.endswith(b"}"):
            json.loads(book.data)
