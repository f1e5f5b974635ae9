"""Which folders can be served together, how they are named, and what is refused at the start."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from readroom import AsyncWorkspace, Workspace
from readroom.core import config, errors
from readroom.core.caller import Caller
from readroom.core.config.roots import RootOption, root_option
from readroom.core.policy import names
from readroom.core.stores.memory import MemoryStore

_SHELL = Caller(face="cli")


def reads(workspace: Workspace, path: str) -> str:
    return workspace.call("read_file", {"path": path}, caller=_SHELL).text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "f.txt").write_text(f"in {name}\n")
    return tmp_path


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "path", "name", "read_only"),
    [
        ("/srv/docs", "/srv/docs", None, False),
        ("/srv/docs:ro", "/srv/docs", None, True),
        ("docs=/srv/docs", "/srv/docs", "docs", False),
        ("docs=/srv/docs:ro", "/srv/docs", "docs", True),
        ("docs=/srv/a=b:ro", "/srv/a=b", "docs", True),
        ("docs=/srv/with:colon", "/srv/with:colon", "docs", False),
    ],
)
def test_a_root_is_written_as_name_and_path(given: str, path: str, name: str | None, read_only: bool) -> None:
    assert root_option(given) == RootOption(path, name, read_only)


def test_a_folder_without_a_name_has_that_of_its_last_part(folder: Path) -> None:
    with Workspace(folder / "a", str(folder / "b"), folder / "c") as workspace:
        assert [one.name for one in workspace.folders] == [".", "b", "c"]
        assert "in c" in reads(workspace, "c/f.txt")


@pytest.mark.parametrize(
    "name",
    [
        "..", ".", ".outputs", ".git", "a/b", "x\n", "x\0", "\x1b[31m", "-x", "~", "a:b", "a!", "a*", " a",
        "a ",
        "a.", "", "a" * 65, "a\u2028b", "\udcff", "\"a\"", "{a}", "a\\b",
    ],
)  # fmt: skip
def test_a_name_that_no_path_can_have_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(errors.BadValue) as failed:
        Workspace(folder / "a", RootOption(folder / "b", name))
    assert "NAME=PATH" in failed.value.advice
    assert not any(char in str(failed.value) for char in "\n\0\x1b\u2028")


@pytest.mark.parametrize("name", ["docs", "Dokumente", "文書", "a b", "v1.2", "x_y-z"])
def test_names_of_people_are_taken(folder: Path, name: str) -> None:
    with Workspace(folder / "a", RootOption(folder / "b", name)) as workspace:
        assert "in b" in reads(workspace, f"{name}/f.txt")


def test_the_first_folder_has_no_name(folder: Path) -> None:
    with pytest.raises(errors.BadValue, match="names the first folder"):
        Workspace(f"A={folder / 'a'}", f"B={folder / 'b'}")


@pytest.mark.parametrize("taken", ["sub", "SUB", "f.txt"])
def test_a_name_that_the_first_folder_has_is_refused(folder: Path, taken: str) -> None:
    with pytest.raises(errors.BadValue, match="the first folder has") as failed:
        Workspace(folder / "a", f"{taken}={folder / 'b'}")
    assert "NAME=PATH" in failed.value.advice


@pytest.mark.parametrize(("one", "other"), [("x", "x"), ("x", "X"), ("\u00fc", "u\u0308"), ("ß", "SS")])
def test_two_folders_of_one_name_are_refused(folder: Path, one: str, other: str) -> None:
    with pytest.raises(errors.BadValue, match="the name of two folders"):
        Workspace(folder / "a", f"{one}={folder / 'b'}", f"{other}={folder / 'c'}")


# --- folders --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "other", "problem"),
    [
        ("a", "a", "the same folder"),
        ("a", "a/", "the same folder"),
        ("a", "b/../a", "the same folder"),
        ("a", "link", "the same folder"),
        ("a", "a/sub", "lies in"),
        ("a/sub", "a", "lies in"),
        ("a", "link/sub", "lies in"),
        ("a", "inner", "lies in"),
    ],
)
def test_folders_that_have_something_in_common_are_refused(
    folder: Path, first: str, other: str, problem: str
) -> None:
    (folder / "link").symlink_to("a")
    (folder / "inner").symlink_to("a/sub")
    with pytest.raises(errors.BadValue, match=problem) as failed:
        Workspace(folder / first, f"X={folder / other}")
    assert failed.value.advice


@pytest.mark.parametrize(
    ("first", "other"), [("m", "b"), ("m", "b/sub"), ("m/sub", "b"), ("a", "b"), ("a", "b/sub")]
)
def test_a_folder_that_is_mounted_twice_is_refused(
    folder: Path, first: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kernel tells it: `b` is mounted again as `m`, and in `a`."""
    for name in ("m/sub", "a/in"):
        (folder / name).mkdir(parents=True)
    table = folder / "mountinfo"
    rows = (("/", "/"), (f"{folder}/b", f"{folder}/m"), (f"{folder}/b", f"{folder}/a/in"))
    table.write_text("".join(f"1 1 8:1 {root} {place} rw - ext4 /dev/sda1 rw\n" for root, place in rows))
    monkeypatch.setattr(names, "MOUNTS", str(table))
    with pytest.raises(errors.BadValue, match="one is mounted in the other"):
        Workspace(folder / first, f"X={folder / other}")
    with Workspace(folder / first, f"X={folder / 'c'}") as workspace:
        assert len(workspace.folders) == 2


def test_a_missing_folder_is_refused_by_its_path(folder: Path) -> None:
    with pytest.raises(errors.NotFound, match="none"):
        Workspace(folder / "a", f"B={folder / 'none'}")
    with pytest.raises(errors.NotAFolder):
        Workspace(folder / "a", f"B={folder / 'b' / 'f.txt'}")


@pytest.mark.parametrize("address", ["ssh://host/srv", "docker://box/srv", "x-y+z://host"])
def test_the_address_of_another_machine_is_no_folder(folder: Path, address: str) -> None:
    own = folder / "own.toml"
    own.write_text(f'[roots]\nfar = "{address}"\n')
    with pytest.raises(errors.BadValue, match="no folder of this machine"):
        Workspace(address)
    with pytest.raises(errors.BadValue, match="no folder of this machine"):
        Workspace(folder / "a", f"far={address}")
    with pytest.raises(errors.BadValue, match="no folder of this machine"):
        config.open_roots(str(folder / "a"), config.further_roots(str(own)))


def test_a_folder_may_be_named_like_an_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "x:" / "y").mkdir(parents=True)
    monkeypatch.chdir(folder)
    with Workspace("x://y") as workspace:
        assert not workspace.call("list_directory", {}).is_error


def test_the_descriptors_of_a_refused_start_are_released(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        with pytest.raises(errors.BadValue):
            Workspace(folder / "a", f"X={folder / 'a'}")
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    assert after <= before + 1


def test_neighbours_whose_names_begin_alike_are_apart(folder: Path) -> None:
    (folder / "aa").mkdir()
    with Workspace(folder / "a", str(folder / "aa")) as workspace:
        assert len(workspace.folders) == 2


# --- settings -------------------------------------------------------------------------------------


def test_the_operators_file_adds_roots(folder: Path) -> None:
    (folder / "op.toml").write_text(
        '[policy]\ndeny = ["/sub/"]\n[roots]\nbee = "b:ro"\n[roots.sea]\npath = "c"\nconfig = "sea.toml"\n'
    )
    (folder / "sea.toml").write_text('[policy]\ndeny = ["f.txt"]\n')
    file = str(folder / "op.toml")
    store, options = config.open_roots(str(folder / "a"), config.further_roots(file))
    with Workspace(store, settings=config.loaded(store, options, file)) as workspace:
        assert [(one.name, one.read_only) for one in workspace.folders] == [
            (".", False),
            ("bee", True),
            ("sea", False),
        ]
        assert "denied by the rule '/sub/'" in reads(workspace, "bee/sub/x")
        assert "denied by the rule 'f.txt'" in reads(workspace, "sea/f.txt")
        assert "in b" in reads(workspace, "bee/f.txt")


@pytest.mark.parametrize("text", ['[roots]\nx = "/etc"\n', '[roots.x]\npath = "/etc"\n'])
@pytest.mark.parametrize("at", ["a", "b"])
def test_a_folders_own_file_adds_no_roots(folder: Path, text: str, at: str) -> None:
    (folder / at / "readroom.toml").write_text(text)
    with pytest.raises(errors.BadConfig, match="there is no such key"):
        Workspace(folder / "a", f"B={folder / 'b'}")


@pytest.mark.parametrize(
    ("text", "key"),
    [("[roots]\nx = 3\n", "roots.x"), ("[roots.x]\n", "roots.x.path"), ("[roots.x]\nbath = 1", "bath")],
)
def test_roots_that_cannot_be_read_are_named(folder: Path, text: str, key: str) -> None:
    (folder / "op.toml").write_text(text)
    with pytest.raises(errors.BadConfig) as failed:
        config.further_roots(str(folder / "op.toml"))
    assert key in str(failed.value)


def test_what_a_root_says_of_the_whole_workspace_only_restricts_it(folder: Path) -> None:
    (folder / "b" / "readroom.toml").write_text("[limits]\nreply_bytes = 2048\n[changes]\nread_only = true\n")
    with Workspace(folder / "a", f"B={folder / 'b'}") as workspace:
        assert workspace.limits.reply_bytes == 2048
        written = {"content": "x", "expected_hash": "absent"}
        assert "is read-only" in workspace.call("write_file", {"path": "B/n", **written}).text
        assert not workspace.call("write_file", {"path": "n", **written}).is_error


def test_a_broken_file_of_a_root_is_named_with_the_root(folder: Path) -> None:
    (folder / "b" / "readroom.toml").write_text("[policy\n")
    with pytest.raises(errors.BadConfig, match=r"B/readroom\.toml"):
        Workspace(folder / "a", f"B={folder / 'b'}")


def test_settings_of_one_root_restrict_the_others_too(folder: Path) -> None:
    store = config.open_store(folder / "a")
    (folder / "a" / "readroom.toml").write_text('[policy]\ndeny = ["f.txt"]\n')
    (folder / "b" / "readroom.toml").write_text('[policy]\ndeny = ["sub/"]\n')
    settings = config.load(store)
    store.close()
    with Workspace(folder / "a", f"B={folder / 'b'}", settings=settings) as workspace:
        assert "denied" in reads(workspace, "B/f.txt")
        assert "denied" in reads(workspace, "B/sub/x")
        assert "denied" not in reads(workspace, "sub/x")


def test_a_file_for_a_token_restricts_every_root(folder: Path) -> None:
    (folder / "token.toml").write_text('[policy]\ndeny = ["f.txt"]\n')
    with Workspace(folder / "a", f"B={folder / 'b'}:ro") as workspace:
        settings = config.restricted(workspace.settings, str(folder / "token.toml"))
        restricted = Workspace(config.opened_again(workspace.guard.store), settings=settings)
        for path in ("f.txt", "B/f.txt"):
            assert "in " in reads(workspace, path)
            assert "denied" in reads(restricted, path)
        assert [one.read_only for one in restricted.folders] == [False, True]
        restricted.close()


# --- stores ---------------------------------------------------------------------------------------


def test_a_store_of_another_kind_is_a_root(folder: Path) -> None:
    files = MemoryStore()
    files.put("notes/n.txt", b"in memory\n")
    with Workspace(folder / "a", RootOption(files, "mem")) as workspace:
        assert "in memory" in reads(workspace, "mem/notes/n.txt")
        assert "mem/notes/n.txt" in workspace.call("grep_files", {"pattern": "in memory"}).text
        made = workspace.call("write_file", {"path": "mem/new", "content": "x", "expected_hash": "absent"})
        assert not made.is_error, made.text
        names = ("f.txt", "mem/new")
        digest = [workspace.call("read_file", {"path": path}).facts["content_hash"] for path in names]
        edits = [
            {"path": path, "expected_hash": known, "old_text": old, "new_text": "y"}
            for path, known, old in zip(names, digest, ("in a", "x"), strict=True)
        ]
        refused = workspace.call("edit_file", {"edits": edits})
        assert "cannot be changed in one step" in refused.text
        assert (folder / "a" / "f.txt").read_text() == "in a\n"


def test_an_async_workspace_takes_them_too(folder: Path) -> None:
    async def read() -> str:
        async with AsyncWorkspace(folder / "a", f"B={folder / 'b'}") as workspace:
            return (await workspace.read("B/f.txt")).text

    assert "in b" in asyncio.run(read())
