"""Edits that name lines or the end change nothing but those bytes, in every encoding, with every line end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readroom import OneEdit
from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import digest

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "shift_jis", "gb18030")
WORDS = ("one", "two", "caf\xe9", "\u3053\u308c", "", "  x", "end")

ends = st.sampled_from(["\n", "\r\n"])
letters = st.sampled_from(WORDS)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """An encoding, lines that it has, and the line end of each; the last may have none."""
    encoding = draw(st.sampled_from(ENCODINGS))
    count = draw(st.integers(1, 8))
    lines = [draw(letters) for _ in range(count)]
    marks = [draw(ends) for _ in range(count)]
    if draw(st.booleans()) and lines[-1]:
        marks[-1] = ""
    lines = [line if _has(line, encoding) else "other" for line in lines]
    return encoding, lines, marks


def _has(line: str, encoding: str) -> bool:
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def encoded(text: str, encoding: str, *, first: bool) -> bytes:
    """Bytes of a piece of a file; only the first has a mark."""
    if encoding == "utf-16":
        return (b"\xff\xfe" if first else b"") + text.encode("utf-16-le")
    if encoding == "utf-8-sig":
        return (b"\xef\xbb\xbf" if first else b"") + text.encode("utf-8")
    return text.encode(encoding)


def plain_name(encoding: str) -> str | None:
    return None if encoding in ("utf-8", "utf-8-sig", "utf-16") else encoding


@given(files(), st.data())
def test_only_the_named_lines_change(file: tuple[str, list[str], list[str]], data: st.DataObject) -> None:
    encoding, lines, marks = file
    whole = [line + mark for line, mark in zip(lines, marks, strict=True)]
    before = encoded("".join(whole), encoding, first=True)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    sent: OneEdit = {"lines": f"{first}-{last}", "new_text": "brand\nnew"}
    with Workspace(MemoryStore({"f": before})) as workspace:
        workspace.edit("f", digest(before), [sent], encoding=plain_name(encoding))
        with workspace.guard.store.open("f") as source:  # type: ignore[arg-type]  # a normal path
            after = source.read_at(0, source.size)
    head = encoded("".join(whole[: first - 1]), encoding, first=True)
    tail = encoded("".join(whole[last:]), encoding, first=False)
    assert after.startswith(head)
    assert after.endswith(tail)
    name = "utf-16-le" if encoding == "utf-16" else "utf-8" if encoding == "utf-8-sig" else encoding
    middle = after[len(head) : len(after) - len(tail)].decode(name)
    assert middle.split() == ["brand", "new"]
    assert middle.endswith(marks[last - 1])


@given(files(), st.lists(letters.filter(str.strip), min_size=1, max_size=3))
def test_what_is_appended_comes_after_every_byte_that_was_there(
    file: tuple[str, list[str], list[str]], pieces: list[str]
) -> None:
    encoding, lines, marks = file
    data = encoded("".join(map("".join, zip(lines, marks, strict=True))), encoding, first=True)
    with Workspace(MemoryStore({"f": data})) as workspace:
        for piece in pieces:
            if not _has(piece, encoding):
                continue
            sent = [{"insert": "end", "new_text": piece}]
            reply = workspace.call(
                "edit_file",
                {"path": "f", "expected_hash": digest(data), "edits": sent, "encoding": plain_name(encoding)},
            )
            assert not reply.is_error, reply.text
            again = workspace.call(
                "edit_file",
                {"path": "f", "expected_hash": digest(data), "edits": sent, "encoding": plain_name(encoding)},
            )
            assert again.is_error
            assert "already ends with this text" in again.text
            data += encoded(piece, encoding, first=False)
            assert reply.facts["content_hash"] == digest(data)
