"""Names as deepagents takes and gives them: listings, globs, paths, dots and links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.filesystem import FilesystemBackend
from deepagents.backends.protocol import GlobResult, GrepResult, LsResult
from hypothesis import given
from hypothesis import strategies as st

from readroom import Workspace
from readroom.adapters.deepagents import WorkspaceBackend
from readroom.adapters.deepagents.contract import ENTRIES
from readroom.core.config import Settings
from readroom.core.errors import NoFolder
from readroom.core.limits import Limits
from readroom.core.stores.memory import MemoryStore
from tests.adapters.deepagents.locked import locked_store

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours

TREE = ("a.py", "sub/b.py", "sub/nested/c.py", "readme.md", ".hidden.py", ".hidden/x.py", ".github/ci.yml")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in TREE:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("text\n")
    return tmp_path


@pytest.fixture
def backend(root: Path) -> Iterator[WorkspaceBackend]:
    with Workspace(root) as workspace:
        yield WorkspaceBackend(workspace)


def paths(result: LsResult | GlobResult) -> list[str]:
    assert result.error is None
    infos = result.entries if isinstance(result, LsResult) else result.matches
    assert infos is not None
    return [info["path"] for info in infos]


# -----------------------------------------------------------------------------
# Listings.
# -----------------------------------------------------------------------------


def test_a_listing_has_the_names_of_one_folder_in_order_and_folders_end_with_a_slash(
    backend: WorkspaceBackend,
) -> None:
    listed = paths(backend.ls("/"))
    assert listed == sorted(listed)
    assert listed == ["/.github/", "/.hidden.py", "/.hidden/", "/a.py", "/readme.md", "/sub/"]
    assert paths(backend.ls("/sub")) == paths(backend.ls("/sub/")) == ["/sub/b.py", "/sub/nested/"]


def test_a_listing_says_what_is_known_of_a_name(backend: WorkspaceBackend) -> None:
    file, folder = (backend.ls("/sub").entries or [])[:2]
    assert (file["is_dir"], file["size"]) == (False, 5)
    assert (folder["is_dir"], folder["size"]) == (True, 0)
    assert file["modified_at"].startswith("20")


def test_a_listing_of_an_empty_folder_is_empty(backend: WorkspaceBackend, root: Path) -> None:
    (root / "empty").mkdir()
    assert backend.ls("/empty/") == LsResult(entries=[])


@pytest.mark.parametrize(
    ("path", "error"),
    [("/missing/", "path_not_found"), ("/a.py", "not_a_directory"), ("/a.py/x", "path_not_found")],
)
def test_a_listing_that_fails_has_a_token(backend: WorkspaceBackend, path: str, error: str) -> None:
    assert backend.ls(path) == LsResult(error=f"Path '{path}': {error}")


def test_a_link_is_listed_as_what_it_leads_to(backend: WorkspaceBackend, root: Path) -> None:
    (root / "sub" / "file").symlink_to("b.py")
    (root / "sub" / "folder").symlink_to("nested")
    (root / "sub" / "nowhere").symlink_to("gone")
    (root / "sub" / "outside").symlink_to("/etc")
    (root / "sub" / "loop").symlink_to("loop")
    listed = {info["path"]: info for info in backend.ls("/sub").entries or []}
    assert listed.keys() == {"/sub/b.py", "/sub/file", "/sub/folder/", "/sub/nested/"}
    assert listed["/sub/file"]["size"] == 5
    assert listed["/sub/folder/"]["is_dir"]


@pytest.mark.clause("deepagents.loops")
def test_a_folder_of_nothing_but_loops_says_so(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with Workspace(tmp_path) as workspace:
        listed = WorkspaceBackend(workspace).ls("/")
    assert listed.entries == []
    assert listed.error == "child error: cannot resolve '/loop': a loop of links"


# -----------------------------------------------------------------------------
# Globs.
# -----------------------------------------------------------------------------

BARE = {"/a.py", "/sub/b.py", "/sub/nested/c.py", "/.hidden/x.py"}
WALKED = BARE - {"/.hidden/x.py"}


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.py", "/", BARE),
        ("**/*.py", "/", WALKED),
        ("sub/*.py", "/", {"/sub/b.py"}),
        ("sub/**/*.py", "/", {"/sub/b.py", "/sub/nested/c.py"}),
        ("/*.py", "/", {"/a.py"}),
        ("a.py/**", "/", set()),
        ("missing/*.py", "/", set()),
        ("*.py", "/sub", {"/sub/b.py", "/sub/nested/c.py"}),
        ("nested/*", "/sub/", {"/sub/nested/c.py"}),
        ("*.yml", "/", {"/.github/ci.yml"}),
        ("**/*.yml", "/", set()),
        (".github/**/*.yml", "/", {"/.github/ci.yml"}),
        (".*.py", "/", {"/.hidden.py"}),
        ("*", "/", BARE | {"/readme.md", "/.github/ci.yml"}),
        ("*.{py,md}", "/", BARE | {"/readme.md"}),
        ("{a,{b,c}}.py", "/", WALKED),
        ("?.py", "/", BARE),
        ("[ab].py", "/", {"/a.py", "/sub/b.py"}),
        ("[!a].py", "/", BARE - {"/a.py"}),
        ("[^a].py", "/", BARE - {"/a.py"}),
        ("sub/", "/", set()),
        ("sub", "/", set()),
    ],
)
def test_a_glob_means_what_it_means_in_deepagents(
    backend: WorkspaceBackend, pattern: str, path: str, expected: set[str]
) -> None:
    """Without a slash it is about names at any depth; dots are matched by dots; folders are never matched."""
    found = paths(backend.glob(pattern, path))
    assert found == sorted(expected)


PARTS = st.sampled_from(["a", "b.py", ".c", ".py", "a.py", "[x]", "{y}"])
WILD = st.sampled_from(
    ["*", "**", "*.py", "?", "[ab]*", "[!a]", "{a,b.py}", ".*", "a", ".c", "b.py", "{*,.*}"]
)


@given(
    names=st.lists(st.lists(PARTS, min_size=1, max_size=3), max_size=6),
    glob=st.lists(WILD, min_size=1, max_size=3),
    anchored=st.booleans(),
    below=st.sampled_from(["/", "/a", "/.c"]),
)
def test_globs_find_what_those_of_deepagents_find(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[list[str]],
    glob: list[str],
    anchored: bool,
    below: str,
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for name in names:
        file = root.joinpath(*name)
        if not any(above.is_file() for above in file.parents) and not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("needle\n")
    pattern = ("/" if anchored else "") + "/".join(glob)
    theirs = FilesystemBackend(root)
    if not (root / below.strip("/")).is_dir():
        below = "/"
    with Workspace(root) as workspace:
        ours = WorkspaceBackend(workspace)
        assert paths(ours.glob(pattern, below)) == paths(theirs.glob(pattern, below))


TOO_MANY = "{" + ",".join(map(str, range(1001))) + "}"
"""More alternatives than deepagents expands."""


@pytest.mark.parametrize("pattern", ["../*.py", "a/../b", TOO_MANY], ids=["up", "down and up", "too many"])
def test_a_glob_that_is_refused_is_an_error(backend: WorkspaceBackend, pattern: str) -> None:
    found, searched = backend.glob(pattern), backend.grep("text", glob=pattern)
    assert found.error
    assert found.matches is None
    assert searched == GrepResult(error=found.error, matches=[])


@pytest.mark.clause("deepagents.missing_search")
def test_a_glob_in_a_folder_that_is_not_there_says_so(backend: WorkspaceBackend) -> None:
    assert backend.glob("*", "/missing") == GlobResult(error="Path '/missing': path_not_found")


def test_a_glob_that_could_not_look_into_a_folder_says_so() -> None:
    with Workspace(locked_store()) as workspace:
        found = WorkspaceBackend(workspace).glob("*.txt", "/sub")
    assert paths(found) == ["/sub/b.txt"]
    assert (found.truncated, found.truncation_reason) == (True, "unreadable")


def test_a_glob_that_takes_too_long_has_what_it_found(root: Path) -> None:
    with Workspace(root, settings=Settings(limits=Limits(list_timeout_s=1e-9))) as workspace:
        found = WorkspaceBackend(workspace).glob("missing*")
    assert (found.error, found.matches) == (None, [])
    assert (found.truncated, found.truncation_reason) == (True, "budget")


def test_a_listing_has_every_name_and_a_glob_the_first_ten_thousand(root: Path) -> None:
    many = root / "many"
    many.mkdir()
    for number in range(ENTRIES + 1):
        (many / f"{number:05}.log").touch()
    with Workspace(root) as workspace:
        backend = WorkspaceBackend(workspace)
        listed, found = backend.ls("/many"), backend.glob("[0-9]*.log")
    assert paths(listed) == [f"/many/{number:05}.log" for number in range(ENTRIES + 1)]
    assert paths(found) == [f"/many/{number:05}.log" for number in range(ENTRIES)]
    assert (found.truncated, found.truncation_reason) == (True, "budget")


@pytest.mark.clause("deepagents.links")
def test_a_glob_finds_links_to_files_and_never_what_is_outside(
    backend: WorkspaceBackend, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.py").write_text("text\n")
    (root / "sub" / "link.py").symlink_to("b.py")
    (root / "sub" / "leak.py").symlink_to(outside / "secret.py")
    (root / "sub" / "leaks").symlink_to(outside)
    assert paths(backend.glob("l*.py")) == ["/sub/link.py"]
    assert paths(backend.glob("secret.py")) == []


@pytest.mark.clause("deepagents.ignored")
def test_ignored_files_are_listed_and_found_only_in_a_folder_that_is_named(
    backend: WorkspaceBackend, root: Path
) -> None:
    (root / ".gitignore").write_text("build/\n")
    (root / "build").mkdir()
    (root / "build" / "made.py").write_text("needle\n")
    assert "/build/" in paths(backend.ls("/"))
    assert paths(backend.ls("/build")) == ["/build/made.py"]
    assert paths(backend.glob("made.py")) == []
    assert backend.grep("needle").matches == []
    assert paths(backend.glob("build/*.py")) == paths(backend.glob("*", "/build")) == ["/build/made.py"]
    assert [match["path"] for match in backend.grep("needle", "/build").matches or []] == ["/build/made.py"]


@pytest.mark.clause("deepagents.hidden_search")
def test_a_search_looks_into_hidden_names_that_are_named(backend: WorkspaceBackend) -> None:
    def searched(path: str | None = None, glob: str | None = None) -> set[str]:
        return {match["path"] for match in backend.grep("text", path, glob).matches or []}

    assert searched() == {"/a.py", "/readme.md", "/sub/b.py", "/sub/nested/c.py"}
    assert searched("/.hidden") == {"/.hidden/x.py"}
    assert searched(glob=".*.py") == {"/.hidden.py"}
    assert searched(glob=".github/**") == {"/.github/ci.yml"}


# -----------------------------------------------------------------------------
# Paths.
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/../a.py", "/sub/../../a.py", "..", "sub/.."])
def test_a_path_that_leads_upward_is_no_path(backend: WorkspaceBackend, path: str) -> None:
    """deepagents checks the paths of its tools before; a program is told by an exception."""
    calls: list[Any] = [
        lambda: backend.read(path),
        lambda: backend.ls(path),
        lambda: backend.glob("*", path),
        lambda: backend.write(path, "x"),
        lambda: backend.edit(path, "a", "b"),
        lambda: backend.delete(path),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="Path traversal not allowed"):
            call()
    assert "Path traversal not allowed" in (backend.grep("x", path).error or "")


@pytest.mark.clause("deepagents.dots_inside")
def test_dots_inside_a_name_are_no_way_upward(backend: WorkspaceBackend) -> None:
    assert backend.write("/a..b.md", "x").error is None
    assert paths(backend.glob("a..b.md")) == ["/a..b.md"]


def test_names_that_need_quotes_elsewhere_are_as_they_are(backend: WorkspaceBackend, root: Path) -> None:
    for name in ('"quoted".txt', "line\nfeed.txt", "back\\slash.txt", " blanks .txt", "naïve 世界.txt"):
        assert backend.write(f"/odd/{name}", "text\n").path == f"/odd/{name}"
        assert (root / "odd" / name).read_text() == "text\n"
        assert paths(backend.glob("*", "/odd")) == [f"/odd/{name}"] == paths(backend.ls("/odd"))
        assert [match["path"] for match in backend.grep("text", "/odd").matches or []] == [f"/odd/{name}"]
        assert backend.delete(f"/odd/{name}").error is None


def test_slashes_at_both_ends_and_in_the_middle_make_no_difference(backend: WorkspaceBackend) -> None:
    assert backend.read("//sub///b.py").file_data == backend.read("/sub/b.py").file_data


def test_paths_of_this_machine_work_without_virtual_mode(root: Path) -> None:
    with Workspace(root) as workspace:
        backend = WorkspaceBackend(workspace, virtual_mode=False)
        assert not backend.virtual_mode
        assert paths(backend.ls(f"{root}/sub")) == [f"{root}/sub/b.py", f"{root}/sub/nested/"]
        assert paths(backend.ls("/")) == paths(backend.ls(str(root)))
        assert paths(backend.glob("sub/*.py")) == paths(backend.glob("*.py", f"{root}/sub"))[:1]
        found = backend.grep("text", f"{root}/sub/b.py").matches
        assert found == [{"path": f"{root}/sub/b.py", "line": 1, "text": "text"}]
        assert backend.read(f"{root}/a.py").error is None
        assert backend.read("a.py").error is None
        assert backend.write(f"{root}/new.txt", "x").path == f"{root}/new.txt"
        assert backend.edit(f"{root}/new.txt", "x", "y").error is None
        assert backend.delete(f"{root}/new.txt").error is None


@pytest.mark.clause("deepagents.machine_paths")
def test_nothing_outside_is_in_reach_without_virtual_mode(root: Path) -> None:
    with Workspace(root) as workspace:
        backend = WorkspaceBackend(workspace, virtual_mode=False)
        beside = f"{root}-beside"
        errors = [
            backend.read("/etc/passwd").error,
            backend.ls("/etc").error,
            backend.glob("*", "/etc").error,
            backend.grep("root", "/etc/passwd").error,
            backend.write(f"{beside}/x", "x").error,
            backend.delete(beside).error,
        ]
        assert all("outside the workspace" in (error or "") for error in errors)
        assert backend.download_files(["/etc/passwd"])[0].error == "permission_denied"
        assert backend.upload_files([(f"{beside}/x", b"x")])[0].error == "permission_denied"


def test_a_store_in_memory_has_no_paths_of_this_machine() -> None:
    with Workspace(MemoryStore()) as workspace:
        assert WorkspaceBackend(workspace).write("/a", "x").error is None
        with pytest.raises(NoFolder):
            WorkspaceBackend(workspace, virtual_mode=False)
