"""Replies that are objects: whole windows where they fit, honest ones where escapes make them too large."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.contracts import json_replies
from readroom.core.contracts.native import NATIVE
from readroom.core.values import Cap, Fact, Kind, ReadResult, Reply


def result(lines: list[str], mode: str = "offset") -> ReadResult:
    return ReadResult("f", Kind.TEXT, 1, None, len(lines), read_mode=mode, start=1, lines=lines)  # type: ignore[arg-type] # drawn


def sized(found: ReadResult) -> int:
    following = found.next.offset if found.next else None
    return json_replies.size({"content": "\n".join(found.lines), "next": following})


odd = st.lists(st.text(st.sampled_from('a"\\\n\x01é€\U0001f600')), min_size=1, max_size=30)


@given(odd, st.integers(40, 200))
def test_pages_joined_are_all_lines_once(texts: list[str], size: int) -> None:
    lines = [text.replace("\n", "") for text in texts]
    found: list[str] = [""]
    at = 1
    while at <= len(lines):
        page = ReadResult("f", Kind.TEXT, 1, None, len(lines), start=at, lines=lines[at - 1 :])
        shown = json_replies.fitted(page, Cap(size, NATIVE.measure), sized)
        assert shown.lines
        assert sized(shown) <= size or len(shown.lines[0]) == 1
        if shown.cuts:
            cut = shown.cuts[at]
            assert shown.next is not None
            assert (shown.next.offset, shown.next.column) == (at, cut.last + 1)
            assert lines[at - 1].startswith(shown.lines[0])
            found.append(lines[at - 1])
            at += 1
            continue
        found += shown.lines
        at += len(shown.lines)
        assert (shown.next is None) == (at > len(lines))
        if shown.next is not None:
            assert (shown.next.offset, shown.omitted[0].first) == (at, at)
    assert found[1:] == lines


def test_a_tail_keeps_its_end() -> None:
    shown = json_replies.fitted(result(["a" * 30, "b" * 30, "c"], "tail"), Cap(60, NATIVE.measure), sized)
    assert (shown.start, shown.lines) == (2, ["b" * 30, "c"])
    assert (shown.omitted[0].first, shown.omitted[0].last) == (1, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [({"a": [1, None, "é"]}, '{"a":[1,null,"é"]}'), ("\udcff", '"\ufffd"'), ("\U0001f600", '"\U0001f600"')],
)
def test_json_is_compact_and_can_be_sent(value: Fact, text: str) -> None:
    assert json_replies.encoded(value) == text
    text.encode()


def test_a_remark_is_a_note_in_the_object() -> None:
    plain: Reply = json_replies.reply({"ok": True}, partial(dict[str, Fact]))
    twice = json_replies.remark(json_replies.remark(plain, "One."), "Two.")
    assert json.loads(twice.text) == {"ok": True, "notes": ["One.", "Two."]}


def test_what_is_too_long_is_cut_in_its_middle() -> None:
    assert json_replies.short("a" * 10, 10) == "a" * 10
    assert json_replies.short("€" * 100, 20) == "€€…€€"
