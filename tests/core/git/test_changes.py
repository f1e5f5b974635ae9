"""Changes of the files as they are, or between revisions: like git's, and under today's policy."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from tests.core.git.making import Ask, Repo, asking, git, needs_git

pytestmark = needs_git

ONE = "def one():\n    return 1\n\n\nclass Two:\n    def three(self):\n        return 3\n"


def pages(ask: Ask, **arguments: Any) -> Iterator[str]:
    """The texts of all pages."""
    reply = ask("git", show="changes", **arguments)
    while True:
        assert not reply.is_error, reply.text
        yield reply.text
        following = reply.facts["next"]
        if following is None:
            return
        call: Any = following
        reply = ask(call["tool"], **call["arguments"])


def files(ask: Ask, **arguments: Any) -> dict[str, str]:
    """The letter of each changed file."""
    found: dict[str, str] = {}
    reply = ask("git", show="changes", **arguments)
    while True:
        assert not reply.is_error, reply.text
        listed: Any = reply.facts["files"]
        found.update({file["path"]: file["change"] for file in listed})
        following: Any = reply.facts["next"]
        if following is None:
            return found
        reply = ask(following["tool"], **following["arguments"])


def as_patch(texts: Iterator[str]) -> bytes:
    """What git can apply: the hunks of all pages below headings that name the files."""
    rows: list[str] = []
    open_file = ""
    for text in texts:
        for row in text.split("\n")[1:-1]:
            letter = row[:2]
            if letter in ("A ", "M ", "D "):
                path = row.rpartition(" ")[2]
                if path != open_file:
                    old = "/dev/null" if letter == "A " else f"a/{path}"
                    new = "/dev/null" if letter == "D " else f"b/{path}"
                    rows += [f"diff --git a/{path} b/{path}"]
                    rows += ["new file mode 100644"] if letter == "A " else []
                    rows += ["deleted file mode 100644"] if letter == "D " else []
                    rows += [f"--- {old}", f"+++ {new}"]
                    open_file = path
            else:
                rows.append(row)
    return ("\n".join(rows) + "\n").encode()


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Two commits that differ in many places of many files."""
    made = Repo(tmp_path_factory.mktemp("long"))
    chance = random.Random(7)
    before = {
        f"d{n % 4}/f{n:02}.txt": "".join(f"line {k} of {n}\n" for k in range(chance.randrange(1, 400)))
        for n in range(30)
    }
    after: dict[str, str | bytes | None] = {}
    for name, text in before.items():
        lines = text.splitlines(keepends=True)
        for _ in range(chance.randrange(1, 8)):
            at = chance.randrange(len(lines) + 1)
            match chance.randrange(3):
                case 0:
                    lines[at:at] = [f"added {chance.random()}\n"] * chance.randrange(1, 4)
                case 1:
                    del lines[at : at + 2]
                case _:
                    lines[at : at + 1] = [f"other {chance.random()}\n"]
        after[name] = "".join(lines)
    several = "".join(f"line {n}\n" for n in range(900))
    after |= {"d0/f00.txt": None, "a_new.txt": several, "no_end.txt": "a\nb"}
    made.commit(before, "before")
    made.commit({"no_end.txt": "a\nb\n"}, "end")
    made.commit(after, "after")
    return made


def test_applying_the_hunks_gives_the_tree_of_git(long: Repo, tmp_path: Path) -> None:
    with asking(long.folder) as ask:
        patch = as_patch(pages(ask, revision="HEAD~1..HEAD"))
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(long.folder), str(work))
    git(work, "checkout", "-q", "HEAD~1")
    git(work, "apply", "--index", "--unidiff-zero", data=patch)
    assert git(work, "write-tree") == long.git("rev-parse", "HEAD^{tree}")


def test_the_files_are_those_that_git_names(long: Repo) -> None:
    said = long.git("diff", "--name-status", "--no-renames", "HEAD~1", "HEAD").split("\n")[:-1]
    expected = {row.split("\t")[1]: row.split("\t")[0] for row in said}
    with asking(long.folder) as ask:
        assert files(ask, revision="HEAD~1..HEAD", by="file") == expected


def test_the_numbers_of_lines_are_those_that_git_counts(long: Repo) -> None:
    said = long.git("diff", "--numstat", "--no-renames", "HEAD~1", "HEAD").split("\n")[:-1]
    expected = {row.split("\t")[2]: tuple(map(int, row.split("\t")[:2])) for row in said}
    found: dict[str, tuple[int, int]] = {}
    with asking(long.folder) as ask:
        reply = ask("git", show="changes", revision="HEAD~1..HEAD", by="file")
        listed: Any = reply.facts["files"]
        found = {file["path"]: (file["added"], file["removed"]) for file in listed}
    assert found == expected


def test_a_page_fits_its_reply_and_the_next_goes_on(long: Repo) -> None:
    with Workspace(long.folder) as workspace:
        reply = workspace.call("git", {"show": "changes", "revision": "HEAD~1..HEAD"}, reply_bytes=4000)
        assert not reply.is_error
        assert len(reply.text.encode()) <= 4000
        assert reply.facts["next"] is not None


def test_a_cursor_belongs_to_its_call(long: Repo) -> None:
    with asking(long.folder) as ask:
        arguments = {"show": "changes", "revision": "HEAD~1..HEAD"}
        reply: Any = ask.workspace.call("git", arguments, reply_bytes=4000)
        cursor = reply.facts["next"]["arguments"]["cursor"]
        ask.fails("bad_cursor", "git", show="changes", revision="HEAD~2..HEAD", cursor=cursor)
        for odd in ("x", "a.1", f"{cursor}.1", "a.b.c", "a." + "9" * 30 + ".0"):
            assert ask("git", show="changes", revision="HEAD~1..HEAD", cursor=odd).is_error


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "r")
    made.commit({"a.py": ONE, "b.txt": "b\n", "sub/c.txt": "c\n" * 20, "crlf.txt": "one\ntwo\n"}, "first")
    return made


def test_the_files_as_they_are(repo: Repo) -> None:
    repo.write({"a.py": ONE.replace("3\n", "33\n"), "b.txt": None, "new.txt": "new\n", "x.bin": b"\0\1"})
    with asking(repo.folder) as ask:
        assert files(ask) == {"a.py": "M", "b.txt": "D", "new.txt": "A", "x.bin": "A"}
        text = ask.text("git", show="changes", path="a.py")
        assert "-        return 3\n+        return 33\n" in text
        assert "@@ -4,4 +4,4 @@" in text
        assert files(ask, path="sub") == {}
        assert "no changes" in ask.text("git", show="changes", path="sub")
        assert "binary" in ask.text("git", show="changes", path="x.bin")


def test_what_git_takes_for_unchanged_is_unchanged(repo: Repo) -> None:
    repo.write({"crlf.txt": b"one\r\ntwo\r\n"})
    os.utime(repo.folder / "b.txt", (1, 1))
    with asking(repo.folder) as ask:
        assert files(ask) == {}
        repo.write({"crlf.txt": b"one\r\nthree\r\n"})
        text = ask.text("git", show="changes", path="crlf.txt")
        assert "-two\n+three\n" in text
        assert "-one" not in text


def test_a_mode_and_a_link_are_changes(repo: Repo) -> None:
    (repo.folder / "b.txt").chmod(0o755)
    (repo.folder / "sub/c.txt").unlink()
    (repo.folder / "sub/c.txt").symlink_to("/etc/passwd")
    with asking(repo.folder) as ask:
        assert files(ask) == {"b.txt": "M", "sub/c.txt": "T"}
        text = ask.text("git", show="changes")
        assert "mode 100644 to 100755" in text
        assert "root:" not in text


def test_changes_by_definition(repo: Repo) -> None:
    repo.write({"a.py": ONE.replace("return 3", "return 33") + "\n\ndef four():\n    return 4\n"})
    with asking(repo.folder) as ask:
        text = ask.text("git", show="changes", by="definition")
        assert "6-7 +1 -1 Two.three" in text
        assert "10-11 added +2 -0 four" in text
        repo.write({"a.py": ONE.partition("class")[0]})
        assert "deleted" in ask.text("git", show="changes", by="definition")


def test_renames_have_both_names(repo: Repo) -> None:
    repo.git("mv", "sub/c.txt", "moved.txt")
    with asking(repo.folder) as ask:
        assert "R +0 -0 sub/c.txt -> moved.txt" in ask.text("git", show="changes")
        repo.commit({"moved.txt": "c\n" * 20 + "d\n"}, "moved")
        assert "R +1 -0 sub/c.txt -> moved.txt" in ask.text("git", show="changes", revision="HEAD~1..HEAD")


def test_three_dots_are_from_what_both_have_in_common(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit({"side.txt": "s\n"}, "side")
    repo.git("checkout", "-q", "main")
    repo.commit({"main.txt": "m\n"}, "main")
    with asking(repo.folder) as ask:
        assert files(ask, revision="main...side") == {"side.txt": "A"}
        assert files(ask, revision="main..side") == {"side.txt": "A", "main.txt": "D"}
        assert files(ask, revision="HEAD~1..") == {"main.txt": "A"}


def test_ignored_files_and_other_repositories_are_not_new(repo: Repo) -> None:
    inner = Repo(repo.folder / "inner")
    inner.commit({"deep.txt": "x\n"})
    repo.write({".gitignore": "*.log\nbuild/\n", "a.log": "x\n", "build/x": "x\n", "kept/y.txt": "y\n"})
    with asking(repo.folder) as ask:
        assert files(ask) == {".gitignore": "A", "kept/y.txt": "A"}


def test_denied_names_are_counted_and_not_shown(repo: Repo) -> None:
    words = "".join(f"KEY_{n} = secret {n}\n" for n in range(20))
    repo.commit({".env": words}, "env")
    repo.git("mv", ".env", "settings.txt")
    repo.commit({"settings.txt": words + "MORE = 1\n"}, "renamed with a change")
    repo.commit({"copy.txt": words}, "the old bytes again")
    with asking(repo.folder) as ask:
        for revision in ("HEAD~2..HEAD~1", "HEAD~3..HEAD~2", "HEAD~2..HEAD"):
            text = ask.text("git", show="changes", revision=revision)
            assert "secret" not in text, revision
            assert "denied by policy" in text, revision
            assert ".env" not in text, revision
        ask.fails("denied", "git", show="changes", path=".env")


def test_a_denied_file_as_it_is_stays_unseen(repo: Repo) -> None:
    repo.commit({".env": "K=old\n"}, "env")
    repo.write({".env": "K=new\n", "deep/.env": "K=2\n", "id_rsa": "key\n"})
    with asking(repo.folder) as ask:
        text = ask.text("git", show="changes")
        assert "K=" not in text
        assert "env" not in text
        assert "id_rsa" not in text


def test_a_file_behind_a_link_is_not_read(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/c.txt").write_text("outside\n")
    (repo.folder / "sub/c.txt").unlink()
    (repo.folder / "sub").rmdir()
    (repo.folder / "sub").symlink_to(tmp_path / "outside")
    with asking(repo.folder) as ask:
        text = ask.text("git", show="changes")
        assert "+outside" not in text


def test_a_large_hunk_is_shown_in_pieces_that_fit_together(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    text = "".join(f"{n} {'x' * 60}\n" for n in range(4000))
    made.commit({"a.txt": "a\n"})
    made.commit({"big.txt": text})
    with asking(made.folder) as ask:
        every = list(pages(ask, revision="HEAD~1..HEAD"))
        assert len(every) > 3
        added = [row[1:] for page in every for row in page.split("\n") if row.startswith("+")]
        assert "\n".join(added) + "\n" == text


def test_names_of_all_kinds(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    names = ["with space.txt", "ä.txt", 'quo"te.txt', "tab\t.txt", "new\nline.txt", "-dash.txt", "a:b@c.txt"]
    made.commit(dict.fromkeys(names, "x\n"))
    made.write(dict.fromkeys(names, "y\n"))
    with asking(made.folder) as ask:
        assert len(files(ask)) == len(names)
        assert set(files(ask, by="file").values()) == {"M"}
