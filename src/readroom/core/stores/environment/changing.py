"""Changes by one script: it checks everything, makes one after the other, and takes all back if one fails.

New contents are written next to their names first, and compared with their hash there.  A file that is
replaced or removed keeps a name next to it until all is made.  The script ignores the signals of a client
that hangs up; what one leaves half done that was killed is taken back at once, or, if the environment does
not answer, before anything else is asked of it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import secrets
import tarfile
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Protocol

from readroom.core.errors import NoPermission, ReadroomError, StoreFailed
from readroom.core.paths import ROOT, WorkPath, ancestors, basename, join, parent
from readroom.core.stores.base import (
    Change,
    Leftover,
    MakeEntry,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    TreeEntry,
    as_inside,
)
from readroom.core.stores.environment.base import CELL_BYTES, HASHED_BYTES, Environment, below
from readroom.core.stores.environment.place import EnvironmentPlace, everything
from readroom.core.stores.environment.scripts import ENTER, Answer, escaped
from readroom.core.stores.environment.steps import LEFT, MOVED, NOT_BEGUN, TAKEN_BACK, Script, ScriptStep
from readroom.core.values import EntryKind, Stat, Version

_SECOND = 1_000_000_000

_SCRIPT_BYTES = 64 * 1024
"""A longer script is sent as a file: systems limit one argument to 128 KiB."""

_SEND = (
    ENTER
    + """
path=$(un "$2"); path=./${path%.}
real "${path%/*}" || return 90  # MOVED
printf %s "$3" | base64 -d >> "$path"
"""
)

_CLEAN = (
    ENTER
    + """
shift 2
for one do one=$(un "$one"); one=./${one%.}; real "${one%/*}" && rm -f -- "$one"; done
"""
)


class Asked(Protocol):
    """The shell that reads, as changes need it."""

    environment: Environment
    root: str
    fine: bool

    def ask(self, path: WorkPath, body: str, *arguments: str, once: bool = False) -> Answer:
        """The answer of a script that begins in the root."""

    def tell(self, left: Leftover) -> None:
        """Have it said once what an interrupted change has left."""

    def later(self, ending: Callable[[], None]) -> None:
        """Do something before anything else is asked; if it fails, it is left to the next time."""


class Changing:
    """The changes of one commit."""

    def __init__(self, shell: Asked) -> None:
        self._shell = shell
        self._token = secrets.token_hex(6)
        self._names: list[str] = []
        self._steps: list[ScriptStep] = []
        self._sent: list[WorkPath] = []
        self._inside: list[tuple[RemoveEntry, frozenset[WorkPath]]] = []
        self._gone: set[WorkPath] = set()
        self._made: set[WorkPath] = set()
        self._folders_of: dict[WorkPath, str] = {}
        self._new: list[str] = []

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> None:
        """Make all or none. Raises as `Store.commit`."""
        try:
            for change in changes:
                self._plan(change)
            ready()
            self._make(changes)
        finally:
            self._clean()

    # --- what is to be done -------------------------------------------------------------------

    def _plan(self, change: Change) -> None:
        place = change.place
        assert isinstance(place, EnvironmentPlace)
        match change:
            case PutFile():
                self._put(change, place)
            case RemoveEntry():
                self._remove(change, place)
            case RenameEntry(_, to, found, expected):
                assert isinstance(to, EnvironmentPlace)
                self._folders(to)
                a, b = self._name(place.real), self._name(to.real)
                step = f"{self._same(a, found, expected)} && free {b} && mv -- {a} {b}"
                at_a, at_b = (f"is {name} '{found.inode} {found.device}'" for name in (a, b))
                back = f"{at_a} || {{ {at_b} && none {a} && mv -- {b} {a}; }} || left"
                self._steps.append(ScriptStep(step, back, done=at_b))
                self._gone.add(place.real)
            case MakeEntry():
                self._folders(place)
                self._folder(place.real)
            case MakeLink(_, target):
                self._folders(place)
                name, to_name = self._name(place.real), self._value(target)
                step = f"free {name} && ln -s -- {to_name} {name}"
                back = f"none {name} || {{ [ -L {name} ] && rm -f -- {name}; }} || left"
                self._steps.append(ScriptStep(step, back, done=f"[ -L {name} ]"))
            case PutTree(_, entries):
                self._tree(place, entries)

    def _put(self, change: PutFile, place: EnvironmentPlace) -> None:
        self._folders(place)
        name = self._name(place.real)
        new, digest = self._upload(place.folder, change.pieces)
        if change.over is None:
            mode = f"chmod $(printf %o $((0{change.mode:o} & ~0$(umask)))) {new}"
            step = f"hashed {new} {digest} && {mode} && free {name} && named {new} {name}"
            back = f"none {name} || {{ hashed {name} {digest} && rm -f -- {name}; }} || left"
            done = f"none {new} || is {name} \"$(stat -c '%i %d' -- {new})\""
            self._steps.append(ScriptStep(_exactly(step, new, change), back, f"rm -f -- {new}", done=done))
            return
        old, found = self._beside(place.real, "old"), change.over.stat
        step = (
            f"hashed {new} {digest} && {self._same(name, found, change.over.version)}"
            f" && chmod {found.mode & 0o777:o} {new} && kept {name} {old} && mv -f -- {new} {name}"
        )
        drop = f"rm -f -- {old}"
        back = f"none {old} || {{ hashed {name} {digest} && mv -f -- {old} {name} && {drop}; }} || left"
        self._steps.append(ScriptStep(_exactly(step, new, change), back, drop, drop, done=f"none {new}"))

    def _remove(self, change: RemoveEntry, place: EnvironmentPlace) -> None:
        if change.inside is not None:
            self._inside.append((change, frozenset(self._gone)))
        self._gone.add(place.real)
        name, old, found = self._name(place.real), self._beside(place.real, "old"), change.found
        same = self._same(name, found, change.expected)
        step = f"{same} && aside {name} {old} '{found.inode} {found.device}'"
        what = "-rf" if found.kind is EntryKind.FOLDER else "-f"
        back = f"none {old} || {{ none {name} && mv -- {old} {name}; }} || left"
        self._steps.append(ScriptStep(step, back, f"rm {what} -- {old}", done=f"! none {old}"))

    def _same(self, name: str, found: Stat, expected: Version | None = None) -> str:
        """That a name still has what was found."""
        if found.kind is EntryKind.FOLDER:
            return f"[ -d {name} ] && same {name} '%i %d' '{found.inode} {found.device}'"
        test = f"[ -L {name} ]" if found.kind is EntryKind.LINK else f"[ ! -L {name} ]"
        state = f"{found.size} {found.inode} {found.device}"
        if self._shell.fine:
            times = f"{_decimal(found.mtime_ns)} {_decimal(found.changed_ns or 0)}"
            return f"{test} && same {name} '%s %i %d %.9Y %.9Z' '{state} {times}'"
        same = f"{test} && same {name} '%s %i %d %Y' '{state} {found.mtime_ns // _SECOND}'"
        if expected is None or found.kind is not EntryKind.FILE or found.size > HASHED_BYTES:
            return same
        return f"{same} && {{ hashed {name} {expected.ctime_ns:015x} || moved; }}"

    def _tree(self, place: EnvironmentPlace, entries: Sequence[TreeEntry]) -> None:
        """A folder with everything in it is unpacked next to its name, which it then gets in one step."""
        self._folders(place)
        name, beside = self._name(place.real), self._beside(place.real, "new")
        packed, digest = self._upload(place.folder, [_packed(entries)])
        step = (
            f"hashed {packed} {digest} && free {name} && mkdir -- {beside}"
            f" && tar -xpf {packed} -C {beside} && mv -- {beside}/top {name}"
        )
        undo, partly = f"rm -rf -- {name} {beside}", f"rm -rf -- {beside}"
        done = f"[ -d {beside} ] && none {beside}/top && ! none {name}"
        self._steps.append(ScriptStep(step, f"none {beside} || {undo}", f"rmdir -- {beside}", partly, done))

    def _folders(self, place: EnvironmentPlace) -> None:
        """Begin a change: no link is on the way to its folder, and missing folders are made."""
        if place.folder not in self._folders_of:
            self._folders_of[place.folder] = self._name(place.folder)
        self._steps.append(ScriptStep(f"inside {self._folders_of[place.folder]}", ":"))
        for folder in place.missing:
            self._folder(folder)

    def _folder(self, path: WorkPath) -> None:
        if path not in self._made:
            self._made.add(path)
            name, number = self._name(path), len(self._steps)
            back, done = f"unfolder {name} {number}", f"[ -d {name} ]"
            self._steps.append(ScriptStep(f"folder {name} {number}", back, done=done))

    # --- names and contents -------------------------------------------------------------------

    def _value(self, text: str) -> str:
        """A variable of the script that holds a text."""
        variable = f"v{len(self._names)}"
        self._names.append(f"get '{escaped(text)}'; {variable}=$got\n")
        return f'"${variable}"'

    def _name(self, path: WorkPath) -> str:
        return self._value("." if path == ROOT else f"./{path}")

    def _beside(self, path: WorkPath, kind: str) -> str:
        """A new name in the folder of another."""
        return self._name(join(parent(path), f".readroom-{self._token}-{len(self._names)}.{kind}"))

    def _upload(self, folder: WorkPath, pieces: Iterable[bytes]) -> tuple[str, str]:
        """Write new contents next to their name; the variable of where, and their hash."""
        name = f".readroom-{self._token}-{len(self._sent)}.tmp"
        path = join(folder, name)
        data = b"".join(pieces)
        self._sent.append(path)
        self._send(path, data)
        self._new.append(self._name(path))
        return self._new[-1], hashlib.sha256(data).hexdigest()

    def _send(self, path: WorkPath, data: bytes) -> None:
        shell = self._shell
        if shell.environment.has_files and len(data) > CELL_BYTES and _is_text(path):
            try:
                shell.environment.write(f"{shell.root.rstrip('/')}/{path}", data)
            except ReadroomError:
                raise
            except PermissionError:
                raise NoPermission(path, "change") from None
            except OSError as error:
                raise StoreFailed(path, f"it cannot be written: {error}") from None
            return
        for at in range(0, max(1, len(data)), CELL_BYTES):
            piece = base64.b64encode(data[at : at + CELL_BYTES]).decode("ascii")
            code = shell.ask(path, _SEND, piece, once=True).code
            if code == MOVED:
                raise Moved
            if code:
                raise _refused(path)

    # --- making -------------------------------------------------------------------------------

    def _make(self, changes: Sequence[Change]) -> None:
        for change, gone in self._inside:
            self._require_inside(change, gone)
        script, about = self._script(changes[0]), changes[0].place.real
        first, second = self._as_sent(script.first()), script.second()
        try:
            answer = self._shell.ask(ROOT, first, once=True)
            self._tell(answer.data)
            code = answer.code
        except StoreFailed as error:
            code = self._ended(second, about, error)
        if code == MOVED:
            raise Moved
        if code == LEFT:
            raise _torn(about, self._token)
        if code:
            raise _refused(about)

    def _script(self, change: Change) -> Script:
        place = change.place
        assert isinstance(place, EnvironmentPlace)
        run = f"run={self._name(join(place.folder, f'.readroom-{self._token}.run'))}\n"
        folders = [*self._folders_of.values()]
        return Script(self._token, "".join(self._names) + run, self._steps, folders, self._new)

    def _as_sent(self, script: str) -> str:
        """A script, or a shorter one that runs it from a file."""
        if len(script) <= _SCRIPT_BYTES:
            return script
        path = WorkPath(f".readroom-{secrets.token_hex(6)}.sh")
        self._sent.append(path)
        self._send(path, script.encode("ascii"))
        return f"{ENTER}. ./{path}\n"

    def _ended(self, second: str, about: WorkPath, error: StoreFailed) -> int:
        """The code after a script without an answer, once what it left is ended. Raises StoreFailed."""

        def end() -> int:
            return self._shell.ask(ROOT, self._as_sent(second), once=True).code

        def later() -> None:
            try:
                if end() == LEFT:
                    self._shell.tell(Leftover(about, _torn(about, self._token).problem))
            finally:
                self._clean()

        try:
            code = end()
        except (ReadroomError, Moved):
            self._shell.later(later)
            code = NOT_BEGUN
        if code == NOT_BEGUN:
            problem = f"{error.problem}; whether the change was made is not known"
            raise StoreFailed(about, problem, "Look at it again before you change it.") from None
        if code == TAKEN_BACK:
            problem = f"{error.problem}; the change was cut off and has been taken back"
            raise StoreFailed(about, problem, "Send the call again.") from None
        return code

    def _tell(self, notes: bytes) -> None:
        """Note the changes of other processes that are not at their end."""
        for path in filter(None, notes.split(b"\0")):
            name = os.fsdecode(path.removeprefix(b"./"))
            former = f"former states end with .old and begin with {basename(WorkPath(name))[:-4]}"
            problem = f"another change in its folder was cut off, or is at work: {former}"
            self._shell.tell(Leftover(WorkPath(name), problem))

    def _require_inside(self, change: RemoveEntry, gone: Container[WorkPath]) -> None:
        """Look at a folder as it will be when it is removed, without what earlier changes take out of it."""
        place = change.place
        assert isinstance(place, EnvironmentPlace)
        now = {}
        for path, seen in below(everything(place.store, place.real)):
            real = join(place.real, path)
            if real not in gone and not any(above in gone for above in ancestors(real)):
                now[path] = as_inside(seen.stat)
        if now != change.inside:
            raise Moved

    def _clean(self) -> None:
        """Remove what was written next to the names; what fails stays, and is named like that."""
        if not self._sent:
            return
        try:
            self._shell.ask(ROOT, _CLEAN, *(escaped(path) for path in self._sent))
        except ReadroomError:
            return


def _torn(path: WorkPath, token: str) -> StoreFailed:
    """The failure of a change that could be neither made nor taken back."""
    return StoreFailed(
        path,
        "the change was cut off, and another program has changed its files since: it is made in part",
        f"Look at each of its files; what they were has names that begin with .readroom-{token}.",
    )


def _decimal(time_ns: int) -> str:
    """A time as `stat` says it."""
    return f"{time_ns // _SECOND}.{time_ns % _SECOND:09}"


def _exactly(step: str, new: str, change: PutFile) -> str:
    """The step with the mode and the time that a file had once."""
    if change.exactly is None:
        return step
    seconds, rest = divmod(change.exactly.mtime_ns, 1_000_000_000)
    touched = f"{{ touch -d @{seconds}.{rest:09} {new} || touch -d @{seconds} {new}; }}"
    return f"chmod {change.exactly.mode & 0o7777:o} {new} && {touched} && {step}"


def _is_text(path: str) -> bool:
    """Whether a client can be given a path as it is."""
    return path.isascii() and path.isprintable()


def _packed(entries: Sequence[TreeEntry]) -> bytes:
    """A tree as a tar archive, below `top`."""
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for entry in entries:
            info = tarfile.TarInfo("/".join(("top", entry.inside)).rstrip("/"))
            info.mode, info.mtime = entry.mode & 0o7777, (entry.mtime_ns or 0) // 1_000_000_000
            if entry.kind is EntryKind.FOLDER:
                info.type = tarfile.DIRTYPE
            elif entry.kind is EntryKind.LINK:
                info.type, info.linkname = tarfile.SYMTYPE, entry.target
            info.size = len(entry.data) if entry.kind is EntryKind.FILE else 0
            archive.addfile(info, io.BytesIO(entry.data))
    return out.getvalue()


def _refused(path: WorkPath) -> StoreFailed:
    """The failure of what could not be changed; everything before it was taken back."""
    return StoreFailed(
        path,
        "the sandbox did not let it be changed, and nothing was changed",
        "Ask the user whether files may be changed there, and whether it has room.",
    )
