"""The guard: rules, confinement and opening in one act."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.deadline import Deadline
from readroom.core.errors import (
    BadConfig,
    BadPath,
    Denied,
    HardLinked,
    NotAFile,
    NotAFolder,
    NotFound,
    OutsideRoot,
    StoreFailed,
)
from readroom.core.limits import MAX_PATH_DEPTH
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IGNORE_FILE_BYTES, IGNORE_FILE_LINES, NAMES, IgnoreTree
from readroom.core.policy.rules import AllowList, Denials, Rule, Rules
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import EntryKind
from tests.core.stores.worlds import WAYS, LocalWorld, MemoryWorld, Way, World
from tests.hostile.containers import zipped

FILES = frozenset((EntryKind.FILE,))
FOLDERS = frozenset((EntryKind.FOLDER,))


@pytest.fixture(params=[*WAYS, "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return MemoryWorld() if request.param == "memory" else LocalWorld(tmp_path, request.param)


def denying(*globs: str) -> Rules:
    return Rules([Denials(Rule(glob, "test", "because") for glob in globs)])


def test_what_is_allowed_is_opened(world: World) -> None:
    world.file("a/f", b"data")
    guard = Guard(world.store)
    with guard.open("a/f") as source:
        assert source.read_at(0, 9) == b"data"
    with guard.open_folder("a") as folder:
        assert [entry.name for entry in folder.entries()] == ["f"]
    real, stat = guard.stat("a/f")
    assert (real, stat.size) == ("a/f", 4)


@pytest.mark.parametrize("path", [".env", "a/.env", ".git/config", ".git", "x/.ssh/id", ".env/below"])
def test_a_denied_name_is_denied_whether_or_not_it_is_there(world: World, path: str) -> None:
    guard = Guard(world.store)

    def answers() -> list[str]:
        found = []
        for act in (guard.open, guard.open_folder, guard.stat):
            with pytest.raises(Denied) as caught:
                act(path)
            found.append(str(caught.value))
        return found

    absent = answers()
    world.file(path, b"secret")
    assert answers() == absent


def test_a_link_to_a_denied_name_is_denied_and_does_not_tell_it(world: World) -> None:
    world.file(".ssh/hosts", b"secret")
    world.file("private/notes", b"secret")
    world.link("open", "private/notes")
    world.link("open_folder", "private")
    world.link("keys", ".ssh")
    guard = Guard(world.store, denying("/private/", ".ssh"))
    for path in ("open", "open_folder/notes", "keys/hosts"):
        with pytest.raises(Denied) as caught:
            guard.open(path)
        assert caught.value.facts["path"] == path
        assert "notes" not in str(caught.value).replace(path, "")
        with pytest.raises(Denied):
            guard.stat(path)
    for path in ("open_folder", "keys"):
        with pytest.raises(Denied):
            guard.open_folder(path)
        with pytest.raises(Denied):
            guard.stat(path)


def test_the_name_that_was_asked_for_counts_as_well(world: World) -> None:
    world.file("real/f", b"data")
    world.link("private", "real")
    guard = Guard(world.store, denying("private"))
    with pytest.raises(Denied):
        guard.open("private/f")
    guard.open("real/f").close()


def test_a_rule_for_folders_gives_the_same_answer_to_whoever_reads_or_lists(world: World) -> None:
    guard = Guard(world.store, denying("secret/"))
    for act in (guard.open, guard.open_folder, guard.stat):
        with pytest.raises(Denied):
            act("secret")
    world.folder("secret")
    for act in (guard.open, guard.open_folder, guard.stat):
        with pytest.raises(Denied):
            act("secret")


def test_a_file_that_a_rule_for_folders_does_not_mean_is_opened(world: World) -> None:
    world.file("secret", b"data")
    guard = Guard(world.store, denying("secret/"))
    guard.open("secret").close()
    guard.stat("secret")


def test_the_deepest_path_there_is_can_be_asked_for(world: World) -> None:
    path = "/".join(["d"] * MAX_PATH_DEPTH)
    world.file(path, b"deep")
    world.file(".gitignore", b"*.o")
    guard = Guard(world.store)
    with guard.open(path) as source:
        assert source.read_at(0, 9) == b"deep"
    assert not IgnoreTree(guard).ignored(WorkPath(path), folder=False)


def test_what_is_no_file_or_no_folder_is_told(world: World) -> None:
    world.file("d/f")
    guard = Guard(world.store)
    with pytest.raises(NotAFile):
        guard.open("d")
    with pytest.raises(NotAFolder):
        guard.open_folder("d/f")
    for act in (guard.open, guard.open_folder, guard.stat):
        with pytest.raises(NotFound):
            act("d/nothing")


@pytest.mark.parametrize("path", ["../x", "a/../b", "./a", "a//b", "/etc/passwd", "a/", "", "a\0", ".."])
def test_paths_that_were_not_parsed_are_refused(world: World, path: str) -> None:
    guard = Guard(world.store)
    for act in (guard.open, guard.open_folder, guard.stat):
        with pytest.raises(BadPath):
            act(path)


def test_parsing_knows_the_names_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    guard = Guard(LocalStore(tmp_path))
    assert guard.parse(f"{tmp_path}/a/../f") == "f"
    assert guard.parse('"f"') == "f"
    with pytest.raises(OutsideRoot):
        guard.parse(str(tmp_path.parent))


@pytest.mark.parametrize("own", NAMES)
class TestIgnoreFile:
    """`.readroomignore`, and `.kilocodeignore` in the same way."""

    def test_its_patterns_deny_and_are_named_with_their_line(self, world: World, own: WorkPath) -> None:
        world.file(own, b"# kept from agents\n\nprivate/\n*.dump\n!public.dump\n")
        world.file("public.dump")
        guard = Guard(world.store)
        with pytest.raises(Denied) as caught:
            guard.open("private/a")
        assert caught.value.facts["source"] == f"{own}:3"
        assert caught.value.facts["rule"] == "private/"
        with pytest.raises(Denied):
            guard.open("a.dump")
        guard.open("public.dump").close()

    def test_a_change_takes_effect_with_the_next_call(self, world: World, own: WorkPath) -> None:
        world.file("a")
        guard = Guard(world.store)
        guard.open("a").close()
        world.file(own, b"a\n")
        with pytest.raises(Denied):
            guard.open("a")
        assert not guard.allows(WorkPath("a"), folder=False)
        world.file(own, b"b b\n")
        guard.open("a").close()
        world.file(own, b"a\n")
        with pytest.raises(Denied):
            guard.stat("a")
        world.delete(own)
        guard.open("a").close()

    def test_it_takes_back_no_other_denial(self, world: World, own: WorkPath) -> None:
        world.file(own, b"!.env\n!*\n")
        with pytest.raises(Denied):
            Guard(world.store).open(".env")

    @pytest.mark.parametrize(
        "data",
        [
            b"x" * (IGNORE_FILE_BYTES + 1),
            b"ok\n[z-a\n",
            b"trailing\\\n",
            b"a\n" * (IGNORE_FILE_LINES + 1),
        ],
    )
    def test_one_that_cannot_be_used_closes_the_workspace(
        self, world: World, own: WorkPath, data: bytes
    ) -> None:
        world.file("a", b"data")
        guard = Guard(world.store)
        world.file(own, data)
        for act in (guard.open, guard.open_folder, guard.stat):
            with pytest.raises(BadConfig) as caught:
                act("a")
            assert caught.value.facts["where"] == own
        with pytest.raises(BadConfig):
            Guard(world.store)

    @pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "itself", "."])
    def test_a_link_elsewhere_closes_the_workspace(self, world: World, own: WorkPath, target: str) -> None:
        world.file("a", b"data")
        world.link(own, own if target == "itself" else target)
        with pytest.raises(BadConfig):
            Guard(world.store)

    def test_names_in_it_are_bytes(self, world: World, own: WorkPath) -> None:
        world.file(own, "café\n".encode() + b"\xff*\n")
        guard = Guard(world.store)
        for path in ("café", "CAFÉ", "\udcffx"):
            assert not guard.allows(WorkPath(path), folder=False)

    @pytest.mark.parametrize("way", ["private/../a/secret", "link", "folder/secret", "twice"])
    def test_what_is_behind_a_name_is_denied(self, world: World, own: WorkPath, way: str) -> None:
        world.file("a/secret", b"canary")
        world.file("private/x")
        world.link("link", "a/secret")
        world.link("folder", "a")
        world.link("twice", "link")
        world.file(own, b"a/secret\n")
        guard = Guard(world.store)
        with pytest.raises(Denied) as caught:
            guard.open(guard.parse(way))
        assert caught.value.facts["source"] == f"{own}:1"

    def test_it_is_named_before_built_in_rules_that_say_the_same(self, world: World, own: WorkPath) -> None:
        world.file(own, b".env\n")
        with pytest.raises(Denied) as caught:
            Guard(world.store).open(".env")
        assert caught.value.facts["source"] == f"{own}:1"


@pytest.mark.parametrize("name", [".kilocodeignore", ".KiloCodeIgnore", "x/../.kilocodeignore", "link"])
def test_the_ignore_file_of_kilo_names_itself_and_nothing_takes_it_back(world: World, name: str) -> None:
    world.file("sub/.kilocodeignore", b"not of the root")
    world.link("link", ".kilocodeignore")
    guard = Guard(world.store)
    assert guard.allows(WorkPath(".kilocodeignore"), folder=False)
    world.file(".kilocodeignore", b"!.kilocodeignore\n!/.kilocodeignore\n!*\n")
    with pytest.raises(Denied):
        guard.open(guard.parse(name))
    guard.open("sub/.kilocodeignore").close()


def test_both_ignore_files_hold(world: World) -> None:
    world.file("a")
    world.file("b")
    world.file(".kilocodeignore", b"a\n!b\n")
    world.file(".readroomignore", b"b\n!a\n")
    guard = Guard(world.store)
    for path in ("a", "b"):
        with pytest.raises(Denied):
            guard.open(path)
    world.delete(".readroomignore")
    guard.open("b").close()
    with pytest.raises(Denied):
        guard.open("a")


class TestHardLinks:
    @pytest.fixture
    def local(self, tmp_path: Path) -> LocalWorld:
        world = LocalWorld(tmp_path, WAYS[0])
        world.file(".env", b"secret")
        world.file("a/f", b"data")
        return world

    def test_another_name_of_a_denied_file_is_refused(self, local: LocalWorld) -> None:
        os.link(local.root / ".env", local.root / "innocent")
        guard = Guard(local.store)
        with pytest.raises(HardLinked) as caught:
            guard.open("innocent")
        assert caught.value.facts["links"] == 2
        assert ".env" not in str(caught.value)

    def test_one_below_a_denied_folder_counts(self, local: LocalWorld) -> None:
        local.file(".git/objects/ab/cd", b"blob")
        os.link(local.root / ".git/objects/ab/cd", local.root / "innocent")
        with pytest.raises(HardLinked):
            Guard(local.store).open("innocent")

    def test_a_file_with_several_allowed_names_is_opened(self, local: LocalWorld) -> None:
        os.link(local.root / "a" / "f", local.root / "b")
        os.link(local.root / "a" / "f", local.base / "outside" / "f")
        with Guard(local.store).open("b") as source:
            assert source.stat.links == 3

    def test_policy_can_refuse_them_all(self, local: LocalWorld) -> None:
        guard = Guard(local.store, hardlinks="refuse")
        guard.open("a/f").close()
        os.link(local.root / "a" / "f", local.root / "b")
        for path in ("a/f", "b"):
            with pytest.raises(HardLinked):
                guard.open(path)

    def test_a_link_made_after_the_search_is_seen(self, local: LocalWorld) -> None:
        os.link(local.root / "a" / "f", local.root / "b")
        guard = Guard(local.store)
        guard.open("b").close()
        os.link(local.root / ".env", local.root / "innocent")
        with pytest.raises(HardLinked):
            guard.open("innocent")

    def test_a_denied_file_made_and_linked_after_the_search_is_seen(self, local: LocalWorld) -> None:
        os.link(local.root / "a" / "f", local.root / "b")
        guard = Guard(local.store)
        guard.open("b").close()
        local.file("later/.env", b"secret")
        os.link(local.root / "later" / ".env", local.root / "innocent")
        with pytest.raises(HardLinked):
            guard.open("innocent")

    def test_a_rule_made_after_the_search_counts(self, local: LocalWorld) -> None:
        os.link(local.root / "a" / "f", local.root / "b")
        guard = Guard(local.store)
        guard.open("b").close()
        local.file(".readroomignore", b"/a/\n")
        with pytest.raises(HardLinked):
            guard.open("b")


class TestNearNames:
    @pytest.fixture
    def guard(self) -> Guard:
        files = [
            "src/main.py",
            "src/maine.py",
            "src/util/paths.py",
            "docs/main.md",
            ".env.example",
            "README.md",
        ]
        hidden = [".env", ".env.local", "src/.env", "node_modules/mian.py", "src/secret/mian.py"]
        store = MemoryStore(dict.fromkeys([*files, *hidden], ""))
        store.put(".gitignore", "node_modules/\n")
        store.put(".readroomignore", "secret/\n")
        store.link("src/mian2.py", "nowhere")
        return Guard(store)

    @pytest.mark.parametrize(
        ("missing", "near"),
        [
            ("src/mian.py", ["src/main.py", "src/maine.py"]),
            ("src/MAIN.PY", ["src/main.py"]),
            ("main.py", ["src/main.py"]),
            ("scr/util/paths.py", ["src/util/paths.py"]),
            ("readme.md", ["README.md"]),
            ("zzz/qqqqqq", []),
        ],
    )
    def test_names_like_a_missing_file_are_found(self, guard: Guard, missing: str, near: list[str]) -> None:
        assert guard.near(missing, FILES, Deadline())[: len(near) or 1] == near

    def test_names_like_a_missing_folder_are_found(self, guard: Guard) -> None:
        assert guard.near("scr", FOLDERS, Deadline()) == ["src"]
        assert guard.near("src/utils", FOLDERS, Deadline()) == ["src/util"]

    def test_denied_names_and_dead_links_are_never_suggested(self, guard: Guard) -> None:
        assert guard.near(".env.exmaple", FILES, Deadline()) == [".env.example"]
        for missing in ("src/mian.py", "src/mian3.py", "src/.enw", "src/secre", "mian.py"):
            found = guard.near(missing, FILES | FOLDERS, Deadline())
            assert not {".env", "src/.env", "src/secret", "src/mian2.py", "node_modules/mian.py"} & set(found)
            assert len(found) <= 3

    def test_every_suggestion_can_be_opened(self, guard: Guard) -> None:
        for missing in ("src/m.py", "x/main.py", "docs/main"):
            for name in guard.near(missing, FILES, Deadline()):
                guard.open(name).close()

    def test_an_allow_list_keeps_the_rest_to_itself(self) -> None:
        store = MemoryStore({"open/a.txt": "", "shut/a.txt": ""})
        guard = Guard(store, Rules([AllowList(["/open/"], "test")]))
        assert guard.near("open/b.txt", FILES, Deadline()) == ["open/a.txt"]


def test_closing_the_guard_closes_the_store(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    guard = Guard(LocalStore(tmp_path))
    guard.close()
    with pytest.raises(StoreFailed, match="closed"):
        guard.open("f")


def test_of_a_folder_only_names_that_may_be_seen_can_be_opened(world: World) -> None:
    for name in ("a/seen", "a/.env", "a/private/x", "a/secret.txt"):
        world.file(name, b"text")
    guard = Guard(world.store, Rules([Denials([Rule("secret.*", "test", ""), Rule(".env", "test", "")])]))
    with guard.open_folder("a") as folder:
        visible = guard.visible(folder)
        assert dict(visible.kinds) == {"seen": EntryKind.FILE, "private": EntryKind.FOLDER}
        with visible.open("seen") as source:
            assert source.read_at(0, 9) == b"text"
        for name in (".env", "secret.txt", "nothing", "../a/seen", "private/x"):
            with pytest.raises(NotFound):
                visible.open(name)


@pytest.mark.parametrize("way", WAYS)
def test_another_name_of_a_denied_file_is_not_opened_from_its_folder(way: Way, tmp_path: Path) -> None:
    world = LocalWorld(tmp_path, way)
    world.file("a/secret.txt", b"text")
    place = next(tmp_path.rglob("secret.txt"))
    os.link(place, place.with_name("plain"))
    guard = Guard(world.store, Rules([Denials([Rule("secret.*", "test", "")])]))
    with guard.open_folder("a") as folder, pytest.raises(HardLinked):
        guard.visible(folder).open("plain")


@pytest.mark.parametrize("way", WAYS)
def test_a_pipe_or_link_in_place_of_a_file_is_not_opened_from_its_folder(way: Way, tmp_path: Path) -> None:
    """Both may come after the names were read: opening neither waits nor follows."""
    world = LocalWorld(tmp_path, way)
    world.file("a/x", b"text")
    world.file("outside", b"text")
    guard = Guard(world.store)
    with guard.open_folder("a") as folder:
        visible = guard.visible(folder)
        place = next(tmp_path.rglob("a")) / "x"
        place.unlink()
        os.mkfifo(place)
        with pytest.raises(NotAFile):
            visible.open("x")
        place.unlink()
        place.symlink_to("../outside")
        with pytest.raises(NotAFile):
            visible.open("x")


@pytest.mark.parametrize(
    "name", ["id_rsa.gz", "KEY.PEM.GZ", "sub/a.key.xz", ".netrc.zst", "a.zip!/id_rsa.bz2"]
)
def test_what_is_denied_is_denied_when_it_is_compressed(name: str) -> None:
    """Reads and searches show the content of compressed files."""
    packed = gzip.compress(b"CANARY\n")
    files = {name: packed} if "!" not in name else {"a.zip": zipped({name.partition("!/")[2]: packed})}
    with Workspace(MemoryStore({**files, "notes.md.gz": packed})) as workspace:
        assert "denied" in workspace.call("read_file", {"path": name}).text
        include = ["compressed", "hidden", "archives"]
        for tool, rest in (("grep_files", {"pattern": "CANARY"}), ("find_relevant", {"query": "canary"})):
            reply = workspace.call(tool, {**rest, "include": include})
            assert name.rpartition("/")[2] not in reply.text
            assert "notes.md.gz" in reply.text


def test_a_list_of_what_is_allowed_says_it_of_compressed_files_themselves() -> None:
    rules = Rules([AllowList(["*.gz"], "test")])
    assert rules.decide(WorkPath("notes.gz"), folder=False).allowed
    assert not rules.decide(WorkPath("notes"), folder=False).allowed
