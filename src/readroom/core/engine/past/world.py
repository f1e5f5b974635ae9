"""The content of names, as it is and as it would be after changes were taken back.

Changes are taken back one after the other, the newest first, in this picture of the names; the workspace is
changed once, from what it has to what the picture has in the end.
"""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct

from readroom.core.history.book import Book
from readroom.core.history.merging import diff, merged
from readroom.core.history.records import NameRow
from readroom.core.history.states import SeenNow, is_same_folder, now
from readroom.core.paths import WorkPath, parent
from readroom.core.stores.base import Store
from readroom.core.text.hashes import full
from readroom.core.values.history import NOTHING, Conflict, EntryState


class Wanted(Struct, frozen=True):
    """The content that a name is to get.

    Attributes:
        state: The state.
        content: The number of its bytes in the history.
        data: Its bytes, where they are nowhere else.
        moved_from: The name that has it now.
        whole: Mode and time come back as well, since the name itself was gone.
    """

    state: EntryState = NOTHING
    content: int | None = None
    data: bytes | None = None
    moved_from: str | None = None
    whole: bool = False

    def is_like(self, there: EntryState) -> bool:
        """Whether that is what the name is to have."""
        if not there.is_same(self.state):
            return False
        if not self.whole or there.kind != "file":
            return True
        return (there.mode, there.mtime_ns) == (self.state.mode, self.state.mtime_ns)


class World:
    """The picture."""

    def __init__(self, store: Store, book: Book, *, parts: bool) -> None:
        """`parts` takes back what still fits of a text that was changed since."""
        self._store = store
        self._book = book
        self._parts = parts
        self.seen: dict[str, SeenNow] = {}
        self.wanted: dict[str, Wanted] = {}
        self.conflicts: list[Conflict] = []
        self.stays: set[str] = set()
        self.already: set[str] = set()
        self.fitted: dict[str, tuple[int, int]] = {}

    def there(self, path: str) -> SeenNow:
        """The content of a name in the workspace. Raises Moved, ReadroomError."""
        found = self.seen.get(path)
        if found is None:
            found = self.seen[path] = now(self._store, path, self._book.policy.file_bytes)
        return found

    def at(self, path: str) -> Wanted:
        """The content of a name in the picture."""
        wanted = self.wanted.get(path)
        if wanted is not None:
            return wanted
        above = parent(WorkPath(path))
        while above != ".":
            over = self.wanted.get(above)
            if over is not None and over.state.kind != "folder":
                return Wanted()
            if over is not None and over.moved_from is not None:
                inside = path[len(above) + 1 :]
                return Wanted(self.there(f"{over.moved_from}/{inside}").state)
            above = parent(above)
        seen = self.there(path)
        return Wanted(seen.state, data=seen.data)

    def take_back(self, row: NameRow) -> None:
        """Take back what a change did to one name. Raises Moved, ReadroomError."""
        name = row.name
        if name.to is not None:
            self._move_back(row, name.to)
            return
        current = self.at(name.path)
        if current.state.is_same(name.before):
            self.already.add(name.path)
            return
        if not current.state.is_same(name.after):
            self._merge(row, current)
        elif name.after.kind == "folder" and not self.is_empty(name.path):
            self.stays.add(name.path)  # what others have put into it keeps it
        else:
            known = self.wanted.get(name.path)
            whole = name.after.kind == "absent" or (known is not None and known.whole)
            self.wanted[name.path] = Wanted(name.before, row.before, whole=whole)

    def _move_back(self, row: NameRow, to: str) -> None:
        name = row.name
        current, old = self.at(to), self.at(name.path)
        if old.state.kind != "absent":
            if current.state.kind != "absent" or not old.state.is_same(name.before):
                self._refuse(name.path, "something else has this name; move that away first")
            else:
                self.already.add(name.path)
            return
        if current.state.kind != name.after.kind:
            self._refuse(to, "it is not there any more")
            return
        if not self._is_what_was_moved(current, to, name.after):
            self.fitted[name.path] = (1, 0)
            if not self._parts:
                conflict = Conflict(to, "it was changed after it was moved", fits=1)
                self.conflicts.append(conflict)
                return
        # What was taken back of its content already is not what the workspace has at that name.
        moved = current.moved_from if to in self.wanted else to
        self.wanted[name.path] = Wanted(current.state, current.content, current.data, moved, whole=True)
        self.wanted[to] = Wanted()

    def _is_what_was_moved(self, current: Wanted, to: str, after: EntryState) -> bool:
        if after.kind != "folder":
            return current.state.is_same(after)
        stat = self.there(to).stat
        if stat is None:  # it is a folder of the picture only
            return True
        return is_same_folder(after.mark, self._store, WorkPath(to), stat)

    def _refuse(self, path: str, reason: str) -> None:
        self.conflicts.append(Conflict(path, reason))

    def _merge(self, row: NameRow, current: Wanted) -> None:
        """Take back what still fits of a text, or note the conflict."""
        name = row.name
        before, after = (
            self._book.content(number, state) if state.kind == "file" else None
            for number, state in ((row.before, name.before), (row.after, name.after))
        )
        there = self._bytes(name.path, current)
        found = None
        if before is not None and after is not None and there is not None:
            found = merged(after, before, there)
        fits, left = (found.fits, found.left) if found is not None else (0, 1)
        if found is not None and fits and self._parts:
            data = found.data
            digest = full(sha256(data).hexdigest())
            state = EntryState("file", len(data), content_hash=digest)
            self.wanted[name.path] = Wanted(state, data=data)
            self.fitted[name.path] = (fits, left)
            if not left:
                return
        kind = "is gone" if current.state.kind == "absent" else "was changed"
        if current.state.kind not in ("absent", name.after.kind):
            kind = f"is a {current.state.kind} now"
        reason = f"it {kind} since"
        if name.after.kind == "absent":
            after, reason = b"", "something else has this name since; move that away first"
        ours = None if name.after.kind == "absent" and before is None else diff(before or b"", after or b"")
        theirs = None if there is None or after is None else diff(after, there)
        self.conflicts.append(Conflict(name.path, reason, ours, theirs, fits, left))

    def _bytes(self, path: str, current: Wanted) -> bytes | None:
        if current.data is not None or current.state.kind != "file":
            return current.data
        return self._book.content(current.content, current.state)

    def is_empty(self, folder: str) -> bool:
        """Whether a folder has no name in the picture."""
        return not any(self.at(name).state.kind != "absent" for name in self.inside(folder))

    def inside(self, folder: str) -> set[str]:
        """The names directly in a folder, in the workspace or in the picture."""
        found = {name for name in self.wanted if parent(WorkPath(name)) == folder}
        if self.there(folder).state.kind == "folder":
            with self._store.open_folder(WorkPath(folder)) as opened:
                if opened.real == folder:
                    found |= {f"{folder}/{entry.name}" for entry in opened.entries()}
        return found
