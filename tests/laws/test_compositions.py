"""The law that a name can be asked for in another Unicode composition, and that opens no other file."""

from __future__ import annotations

import io
import unicodedata
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.errors import Denied, NotFound, ReadroomError
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap
from readroom.core.values.changes import Edit, EditFilesRequest, EditFilesResult, FileEdits
from readroom.core.values.files import OTHER_SPELLING
from readroom.core.workspace import Workspace
from tests.each import each

NFC, NFD = "caf\u00e9", "cafe\u0301"
SAID = "its name has a different Unicode composition"

both = pytest.mark.parametrize(
    ("there", "asked"), [(NFC, NFD), (NFD, NFC), ("\u212b", "\u00c5"), ("\u212a", "K")]
)


@both
def test_every_tool_takes_the_one_equal_name_and_says_so(there: str, asked: str, tmp_path: Path) -> None:
    folder = tmp_path / there / f"in {there}"
    folder.mkdir(parents=True)
    file = folder / f"{there}.py"
    file.write_text("def found():\n    return 1\n")
    path, real = f"{asked}/in {asked}/{asked}.py", f"{there}/in {there}/{there}.py"
    with Workspace(tmp_path) as workspace:
        read = workspace.read(path)
        assert SAID in read.text
        assert real in read.text
        assert read.facts["path"] == real
        assert "found" in workspace.read(path, view="outline").text
        assert f"{there}.py" in workspace.list(f"{asked}/in {asked}").text
        assert SAID in workspace.list(asked).text
        assert "return 1" in workspace.grep("return", path=path).text
        assert "return 1" in workspace.grep("return", path=asked).text
        assert "found" in workspace.find("found", path=asked).text
        digest = str(read.facts["content_hash"])
        edited = workspace.edit(path, digest, [{"old_text": "1", "new_text": "2"}])
        assert SAID in edited.text
        assert file.read_text() == "def found():\n    return 2\n"
        written = workspace.write(path, "x\n", str(edited.facts["content_hash"]))
        assert SAID in written.text
        with pytest.raises(ReadroomError, match="exists"):
            workspace.write(path, "x\n", "absent")
        workspace.write(f"{asked}/new.txt", "new\n", "absent")
    assert file.read_text() == "x\n"
    assert (tmp_path / there / "new.txt").read_text() == "new\n"
    assert [one.name for one in tmp_path.iterdir()] == [there]
    assert sorted(one.name for one in (tmp_path / there).iterdir()) == sorted([f"in {there}", "new.txt"])


def test_of_two_equal_names_only_the_exact_one_is_opened(tmp_path: Path) -> None:
    for name in (NFC, NFD):
        (tmp_path / name).write_text(f"{len(name)}\n")
    with Workspace(tmp_path) as workspace:
        assert workspace.read(NFC).facts["path"] == NFC
        assert workspace.read(NFD).facts["path"] == NFD
        assert SAID not in workspace.read(NFD).text
    (tmp_path / "a\u0323\u0307").write_text("x")
    (tmp_path / "\u1ea1\u0307").write_text("y")
    with Workspace(tmp_path) as workspace, pytest.raises(NotFound):
        workspace.read("\u0227\u0323")


@each(
    ("there", "asked"),
    [
        ("\ufb01le", "file"),
        ("\uff21", "A"),
        ("x\u00b2", "x2"),
        ("caf\u00e9", "cafe"),
        ("CAF\u00c9", NFD),
        ("a\u200db", "ab"),
    ],
)
def test_a_name_that_only_looks_like_it_is_not_opened(there: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("x")
    with Workspace(tmp_path) as workspace, pytest.raises(NotFound):
        workspace.read(asked)


@pytest.mark.parametrize(("there", "asked"), [(NFC, NFD), (NFD, NFC)])
def test_a_glob_takes_names_in_either_composition(there: str, asked: str, tmp_path: Path) -> None:
    real = f"{there}/in {there}/{there}.py"
    (tmp_path / real).parent.mkdir(parents=True)
    (tmp_path / real).write_text("found\n")
    with Workspace(tmp_path) as workspace:
        for glob in (f"{asked}/**/{asked}*", f"**/{asked}.*", f"/{asked}/in {asked}/*.py", f"{asked}/"):
            assert glob.endswith("/") or real in workspace.list(glob=glob).text
            assert real in workspace.grep("found", glob=glob).text
            assert real in workspace.find("found", glob=glob).text
        assert real not in workspace.grep("found", glob=["*.py", f"!{asked}.py"]).text


@both
def test_it_is_no_way_around_policy(there: str, asked: str, tmp_path: Path) -> None:
    (tmp_path / there).mkdir()
    (tmp_path / there / "a.txt").write_text("canary7f3a\n")
    (tmp_path / f"{there}.txt").write_text("canary7f3a\n")
    for spelled in (there, asked):
        (tmp_path / ".readroomignore").write_text(f"/{spelled}/\n{spelled}.txt\n", encoding="utf-8")
        with Workspace(tmp_path) as workspace:
            for name in (there, asked):
                for path in (f"{name}/a.txt", f"{name}.txt"):
                    with pytest.raises(Denied) as caught:
                        workspace.read(path)
                    assert caught.value.facts["path"] == path
                    with pytest.raises(Denied):
                        workspace.write(path, "x", "absent")
            # A name that is not there gets the same answer.
            with pytest.raises(Denied):
                workspace.read(f"{asked}/gone.txt")
    (tmp_path / ".readroomignore").unlink()
    (tmp_path / "readroom.toml").write_text(f'[policy]\nallow = ["{there}.txt"]\n', encoding="utf-8")
    with Workspace(tmp_path) as workspace, pytest.raises(Denied):
        workspace.read(f"{asked}/a.txt")


@both
def test_names_in_archives_too(there: str, asked: str, tmp_path: Path) -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{there}/{there}.txt", "inside\n")
    (tmp_path / f"{there}.zip").write_bytes(data.getvalue())
    with Workspace(tmp_path) as workspace:
        reply = workspace.read(f"{asked}.zip!/{asked}/{asked}.txt")
        assert "inside" in reply.text
        assert SAID in reply.text
        assert f"{there}.txt" in workspace.list(f"{asked}.zip!/{asked}").text


def test_several_files_of_one_edit(tmp_path: Path) -> None:
    (tmp_path / NFD).write_text("one\n")
    edits = (Edit("one", "two"),)
    with Workspace(tmp_path) as workspace:
        engine, record = workspace.engine, workspace.contract("native")
        request = EditFilesRequest((FileEdits(NFC, edits),))
        result = engine.perform(request, Cap(10_000, record.measure), Deadline())
    assert isinstance(result, EditFilesResult)
    assert result.files[0].path == NFD
    assert result.files[0].warnings == (OTHER_SPELLING,)
    assert (tmp_path / NFD).read_text() == "two\n"


PARTS = st.lists(
    st.sampled_from(
        ["a", "e\u0301", "\u00e9", "\u1e9b\u0323", "\u0323", "\u212a", "K", "\u00c5", "A\u030a", "\ufb01"]
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=100)
@given(names=st.sets(PARTS.map("".join), min_size=1, max_size=6), asked=PARTS.map("".join))
def test_what_is_opened_is_exact_or_the_only_equal_one(names: set[str], asked: str) -> None:
    store = MemoryStore()
    for name in names:
        store.put(name, name)
    equal = {
        name for name in names if unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", asked)
    }
    right = asked if asked in equal else next(iter(equal)) if len(equal) == 1 else None
    with Workspace(store) as workspace:
        try:
            opened: object = workspace.read(asked).facts["path"]
        except NotFound:
            opened = None
    assert opened == right
