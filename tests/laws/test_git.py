"""The law that a repository starts nothing: no program and no connection, whatever its files name.

Every setting of git that names a program is planted, in each place from which git takes settings, and every
call that readroom makes of git is made.  Each plant is shown to work first: git itself, asked plainly, starts
what is planted.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from msgspec import Struct

from tests.each import each
from tests.lens.making import called, numbered, record, returned, said
from tests.test_wings import MODULES

PROGRAMS = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.gitProxy",
    "core.askPass",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "diff.planted.command",
    "diff.planted.textconv",
    "filter.planted.clean",
    "filter.planted.smudge",
    "filter.planted.process",
    "merge.planted.driver",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "gpg.x509.program",
    "interactive.diffFilter",
    "pager.cat-file",
    "pager.ls-tree",
    "pager.rev-parse",
    "sequence.editor",
    "uploadpack.packObjectsHook",
    "remote.path.uploadpack",
    "trailer.planted.command",
    "man.viewer",
    "browser.planted.cmd",
    "difftool.planted.cmd",
    "mergetool.planted.cmd",
    "web.browser",
    "sendemail.smtpServer",
    "tar.planted.command",
)
"""Settings whose value is a command line."""

ALIASES = ("cat-file", "ls-tree", "rev-parse", "fetch", "remote-ext", "remote-https", "pack-objects")
HOOKS = ("post-checkout", "post-index-change", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman")


class Planted(Struct, frozen=True):
    """A repository that tries everything.

    `marks` gets a file from each program that runs, `calls` a row from each connection to `port`.
    """

    root: Path
    marks: Path
    port: int
    calls: list[str]

    def settings(self) -> Iterator[tuple[str, str]]:
        """All that a configuration can name."""
        for name in PROGRAMS:
            yield name, self.program(name)
        for name in ALIASES:
            yield f"alias.{name}", "!" + self.program(f"alias.{name}")
        for protocol in ("ext", "ssh", "http", "https", "git", "file", "planted"):
            yield f"protocol.{protocol}.allow", "always"
        yield "protocol.allow", "always"
        remotes = {
            "ext": f"ext::{self.program('remote-ext')}",
            "ssh": "ssh://127.0.0.1/r",
            "http": f"http://127.0.0.1:{self.port}/r",
            "git": f"git://127.0.0.1:{self.port}/r",
            "path": str(self.root.parent / "other"),
            "planted": "planted::there",
        }
        for name, url in remotes.items():
            yield f"remote.{name}.url", url
            yield f"remote.{name}.fetch", "+refs/heads/*:refs/remotes/x/*"
            yield f"remote.{name}.promisor", "true"
        yield "remote.vcs.url", "there"
        yield "remote.vcs.vcs", "planted"
        yield "remote.vcs.promisor", "true"
        yield "core.hooksPath", str(self.root / "hooks")
        yield "core.attributesFile", str(self.root / ".gitattributes")
        yield "submodule.part.update", "!" + self.program("submodule.update")
        yield "submodule.recurse", "true"
        yield "fetch.recurseSubmodules", "true"
        yield "log.showSignature", "true"
        yield "trace2.eventTarget", str(self.marks / "trace2")

    def program(self, name: str) -> str:
        """A command line that leaves a mark."""
        return f"sh {self.root.parent / 'mark.sh'} {name}"

    def started(self) -> list[str]:
        """The programs that ran and the connections made since the last question."""
        found = [*sorted(path.name for path in self.marks.iterdir()), *self.calls]
        for path in self.marks.iterdir():
            path.unlink()
        self.calls.clear()
        return found


Place = Callable[[Planted], Mapping[str, str]]
"""Plants the settings somewhere; returns the environment in which they count."""


def _written(file: Path, planted: Planted) -> None:
    with open(file, "a", encoding="utf-8") as out:
        for name, value in planted.settings():
            section, _, rest = name.partition(".")
            below, _, key = rest.rpartition(".")
            quoted = value.replace('"', '\\"')
            out.write(f'[{section} "{below}"]\n' if below else f"[{section}]\n")
            out.write(f'\t{key} = "{quoted}"\n')


def own(planted: Planted) -> Mapping[str, str]:
    _written(planted.root / ".git/config", planted)
    return {}


def included(planted: Planted) -> Mapping[str, str]:
    _written(planted.root / "more", planted)
    git(planted.root, "config", "include.path", "../more")
    return {}


def included_on_condition(planted: Planted) -> Mapping[str, str]:
    _written(planted.root / "more", planted)
    with open(planted.root / ".git/config", "a", encoding="utf-8") as out:
        for condition in ("gitdir:/", "onbranch:**"):
            out.write(f'[includeIf "{condition}"]\n\tpath = {planted.root / "more"}\n')
    return {}


def of_the_worktree(planted: Planted) -> Mapping[str, str]:
    git(planted.root, "config", "extensions.worktreeConfig", "true")
    _written(planted.root / ".git/config.worktree", planted)
    return {}


def of_the_user(planted: Planted) -> Mapping[str, str]:
    home = planted.root.parent / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").unlink(missing_ok=True)
    _written(home / ".gitconfig", planted)
    return {"HOME": str(home)}


def of_the_system(planted: Planted) -> Mapping[str, str]:
    (planted.root.parent / "system").unlink(missing_ok=True)
    _written(planted.root.parent / "system", planted)
    return {"GIT_CONFIG_SYSTEM": str(planted.root.parent / "system")}


def in_variables(planted: Planted) -> Mapping[str, str]:
    rows = list(planted.settings())
    variables = {"GIT_CONFIG_COUNT": str(len(rows))}
    for number, (name, value) in enumerate(rows):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def as_variables(planted: Planted) -> Mapping[str, str]:
    """Those that name a program themselves, next to a remote that the repository names."""
    own(planted)
    names = (
        "GIT_SSH_COMMAND", "GIT_SSH", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EDITOR",
        "EDITOR", "GIT_PAGER", "PAGER", "GIT_EXTERNAL_DIFF", "GIT_SEQUENCE_EDITOR",
    )  # fmt: skip
    programs = planted.root.parent / "programs"
    return {
        **{name: planted.program(name) for name in names},
        "GIT_EXEC_PATH": str(programs),
        "GIT_ALLOW_PROTOCOL": "ext:ssh:http:git:file:planted",
        "GIT_PROTOCOL_FROM_USER": "1",
        "GIT_NO_LAZY_FETCH": "0",
        "GIT_TRACE": str(planted.marks / "GIT_TRACE"),
        "GIT_TRACE2_EVENT": str(planted.marks / "GIT_TRACE2_EVENT"),
        "GIT_TEMPLATE_DIR": str(planted.root / "hooks"),
    }


PLACES: tuple[Place, ...] = (
    own,
    included,
    included_on_condition,
    of_the_worktree,
    of_the_user,
    of_the_system,
    in_variables,
    as_variables,
)


def git(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
    """Ask git plainly; only for what the test makes itself is success required."""
    names = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *names, "-C", str(folder), *words], capture_output=True, check=False, env=env, timeout=60
    )
    assert env is not None or done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository that has a submodule, hooks and attributes; only `model` is to be copied."""
    folder = tmp_path_factory.mktemp("git")
    root, marks, part = folder / "root", folder / "marks", folder / "part"
    for place in (root, marks, part, root / "hooks", folder / "programs", folder / "other"):
        place.mkdir()
    (folder / "mark.sh").write_text(f'touch "{marks}/$1"\nexit 1\n')
    for name in ("git-remote-planted", "git-remote-ext", "git-remote-http", "git-fetch", "git", "sh", "ssh"):
        _executable(folder / "programs" / name, f"touch {marks}/{name}; exit 1")
    for place in (part, root, folder / "other"):
        (place / "app.py").write_text(f"print({place.name!r})\n")
        git(place, "init", "-q")
        if place == root:
            (root / ".gitattributes").write_text("* filter=planted diff=planted merge=planted\n")
            git(root, "submodule", "--quiet", "add", str(part), "lib")
        git(place, "add", ".")
        git(place, "commit", "-qm", "one")
    for hook in HOOKS:
        for hooks in (root / "hooks", root / ".git/hooks", root / ".git/modules/lib/hooks"):
            hooks.mkdir(exist_ok=True)
            _executable(hooks / hook, f"touch {marks}/{hook}")
    root.rename(folder / "model")
    return folder


@contextmanager
def repository(folder: Path, *, lacks: bool) -> Iterator[Planted]:
    """That repository anew; the files may lack their content, as in a partial clone."""
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(folder / "model", root, symlinks=True)
    if lacks:
        for repository, text in ((root / ".git", "root"), (root / ".git/modules/lib", "part")):
            content = f"print({text!r})\n".encode()
            digest = hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
            (repository / "objects" / digest[:2] / digest[2:]).unlink()
            with open(repository / "config", "a", encoding="utf-8") as out:
                out.write("[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = ext\n")
    listener = socket.create_server(("127.0.0.1", 0))
    planted = Planted(root, folder / "marks", listener.getsockname()[1], [])
    planted.started()
    hearing = threading.Thread(target=_hear, args=(listener, planted.calls))
    hearing.start()
    try:
        yield planted
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        hearing.join()
        listener.close()


def _hear(listener: socket.socket, calls: list[str]) -> None:
    with suppress(OSError):
        while True:
            listener.accept()[0].close()
            calls.append("connection")


def _executable(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "GIT_TERMINAL_PROMPT": "0", **variables}


def audited(
    session: Path, folder: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A replay of a session at the last commit of a folder: the only way to git."""
    words = ("audit", str(session), "--replay", str(folder), "--commit", "HEAD", "--no-secrets")
    line = [sys.executable, "-m", "readroom", *words]
    return subprocess.run(line, capture_output=True, text=True, env=env, check=False)


@each("place", PLACES)
@each("lacks", [False, True], ids=["whole", "lacking"])
def test_no_call_of_git_starts_a_program_or_a_connection(
    place: Place, lacks: bool, tmp_path: Path, made: Path
) -> None:
    path = record(
        tmp_path / "r.jsonl",
        [
            called(1, "Read", {"file_path": "/home/dev/shop/app.py"}),
            returned(1, numbered(["print('root')"])),
            said("x"),
        ],
    )
    with repository(made, lacks=lacks) as planted:
        environment = _environment(place(planted))
        done = audited(path, planted.root, environment)
        assert planted.started() == []
        assert (done.returncode != 0) is lacks, done.stderr
        if lacks:
            assert "git has no content of" in done.stderr


@each("place", [own, included, of_the_worktree, of_the_user, in_variables, as_variables])
def test_git_itself_would_start_what_is_planted(place: Place, tmp_path: Path, made: Path) -> None:
    """So that the law above does not hold for want of a plant."""
    with repository(made, lacks=True) as planted:
        environment = _environment(place(planted))
        git(planted.root, "cat-file", "-p", "HEAD:app.py", env=environment)
        fetched = set(planted.started())
        assert fetched & {"remote-ext", "git-remote-ext", "git"}
        git(planted.root, "status", env=environment)
        git(planted.root, "diff", env=environment)
        git(planted.root, "checkout", "--", ".", env=environment)
        for remote in ("ssh", "http", "git", "path"):
            git(planted.root, "fetch", remote, env=environment)
        assert len(set(planted.started())) >= 4


def test_the_settings_of_a_submodule_start_nothing(tmp_path: Path, made: Path) -> None:
    path = record(tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "lib/app.py"}), said("x")])
    with repository(made, lacks=True) as planted:
        shutil.rmtree(planted.root / ".git/objects")
        shutil.copytree(made / "model/.git/objects", planted.root / ".git/objects")
        _written(planted.root / ".git/modules/lib/config", planted)
        done = audited(path, planted.root)
        assert planted.started() == []
        assert "git has no content of 'lib/app.py'" in done.stderr


def _borrows(root: Path, other: Path, at: Path) -> None:
    (root / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")


def _links_objects(root: Path, other: Path, at: Path) -> None:
    (root / ".git/objects").rename(at / "objects")
    (root / ".git/objects").symlink_to(other / ".git/objects")


def _links_a_part(root: Path, other: Path, at: Path) -> None:
    shutil.rmtree(root / ".git/objects/pack")
    (root / ".git/objects/pack").symlink_to(other / ".git/objects/pack")


def _links_all(root: Path, other: Path, at: Path) -> None:
    (root / ".git").rename(at / "gone")
    (root / ".git").symlink_to(other / ".git")


def _points(root: Path, other: Path, at: Path) -> None:
    (root / ".git").rename(at / "gone")
    (root / ".git").write_text(f"gitdir: {other}/.git\n")


def _has_a_common_folder(root: Path, other: Path, at: Path) -> None:
    (root / ".git/commondir").write_text(f"{other}/.git\n")


def _borrows_by_two(root: Path, other: Path, at: Path) -> None:
    (root / "mine/info").mkdir(parents=True)
    (root / "mine/info/alternates").write_text(f"{other}/.git/objects\n")
    (root / ".git/objects/info/alternates").write_text("# mine\n../../mine\n")


def _borrows_in_quotes(root: Path, other: Path, at: Path) -> None:
    (root / ".git/objects/info/alternates").write_text(f'"\\057{str(other)[1:]}/.git/objects"\n')


def _borrows_past_a_link(root: Path, other: Path, at: Path) -> None:
    """Read as text, `l/..` is the folder of objects; in the file system it is another."""
    (root / ".git/a/b/c/d").mkdir(parents=True)
    (root / ".git/objects/l").symlink_to("../a/b/c/d")
    (root / ".git/objects/info/alternates").write_text("l/../../../../other/.git/objects\n")


def _calls_itself_a_worktree(root: Path, other: Path, at: Path) -> None:
    (root / ".git").rename(at / "gone")
    (root / ".git").write_text("gitdir: mine\n")
    (root / "mine").mkdir()
    for name, text in {
        "gitdir": f"{root}/.git",
        "commondir": f"{other}/.git",
        "HEAD": "ref: refs/heads/x",
    }.items():
        (root / "mine" / name).write_text(f"{text}\n")


@each(
    "reach",
    [
        _borrows,
        _borrows_by_two,
        _borrows_past_a_link,
        _calls_itself_a_worktree,
        _has_a_common_folder,
        _links_a_part,
        _links_all,
        _links_objects,
        _points,
    ],
)
def test_objects_of_other_repositories_are_not_shown(
    reach: Callable[[Path, Path, Path], None], tmp_path: Path, made: Path
) -> None:
    path = record(tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "app.py"}), said("x")])
    with repository(made, lacks=False) as planted:
        reach(planted.root, made / "other", tmp_path)
        done = audited(path, planted.root)
        assert done.returncode == 2
        assert f"takes objects of git from elsewhere: {made / 'other'}" in done.stderr
        assert "git clone --no-local" in done.stderr


def test_objects_under_a_name_in_quotes_are_not_shown(tmp_path: Path, made: Path) -> None:
    path = record(tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "app.py"}), said("x")])
    with repository(made, lacks=False) as planted:
        _borrows_in_quotes(planted.root, made / "other", tmp_path)
        done = audited(path, planted.root)
        assert done.returncode == 2
        assert "takes objects of git from elsewhere" in done.stderr


def _stored(root: Path, kind: str, data: bytes) -> bytes:
    words = ["git", "-C", str(root), "hash-object", "-t", kind, "-w", "--literally", "--stdin"]
    done = subprocess.run(words, input=data, capture_output=True, check=True, timeout=60)
    return bytes.fromhex(done.stdout.decode())


@pytest.mark.parametrize(
    "twice", [b"40000 app.py\0", b"100644 app.py\0", b"120000 app.py\0", b"40000 away\0"]
)
def test_a_tree_with_one_name_twice_writes_nothing_elsewhere(
    twice: bytes, tmp_path: Path, made: Path
) -> None:
    """A clone brings such a commit: a link out, and a folder of that name with a link that is put there."""
    path = record(tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "app.py"}), said("x")])
    victim = tmp_path / "victim"
    victim.mkdir()
    with repository(made, lacks=False) as planted:
        text, out = (_stored(planted.root, "blob", data) for data in (b"print(1)\n", bytes(victim)))
        below = _stored(planted.root, "tree", b"120000 planted\0" + text)
        rows = (
            b"100644 app.py\0" + text,
            b"120000 away\0" + out,
            twice + (below if twice[:1] == b"4" else text),
        )
        tree = _stored(planted.root, "tree", b"".join(rows)).hex()
        person = "n <n@example.org> 1 +0000"
        commit = f"tree {tree}\nauthor {person}\ncommitter {person}\n\none\n".encode()
        (planted.root / ".git/HEAD").write_text(_stored(planted.root, "commit", commit).hex() + "\n")
        done = audited(path, planted.root)
        assert list(victim.iterdir()) == []
        assert "failed inside" not in done.stderr
        assert done.returncode == (5 if twice[:1] == b"4" else 0), done.stderr


def test_worktrees_and_submodules_are_replayed(tmp_path: Path, made: Path) -> None:
    """Their objects lie elsewhere as well, in the repository that they belong to."""
    path = record(tmp_path / "r.jsonl", [called(1, "Read", {"file_path": "app.py"}), said("x")])
    with repository(made, lacks=False) as planted:
        git(planted.root, "worktree", "add", "-q", str(tmp_path / "tree"))
        (tmp_path / "tree/sub").mkdir()
        for folder in (
            tmp_path / "tree",
            tmp_path / "tree/sub",
            planted.root / "lib",
            planted.root / "hooks",
        ):
            done = audited(path, folder)
            assert done.returncode == 0, done.stderr


def test_one_module_starts_git() -> None:
    """Elsewhere, nothing that starts programs is near the word."""
    starting = set()
    for name, file in MODULES.items():
        text = file.read_text(encoding="utf-8")
        if any(word in text for word in ("subprocess", "os.exec", "posix_spawn", "landlock.spawn")):
            words = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
            starting |= {name} if "git" in words else set()
    assert starting == {"readroom.core.git"}
