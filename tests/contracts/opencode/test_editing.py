"""opencode's edit and write: exact, by its steps, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.contracts.opencode import words
from readroom.contracts.opencode.matching import distance, fit
from readroom.core.workspace import Workspace
from tests.contracts.opencode.calling import DENIED, ROOT, call, edited, refused, room, said, stored

DONE = "Edit applied successfully."


@pytest.mark.clause("opencode.edit")
@pytest.mark.parametrize(
    ("text", "old", "new", "more", "after"),
    [
        ("old content here", "old content", "new content", {}, "new content here"),
        ("line1\nline2\nline3", "line2", "a\nb", {}, "line1\na\nb\nline3"),
        ("foo bar foo baz foo", "foo", "qux", {"replaceAll": True}, "qux bar qux baz qux"),
        ("a b", " b", "", {}, "a"),
        ("x", "x", "y", {"replaceAll": False}, "y"),
    ],
)
def test_an_exact_text_is_replaced(text: str, old: str, new: str, more: Any, after: str) -> None:
    with room({"a.txt": text}) as space:
        for_each = {"filePath": "a.txt", "oldString": old, "newString": new, **more}
        assert said(space, "edit", **for_each) == DONE
        assert stored(space, "a.txt") == after.encode()


@pytest.mark.clause("opencode.edit.line-ends", "opencode.line-ends")
@pytest.mark.parametrize("sent", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("every", [False, True])
def test_line_ends_are_those_of_the_file(end: str, sent: str, every: bool) -> None:
    text = end.join(["alpha", "beta", "gamma", ""])
    old, new = sent.join(["alpha", "beta"]), sent.join(["alpha", "beta 2", "more"])
    assert edited(text, old, new, replaceAll=every) == end.join(["alpha", "beta 2", "more", "gamma", ""])


@pytest.mark.clause("opencode.line-ends")
def test_new_lines_end_like_those_around_them() -> None:
    assert edited("a\r\nb\nc\r\n", "b", "B\nnew") == "a\r\nB\nnew\nc\r\n"


@pytest.mark.clause("opencode.edit.mark")
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_mark_of_a_file_stays(mark: str) -> None:
    with room({"a.cs": "\ufeffusing System;\nclass T {}\n"}) as space:
        said(space, "edit", filePath="a.cs", oldString=f"{mark}using System;", newString=f"{mark}using Up;")
        assert stored(space, "a.cs") == "\ufeffusing Up;\nclass T {}\n".encode()
        said(space, "write", filePath="a.cs", content=f"{mark}all\n")
        assert stored(space, "a.cs") == "\ufeffall\n".encode()


@pytest.mark.clause("opencode.edit.creates")
def test_an_empty_old_string_creates_a_file_and_replaces_none() -> None:
    with room({"a.txt": "x", "d/b": "x"}) as space:
        path = f"{ROOT}/new/dir/n.txt"
        assert said(space, "edit", filePath=path, oldString="", newString="created") == DONE
        assert stored(space, "new/dir/n.txt") == b"created"
        for there in ("a.txt", "d", path):
            found = refused(space, "edit", filePath=there, oldString="", newString="y")
            assert found == words.EXISTS
        assert stored(space, "a.txt") == b"x"


@pytest.mark.clause("opencode.edit.errors", "opencode.binary-edit")
@pytest.mark.parametrize(
    ("path", "old", "new", "more", "said_"),
    [
        ("", "a", "b", {}, "filePath is required"),
        ("a.txt", "x", "x", {}, words.IDENTICAL),
        ("none.txt", "", "", {}, words.IDENTICAL),
        ("a.txt", "one\n", "one\r\n", {}, words.IDENTICAL),
        ("none.txt", "a", "b", {}, f"File {ROOT}/none.txt not found"),
        (f"{ROOT}/none.txt", "a", "b", {}, f"File {ROOT}/none.txt not found"),
        ("d", "a", "b", {}, f"Path is a directory, not a file: {ROOT}/d"),
        ("a.txt", "three", "b", {}, words.NO_MATCH),
        ("a.txt", "three", "b", {"replaceAll": True}, words.NO_MATCH),
        ("a.txt", "o", "b", {}, words.MANY_MATCHES),
        ("a.txt", "oo", "b", {}, words.MANY_MATCHES),
        ("b.bin", "a", "b", {}, f"Cannot edit binary file: {ROOT}/b.bin"),
    ],
)
def test_refusals_have_the_sentences_of_the_original(
    path: str, old: str, new: str, more: Any, said_: str
) -> None:
    files = {"a.txt": b"one\ntwooo\n", "d/c.txt": b"x", "b.bin": b"\0\1\2a"}
    with room(files) as space:
        assert refused(space, "edit", filePath=path, oldString=old, newString=new, **more) == said_
        assert {name: stored(space, name) for name in files} == files


# --- the steps ------------------------------------------------------------------------------------

BODY = "function a() {\n  const x = compute(1)\n  log(x)\n  return x\n}\n"


@pytest.mark.clause("opencode.edit.steps", "opencode.inexact")
@pytest.mark.parametrize(
    ("text", "old", "after", "how"),
    [
        (
            "if x:\n\treturn 1\nend\n",
            "if x:\n    return 1",
            "NEW\nend\n",
            "blanks at the ends of lines left out",
        ),
        ("a  \nb\n", "a\nb\n", "NEW\n", "blanks at the ends of lines left out"),
        (
            BODY,
            BODY.replace("1", "2").rstrip(),
            "NEW\n",
            "first and last line equal, the lines between similar",
        ),
        ("hello    world  foo\n", "hello world foo", "NEW\n", "runs of blanks as one"),
        ("x = call( a,  b )\n", "call( a, b )", "x = NEW\n", "runs of blanks as one"),
        ('say "hi"\tthere\n', 'say \\"hi\\"\\tthere', "NEW\n", "escapes decoded"),
        ("s = 'it\\'s'\n", "s = 'it's'", "NEW\n", "escapes decoded"),
        ("one;two\nb;three", "\n two\nb;\n", "one;NEWthree", "blanks at both ends left out"),
        (
            "START\none\ntwo\nthree\nfour\nEND\n",
            "START\none\nXXXXX\nthree\nYYYYY\nEND",
            "NEW\n",
            "first and last line and half of those between equal",
        ),
    ],
)
def test_a_text_that_does_not_occur_is_found_by_the_steps_and_the_reply_says_so(
    text: str, old: str, after: str, how: str
) -> None:
    for end in ("\n", "\r\n"):
        with room({"a.txt": text.replace("\n", end)}) as space:
            reply = call(space, "edit", filePath="a.txt", oldString=old, newString="NEW")
            assert not reply.is_error, reply.text
            note = f"{DONE}\n\noldString did not occur exactly and was matched with {how}. See line"
            assert reply.text.startswith(note)
            assert reply.facts["matched"] == how
            assert stored(space, "a.txt").decode() == after.replace("\n", end)


@pytest.mark.clause("opencode.two-places")
@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("  a\n  b\nx\n\ta\n\tb\n", "a\nb "),
        (f"{BODY}\n{BODY.replace('1', '3')}", BODY.replace("1", "2").rstrip()),
        ("f(a,  b)\nf(a,   b)\n", "f(a, b)"),
        ("f(a,  b) + f(a,   b)\n", "f(a, b)"),
        ("y = 'a\tb' + 'a\tb'\n", "'a\\tb'"),
        ("two two", " two\n"),
        ("aaa", "\naa\n"),
        ("S\n1\nx\nE\nS\n1\ny\nE\n", "S\n1\nqqqqq\nE"),
        ("\n", " "),
    ],
)
def test_where_two_places_fit_under_one_step_nothing_is_changed(text: str, old: str) -> None:
    with room({"a.txt": text}) as space:
        assert refused(space, "edit", filePath="a.txt", oldString=old, newString="N") == words.MANY_MATCHES
        assert stored(space, "a.txt") == text.encode()


@pytest.mark.clause("opencode.replace-all")
def test_replace_all_is_exact_only() -> None:
    with room({"a.txt": "a  b\na  b\n"}) as space:
        asked = {"filePath": "a.txt", "oldString": "a b", "newString": "N", "replaceAll": True}
        assert refused(space, "edit", **asked) == words.NO_MATCH
        assert stored(space, "a.txt") == b"a  b\na  b\n"


@pytest.mark.clause("opencode.edit.larger")
def test_a_match_that_is_much_larger_is_refused() -> None:
    text = "a" + " " * 600 + "b\nc\nd\n"
    with room({"a.txt": text}) as space:
        assert refused(space, "edit", filePath="a.txt", oldString="a b\nc", newString="N") == words.LARGER
        assert stored(space, "a.txt") == text.encode()


LINES = st.lists(
    st.sampled_from(["a", "  a", "b", "\tb ", "f(a, b)", "f(a,  b)", "'q'", "\\n", "", " ", "é", "{", "}"]),
    min_size=1,
    max_size=9,
).map("\n".join)


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_an_edit_changes_one_place_or_nothing(text: str, old: str, end: str, latin: bool) -> None:
    """What is replaced is one span; every byte before and after it stays."""
    new = "\x01NEW\x01"
    data = text.replace("\n", end).encode("latin-1" if latin else "utf-8")
    if not old:
        return
    with room({"a.txt": data}) as space:
        reply = call(space, "edit", filePath="a.txt", oldString=old, newString=new)
        after = stored(space, "a.txt")
    if reply.is_error:
        assert after == data
        return
    before, found, behind = after.partition(new.encode())
    assert found
    assert data.startswith(before)
    assert data.endswith(behind)
    assert len(before) + len(behind) < len(data)
    assert new.encode() not in behind
    replaced = data[len(before) : len(data) - len(behind)]
    exact = old.replace("\n", end).encode("latin-1" if latin else "utf-8", "replace")
    assert (replaced == exact) is (reply.text == DONE)
    assert data.count(replaced) == 1


@given(LINES, LINES)
def test_every_place_that_is_found_is_in_the_text(text: str, old: str) -> None:
    found = fit(text, old, lambda: None)
    if found is not None:
        assert found.text in text
        assert all(1 <= line <= text.count("\n") + 1 for line in found.lines)


@given(st.text("abc ", max_size=12), st.text("abc ", max_size=12))
def test_the_distance_is_that_of_the_definition(one: str, other: str) -> None:
    rows = list(range(len(other) + 1))
    for at, char in enumerate(one, 1):
        before, rows[0] = rows[0], at
        for place, own in enumerate(other, 1):
            cost = min(rows[place] + 1, rows[place - 1] + 1, before + (char != own))
            before, rows[place] = rows[place], cost
    assert distance(one, other) == rows[-1]


def test_the_search_ends_when_it_is_told_to() -> None:
    class Stop(Exception):
        pass

    def check() -> None:
        raise Stop

    with pytest.raises(Stop):
        fit("a\nb\n" * 5000, "a\nx\nb", check)


# --- other encodings, policy, races ---------------------------------------------------------------


@pytest.mark.clause("opencode.encodings")
def test_bytes_outside_of_an_edit_stay() -> None:
    data = "größe = 1\nweite =  2\n".encode("latin-1")
    with room({"a.txt": data, "b.txt": b"\xff\xfe bad\nx = 1\n"}) as space:
        said(space, "edit", filePath="a.txt", oldString="weite = 2", newString="weite = 3")
        assert stored(space, "a.txt") == "größe = 1\nweite = 3\n".encode("latin-1")
        found = refused(space, "edit", filePath="a.txt", oldString="größe", newString="漢")
        assert "cannot hold" in found
        assert "newString" in found


@pytest.mark.clause("opencode.denied")
def test_denied_and_protected_files_are_not_changed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in (".env", "readroom.toml"):
        (root / name).write_text(DENIED if name == ".env" else "")
    (root / "link").symlink_to(".env")
    (tmp_path / "out").write_text("x")
    (root / "away").symlink_to("../out")
    with Workspace(root) as space:
        for name in (".env", "readroom.toml", "link", "away", "../out", f"{tmp_path}/out"):
            for tool, more in (
                ("write", {"content": "y"}),
                ("edit", {"oldString": "API", "newString": "y"}),
                ("edit", {"oldString": "", "newString": "y"}),
            ):
                refused(space, tool, filePath=name, **more)
    assert (root / ".env").read_text() == DENIED
    assert (tmp_path / "out").read_text() == "x"


@pytest.mark.clause("opencode.diagnostics")
def test_no_reply_has_diagnostics() -> None:
    with room({"a.py": "x = 1\n"}) as space:
        assert said(space, "edit", filePath="a.py", oldString="1", newString="(") == DONE
        assert said(space, "write", filePath="a.py", content="def (") == "Wrote file successfully."


@pytest.mark.clause("opencode.write")
def test_write_creates_and_replaces() -> None:
    with room({"a.txt": "old\n", "d/x": "x", "crlf.txt": "a\r\nb\r\n"}) as space:
        for path, text in (("a.txt", "new"), ("n/e/w.txt", ""), ("b.bin", "a\0b"), ("c", "a\r\nb")):
            assert said(space, "write", filePath=path, content=text) == "Wrote file successfully."
            assert stored(space, path) == text.encode()
        assert refused(space, "write", filePath="d", content="x") == (
            f"Path is a directory, not a file: {ROOT}/d"
        )
        said(space, "write", filePath="crlf.txt", content="c\nd\n")
        assert stored(space, "crlf.txt") == b"c\r\nd\r\n"


def test_an_edit_of_a_file_that_another_program_changes_is_refused_or_made(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("top = 0\nmiddle\nbottom  = 0\n")
    with Workspace(tmp_path) as space:
        said(space, "edit", filePath=str(path), oldString="top = 0", newString="top = 1")
        said(space, "edit", filePath=str(path), oldString="bottom = 0", newString="bottom = 2")
    assert path.read_text() == "top = 1\nmiddle\nbottom = 2\n"
    assert os.listdir(tmp_path) == ["a.txt"]
