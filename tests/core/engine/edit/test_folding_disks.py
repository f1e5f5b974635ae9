"""Changes where the file system takes names that differ in case or accents for one: nothing is lost."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.errors import (
    BadValue,
    EditsFailed,
    Exists,
    Inside,
    ReadroomError,
    SameFile,
    Taken,
)
from readroom.core.stores.base import Moved
from readroom.core.stores.local import LocalStore, rename
from readroom.core.values.changes import DeleteRequest, MoveRequest, TrashRequest
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import digest
from tests.core.engine.naming import files, perform
from tests.folding import DISKS, folding_disk, lacking

ONE, TWO = b"one\n", b"two\n"
GIT = "diff --git a/{old} b/{new}\nsimilarity index 50%\nrename from {old}\nrename to {new}\n"


class Place:
    """A workspace on a folding disk."""

    def __init__(self, kind: str, folder: Path, notes: Path) -> None:
        self.kind = kind
        self.folder = folder
        (folder / "A.txt").write_bytes(ONE)
        (folder / "Do").mkdir()
        (folder / "Do/x").write_bytes(TWO)
        self.workspace = Workspace(LocalStore(folder, notes=str(notes)))

    def files(self) -> dict[str, bytes]:
        return files(self.folder)

    def shown(self, **expected: bytes) -> dict[str, bytes]:
        """Files by name, where this disk keeps the case of names; `_` stands for a dot, `__` for a slash."""
        names = {name.replace("__", "/").replace("_", "."): data for name, data in expected.items()}
        return {name.lower(): data for name, data in names.items()} if self.kind == "ntfs" else names

    def unchanged(self) -> None:
        assert self.files() == self.shown(A_txt=ONE, Do__x=TWO)

    def edits(self, *edits: Any) -> None:
        self.workspace.edit_files(list(edits))

    def change(self, *changes: Any) -> None:
        self.workspace.change(list(changes))


WHY_NOT = {kind: lacking(kind) for kind in DISKS}


@pytest.fixture(
    params=[
        pytest.param(kind, marks=pytest.mark.skipif(bool(why), reason=f"{kind}: {why}"))
        for kind, why in WHY_NOT.items()
    ]
)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with folding_disk(request.param, tmp_path) as folder:
        place = Place(request.param, folder, tmp_path / "notes")
        with place.workspace:
            yield place


def edit(path: str, old: bytes, new: str) -> dict[str, Any]:
    return {"path": path, "expected_hash": digest(old), "old_text": old.decode(), "new_text": new}


@pytest.mark.skipif("CI" not in os.environ or os.geteuid() != 0, reason="only where such disks are promised")
def test_there_is_such_a_disk() -> None:
    assert not all(WHY_NOT.values()), WHY_NOT


def test_edits_of_two_spellings_are_refused(place: Place) -> None:
    with pytest.raises(SameFile) as caught:
        place.edits(edit("A.txt", ONE, "1\n"), edit("a.TXT", ONE, "2\n"))
    assert "a.TXT" in str(caught.value)
    assert "A.txt" in str(caught.value)
    place.unchanged()


def test_one_edit_may_spell_the_name_otherwise_and_the_name_stays(place: Place) -> None:
    place.edits(edit("a.txt", ONE, "1\n"), edit("do/X", TWO, "2\n"))
    assert place.files() == place.shown(A_txt=b"1\n", Do__x=b"2\n")
    place.workspace.edit("a.txt", digest(b"1\n"), [{"old_text": "1", "new_text": "3"}])
    place.workspace.write("a.TXT", "4\n", digest(b"3\n"))
    assert place.files() == place.shown(A_txt=b"4\n", Do__x=b"2\n")


def test_the_same_new_name_twice_is_refused(place: Place) -> None:
    absent = {"expected_hash": "absent", "insert": "end"}
    with pytest.raises(SameFile):
        place.edits({"path": "New", "new_text": "1", **absent}, {"path": "new", "new_text": "2", **absent})
    with pytest.raises(SameFile):
        place.edits({"path": "E/f", "new_text": "1", **absent}, {"path": "e/g", "new_text": "2", **absent})
    with pytest.raises(SameFile):
        place.change({"action": "mkdir", "path": "G"}, {"action": "mkdir", "path": "g"})
    place.unchanged()
    assert len(os.listdir(place.folder)) == 2


def test_a_new_file_is_not_made_over_another_spelling(place: Place) -> None:
    with pytest.raises(Exists):
        place.edits({"path": "a.txt", "expected_hash": "absent", "insert": "end", "new_text": "1"})
    with pytest.raises(Exists):
        place.workspace.write("a.txt", "1", "absent")
    place.unchanged()


def test_a_name_gets_another_spelling(place: Place) -> None:
    place.change({"action": "move", "path": "A.txt", "to": "A.TXT", "expected_hash": digest(ONE)})
    assert place.files() == place.shown(A_TXT=ONE, Do__x=TWO)
    place.change({"action": "move", "path": "Do", "to": "DO", "entries": 1})
    assert place.files() == place.shown(A_TXT=ONE, DO__x=TWO)
    place.change({"action": "move", "path": "do/x", "to": "dO/X", "expected_hash": digest(TWO)})
    assert place.files() == place.shown(A_TXT=ONE, DO__X=TWO)


def test_a_name_gets_another_spelling_by_a_request_about_one(place: Place) -> None:
    perform(place.workspace, MoveRequest("a.TXT", "A.TXT"))
    assert place.files() == place.shown(A_TXT=ONE, Do__x=TWO)
    perform(place.workspace, MoveRequest("Do", "DO", overwrite=True))
    assert place.files() == place.shown(A_TXT=ONE, DO__x=TWO)


def test_the_spelling_that_a_name_has_is_no_destination(place: Place) -> None:
    with pytest.raises(BadValue):
        place.change(
            {"action": "move", "path": "a.txt", "to": place_name(place), "expected_hash": digest(ONE)}
        )
    with pytest.raises(BadValue):
        place.change({"action": "copy", "path": "A.txt", "to": "a.txt", "expected_hash": digest(ONE)})
    with pytest.raises(BadValue):
        place.change({"action": "move", "path": "Do", "to": "do/inner", "entries": 1})
    place.unchanged()


def place_name(place: Place) -> str:
    return next(name for name in place.files() if name.lower() == "a.txt")


def test_moves_and_copies_do_not_replace_another_spelling(place: Place) -> None:
    for action in ("move", "copy"):
        with pytest.raises(Taken):
            place.change({"action": action, "path": "Do/x", "to": "a.TXT", "expected_hash": digest(TWO)})
    with pytest.raises(Taken):
        perform(place.workspace, MoveRequest("Do/x", "a.TXT"))
    place.unchanged()
    perform(place.workspace, MoveRequest("Do/x", "a.TXT", overwrite=True))
    assert {name.lower(): data for name, data in place.files().items()} == {"a.txt": TWO}


def test_a_deletion_and_another_change_of_one_name_are_refused(place: Place) -> None:
    gone = {"action": "delete", "path": "A.txt", "expected_hash": digest(ONE)}
    with pytest.raises(SameFile):
        place.change(gone, {"action": "move", "path": "Do/x", "to": "a.txt", "expected_hash": digest(TWO)})
    with pytest.raises(SameFile):
        place.change(gone, {**gone, "path": "a.txt"})
    with pytest.raises(Inside):
        place.change(
            {"action": "delete", "path": "Do", "entries": 1},
            {"action": "move", "path": "do/x", "to": "y", "expected_hash": digest(TWO)},
        )
    place.unchanged()


def test_deletions_by_another_spelling(place: Place) -> None:
    place.change({"action": "delete", "path": "a.TXT", "expected_hash": digest(ONE)})
    place.change({"action": "delete", "path": "do", "entries": 1})
    assert place.files() == {}
    (place.folder / "A.txt").write_bytes(ONE)
    perform(place.workspace, DeleteRequest("a.txt", expected_hash=digest(ONE)))
    assert os.listdir(place.folder) == []


def test_the_trash_takes_a_name_by_another_spelling(place: Place) -> None:
    (place.folder / ".Trash").mkdir()
    perform(place.workspace, TrashRequest("a.TXT"))
    assert ONE in place.files().values()
    assert not (place.folder / "A.txt").exists()


def test_patches_spell_names_as_they_like(place: Place) -> None:
    patch = "--- a/a.TXT\n+++ b/a.TXT\n@@ -1 +1 @@\n-one\n+1\n"
    place.workspace.patch(patch)
    assert place.files() == place.shown(A_txt=b"1\n", Do__x=TWO)


def test_patches_of_two_spellings_are_refused(place: Place) -> None:
    hunk = "@@ -1 +1 @@\n-one\n+{}\n"
    two = "".join(
        f"--- a/{name}\n+++ b/{name}\n{hunk.format(at)}" for at, name in enumerate(("A.txt", "a.txt"))
    )
    with pytest.raises((SameFile, EditsFailed)):
        place.workspace.patch(two)
    added = "*** Begin Patch\n*** Add File: a.txt\n+1\n*** End Patch\n"
    with pytest.raises(ReadroomError):
        place.workspace.patch(added)
    twice = "*** Begin Patch\n*** Add File: New\n+1\n*** Add File: new\n+2\n*** End Patch\n"
    with pytest.raises(SameFile):
        place.workspace.patch(twice)
    gone = "*** Begin Patch\n*** Delete File: A.txt\n*** Add File: a.txt\n+1\n*** End Patch\n"
    with pytest.raises(ReadroomError):
        place.workspace.patch(gone)
    place.unchanged()


def test_patches_rename_to_another_spelling(place: Place) -> None:
    place.workspace.patch(GIT.format(old="A.txt", new="A.TXT"))
    assert place.files() == place.shown(A_TXT=ONE, Do__x=TWO)
    hunk = "--- a/A.TXT\n+++ b/A.Txt\n@@ -1 +1 @@\n-one\n+1\n"
    place.workspace.patch(GIT.format(old="A.TXT", new="A.Txt") + hunk)
    assert place.files() == place.shown(A_Txt=b"1\n", Do__x=TWO)
    v4a = "*** Begin Patch\n*** Update File: A.Txt\n*** Move to: A.TXT\n@@\n-1\n+2\n*** End Patch\n"
    place.workspace.patch(v4a)
    assert place.files() == place.shown(A_TXT=b"2\n", Do__x=TWO)


def test_a_patch_that_takes_a_renamed_spelling_again_is_refused(place: Place) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: A.txt\n*** Move to: a.txt\n@@\n-one\n+1\n"
        "*** Add File: A.txt\n+2\n*** End Patch\n"
    )
    with pytest.raises(ReadroomError):
        place.workspace.patch(patch)
    place.unchanged()


def test_a_renamed_spelling_is_undone_with_the_rest(place: Place) -> None:
    """The last step fails, as another program has taken its name."""
    real = rename.move

    def taken(old: rename.Name, new: rename.Name, expected: rename.Identity) -> None:
        if new[1] == "z":
            raise Moved
        real(old, new, expected)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rename, "move", taken)
        with pytest.raises(ReadroomError):
            place.change(
                {"action": "move", "path": "A.txt", "to": "a.TXT", "expected_hash": digest(ONE)},
                {"action": "move", "path": "Do/x", "to": "z", "expected_hash": digest(TWO)},
            )
    place.unchanged()
    assert {name.lower() for name in os.listdir(place.folder)} == {"a.txt", "do"}


def test_composed_and_decomposed_names_are_one(place: Place) -> None:
    composed, apart = (unicodedata.normalize(form, "é.txt") for form in ("NFC", "NFD"))
    (place.folder / composed).write_bytes(ONE)
    place.workspace.edit(apart, digest(ONE), [{"old_text": "one", "new_text": "1"}])
    with pytest.raises(SameFile):
        place.edits(edit(composed, b"1\n", "2\n"), edit(apart, b"1\n", "3\n"))
    found = {name.lower(): data for name, data in place.files().items()}
    assert found.pop("a.txt") == ONE
    assert set(found.values()) == {TWO, b"1\n"}


def test_a_system_that_does_nothing_for_two_spellings_is_asked_twice(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ext4 does, for which both names are the same file."""
    real = os.rename

    def same(src: str, dst: str, **options: Any) -> None:
        if src.lower() != dst.lower():
            real(src, dst, **options)

    monkeypatch.setattr(os, "rename", same)
    place.change({"action": "move", "path": "A.txt", "to": "A.TXT", "expected_hash": digest(ONE)})
    assert place.files() == place.shown(A_TXT=ONE, Do__x=TWO)
