"""Repositories that want to run, write, fetch or reach something: nothing of it happens."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.git.making import Ask, Repo, asking, git, needs_git

pytestmark = needs_git

STARTS = re.compile(
    r"cmd|command|program|helper|pager|editor|tool|fsmonitor|external|textconv|clean|smudge|process|driver|"
    r"hook|proxy|askpass|insteadof|url|path$|template|excludesfile|attributesfile|mailmap|trustfolder|gpg|ssh",
    re.IGNORECASE,
)
"""Keys of the configuration that name a program, an address or a file."""

ELSEWHERE = re.compile(
    r"^(include|includeif|extensions)\.|partialclone|promisor|^core\.worktree", re.IGNORECASE
)
"""Keys that other tests plant one by one."""


def keys(folder: Path) -> list[str]:
    """The keys of `git help --config` that may start a program or a connection, with names filled in."""
    said = git(folder, "help", "--config").split("\n")
    found = {re.sub(r"<[^>]*>|\*", "evil", key) for key in said if "." in key and " " not in key}
    found |= {"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv"}
    found |= {"diff.evil.command", "merge.evil.driver", "core.fsmonitor", "core.sshCommand", "core.pager"}
    return sorted(key for key in found if STARTS.search(key) and not ELSEWHERE.search(key))


def section(key: str, value: str) -> str:
    first, _, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    heading = f'[{first} "{middle}"]' if middle else f"[{first}]"
    return f"{heading}\n\t{name} = {value}\n"


class Planted:
    """A repository in which every such key names a program that leaves a trace."""

    def __init__(self, folder: Path) -> None:
        self.repo = Repo(folder / "r")
        self.trace = folder / "ran"
        self.program = folder / "evil"
        self.program.write_text(f"#!/bin/sh\necho ran >> {self.trace}\ncat\n")
        self.program.chmod(0o755)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        files: dict[str, str | bytes | None] = {
            "a.txt": "one\ntwo\n",
            "src/b.py": "def b():\n    return 1\n",
            "x.bin": b"\0\1",
        }
        self.repo.commit(files, "first")
        self.repo.git("tag", "v1")
        self.repo.commit({"a.txt": "one\nthree\n", "src/b.py": "def b():\n    return 2\n"}, "second")
        attributes = "* filter=evil diff=evil merge=evil\n*.txt ident working-tree-encoding=UTF-16\n"
        own = self.repo.folder / ".git"
        (own / "info").mkdir(exist_ok=True)
        (own / "info/attributes").write_text(attributes)
        self.repo.write(
            {".gitattributes": attributes, ".gitmodules": self._modules(), "a.txt": "one\nfour\n"}
        )
        for name in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction"):
            hook = own / "hooks" / name
            hook.parent.mkdir(exist_ok=True)
            hook.write_text(self.program.read_text())
            hook.chmod(0o755)
        address = f"ext::{self.program}"
        port = self.listener.getsockname()[1]
        config = (own / "config").read_text()
        for key in keys(folder):
            url = "url" in key.lower() or "proxy" in key.lower()
            config += section(key, f"http://127.0.0.1:{port}/" if url else str(self.program))
        config += f'[remote "origin"]\n\turl = {address}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        config += section("protocol.allow", "always") + section("protocol.ext.allow", "always")
        (own / "config").write_text(config)

    def _modules(self) -> str:
        return f'[submodule "m"]\n\tpath = m\n\turl = ext::{self.program}\n\tupdate = !{self.program}\n'

    @property
    def was_called(self) -> bool:
        """Whether anything connected."""
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    made = Planted(tmp_path_factory.mktemp("planted"))
    yield made
    made.listener.close()


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "@v1/a.txt"}),
    ("read_file", {"path": "HEAD:src/b.py", "view": "outline"}),
    ("list_directory", {"path": "@v1", "depth": 3}),
    ("grep_files", {"pattern": "return", "path": "@v1"}),
    ("find_relevant", {"query": "what does b return", "path": "@v1"}),
    ("git", {"show": "changes"}),
    ("git", {"show": "changes", "revision": "v1..HEAD"}),
    ("git", {"show": "changes", "revision": "v1", "by": "definition"}),
    ("git", {"show": "log"}),
    ("git", {"show": "log", "path": "a.txt", "lines": "1-2"}),
    ("git", {"show": "blame", "path": "a.txt"}),
    ("git", {"show": "blame", "path": "a.txt", "revision": "v1"}),
]


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """All files of a folder with their times and bytes, and its folders with theirs."""
    found = {}
    for above, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(above, name)
            status = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (status.st_mtime_ns, status.st_mode, data)
    return found


def test_the_traps_work(planted: Planted, tmp_path: Path) -> None:
    """git itself runs what is planted, so that a trace would be there if anything here did."""
    copy = Repo(tmp_path / "copy")
    copy.commit({"a.txt": "a\n"})
    with open(copy.folder / ".git/config", "a") as file:
        file.write(section("core.fsmonitor", str(planted.program)))
    copy.git("status")
    assert planted.trace.exists()
    planted.trace.unlink()


def test_every_planted_key_is_one_that_git_knows(planted: Planted, tmp_path: Path) -> None:
    assert len(keys(tmp_path)) > 100
    assert {"core.fsmonitor", "diff.external", "credential.helper", "gpg.program"} <= set(keys(tmp_path))


def test_nothing_runs_connects_or_is_written(planted: Planted) -> None:
    before = state(planted.repo.folder)
    with asking(planted.repo.folder) as ask:
        for tool, arguments in CALLS:
            ask.text(tool, **arguments)
    assert not planted.trace.exists()
    assert not planted.was_called
    assert state(planted.repo.folder) == before


def test_the_answers_are_those_of_a_plain_repository(planted: Planted, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    git(tmp_path, "clone", "-q", "--no-checkout", str(planted.repo.folder), str(plain))
    (plain / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\n")
    for name in ("a.txt", "src/b.py", "x.bin", ".gitattributes", ".gitmodules"):
        (plain / name).parent.mkdir(exist_ok=True)
        (plain / name).write_bytes((planted.repo.folder / name).read_bytes())
    with asking(planted.repo.folder) as ask, asking(plain) as other:
        for tool, arguments in CALLS:
            assert ask.text(tool, **arguments) == other.text(tool, **arguments), arguments


# -----------------------------------------------------------------------------
# What leads elsewhere is refused by name.
# -----------------------------------------------------------------------------


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "inside/r")
    made.commit({"a.txt": "a\n"}, "first")
    return made


@pytest.fixture
def other(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "outside")
    made.commit({"secret.txt": "secret\n"}, "outside")
    return made


def refused(folder: Path, reason: str) -> None:
    with asking(folder) as ask:
        for tool, arguments in (
            ("read_file", {"path": "@HEAD/a.txt"}),
            ("git", {"show": "log"}),
            ("git", {"show": "changes"}),
        ):
            text = ask.fails("repository_refused", tool, **arguments)
            assert reason in text
            assert "secret" not in text


def test_a_folder_of_git_outside_is_refused(repo: Repo, other: Repo, tmp_path: Path) -> None:
    home = tmp_path / "inside/work"
    home.mkdir()
    for named in (other.folder / ".git", "../../outside/.git"):
        (home / ".git").write_text(f"gitdir: {named}\n")
        refused(home, "outside the workspace")
    (home / ".git").unlink()
    (home / ".git").symlink_to(other.folder / ".git")
    refused(home, "neither a folder nor a file")


def test_a_common_folder_outside_is_refused(repo: Repo, other: Repo) -> None:
    (repo.folder / ".git/commondir").write_text(f"{other.folder}/.git\n")
    refused(repo.folder, "outside the workspace")


def test_objects_of_others_are_refused(repo: Repo, other: Repo) -> None:
    info = repo.folder / ".git/objects/info"
    info.mkdir(exist_ok=True)
    for line in (
        f"{other.folder}/.git/objects",
        "../../../../outside/.git/objects",
        f'"{other.folder}/.git/objects"',
    ):
        (info / "alternates").write_text(f"# words\n{line}\n")
        refused(repo.folder, "objects from a folder outside")


def test_objects_elsewhere_in_the_workspace_are_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = Repo(home / "first")
    first.commit({"a.txt": "shared\n"})
    git(home, "clone", "-q", "--shared", str(first.folder), "second")
    with asking(home) as ask:
        assert "shared" in ask.text("read_file", path="second/a.txt@HEAD")


@pytest.mark.parametrize(
    "text", ["[include]\n\tpath = {}\n", '[includeIf "gitdir:/"]\n\tpath = {}\n', "[ Include ] PATH={}\n"]
)
def test_an_included_configuration_is_refused(repo: Repo, tmp_path: Path, text: str) -> None:
    with open(repo.folder / ".git/config", "a") as file:
        file.write(text.format(tmp_path / "outside.config"))
    refused(repo.folder, "includes another file")


@pytest.mark.parametrize(
    "text",
    [
        "[extensions]\n\tpartialClone = origin\n",
        '[remote "origin"]\n\tpromisor = true\n',
        '[remote "origin"]\n\tpromisor\n',
        '[remote "origin"] partialclonefilter = blob:none\n',
    ],
)
def test_a_partial_clone_is_refused_by_name(repo: Repo, text: str) -> None:
    with open(repo.folder / ".git/config", "a") as file:
        file.write(text)
    refused(repo.folder, "partial clone")


def test_links_out_of_the_repository_are_refused(repo: Repo, other: Repo) -> None:
    (repo.folder / ".git/refs/heads/out").symlink_to(other.folder / ".git/refs/heads/main")
    refused(repo.folder, "leads out of the workspace")


def test_a_worktree_inside_the_workspace_is_read(tmp_path: Path) -> None:
    made = Repo(tmp_path / "home/r")
    made.commit({"a.txt": "a\n"})
    made.git("worktree", "add", "-q", "-b", "side", "../work")
    git(tmp_path / "home/work", "commit", "-q", "--allow-empty", "-m", "on side", when=1_700_000_000)
    with asking(tmp_path / "home") as ask:
        assert "on side" in ask.text("git", show="log", path="work")
        assert "on side" not in ask.text("git", show="log", path="r")
    refused(tmp_path / "home/work", "outside the workspace")


# -----------------------------------------------------------------------------
# Broken and endless repositories end in an error of their own.
# -----------------------------------------------------------------------------


def ends(ask: Ask, **more: Any) -> None:
    """Every call ends, with an answer or an error that is no defect."""
    for tool, arguments in CALLS:
        reply = ask(tool, **{**arguments, **more})
        error: Any = reply.facts.get("error") if reply.is_error else None
        assert error is None or error["code"] != "internal", reply.text


def test_broken_files_of_git(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n" * 50, "src/b.py": "def b(): pass\n"})
    made.git("tag", "v1")
    made.commit({"a.txt": "b\n" * 50})
    made.git("gc", "-q")
    own = made.folder / ".git"
    victims = [own / "HEAD", own / "packed-refs", *(own / "objects/pack").iterdir()]
    for victim in victims:
        data = victim.read_bytes()
        for broken in (b"", data[: len(data) // 2], data[:-21] + os.urandom(21), os.urandom(len(data))):
            victim.chmod(0o644)
            victim.write_bytes(broken)
            with asking(made.folder) as ask:
                ends(ask)
        victim.write_bytes(data)
    with asking(made.folder) as ask:
        assert "commit" in ask.text("git", show="log")


def test_a_pipe_in_place_of_a_file(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n"})
    (made.folder / "readroom.toml").write_text("[limits]\nlist_timeout_s = 2.0\nread_timeout_s = 2.0\n")
    for name in ("config", "shallow"):
        path = made.folder / ".git" / name
        kept = path.read_bytes() if path.exists() else None
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        with asking(made.folder) as ask:
            ask.fails("repository_refused", "git", show="log")
        path.unlink()
        if kept is not None:
            path.write_bytes(kept)
    (made.folder / ".git/HEAD").unlink()
    os.mkfifo(made.folder / ".git/HEAD")
    with asking(made.folder) as ask:
        assert ask("git", show="log").is_error


def raw(repo: Repo, kind: str, data: bytes) -> str:
    """The id of an object of any bytes."""
    return repo.git("hash-object", "-t", kind, "-w", "--stdin", "--literally", data=data).strip()


def test_names_that_no_path_has(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n"})
    blob = bytes.fromhex(raw(made, "blob", b"hidden\n"))
    inner = raw(made, "tree", b"100644 passwd\0" + blob)
    rows = [b"100644 ..\0" + blob, b"100644 .\0" + blob, b"100644 .env\0" + blob, b"100644 ok.txt\0" + blob]
    rows += [b"40000 ..\0" + bytes.fromhex(inner), b"100644 a/../b\0" + blob, b"100644 \xff.txt\0" + blob]
    tree = raw(made, "tree", b"".join(rows))
    commit = made.git("commit-tree", "-m", "odd", tree, when=1_700_000_000).strip()
    made.git("update-ref", "refs/heads/odd", commit)
    with asking(made.folder) as ask:
        for path in ("@odd/../passwd", "@odd/.env", "@odd/..", "@odd/a/../b", "@odd/../../etc/passwd"):
            assert "hidden" not in ask("read_file", path=path).text
        reply = ask("list_directory", path="@odd")
        assert ".env" not in reply.text
        # All of them are one file, and one of its names is denied.
        ask.fails("denied_content", "read_file", path="@odd/ok.txt")


def test_a_tree_without_end_is_not_walked(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n"})
    tree = raw(made, "tree", b"100644 f\0" + bytes.fromhex(raw(made, "blob", b"x\n")))
    for _ in range(12):
        rows = b"".join(b"40000 d%d\0" % n + bytes.fromhex(tree) for n in range(10))
        tree = raw(made, "tree", rows)
    commit = made.git("commit-tree", "-m", "bomb", tree, when=1_700_000_000).strip()
    made.git("update-ref", "refs/heads/bomb", commit)
    with asking(made.folder) as ask:
        text = ask.fails("repository_failed", "read_file", path="@bomb/d1/d2")
        assert "names" in text


def test_an_endless_chain_of_references(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n"})
    heads = made.folder / ".git/refs/heads"
    (heads / "one").write_text("ref: refs/heads/two\n")
    (heads / "two").write_text("ref: refs/heads/one\n")
    (heads / "up").write_text("ref: ../../../outside\n")
    with asking(made.folder) as ask:
        for name in ("one", "two", "up"):
            assert ask("read_file", path=f"@{name}/a.txt").is_error


def test_a_file_of_too_many_bytes_is_named(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"big.txt": b"\n" * (65 * 1024 * 1024)})
    made.commit({"big.txt": "small\n"})
    with asking(made.folder) as ask:
        assert ask("read_file", path="@HEAD~1/big.txt").is_error
        assert "too large" in ask.text("git", show="changes", revision="HEAD~1..HEAD")


def test_a_missing_object_is_named(tmp_path: Path) -> None:
    made = Repo(tmp_path / "r")
    made.commit({"a.txt": "a\n", "b.txt": "b\n"})
    name = made.git("rev-parse", "HEAD:a.txt").strip()
    (made.folder / ".git/objects" / name[:2] / name[2:]).unlink()
    with asking(made.folder) as ask:
        ask.fails("repository_failed", "read_file", path="@HEAD/a.txt")
        assert "b" in ask.text("read_file", path="@HEAD/b.txt")
        ask.text("list_directory", path="@HEAD")


def test_a_long_history_ends_in_time(tmp_path: Path) -> None:
    """30,000 commits that all change one file: log pages go on, and blame is of these lines alone."""
    made = Repo(tmp_path / "r")
    rows = []
    for number in range(1, 30_001):
        text = f"{number}\nsame\n"
        rows.append(
            f"commit refs/heads/main\nmark :{number}\ncommitter A <a@b> {1_500_000_000 + number} +0000\n"
            f"data 1\nx\nM 644 inline a.txt\ndata {len(text)}\n{text}\n"
        )
    made.git("fast-import", "--quiet", data="".join(rows).encode())
    with asking(made.folder) as ask:
        reply: Any = ask("git", show="log", path="a.txt")
        assert not reply.is_error, reply.text
        assert len(reply.facts["commits"]) == 20
        missing = ask("git", show="log", path="none.txt")
        assert missing.is_error or missing.facts["next"] is not None, missing.text
        blamed: Any = ask("git", show="blame", path="a.txt", revision="HEAD")
        assert not blamed.is_error, blamed.text
        assert blamed.facts["lines"] or blamed.facts["not_finished"]
