"""Each change that a conversation did not make is reported in its next reply, once; its own never are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.caller import Caller
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

NAMES = ("a.py", "b.txt", "d/c.log")
FACT = "changed_since_seen"

Act = st.tuples(
    st.sampled_from(
        (
            "read",
            "grep",
            "edit",
            "write",
            "move",
            "several",
            "replace",
            "append",
            "touch",
            "remove",
            "kept time",
        )
    ),
    st.sampled_from(("one", "two")),
    st.sampled_from(NAMES),
)


class Known:
    """The files as one conversation knows them."""

    def __init__(self) -> None:
        self.files: dict[str, str | None] = {}
        self.grows: set[str] = set()

    def due(self, real: dict[str, str]) -> set[str]:
        """The files of which its next reply speaks."""
        due = set()
        for name, known in self.files.items():
            now = real.get(name)
            if now == known:
                continue
            if known and now is not None and now.startswith(known) and name in self.grows:
                continue
            due.add(name)
        return due

    def heard(self, real: dict[str, str]) -> None:
        """Its reply spoke of them."""
        for name, known in self.files.items():
            now = real.get(name)
            if now is not None and known and now != known and now.startswith(known):
                self.grows.add(name)
            elif now != known:
                self.grows.discard(name)
            self.files[name] = now

    def sees(self, name: str, text: str | None) -> None:
        """It was shown a file, or changed it."""
        self.files[name] = text
        self.grows.discard(name)


class Play:
    """Two conversations and somebody else in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.numbers = count()
        (folder / "d").mkdir()
        self.workspace = Workspace(folder)
        self.known = {"one": Known(), "two": Known()}
        for name in NAMES:
            (folder / name).write_text(self.text())

    @property
    def real(self) -> dict[str, str]:
        return {name: (self.folder / name).read_text() for name in NAMES if (self.folder / name).exists()}

    def text(self) -> str:
        """A text that no file has had, of one size."""
        return f"line {next(self.numbers):06}\n" + "more\n" * 20

    def call(self, who: str, tool: str, **arguments: Any) -> Reply:
        """A call, whose reply speaks of what is due and of nothing else."""
        known = self.known[who]
        due = known.due(self.real)
        caller = Caller(agent=f"agent-{who}", session=who)
        reply = self.workspace.call(tool, arguments, caller=caller)
        news: Any = reply.facts.get(FACT, [])
        assert {item["path"] for item in news} == due, (tool, arguments, reply.text)
        known.heard(self.real if reply.is_error or tool.startswith(("read", "grep", "list")) else self.before)
        return reply

    def change(self, who: str, tool: str, after: dict[str, str | None], **arguments: Any) -> None:
        """A change by a conversation, which knows it then."""
        self.before = self.real
        reply = self.call(who, tool, **arguments)
        assert not reply.is_error, reply.text
        for name, text in after.items():
            if text is None:
                self.known[who].files.pop(name, None)
            else:
                self.known[who].sees(name, text)

    def act(self, what: str, who: str, name: str) -> None:
        path, real = self.folder / name, self.real
        text = real.get(name)
        if text is None and what not in ("write", "replace"):
            return
        if what == "read":
            self.call(who, "read_file", path=name)
            self.known[who].sees(name, text)
        elif what == "grep":
            self.call(who, "grep_files", pattern="line", path=name)
            self.known[who].sees(name, text)
        elif what in ("edit", "several"):
            assert text is not None
            new = self.text()
            edit = {"old_text": text[:12], "new_text": new[:12]}
            changed = new[:12] + text[12:]
            digest = self.digest(name)
            if what == "edit":
                arguments = {"path": name, "expected_hash": digest, "edits": [edit]}
            else:
                arguments = {"edits": [{"path": name, "expected_hash": digest, **edit}]}
            self.change(who, "edit_file", {name: changed}, **arguments)
        elif what == "write":
            new, digest = self.text(), "absent" if text is None else self.digest(name)
            self.change(who, "write_file", {name: new}, path=name, content=new, expected_hash=digest)
        elif what == "move":
            gone = {"action": "delete", "path": name, "expected_hash": self.digest(name)}
            self.change(who, "change_files", {name: None}, changes=[gone])
        elif what == "replace":
            other = self.folder / "other"
            other.write_text(self.text())
            other.rename(path)
        elif what == "append":
            with path.open("a") as file:
                file.write(f"added {next(self.numbers)}\n")
        elif what == "touch":
            os.utime(path, ns=(1, 1))
        elif what == "kept time":
            times = path.stat()
            assert text is not None
            path.write_text(self.text()[:12] + text[12:])
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        else:
            path.unlink()

    def digest(self, name: str) -> str:
        from hashlib import sha256

        return sha256((self.folder / name).read_bytes()).hexdigest()


@contextmanager
def playing() -> Iterator[Play]:
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Path(folder))
        try:
            yield play
        finally:
            play.workspace.close()


@settings(max_examples=150)
@given(st.lists(Act, max_size=14))
def test_changes_are_reported_once_and_own_ones_never(acts: list[tuple[str, str, str]]) -> None:
    with playing() as play:
        for act in acts:
            play.act(*act)
        for who in ("one", "two"):
            play.call(who, "list_directory", path=".")
            assert FACT not in play.call(who, "list_directory", path=".").facts
