"""opencode's glob and grep."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.contracts.opencode.requests import FOUND
from readroom.core.workspace import Workspace
from tests.contracts.opencode.calling import DENIED, ROOT, call, refused, room, said

FULL = (
    f"(Results are truncated: showing first {FOUND} results. Consider using a more specific path or pattern.)"
)
MORE = "(Results truncated. Consider using a more specific path or pattern.)"
FILES = {
    "a.ts": "x\n",
    "src/b.ts": "y\n",
    "src/deep/c.ts": "z\n",
    "src/d.md": "w\n",
    ".hid.ts": "h\n",
    ".github/e.ts": "e\n",
    ".git/f.ts": "f\n",
    "node_modules/g.ts": "g\n",
    ".gitignore": "node_modules/\n",
    ".env": DENIED,
}


@pytest.mark.clause("opencode.glob", "opencode.order", "opencode.glob-ignored", "opencode.denied")
@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.ts", None, [".hid.ts", "a.ts", "src/b.ts", "src/deep/c.ts"]),
        ("**/*.ts", ROOT, [".hid.ts", "a.ts", "src/b.ts", "src/deep/c.ts"]),
        ("src/*.ts", None, ["src/b.ts"]),
        ("*.ts", "src", ["src/b.ts", "src/deep/c.ts"]),
        ("*.ts", f"{ROOT}/src/deep", ["src/deep/c.ts"]),
        ("c.ts", "src", ["src/deep/c.ts"]),
        ("*.{md,ts}", "src", ["src/b.ts", "src/d.md", "src/deep/c.ts"]),
        (".github/*", None, [".github/e.ts"]),
        ("!*.ts", "src", ["src/d.md"]),
        (".env*", None, []),
        ("*.none", None, []),
        (".git/*", None, []),
    ],
)
def test_glob_lists_absolute_paths_of_files(pattern: str, path: str | None, found: list[str]) -> None:
    with room(FILES) as space:
        asked = {"pattern": pattern} if path is None else {"pattern": pattern, "path": path}
        text = said(space, "glob", **asked)
    assert text == ("\n".join(f"{ROOT}/{name}" for name in found) or "No files found")


@pytest.mark.clause("opencode.glob.full")
@pytest.mark.parametrize("count", [99, 100, 101, 250])
def test_at_100_files_glob_says_that_it_is_truncated(count: int) -> None:
    with room({f"f{number:03}.txt": "x" for number in range(count)}) as space:
        rows = said(space, "glob", pattern="*.txt").split("\n")
    names = [f"{ROOT}/f{number:03}.txt" for number in range(min(count, FOUND))]
    assert rows == (names if count < FOUND else [*names, "", FULL])


@pytest.mark.clause("opencode.glob.file")
def test_the_path_of_a_glob_is_a_directory() -> None:
    with room(FILES) as space:
        found = refused(space, "glob", pattern="*", path="a.ts")
        assert found == f"glob path must be a directory: {ROOT}/a.ts"
        missing = refused(space, "glob", pattern="*", path="nowhere")
        assert missing == f"There is no file or folder {ROOT}/nowhere."
        assert refused(space, "glob", pattern="") == "pattern is required"
        assert refused(space, "glob", pattern="a[z-b]").startswith("glob parse error: ")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.ts").write_text("needle")
    (tmp_path / "l").symlink_to("d")
    (tmp_path / "f.ts").symlink_to("d/a.ts")
    with Workspace(tmp_path) as space:
        assert said(space, "glob", pattern="*.ts") == f"{tmp_path}/d/a.ts"


@pytest.mark.clause("opencode.grep", "opencode.none", "opencode.order")
def test_grep_shows_matching_lines_by_file_with_their_line_ends() -> None:
    files = {"b.txt": "no\nneedle 1\nneedle 2", "a.txt": "needle 3\n", ".c": "needle 4\n", ".git/x": "needle"}
    with room({**files, ".env": "needle"}) as space:
        assert said(space, "grep", pattern="needle") == (
            f"Found 4 matches\n{ROOT}/.c:\n  Line 1: needle 4\n\n\n{ROOT}/a.txt:\n  Line 1: needle 3\n\n\n"
            f"{ROOT}/b.txt:\n  Line 2: needle 1\n\n  Line 3: needle 2"
        )
        assert said(space, "grep", pattern="needle [12]", include="*.txt") == (
            f"Found 2 matches\n{ROOT}/b.txt:\n  Line 2: needle 1\n\n  Line 3: needle 2"
        )
        assert said(space, "grep", pattern="nothing") == "No files found"
        assert said(space, "grep", pattern="needle", include="*.py") == "No files found"


@pytest.mark.clause("opencode.grep-file")
def test_a_file_as_path_is_searched_alone() -> None:
    with room({"d/a.txt": "x\n", "d/b.txt": "x\n"}) as space:
        for path in ("d/a.txt", f"{ROOT}/d/a.txt"):
            assert said(space, "grep", pattern="x", path=path) == (
                f"Found 1 matches\n{ROOT}/d/a.txt:\n  Line 1: x\n"
            )


@pytest.mark.clause("opencode.grep.full")
@pytest.mark.parametrize("count", [99, 100, 101])
def test_at_100_matches_grep_says_that_there_are_more(count: int) -> None:
    with room({"a.txt": "x\n" * count}) as space:
        text = said(space, "grep", pattern="x")
    shown = min(count, FOUND)
    rows = "\n".join(f"  Line {number}: x\n" for number in range(1, shown + 1))
    more = " (more matches available)" if count >= FOUND else ""
    end = f"\n\n{MORE}" if count >= FOUND else ""
    assert text == f"Found {shown} matches{more}\n{ROOT}/a.txt:\n{rows}{end}"


@pytest.mark.clause("opencode.grep.long", "opencode.grep-encodings", "opencode.grep-ends")
@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("needle" + "x" * 1993, "needle" + "x" * 1993 + "\n"),
        ("needle" + "x" * 1994, "needle" + "x" * 1994 + "..."),
        ("x" * 3000 + "needle", "x" * 2000 + "..."),
        ("x" * 100_000 + "needle", "x" * 2000 + "..."),
        ("x" * 3_000_000 + "needle", "x" * 2000 + "..."),
        ("needle" + "😀" * 1000, "needle" + "😀" * 997 + "..."),
        ("needle!" + "😀" * 1000, "needle!" + "😀" * 996 + "..."),
        ("needle\r", "needle\n"),
    ],
)
def test_a_long_line_is_shown_from_its_beginning(line: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"{line}\n", encoding="utf-8", newline="")
    with Workspace(tmp_path) as space:
        assert said(space, "grep", pattern="needle") == (
            f"Found 1 matches\n{tmp_path}/a.txt:\n  Line 1: {shown}"
        )


@pytest.mark.clause("opencode.grep.empty", "opencode.regex-errors")
def test_a_pattern_is_required_and_must_be_one() -> None:
    with room({"a.txt": "x"}) as space:
        assert refused(space, "grep", pattern="") == "pattern is required"
        assert refused(space, "grep", pattern="(").startswith("regex parse error: ")


@pytest.mark.parametrize("tool", ["glob", "grep"])
@pytest.mark.parametrize("cap", [2048, 5000])
def test_a_smaller_cap_holds(tool: str, cap: int) -> None:
    files = {f"{'folder/' * 9}{number:03}{'n' * 60}.txt": "needle\n" for number in range(99)}
    with room(files) as space:
        pattern = "*.txt" if tool == "glob" else "needle"
        reply = space.call(tool, {"pattern": pattern}, contract_name="opencode", reply_bytes=cap)
        assert len(reply.text.encode()) <= cap
        assert "truncated" in reply.text
        assert not call(space, tool, pattern=pattern).is_error


def test_names_like_those_of_other_contracts_stay_as_they_are() -> None:
    with room({"edit_file.txt": "x", "src/read_file": "x"}) as space:
        for tool, more in (("grep", {"pattern": "x"}), ("glob", {"pattern": "*"})):
            found = refused(space, tool, path="edit_file.tx", **more)
            assert found.startswith(f"There is no file or folder {ROOT}/edit_file.tx.")
            assert "edit_file.txt?" in found or tool == "glob"
        assert "no tool named 'read_file'" in refused(space, "read_file", path="x")
        found = refused(space, "edit", filePath="a", old_text="x", newString="y")
        assert "takes no argument 'old_text'" in found
        assert f"{ROOT}/src/read_file" in refused(space, "read", filePath="src/read_fil")
