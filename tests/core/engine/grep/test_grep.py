"""grep_files: what is found, in which files, in what order, and how it goes on. On disk and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from readroom.core.errors import BadCursor, BadPattern, Denied, NotFound, OutsideRoot
from readroom.core.limits import MIN_REPLY_BYTES, Limits
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap, GrepRequest, GrepResult, Include
from readroom.core.workspace import Workspace
from tests.core.engine.grep.searching import CAP, context, matches, pages, paths, rows, search, write
from tests.each import each
from tests.suites import daily

ALL: frozenset[Include] = frozenset({"hidden", "ignored", "binary"})


class World:
    """A store that is filled by name."""

    def __init__(self, kind: str, root: Path) -> None:
        self.root = root
        self.local = kind == "disk"
        self.memory = MemoryStore()
        self.store: Store = LocalStore(root) if self.local else self.memory
        self._count = 0

    def files(self, files: dict[str, bytes | str]) -> None:
        for path, data in files.items():
            content = data.encode() if isinstance(data, str) else data
            if self.local:
                write(self.root, {path: content})
            else:
                self.memory.put(path, content)

    def link(self, path: str, target: str) -> None:
        if self.local:
            (self.root / path).symlink_to(target)
        else:
            self.memory.link(path, target)

    def find(self, pattern: str, **options: object) -> GrepResult:
        return search(self.store, replace(GrepRequest(pattern), **options))

    def found_in(self, **options: object) -> list[str]:
        """The files in which `needle`, or another `pattern`, is found."""
        return paths(self.find(**{"pattern": "needle", **options}))  # type: ignore[arg-type]  # by name


@pytest.fixture(params=["disk", "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    (tmp_path / "root").mkdir()
    made = World(request.param, tmp_path / "root")
    yield made
    made.store.close()


# --- what is shown ---------------------------------------------------------------------------


def test_matching_lines_come_by_file_in_path_order(world: World) -> None:
    world.files({"b/x": "needle\n", "b.txt": "no\nneedle 1\nneedle 2", "a": "hay\n", "b/.x": "needle"})
    result = world.find("needle")
    # A folder's files come where the folder's name stands: "b" before "b.txt".
    assert rows(result) == [("b/x", 1, "needle"), ("b.txt", 2, "needle 1"), ("b.txt", 3, "needle 2")]
    assert (result.shown, result.complete, result.reason, result.next) == (3, True, None, None)
    assert [file.matches for file in result.files] == [1, 2]


def test_lines_around_matches_are_shown_once(world: World) -> None:
    world.files({"a": "".join(f"{n}{' x' if n in (3, 5, 12) else ''}\n" for n in range(1, 14))})
    result = world.find("x", before=1, after=2)
    assert [number for _, number, _ in rows(result)] == [3, 5, 12]
    assert [number for _, number in context(result)] == [2, 4, 6, 7, 11, 13]
    assert [line.number for line in result.files[0].lines] == [2, 3, 4, 5, 6, 7, 11, 12, 13]


def test_a_match_that_an_earlier_page_showed_may_be_context(world: World) -> None:
    world.files({"a": "x 1\nx 2\nx 3\n"})
    first, second, third = pages(world.store, GrepRequest("x", before=1, after=1, limit=1))
    assert rows(first) == [("a", 1, "x 1")]
    assert context(first) == [("a", 2)]
    assert rows(second) == [("a", 2, "x 2")]
    assert context(second) == [("a", 1), ("a", 3)]
    assert (rows(third), third.complete, third.next) == ([("a", 3, "x 3")], True, None)


@pytest.mark.parametrize(("output", "counted"), [("files", [1, 1]), ("count", [2, 1])])
def test_files_and_counts_show_no_lines(world: World, output: str, counted: list[int]) -> None:
    world.files({"a": "x\ny\nx x\n", "b": "x", "c": "y"})
    result = world.find("x", output=output)
    assert [(file.path, file.matches, list(file.lines)) for file in result.files] == [
        ("a", counted[0], []),
        ("b", counted[1], []),
    ]
    assert result.shown == 2


def test_case_text_and_lines_as_asked_for(world: World) -> None:
    world.files({"a": "Foo.Bar\nfoo bar\nÉcole\nfoo\nbar\n"})
    assert matches(world.find("foo")) == [("a", 2), ("a", 4)]
    assert matches(world.find("foo", ignore_case=True)) == [("a", 1), ("a", 2), ("a", 4)]
    assert matches(world.find("école", ignore_case=True)) == [("a", 3)]
    assert matches(world.find("o.B", fixed=True)) == [("a", 1)]
    assert matches(world.find(r"foo\nbar", multiline=True)) == [("a", 4), ("a", 5)]


def test_words_have_their_borders_where_rg_sees_them() -> None:
    """RE2 alone would find `école` as well; on disk rg decides."""
    store = MemoryStore({"a": "the cole\nécole\n"})
    assert matches(search(store, GrepRequest(r"\bcole\b"))) == [("a", 1), ("a", 2)]


def test_words_on_disk_have_borders_beside_any_letter(tmp_path: Path) -> None:
    write(tmp_path, {"a": "the cole\nécole\n".encode(), "b": "école\n".encode()})
    result = search(LocalStore(tmp_path), GrepRequest(r"\bcole\b"))
    assert matches(result) == [("a", 1)]


def test_patterns_that_only_rg_knows_work_on_disk_and_are_refused_in_memory(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"foobar\nfoo\n", "b": b"x\r\nfoo\r\n"})
    request = GrepRequest(r"\bfoo\>", before=1)
    assert rows(search(LocalStore(tmp_path), request)) == [("a", 2, "foo"), ("b", 2, "foo")]
    assert search(LocalStore(tmp_path), replace(request, output="count")).shown == 2
    with pytest.raises(BadPattern, match="not on disk"):
        search(MemoryStore(), request)


# --- which files -----------------------------------------------------------------------------

TREE: dict[str, bytes | str] = {
    "a.py": "needle",
    "a.js": "needle",
    "src/b.py": "needle",
    "src/deep/c.py": "needle",
    "src/deep/c.ts": "needle",
    "src/.h.py": "needle",
    ".dot/d.py": "needle",
    "build/e.py": "needle",
    "log.txt": "needle",
    ".gitignore": "build/\n*.txt\n",
    "data.bin": b"needle\0\0\1",
}


@daily(12,
    ("options", "expected"),
    [
        ({}, ["a.js", "a.py", "src/b.py", "src/deep/c.py", "src/deep/c.ts"]),
        ({"glob": ("*.py",)}, ["a.py", "src/b.py", "src/deep/c.py"]),
        ({"glob": ("*.{js,ts}",)}, ["a.js", "src/deep/c.ts"]),
        ({"glob": ("/*.py",)}, ["a.py"]),
        ({"glob": ("src/*.py",)}, ["src/b.py"]),
        ({"glob": ("src/**",)}, ["src/b.py", "src/deep/c.py", "src/deep/c.ts"]),
        ({"glob": ("src/",)}, ["src/b.py", "src/deep/c.py", "src/deep/c.ts"]),
        ({"glob": ("deep/",)}, ["src/deep/c.py", "src/deep/c.ts"]),
        ({"glob": ("src/", "!*.ts")}, ["src/b.py", "src/deep/c.py"]),
        ({"glob": ("!src",)}, ["a.js", "a.py"]),
        ({"glob": ("!*.py",)}, ["a.js", "src/deep/c.ts"]),
        ({"glob": ("!*.py", "b.py")}, ["src/b.py"]),
        ({"glob": ("**/deep/*.py", "a.js")}, ["a.js", "src/deep/c.py"]),
        ({"glob": ("*",)}, ["a.js", "a.py", "src/b.py", "src/deep/c.py", "src/deep/c.ts"]),
        ({"glob": ("*.txt",)}, []),
        ({"glob": ("nowhere/**",)}, []),
        ({"type": "py"}, ["a.py", "src/b.py", "src/deep/c.py"]),
        ({"type": "py", "glob": ("src/**",)}, ["src/b.py", "src/deep/c.py"]),
        ({"path": "src"}, ["src/b.py", "src/deep/c.py", "src/deep/c.ts"]),
        ({"path": "src", "glob": ("deep/*.ts",)}, ["src/deep/c.ts"]),
        ({"include": frozenset({"hidden"}), "glob": ("*.py",)},
         [".dot/d.py", "a.py", "src/.h.py", "src/b.py", "src/deep/c.py"]),
        ({"include": frozenset({"ignored"}), "glob": ("*.txt", "build/")}, ["build/e.py", "log.txt"]),
        ({"include": frozenset({"binary"}), "glob": ("data*",)}, ["data.bin"]),
        ({"include": ALL, "glob": (".*/",)}, [".dot/d.py"]),
    ],
)  # fmt: skip
def test_globs_types_and_kinds_of_files(
    world: World, options: dict[str, object], expected: list[str]
) -> None:
    world.files(TREE)
    assert world.found_in(**options) == expected


def test_a_folder_that_was_asked_for_is_searched_though_it_is_hidden_or_ignored(world: World) -> None:
    world.files(TREE)
    assert world.found_in(path=".dot") == [".dot/d.py"]
    assert world.found_in(path="build") == ["build/e.py"]


def test_ignore_files_of_all_folders_down_from_the_root_count(world: World) -> None:
    world.files(
        {
            ".gitignore": "*.log\n/src/skip\n",
            "src/.gitignore": "!keep.log\n/own\n",
            "src/keep.log": "needle",
            "src/other.log": "needle",
            "src/skip/x": "needle",
            "src/own": "needle",
            "src/in/own": "needle",
            "src/in/a.log": "needle",
        }
    )
    expected = ["src/in/own", "src/keep.log"]
    assert (
        world.found_in() == world.found_in(path="src") == world.found_in(path="src", glob=("*",)) == expected
    )
    assert world.found_in(path="src/in") == ["src/in/own"]
    assert world.found_in(path="src/in", glob=("*.log",)) == []


@pytest.mark.parametrize("confined", [True, False])
def test_a_repository_inside_another_has_its_own_ignore_files(world: World, confined: bool) -> None:
    world.files(
        {
            ".git/HEAD": "needle",
            ".gitignore": "*.log\n",
            "a.log": "needle",
            "vendor/.git/HEAD": "needle",
            "vendor/b.log": "needle",
            "vendor/sub/c.log": "needle",
        }
    )

    def found_in(path: str) -> list[str]:
        return paths(search(world.store, GrepRequest("needle", path), confined=confined))

    assert found_in(".") == found_in("vendor") == ["vendor/b.log", "vendor/sub/c.log"]
    assert found_in("vendor/sub") == ["vendor/sub/c.log"]


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize("path", [".", "sub"])
def test_ignore_files_above_the_root_and_settings_of_rg_do_not_count(
    confined: bool, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        {
            ".gitignore": b"*\n",
            ".ignore": b"*\n",
            "rc": b"--files\n",
            "root/.ignore": b"*\n",
            "root/.rgignore": b"*\n",
            "root/sub/a": b"needle",
        },
    )
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    result = search(LocalStore(tmp_path / "root"), GrepRequest("needle", path), confined=confined)
    assert paths(result) == ["sub/a"]


def test_links_are_not_followed_unless_one_was_asked_for(world: World) -> None:
    world.files({"src/a": "needle"})
    world.link("again", "src")
    world.link("src/b", "a")
    assert world.found_in() == ["src/a"]
    assert world.found_in(path="again") == ["again/a"]
    assert world.found_in(path="src/b") == ["src/b"]
    assert world.found_in(path="again", glob=("src/*",)) == []


def test_denied_files_are_not_found_not_named_and_not_counted(world: World) -> None:
    world.files(
        {".env": "needle", "key.pem": "needle", ".git/x": "needle", ".ssh/a": "needle", "ok": "needle"}
    )
    for output in ("content", "files", "count"):
        result = world.find("needle", output=output, include=ALL)
        assert (paths(result), result.shown, result.complete) == (["ok"], 1, True)
    with pytest.raises(Denied):
        world.find("needle", path=".env")
    with pytest.raises(Denied):
        world.find("needle", path=".git")


def test_a_readroomignore_keeps_whole_folders_from_searches(world: World) -> None:
    world.files(
        {
            ".readroomignore": "/data/\nsecret*\n",
            "data/a": "needle",
            "x/data/b": "needle",
            "secret.txt": "needle",
        }
    )
    assert world.found_in(include=ALL) == ["x/data/b"]
    assert world.found_in(path="x", include=ALL) == ["x/data/b"]


def test_a_file_that_was_asked_for_is_searched_whatever_it_is_called(world: World) -> None:
    world.files(TREE)
    for path in ("log.txt", "src/.h.py", "build/e.py"):
        assert world.found_in(path=path) == [path]
        assert world.found_in(path=path, glob=("*.nothing",), type="js") == [path]


def test_finding_nothing_says_where_nobody_looked(world: World) -> None:
    world.files({"a": "x", ".b": "x", "i": "x", ".gitignore": "i", "c": bytes(range(9)) * 9})
    hidden, ignored, binary = "2 hidden (.b, .gitignore)", "1 ignored (i)", "1 binary (c)"
    for sort in ("path", "mtime", "relevance"):
        for pattern in ("nothing", "x"):
            (warning,) = world.find(pattern, sort=sort).warnings
            assert warning.detail == f"{hidden}, {ignored}, {binary}"
    (warning,) = world.find("nothing", include=frozenset({"hidden", "binary"})).warnings
    assert warning.detail == ignored
    assert world.find("nothing", include=ALL).warnings == []
    assert world.find("x", path=".b").warnings == []


def test_a_binary_file_says_that_it_was_not_searched(world: World) -> None:
    world.files(TREE)
    result = world.find("needle", path="data.bin")
    assert (result.files, result.complete) == ([], True)
    assert [warning.code for warning in result.warnings] == ["binary"]
    (omission,) = result.omitted
    assert isinstance(omission.request, GrepRequest)
    assert paths(search(world.store, omission.request)) == ["data.bin"]


@pytest.mark.parametrize(("path", "error"), [("nothing", NotFound), ("nothing/at/all", NotFound)])
def test_what_is_not_there_is_said_to_be_missing(world: World, path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        world.find("x", path=path)


def test_a_link_out_of_the_root_is_refused(world: World) -> None:
    world.link("out", "../elsewhere")
    with pytest.raises(OutsideRoot):
        world.find("x", path="out")
    assert world.found_in() == []


# --- order -----------------------------------------------------------------------------------


def test_newest_files_come_first_and_pages_go_on_there(tmp_path: Path) -> None:
    memory = MemoryStore()
    for age, name in enumerate(["old", "b", "a", "new"]):
        memory.put(name, "x 1\nx 2\n", mtime_ns=10 if name in "ab" else age * 100)
    found = list(pages(memory, GrepRequest("x", sort="mtime", limit=3)))
    assert [place for page in found for place in matches(page)] == [
        (name, line) for name in ("new", "a", "b", "old") for line in (1, 2)
    ]


def test_the_best_match_for_several_words_comes_first(world: World) -> None:
    world.files(
        {
            "a": "timeout\n" * 5,
            "b": "connect\n\n\n\ntimeout\n",
            "c": "connect\ntimeout\n",
            "d": "connect timeout\n",
            "e": "timeout connect\ntimeout\n",
        }
    )
    # Both words at once in the shortest texts first, then both apart, then one of them.
    assert world.found_in(pattern="connect|timeout", sort="relevance") == ["c", "d", "e", "b", "a"]


def test_relevance_is_that_of_a_ranked_search(world: World) -> None:
    """Definitions first, then names that say it, tests last: whatever their number of matching lines."""
    world.files(
        {
            "a.py": "show(retry_count)\n" * 9,
            "tests/test_retry.py": "retry_count\n" * 40,
            "retry.py": "print(retry_count)\n" * 2,
            "z.py": "def retry_count():\n    return 1\n",
        }
    )
    found = world.found_in(pattern="retry_count", sort="relevance")
    assert found[-1] == "tests/test_retry.py"
    assert found[0] == "z.py"
    with Workspace(world.store) as room:
        ranked = room.find("retry_count", output="files").facts["files"]
    assert found == [file["path"] for file in ranked]  # type: ignore[union-attr,index,call-overload]


def test_fixed_text_of_several_words_is_that_text_and_comes_by_relevance(world: World) -> None:
    world.files({"a": "foo bar\n", "b": "bar foo\nfoo  bar\n", "c": "foo bar\n\nfoo bar\n"})
    assert world.found_in(pattern="foo bar", fixed=True) == ["c", "a"]
    assert world.found_in(pattern="foo bar", fixed=True, sort="path") == ["a", "c"]
    assert world.found_in(pattern="foo bar") == ["a", "c"]


# --- pages -----------------------------------------------------------------------------------


@daily(18, "sort", ["path", "mtime", "relevance"])
@pytest.mark.parametrize("output", ["content", "files", "count"])
@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_show_everything_once(world: World, sort: str, output: str, limit: int) -> None:
    world.files(
        {f"{folder}/{name}": f"x {name}\n" * 3 for folder in ("a", "a.b", "b") for name in ("1", "2")}
    )
    request = replace(GrepRequest("x"), sort=sort, output=output, limit=limit)
    found = list(pages(world.store, request))
    assert all(page.shown == limit for page in found[:-1])
    assert all(page.reason == "limit" and not page.complete for page in found[:-1])
    together = [place for page in found for place in matches(page)]
    assert together == matches(search(world.store, replace(request, limit=None)))
    assert len(together) == (18 if output == "content" else 6)


def test_a_page_that_is_just_full_is_complete(world: World) -> None:
    world.files({"a": "x\nx\n"})
    assert world.find("x", limit=2).complete
    assert not world.find("x", limit=1).complete


def test_a_cursor_goes_on_by_name_when_files_come_and_go(world: World) -> None:
    world.files(dict.fromkeys("bdf", "x\n"))
    first = world.find("x", limit=2)
    assert paths(first) == ["b", "d"]
    world.files({"a": "x\n", "e": "x\n", "d": "no\n"})
    assert first.next is not None
    assert paths(search(world.store, first.next)) == ["e", "f"]


@each("cursor", ["", "x", "1.2", "......", "\udcff", "abcdef.a.x", "abcdef.99999999999999999999.a"])
def test_a_made_up_cursor_is_refused_with_the_call_that_works(world: World, cursor: str) -> None:
    with pytest.raises(BadCursor) as caught:
        world.find("x", cursor=cursor)
    assert caught.value.next == GrepRequest("x")


def test_a_cursor_is_bound_to_its_arguments(world: World) -> None:
    world.files({"a": "x\nx\n"})
    following = world.find("x", limit=1).next
    assert following is not None
    assert search(world.store, replace(following, limit=5, timeout_s=30, before=1)).shown == 1
    for change in (
        {"pattern": "y"},
        {"ignore_case": True},
        {"glob": ("*",)},
        {"path": "a"},
        {"sort": "mtime"},
    ):
        with pytest.raises(BadCursor):
            search(world.store, replace(following, **change))


@each("rest", ["a...", "x.a", "1_2_3.a", "-5.a", "a.../../x", 'a."\\q"', "a.a\0b"])
def test_a_cursor_with_the_right_fingerprint_and_a_wrong_place_does_no_harm(world: World, rest: str) -> None:
    world.files({"a": "x\nx\n", "b": "x\n"})
    following = world.find("x", limit=1).next
    assert following is not None
    assert following.cursor is not None
    forged = replace(following, cursor=f"{following.cursor.partition('.')[0]}.{rest}")
    try:
        assert search(world.store, forged).shown <= 3
    except BadCursor as error:
        assert error.next == replace(forged, cursor=None)  # noqa: PT017  # either is fine


@daily(9, "name", ["a", "long" * 50, 'q"u\\o\nte' * 20])
@pytest.mark.parametrize("size", [MIN_REPLY_BYTES, 3000, CAP.size])
@pytest.mark.parametrize("output", ["content", "count"])
def test_a_reply_stays_below_its_cap_and_shows_at_least_one_match(
    world: World, name: str, size: int, output: str
) -> None:
    line = "日本語" * 200 + "needle" + "x" * 700
    world.files({f"{name}{number}": f"{line}\n{line}\n" for number in range(30)})
    workspace = Workspace(world.store)
    found = 0
    request: dict[str, object] | None = {"pattern": "needle", "context": 1, "output": output}
    while request is not None:
        reply = workspace.call("grep_files", request, reply_bytes=size)
        assert len(reply.text.encode()) <= size
        facts = reply.facts
        assert facts["shown"]
        found += int(str(facts["shown"]))
        following = facts["next"]
        request = following["arguments"] if isinstance(following, dict) else None
    assert found == (60 if output == "content" else 30)


def test_a_match_that_fits_no_reply_is_shortened_until_it_does(world: World) -> None:
    world.files({"a" * 200: "日" * 400 + "needle" + "本" * 400})
    result = search(world.store, GrepRequest("needle", before=5), cap=Cap(MIN_REPLY_BYTES, CAP.measure))
    ((_, _, text),) = rows(result)
    assert "needle" in text
    assert len(text) < 500


def test_limits_come_from_the_workspace(world: World) -> None:
    world.files({"a": "x\n" * 50})
    assert search(world.store, GrepRequest("x"), limits=Limits(grep_limit=7)).shown == 7


# --- bad calls -------------------------------------------------------------------------------


@each(
    ("options", "argument"),
    [
        ({"pattern": "a\0b"}, "pattern"),
        ({"pattern": "\ud800"}, "pattern"),
        ({"pattern": "x" * 70_000}, "pattern"),
        ({"pattern": "a("}, "pattern"),
        ({"pattern": "a\nb", "fixed": True}, "pattern"),
        ({"glob": ("[",)}, "glob"),
        ({"glob": ("{a",)}, "glob"),
        ({"glob": ("a\0",)}, "glob"),
        ({"glob": ("\udcff",)}, "glob"),
        ({"type": "pyy"}, "type"),
        ({"type": "--files"}, "type"),
    ],
)
def test_what_cannot_be_used_is_named(world: World, options: dict[str, object], argument: str) -> None:
    with pytest.raises(BadPattern) as caught:
        world.find(**{"pattern": "x", **options})  # type: ignore[arg-type]  # by name
    assert caught.value.facts["argument"] == argument


def test_an_unknown_type_gets_near_names(world: World) -> None:
    with pytest.raises(BadPattern, match=r"there is no file type 'pythn'.*\bpython\b"):
        world.find("x", type="pythn")


def test_a_bad_pattern_is_the_same_in_both_stores(tmp_path: Path) -> None:
    for pattern in ("a(", "[z-a]", r"(?<=x)y", r"a\nb"):
        seen = []
        for store in (LocalStore(tmp_path), MemoryStore()):
            with pytest.raises(BadPattern) as caught:
                search(store, GrepRequest(pattern))
            seen.append((str(caught.value), caught.value.facts, caught.value.next))
        assert seen[0] == seen[1]
