"""Keep what a change takes away: written down before the change is made, settled when it was.

Contents are read through the places that policy let through; a name inside a folder is asked about again.
If something cannot be kept, a warning says so, or the change is refused where the operator demands a past.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.errors.history import HistoryFailed, HistoryRequired
from readroom.core.history import states
from readroom.core.history.book import Book
from readroom.core.history.pruning import content_bytes
from readroom.core.history.records import Draft
from readroom.core.history.settings import HistoryPolicy
from readroom.core.paths import ROOT, WorkPath, join, parent
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.stores.base import (
    Change,
    Inside,
    MakeEntry,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    Store,
    TreeEntry,
    WriteTarget,
)
from readroom.core.text.edits.diff import blocks, common_end, common_start, split
from readroom.core.text.hashes import full
from readroom.core.values import EntryKind, Stat
from readroom.core.values.files import Warn
from readroom.core.values.history import NOTHING, Author, EntryState

HELD_BYTES = 64 * 1024 * 1024
"""New contents of one change that are held until it begins; of further ones only the hash is kept."""

_NEW_MODE = 0o666


class CallRecorder:
    """Keeps the changes of one call. Used by one thread."""

    def __init__(
        self,
        book: Callable[[], Book],
        policy: HistoryPolicy,
        guard: Guard,
        author: Author,
        deadline: Deadline,
        undoes: int | None = None,
    ) -> None:
        """`book` opens the history, and may raise HistoryFailed; `undoes` is what the call takes back."""
        self._book = book
        self.policy = policy
        self.content_bytes = content_bytes(policy)
        self.guard = guard
        self._author = author
        self.deadline = deadline
        self.undoes = undoes
        self._entered: dict[WorkPath, OpenRecord] = {}
        self.last: int | None = None
        """The number of the latest change that was kept."""

    def keeping(self, changes: Sequence[Change]) -> OpenRecord:
        """The record of changes that are made together."""
        places = [change.to if isinstance(change, RenameEntry) else change.place for change in changes]
        began = [self._entered.pop(place.real, None) for place in places if self._entered]
        keeping = next((one for one in began if one is not None), None) or OpenRecord(self)
        keeping.watch(changes)
        return keeping

    def entering(self, place: WriteTarget) -> None:
        """Write down that folders above a name are going to be made."""
        missing = self.missing(place)
        if missing:
            keeping = self._entered[place.real] = OpenRecord(self)
            keeping.begin_with([_made_folder(path) for path in missing])

    def close(self) -> None:
        """Settle what was begun and not made."""
        entered, self._entered = self._entered, {}
        for keeping in entered.values():
            keeping.failed()

    def missing(self, place: WriteTarget) -> list[WorkPath]:
        """The folders above a name that are not there, outermost first."""
        found: list[WorkPath] = []
        folder = parent(place.real)
        while folder != ROOT:
            try:
                self.guard.store.stat(folder)
                break
            except errors.NotFound:
                found.insert(0, folder)
                folder = parent(folder)
        return found

    def begin(self, drafts: Iterable[Draft]) -> tuple[Book, int, int]:
        """Open the history, and begin a change with its names, of which it returns the count."""
        book = self._book()
        return (book, *book.begin(self._author, self.undoes, drafts))


class OpenRecord:
    """The record of one change."""

    def __init__(self, recorder: CallRecorder) -> None:
        self._recorder = recorder
        self._store: Store = recorder.guard.store
        self._watched: dict[int, _Watched] = {}
        self._book: Book | None = None
        self._change: int | None = None
        self._count = 0
        self._size = 0
        self._unkept: list[str] = []
        self._folders: set[WorkPath] = set()
        self.changes: Sequence[Change] = ()
        self.warnings: Sequence[Warn] = ()

    def watch(self, changes: Sequence[Change]) -> None:
        """Hash what the changes write as it is written."""
        budget = _Budget(HELD_BYTES, self._recorder.content_bytes)
        watched: list[Change] = []
        for change in changes:
            if isinstance(change, PutFile):
                one = self._watched[len(watched)] = _Watched(change.pieces, budget)
                change = replace(change, pieces=one)
            watched.append(change)
        self.changes = watched

    def begin(self) -> None:
        """Write down what is there, before it is changed. Raises HistoryRequired, Moved, TimedOut."""
        self.begin_with(self._drafts())

    def begin_with(self, drafts: Iterable[Draft]) -> None:
        """Write down names of the change."""
        policy = self._recorder.policy
        try:
            if self._change is None or self._book is None:
                self._book, self._change, self._count = self._recorder.begin(drafts)
            else:
                self._count = self._book.add(self._change, drafts, self._count)
        except HistoryFailed as failure:
            self._forgo(failure.reason)
        if self._unkept:
            reason = _not_kept(self._unkept, self._recorder.content_bytes)
            if policy.required:
                self.failed()
                raise HistoryRequired(reason)
            self.warnings = [Warn("no_history", reason)]

    def _forgo(self, reason: str) -> None:
        """Change without a record, or refuse."""
        self.failed()
        self._change = None
        if self._recorder.policy.required:
            raise HistoryRequired(reason)
        self._unkept.clear()
        self.warnings = [Warn("no_history", f"the past of this change was not kept: {reason}")]

    def settled(self) -> None:
        """The change was made."""
        if self._change is None or self._book is None:
            return
        self._recorder.last = self._change
        try:
            self._book.made(self._change)
        except HistoryFailed:
            return  # it was begun: whoever looks next finds that it was made

    def failed(self) -> None:
        """The change was not made, or not as a whole."""
        change, self._change = self._change, None
        if change is None or self._book is None:
            return
        try:
            if self._book.settle_one(change, interrupted=True):
                self._recorder.last = change
        except HistoryFailed:
            return

    # --- what is there ------------------------------------------------------------------------

    def _drafts(self) -> Iterator[Draft]:
        for number, change in enumerate(self.changes):
            match change:
                case PutFile():
                    if change.over is None:
                        yield from self._new_folders(change.place)
                    yield self._put(change, self._watched[number])
                case RemoveEntry(place, found, _, inside):
                    yield from self._removed(place.real, found, inside)
                case RenameEntry(place, to, found):
                    yield from self._new_folders(to)
                    over = to.look()
                    if over is not None:
                        yield from self._removed(to.real, over)
                    yield self._moved(place, to, found)
                case MakeEntry(place):
                    yield from self._new_folders(place)
                    yield from self._folder(place.real)
                case MakeLink(place, target):
                    yield from self._new_folders(place)
                    yield Draft(place.real, NOTHING, EntryState("link", target=target))
                case PutTree(place, entries):
                    yield from self._new_folders(place)
                    yield from self._tree(place.real, entries)

    def _new_folders(self, place: WriteTarget) -> Iterator[Draft]:
        for path in self._recorder.missing(place):
            yield from self._folder(path)

    def _folder(self, path: WorkPath) -> Iterator[Draft]:
        if path not in self._folders:
            self._folders.add(path)
            yield _made_folder(path)

    def _put(self, change: PutFile, watched: _Watched) -> Draft:
        path, after_data = change.place.real, watched.data
        before, data = NOTHING, None
        mode = change.mode & 0o777 if change.mode != _NEW_MODE else 0
        if change.over is not None:
            before, data = states.of_file(change.over, self._recorder.content_bytes)
            before = self._with(path, before, data)
            mode = before.mode
        after = EntryState("file", watched.size, mode, 0, watched.content_hash, kept=after_data is not None)
        return Draft(
            path, before, after, None, data, after_data, *_counted(data, after_data, change.over is None)
        )

    def _tree(self, path: WorkPath, entries: Sequence[TreeEntry]) -> Iterator[Draft]:
        for entry in entries:
            at = path if not entry.inside else join(path, entry.inside)
            if entry.kind is EntryKind.FOLDER:
                yield from self._folder(at)
            elif entry.kind is EntryKind.LINK:
                yield Draft(at, NOTHING, EntryState("link", target=entry.target))
            else:
                data = entry.data
                digest = full(hashlib.sha256(data).hexdigest())
                after = EntryState("file", len(data), entry.mode, 0, digest, kept=True)
                yield Draft(at, NOTHING, after, None, None, data)

    def _removed(self, path: WorkPath, found: Stat, inside: Inside | None = None) -> Iterator[Draft]:
        """The content of a name that goes, a folder before what is in it.

        Names that are not `inside` have moved out of it when it goes.
        """
        pending = [(path, found)]
        while pending:
            at, stat = pending.pop()
            self._recorder.deadline.check()
            if self._recorder.guard.decide(at, folder=stat.kind is EntryKind.FOLDER).rule is not None:
                continue  # it does not go with the folder either
            if stat.kind is EntryKind.FILE:
                yield self._removed_file(at, stat)
                continue
            yield Draft(at, states.of_entry(self._store, at, stat), NOTHING)
            if stat.kind is EntryKind.FOLDER:
                inner = [(join(at, name), one) for name, one in states.listed(self._store, at)]
                pending += [
                    (name, one)
                    for name, one in reversed(inner)
                    if inside is None or name[len(path) + 1 :] in inside
                ]

    def _removed_file(self, path: WorkPath, stat: Stat) -> Draft:
        maximum = self._recorder.content_bytes
        if self._size > self._recorder.policy.most_bytes // 2:
            maximum = -1
        try:
            with self._store.place(path) as place, place.open() as source:
                before, data = states.of_file(source, maximum)
        except errors.NotFound:
            raise Moved from None
        except (errors.NoPermission, errors.NotAFile):
            before, data = states.unread(stat), None
        self._size += len(data or b"")
        return Draft(path, self._with(path, before, data), NOTHING, None, data)

    def _with(self, path: WorkPath, before: EntryState, data: bytes | None) -> EntryState:
        """The state with whether its bytes are kept."""
        if data is None:
            self._unkept.append(path)
            return before
        return replace(before, kept=True)

    def _moved(self, place: WriteTarget, to: WriteTarget, found: Stat) -> Draft:
        if found.kind is EntryKind.FILE:
            try:
                with place.open() as source:
                    state, _ = states.of_file(source, self._recorder.content_bytes)
            except errors.NoPermission:
                state = states.unread(found)
        else:
            state = states.of_entry(self._store, place.real, found)
            if found.kind is EntryKind.FOLDER:
                state = replace(state, mark=f"{state.mark}:{states.shape(self._store, place.real)}")
        return Draft(place.real, state, state, to.real)


class _Budget:
    """How many bytes of new contents are still held."""

    def __init__(self, total: int, single: int) -> None:
        self.left = total
        self.single = single


@final
class _Watched:
    """The bytes of a new file, hashed and, if they are few, held as they pass by."""

    def __init__(self, pieces: Iterable[bytes], budget: _Budget) -> None:
        self._pieces = pieces
        self._budget = budget
        self._held: list[bytes] | None = []
        self._digest = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        self._held, self._digest, self.size = [], hashlib.sha256(), 0
        for piece in self._pieces:
            self._digest.update(piece)
            self.size += len(piece)
            self._hold(piece)
            yield piece

    def _hold(self, piece: bytes) -> None:
        if self._held is None:
            return
        if self.size > self._budget.single or len(piece) > self._budget.left:
            self._budget.left += sum(map(len, self._held))
            self._held = None
        else:
            self._budget.left -= len(piece)
            self._held.append(piece)

    @property
    def data(self) -> bytes | None:
        """The bytes; None if they were too many."""
        return None if self._held is None else b"".join(self._held)

    @property
    def content_hash(self) -> str:
        """The hash."""
        return full(self._digest.hexdigest())


def _made_folder(path: WorkPath) -> Draft:
    return Draft(path, NOTHING, EntryState("folder"))


def _not_kept(paths: Sequence[str], maximum: int) -> str:
    what = f"{quote(paths[0])} is" if len(paths) == 1 else f"{len(paths):,} files are"
    return f"{what} larger than the {maximum:,} bytes that are kept, so this cannot be undone"


_COUNTED_BYTES = 256 * 1024
"""The largest file whose changed lines are counted."""


def _counted(before: bytes | None, after: bytes | None, is_new: bool) -> tuple[int | None, int | None]:
    """The lines that only one of two states has; None if they are not compared."""
    if is_new:
        before = b""
    if before is None or after is None or max(len(before), len(after)) > _COUNTED_BYTES:
        return None, None
    start = before.rfind(b"\n", 0, common_start(before, after)) + 1
    end = common_end(before, after, start)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if b"\0" in old or b"\0" in new:
        return None, None
    if end and not before.endswith(b"\n", 0, len(before) - end):  # the rest of a line that differs
        rest = before.find(b"\n", len(before) - end) + 1 or len(before)
        old, new = before[start:rest], after[start : len(after) - len(before) + rest]
    found = blocks(split(old.decode("latin-1")), split(new.decode("latin-1")))
    return (
        sum(block.new_end - block.new_start for block in found),
        sum(block.old_end - block.old_start for block in found),
    )
