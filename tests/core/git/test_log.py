"""Log and blame: like git's, with renames, within bounds, and under today's policy."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.core.git.making import Ask, Repo, asking, git, needs_git

pytestmark = needs_git


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Two branches that change three files and are merged now and then."""
    made = Repo(tmp_path_factory.mktemp("repo"))
    chance = random.Random(3)
    texts = {name: [f"{name} {n}\n" for n in range(30)] for name in ("a.txt", "b.txt", "d/c.txt")}
    made.commit({name: "".join(lines) for name, lines in texts.items()}, "first")
    made.git("branch", "side")
    for number in range(40):
        branch = chance.choice(("main", "side"))
        made.git("checkout", "-q", branch)
        name = chance.choice(list(texts))
        lines = (made.folder / name).read_text().splitlines(keepends=True)
        half = len(lines) // 2
        at = chance.randrange(half) if branch == "main" else half + chance.randrange(len(lines) - half)
        lines[at : at + chance.randrange(2)] = [f"change {number}\n"] * chance.randrange(1, 3)
        made.commit({name: "".join(lines)}, f"change {number}")
        if number % 7 == 6:
            made.git("checkout", "-q", "main")
            when = 1_600_000_000 + (number + 2) * 86_400 + 9
            made.git("merge", "-q", "--no-edit", "-X", "theirs", "side", when=when)
            made.git("branch", "-f", "side", "main")
    made.git("checkout", "-q", "main")
    return made


def logged(ask: Ask, **arguments: Any) -> list[str]:
    """The ids of all pages of a log."""
    found: list[str] = []
    reply = ask("git", show="log", **arguments)
    while True:
        assert not reply.is_error, reply.text
        commits: Any = reply.facts["commits"]
        found += [commit["id"] for commit in commits]
        following: Any = reply.facts["next"]
        if following is None:
            return found
        reply = ask(following["tool"], **following["arguments"])


def test_the_whole_log_is_that_of_git(repo: Repo) -> None:
    expected = repo.git("log", "--format=%H").split()
    with asking(repo.folder) as ask:
        assert logged(ask) == expected
        assert logged(ask, limit=7) == expected


@pytest.mark.parametrize("path", ["a.txt", "b.txt", "d", "d/c.txt"])
def test_the_log_of_a_path_is_that_of_git(repo: Repo, path: str) -> None:
    expected = repo.git("log", "--format=%H", "--", path).split()
    with asking(repo.folder) as ask:
        assert logged(ask, path=path) == expected
        assert logged(ask, path=path, limit=3) == expected


def test_a_range_leaves_out_what_the_older_one_has(repo: Repo) -> None:
    with asking(repo.folder) as ask:
        expected = repo.git("log", "--format=%H", "HEAD~4..HEAD").split()
        assert sorted(logged(ask, revision="HEAD~4..HEAD")) == sorted(expected)


def test_another_process_goes_on_where_one_stopped(repo: Repo) -> None:
    with asking(repo.folder) as ask:
        first: Any = ask("git", show="log", limit=5)
    with asking(repo.folder) as ask:
        second: Any = ask("git", **first.facts["next"]["arguments"])
    ids = [commit["id"] for reply in (first, second) for commit in reply.facts["commits"]]
    assert ids == repo.git("log", "--format=%H", "-n10").split()


def blamed(ask: Ask, path: str, **arguments: Any) -> list[str | None]:
    """The commit of each line."""
    found: dict[int, str | None] = {}
    reply = ask("git", show="blame", path=path, **arguments)
    while True:
        assert not reply.is_error, reply.text
        lines: Any = reply.facts["lines"]
        for line in lines:
            found.update(dict.fromkeys(range(line["first"], line["last"] + 1), line["commit"]))
        following: Any = reply.facts["next"]
        if following is None:
            return [found[at] for at in sorted(found)]
        reply = ask(following["tool"], **following["arguments"])


@pytest.mark.parametrize("path", ["a.txt", "b.txt", "d/c.txt"])
@pytest.mark.parametrize("revision", ["HEAD", "HEAD~5", "HEAD~12"])
def test_blame_is_that_of_git(repo: Repo, path: str, revision: str) -> None:
    said = repo.git("blame", "--porcelain", revision, "--", path)
    expected = [match[1] for match in re.finditer(r"^([0-9a-f]{40}) \d+ \d+", said, re.MULTILINE)]
    with asking(repo.folder) as ask:
        assert blamed(ask, path, revision=revision) == expected
        if revision == "HEAD":
            assert blamed(ask, path) == expected


def test_blame_of_lines_shows_these_lines(repo: Repo) -> None:
    with asking(repo.folder) as ask:
        text = ask.text("git", show="blame", path="a.txt", lines="3-5")
        lines = (repo.folder / "a.txt").read_text().split("\n")
        assert [row for row in text.split("\n") if "\t" in row] == [f"{n}\t{lines[n - 1]}" for n in (3, 4, 5)]
        ask.fails("bad_value", "git", show="blame", path="a.txt", lines="900-901")
        for odd in ("0-1", "5-3", "x", "1-" + "9" * 12):
            ask.fails("bad_value", "git", show="blame", path="a.txt", lines=odd)


def test_lines_that_are_not_committed_say_so(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    first = made.commit({"a.txt": "one\ntwo\nthree\n", "crlf.txt": "one\ntwo\n"})
    made.write({"a.txt": "one\nother\nthree\n", "new.txt": "new\n", "crlf.txt": b"one\r\ntwo\r\n"})
    with asking(made.folder) as ask:
        assert blamed(ask, "a.txt") == [first, None, first]
        assert blamed(ask, "crlf.txt") == [first, first]
        assert blamed(ask, "new.txt") == [None]


def test_log_and_blame_follow_a_rename(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    text = "".join(f"line {n}\n" for n in range(20))
    first = made.commit({"old/name.txt": text}, "first")
    second = made.commit({"old/name.txt": text + "more\n"}, "second")
    (made.folder / "new").mkdir()
    made.git("mv", "old/name.txt", "new/name.txt")
    third = made.commit({"new/name.txt": text + "most\n"}, "third")
    with asking(made.folder) as ask:
        assert logged(ask, path="new/name.txt") == [third, second, first]
        assert "renamed from old/name.txt" in ask.text("git", show="log", path="new/name.txt")
        assert blamed(ask, "new/name.txt") == [*[first] * 20, third]
        assert "as old/name.txt" in ask.text("git", show="blame", path="new/name.txt")


def test_a_denied_name_before_a_rename_is_not_said(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    words = "".join(f"line {n}\n" for n in range(20))
    made.commit({".env": words}, "first")
    made.git("mv", ".env", "plain.txt")
    made.commit({"plain.txt": words + "more\n"}, "renamed")
    with asking(made.folder) as ask:
        text = ask.text("git", show="log", path="plain.txt")
        assert ".env" not in text
        assert "under denied names" in text
        assert ".env" not in ask.text("git", show="blame", path="plain.txt")
        ask.fails("denied", "git", show="log", path=".env")
        ask.fails("denied", "git", show="blame", path=".env", revision="HEAD~1")


def test_the_log_of_lines(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    lines = [f"line {n}\n" for n in range(30)]
    first = made.commit({"a.txt": "".join(lines)}, "first")
    lines[20] = "changed\n"
    second = made.commit({"a.txt": "".join(lines)}, "second")
    lines[:0] = ["top\n"] * 5
    third = made.commit({"a.txt": "".join(lines)}, "third")
    with asking(made.folder) as ask:
        assert logged(ask, path="a.txt", lines="24-28") == [second, first]
        assert logged(ask, path="a.txt", lines="1-5") == [third]
        assert logged(ask, path="a.txt", lines="10-12") == [first]
        ask.fails("bad_value", "git", show="log", lines="1-2")


def test_the_end_of_a_shallow_clone_is_said(repo: Repo, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "3", f"file://{repo.folder}", "shallow")
    with asking(tmp_path / "shallow") as ask:
        text = ask.text("git", show="log")
        assert "shallow" in text
        assert "nothing is fetched" in text
        assert "shallow" in ask.text("git", show="blame", path="a.txt")
        assert ask("read_file", path="@HEAD~30/a.txt").is_error


def test_words_of_strangers_stay_on_their_line(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.write({"a.txt": "x\n"})
    made.git("add", "a.txt")
    odd = {"GIT_AUTHOR_NAME": "Ann\x1b[31m\u202e"}
    made.git("commit", "-q", "-m", "sub\x1bject\rline\u2028end", when=1_600_000_000, **odd)
    with asking(made.folder) as ask:
        text = ask.text("git", show="log")
        assert text.count("\n") == 2
        assert not {"\x1b", "\r", "\u2028", "\u202e"} & set(text)


def test_a_deleted_file_has_a_log(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    first = made.commit({"a.txt": "x\n", "b.txt": "b\n"})
    second = made.commit({"a.txt": None})
    with asking(made.folder) as ask:
        assert logged(ask, path="a.txt") == [second, first]
        assert "(deleted)" in ask.text("git", show="log", path="a.txt")


def test_a_repository_without_commits(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.write({"a.txt": "x\n"})
    with asking(made.folder) as ask:
        for show in ("log", "changes"):
            ask.fails("no_such_revision", "git", show=show)
        facts: Any = ask("git", show="log").facts
        assert isinstance(facts, Mapping)


@pytest.mark.parametrize("show", ["changes", "log", "blame"])
@pytest.mark.parametrize("path", ["nothing", "d/nothing", "HEAD~1..HEAD", "main"])
def test_a_path_that_nothing_has_is_refused(repo: Repo, show: str, path: str) -> None:
    with asking(repo.folder) as ask:
        text = ask.fails("not_found", "git", show=show, path=path)
        assert show == "blame" or "sent as `revision`" in text


def test_a_path_of_another_time_is_none_that_is_missing(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n", "b.txt": "b\n"})
    made.commit({"a.txt": None})
    made.commit({"b.txt": "c\n"})
    (made.folder / "new").write_text("n\n")
    with asking(made.folder) as ask:
        assert not ask("git", show="changes", path="a.txt", revision="HEAD~2..HEAD~2").is_error
        assert not ask("git", show="log", path="a.txt").is_error
        assert not ask("git", show="log", path="new").is_error
        ask.fails("not_found", "git", show="changes", path="a.txt", revision="HEAD~1..HEAD")
