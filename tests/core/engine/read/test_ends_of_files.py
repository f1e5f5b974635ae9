"""A file without a final newline, or with mixed line ends, looked like others: who rewrote it lost that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.each import each
from tests.laws.driving import STORES, StoreName, fact, stored

LARGE = b"a line of some length that is repeated\n" * (SMALL_FILE_BYTES // 30)

FILES = {
    "usual": b"one\ntwo\n",
    "empty": b"",
    "open": b"one\ntwo",
    "one": b"one",
    "mixed": b"one\r\ntwo\nthree\r\n",
    "both": b"one\r\ntwo\nthree",
    "crlf": b"one\r\ntwo\r\n",
    "wide": "one\ntwo".encode("utf-16"),
    "large": LARGE,
    "large open": LARGE + b"end",
    "large mixed": LARGE + b"end\r\n",
}

ENDS: dict[str, tuple[bool | None, dict[str, int] | None, str]] = {
    "usual": (True, None, ""),
    "empty": (None, None, ""),
    "open": (False, None, "no final newline"),
    "one": (False, None, "no final newline"),
    "mixed": (True, {"lf": 1, "crlf": 2}, "mixed line ends (2 CRLF, 1 LF)"),
    "both": (False, {"lf": 1, "crlf": 1}, "mixed line ends (1 CRLF, 1 LF) | no final newline"),
    "crlf": (True, None, "CRLF"),
    "wide": (False, None, "no final newline"),
    "large": (True, None, ""),
    "large open": (False, None, "no final newline"),
    "large mixed": (
        True,
        {"lf": LARGE.count(b"\n"), "crlf": 1},
        f"mixed line ends (1 CRLF, {LARGE.count(10)} LF)",
    ),
}


@contextmanager
def room(store: StoreName) -> Iterator[Workspace]:
    with stored(store, FILES) as made, Workspace(made) as workspace:
        yield workspace


def said(reply: Reply) -> str:
    """What the header says behind the hash, without the encoding."""
    words = reply.text.split("\n")[0].split(" | ")
    at = next(number for number, word in enumerate(words) if word.startswith("sha256:"))
    return " | ".join(word for word in words[at + 1 :] if not word.startswith("utf-"))


@each("store", STORES)
@each("path", FILES)
def test_a_read_tells_how_the_file_ends_and_says_what_is_unusual(store: StoreName, path: str) -> None:
    with room(store) as workspace:
        for asked in ({}, {"offset": 1, "limit": 1}):
            reply = workspace.call("read_file", {"path": path, **asked})
            assert (fact(reply, "final_newline"), fact(reply, "line_ends"), said(reply)) == ENDS[path]


@each(
    ("path", "content", "code", "detail"),
    [
        ("usual", "new", "final_newline_changed", "the file had a final newline and has none now"),
        ("open", "new\n", "final_newline_changed", "the file had no final newline and has one now"),
        ("mixed", "one\ntwo\nthree\n", "line_ends_changed", "the line ends were mixed and are LF"),
        ("usual", "new\n", None, None),
        ("open", "new", None, None),
        ("usual", "", None, None),
        ("empty", "new", None, None),
    ],
)
def test_a_rewritten_file_says_what_became_of_its_ends(
    path: str, content: str, code: str | None, detail: str | None
) -> None:
    with room("memory") as workspace:
        known = workspace.read(path).facts["content_hash"]
        reply = workspace.call("write_file", {"path": path, "content": content, "expected_hash": known})
    warnings = [one for one in fact(reply, "warnings") if one["code"] != "shrunk"]
    found = [(one["code"], one["detail"]) for one in warnings]
    assert found == ([] if code is None else [(code, detail)])
    assert fact(reply, "final_newline") is (content.endswith("\n") if content else None)
