"""Patches of several files: all of them or none, on every kind of store."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.policy.changes import ChangePolicy
from readroom.core.text import patches
from readroom.core.values import Cap
from readroom.core.values.changes import EditFilesRequest, EditFilesResult
from readroom.core.values.patches import FilePatch
from tests.core.engine.edit.changing import STORES, Room, digest, made
from tests.each import each


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    room = Room(made(request.param, tmp_path))
    with room.workspace:
        yield room


def apply(room: Room, *files: FilePatch, dry_run: bool = False) -> EditFilesResult:
    workspace = room.workspace
    cap = Cap(10_000, workspace.contract("native").measure)
    result = workspace.engine.perform(EditFilesRequest(files, dry_run), cap, Deadline())
    assert isinstance(result, EditFilesResult)
    return result


def patch(room: Room, text: str | bytes, *, dry_run: bool = False) -> EditFilesResult:
    return apply(room, *patches.read(text), dry_run=dry_run)


def at(room: Room) -> Path:
    assert room.world.store.folder is not None
    return Path(room.world.store.folder)


def refusals(room: Room, text: str | bytes) -> list[errors.ReadroomError]:
    """The failure of each file; nothing is changed."""
    before = {name: room.data(name) for name in room.names() if name.endswith(".txt")}
    with pytest.raises(errors.EditsFailed) as failed:
        patch(room, text)
    assert {name: room.data(name) for name in room.names() if name.endswith(".txt")} == before
    return [error for _, error in failed.value.failures]


def section(path: str, *lines: str) -> str:
    return "\n".join((f"--- a/{path}", f"+++ b/{path}", *lines, ""))


EVERYTHING = """\
diff --git a/changed.txt b/changed.txt
--- a/changed.txt
+++ b/changed.txt
@@ -1,2 +1,2 @@
 one
-two
+TWO
diff --git a/copied.txt b/deep/er/copy.txt
similarity index 50%
copy from changed.txt
copy to deep/er/copy.txt
--- a/changed.txt
+++ b/deep/er/copy.txt
@@ -1,2 +1,2 @@
-one
+ONE
 two
diff --git a/deep/made.txt b/deep/made.txt
new file mode 100644
--- /dev/null
+++ b/deep/made.txt
@@ -0,0 +1 @@
+made
\\ No newline at end of file
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/old.txt b/else/new.txt
similarity index 100%
rename from old.txt
rename to else/new.txt
diff --git a/was.txt b/else/is.txt
similarity index 50%
rename from was.txt
rename to else/is.txt
--- a/was.txt
+++ b/else/is.txt
@@ -1,2 +1,2 @@
-x
+X
 y
"""

BEFORE = {"changed.txt": "one\ntwo\n", "gone.txt": "gone\n", "old.txt": "old\n", "was.txt": "x\ny\n"}


def test_all_that_a_diff_of_git_can_say(room: Room) -> None:
    for path, text in BEFORE.items():
        room.file(path, text)
    plan = patch(room, EVERYTHING, dry_run=True)
    assert room.names() == sorted(BEFORE)
    done = patch(room, EVERYTHING)
    assert room.names() == ["changed.txt", "deep", "else"]
    assert room.names("deep/er") == ["copy.txt"]
    for path, text in (
        ("changed.txt", "one\nTWO\n"),
        ("deep/er/copy.txt", "ONE\ntwo\n"),
        ("deep/made.txt", "made"),
        ("else/new.txt", "old\n"),
        ("else/is.txt", "X\ny\n"),
    ):
        assert room.data(path) == text.encode(), path
    assert [(file.action, file.requested, file.path) for file in done.files] == [
        ("update", "changed.txt", "changed.txt"),
        ("copy", "changed.txt", "deep/er/copy.txt"),
        ("add", "deep/made.txt", "deep/made.txt"),
        ("delete", "gone.txt", "gone.txt"),
        ("move", "old.txt", "else/new.txt"),
        ("move", "was.txt", "else/is.txt"),
    ]
    assert [(file.previous_hash, file.content_hash) for file in done.files[2:4]] == [
        (None, digest(b"made")),
        (digest(b"gone\n"), None),
    ]
    assert [replace(file, warnings=()) for file in plan.files] == [
        replace(file, warnings=()) for file in done.files
    ]
    assert done.files[0].diff.text == "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"


def test_sections_follow_each_other(room: Room) -> None:
    room.file("a.txt", "one\n")
    first, second = (
        section("a.txt", "@@ -1 +1 @@", "-one", "+two"),
        section("a.txt", "@@ -1 +1 @@", "-two", "+three"),
    )
    patch(room, first + second)
    assert room.data("a.txt") == b"three\n"
    patch(room, "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: a.txt\n+again\n*** End Patch")
    assert room.data("a.txt") == b"again\n"
    swap = "diff --git a/{0} b/{1}\nrename from {0}\nrename to {1}\n"
    room.file("b.txt", "other\n")
    patch(room, swap.format("a.txt", "t.txt") + swap.format("b.txt", "a.txt") + swap.format("t.txt", "b.txt"))
    assert (room.data("a.txt"), room.data("b.txt")) == (b"other\n", b"again\n")
    assert room.names() == ["a.txt", "b.txt"]


def test_one_file_that_fails_leaves_all(room: Room) -> None:
    room.file("a.txt", "one\n")
    room.file("b.txt", "one\ntwo\none\n")
    good = section("a.txt", "@@ -1 +1 @@", "-one", "+two")
    new = section("c.txt", "@@ -0,0 +1 @@", "+x").replace("--- a/c.txt", "--- /dev/null")
    bad = section("b.txt", "@@ -2 +2 @@", "-one", "+x") + section("d.txt", "@@ -1 +1 @@", "-one", "+x")
    many, absent = refusals(room, good + new + bad)
    assert isinstance(many, errors.HunkAmbiguous)
    assert list(many.lines) == [1, 3]
    assert isinstance(absent, errors.NotFound)
    assert room.names() == ["a.txt", "b.txt"]


@each(
    ("text", "lines", "says"),
    [
        ("one\ntwo\n", ("@@ -1,2 +1,2 @@", " one", "-tow", "+x"), "The closest place is line"),
        ("one  \ntwo\n", ("@@ -1,2 +1,2 @@", " one", "-two", "+x"), "white space"),
        ("one\ntwo", ("@@ -1,2 +1,2 @@", " one", "-two", "+x"), "No newline at end of file"),
        ("one\ntwo\n", ("@@ -1,0 +2 @@", "+x"), "new lines only"),
        (
            "one\ntwo\n",
            ("@@ -2 +2 @@", "-two", "+x", "@@ -1 +1 @@", "-one", "+y"),
            "in front of the hunk above",
        ),
        (
            "one\na much longer line\n",
            ("@@ -1,2 +1,2 @@", " one", "-two", "+a much longer line"),
            "already there",
        ),
    ],
)
def test_a_hunk_that_does_not_fit_says_why(
    tmp_path: Path, text: str, lines: tuple[str, ...], says: str
) -> None:
    room = Room(made("memory", tmp_path))
    room.file("a.txt", text)
    (missing,) = refusals(room, section("a.txt", *lines))
    assert isinstance(missing, errors.HunkMissing)
    assert says in missing.advice


def test_what_is_never_applied_is_refused_by_name(room: Room) -> None:
    room.file("a.txt", "one\n")
    good = "diff --git a/a.txt b/a.txt\n" + section("a.txt", "@@ -1 +1 @@", "-one", "+two")
    mode = "diff --git a/b.txt b/b.txt\nold mode 100644\nnew mode 100755\n"
    link = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a.txt\n"
    first, second = refusals(room, mode + good + link)
    assert [str(first.facts["what"]), str(second.facts["what"])] == [
        "a change of the mode to 100755",
        "a symbolic link",
    ]


def test_files_are_what_the_patch_takes_them_for(room: Room) -> None:
    room.file("a.txt", "one\n")
    room.file("b.txt", "two\nthree\n")
    made = "diff --git a/a.txt b/a.txt\nnew file mode 100644\n"
    moved = "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n"
    shorter = "diff --git a/b.txt b/b.txt\ndeleted file mode 100644\n" + section(
        "b.txt", "@@ -1 +0,0 @@", "-two"
    ).replace("+++ b/b.txt", "+++ /dev/null")
    absent = "diff --git a/c.txt b/c.txt\ndeleted file mode 100644\n"
    kinds = [errors.Exists, errors.Taken, errors.HunkMissing, errors.NotFound]
    for text, kind in zip((made, moved, shorter, absent), kinds, strict=True):
        (error,) = refusals(room, text)
        assert isinstance(error, kind)


def test_policy_is_asked_about_both_names(room: Room) -> None:
    room.file("a.txt", "one\n")
    room.file(".env", "SECRET=1\n")
    for source, to in (
        (".env", "b.txt"),
        ("a.txt", ".env.local"),
        ("a.txt", ".git/hooks/pre-commit"),
        ("a.txt", "../x"),
    ):
        for action in ("rename", "copy"):
            (error,) = refusals(
                room, f"diff --git a/{source} b/{to}\n{action} from {source}\n{action} to {to}\n"
            )
            assert isinstance(error, errors.RefusedError | errors.UsageError), error
            assert "SECRET" not in str(error)
    (error,) = refusals(room, "*** Begin Patch\n*** Add File: /etc/x\n+y\n*** End Patch")
    assert isinstance(error, errors.OutsideRoot)


def test_two_spellings_of_one_file_are_refused(tmp_path: Path) -> None:
    room = Room(made("kernel", tmp_path), changes=ChangePolicy(follow_links=True))
    with room.workspace:
        room.file("a.txt", "one\n")
        os.symlink("a.txt", at(room) / "l.txt")
        both = section("a.txt", "@@ -1 +1 @@", "-one", "+two") + section("l.txt", "@@ -1 +1 @@", "-one", "+x")
        (error,) = refusals(room, both)
        assert isinstance(error, errors.SameFile)
        apply(room, *patches.read(both)[1:])
        assert room.data("a.txt") == b"x\n"


def test_links_are_not_changed(tmp_path: Path) -> None:
    room = Room(made("kernel", tmp_path))
    with room.workspace:
        room.file("a.txt", "one\n")
        os.symlink("a.txt", at(room) / "l.txt")
        for text in (
            section("l.txt", "@@ -1 +1 @@", "-one", "+x"),
            "*** Begin Patch\n*** Delete File: l.txt\n*** End Patch",
        ):
            (error,) = refusals(room, text)
            assert isinstance(error, errors.SymbolicLink)


def test_a_moved_or_copied_file_keeps_its_mode(tmp_path: Path) -> None:
    room = Room(made("kernel", tmp_path))
    with room.workspace:
        for name in ("a.txt", "b.txt"):
            room.file(name, "one\n")
            (at(room) / name).chmod(0o755)
        diff = "@@ -1 +1 @@\n-one\n+two\n"
        patch(
            room,
            "diff --git a/a.txt b/c/d.txt\nrename from a.txt\nrename to c/d.txt\n"
            f"--- a/a.txt\n+++ b/c/d.txt\n{diff}",
        )
        patch(room, "diff --git a/b.txt b/e.txt\ncopy from b.txt\ncopy to e.txt\n")
        patch(room, "diff --git a/b.txt b/f.txt\nrename from b.txt\nrename to f.txt\n")
        for name in ("c/d.txt", "e.txt", "f.txt"):
            assert stat.S_IMODE((at(room) / name).stat().st_mode) == 0o755, name


def test_a_notebook_stays_valid(room: Room) -> None:
    cell: dict[str, object] = {"cell_type": "code", "source": ["a = 1\n"], "metadata": {}, "outputs": []}
    book = {"cells": [cell | {"execution_count": None}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    text = json.dumps(book, indent=1)
    room.file("n.ipynb", text + "\n")
    line = next(line for line in text.split("\n") if "a = 1" in line)
    with pytest.raises(errors.EditsFailed):
        patch(room, section("n.ipynb", "@@ @@", f"-{line}", "+a = 2"))
    patch(room, section("n.ipynb", "@@ @@", f"-{line}", f"+{line.replace('1', '2')}"))
    assert b"a = 2" in room.data("n.ipynb")


def test_binary_files_are_not_patched(room: Room) -> None:
    room.file("a.txt", b"\x7fELF\0\0\0one\n")
    (error,) = refusals(room, section("a.txt", "@@ -1 +1 @@", "-one", "+two"))
    assert isinstance(error, errors.Binary)


def test_a_file_that_another_program_changes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    room = Room(made("kernel", tmp_path))
    with room.workspace:
        room.file("a.txt", "one\n")
        room.file("b.txt", "one\n")
        calls: list[None] = []

        def clock() -> float:
            calls.append(None)
            (at(room) / "b.txt").write_text(f"one\nother {len(calls)}\n", encoding="utf-8")
            return 0.0

        files = patches.read(
            section("a.txt", "@@ -1 +1 @@", "-one", "+two") + section("b.txt", "@@ -1 +1 @@", "-one", "+two")
        )
        cap = Cap(10_000, room.workspace.contract("native").measure)
        with pytest.raises(errors.Changed):
            room.workspace.engine.perform(EditFilesRequest(tuple(files)), cap, Deadline(60, clock=clock))
        assert room.data("a.txt") == b"one\n"
        assert b"two" not in room.data("b.txt")
