"""Change several files, all of them or none: by replacements, or as a patch says.

Each file is prepared in memory, and failures are collected, so that a caller learns of all of them; what
is written is written together (`together`).
"""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import require_editable, require_few
from readroom.core.engine.edit.intent import announce
from readroom.core.engine.edit.patching import Room, Section, found, patch
from readroom.core.engine.edit.together import EDIT_FILES_BYTES, HeldName, Together
from readroom.core.engine.edit.told import CHECKED_BYTES, Before, about_edit, text_of
from readroom.core.engine.services import Job, Services
from readroom.core.limits import HEAD_BYTES, MATCHES_NAMED
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.stores.base import Moved, Source
from readroom.core.text import encodings, hashes
from readroom.core.text.edits.diff import between, common_end, common_start, cost
from readroom.core.text.edits.lenient import ManyPlaces, NoPlace, replaced
from readroom.core.text.edits.slips import slip_in
from readroom.core.text.encodings import UTF8, Encoding
from readroom.core.text.line_index import Shrunk
from readroom.core.values import Version
from readroom.core.values.changes import (
    Diff,
    Edit,
    EditFilesRequest,
    EditFilesResult,
    FileEdited,
    FileEdits,
    Slip,
)
from readroom.core.values.files import Warn
from readroom.core.values.patches import FilePatch

EDIT_FILES = 100
"""Files in one call that edits. All are held open until the last is written, next to their new contents."""

_Failures: TypeAlias = dict[int, errors.ReadroomError]


def perform(services: Services, job: Job[EditFilesRequest]) -> EditFilesResult:
    """Replace texts in several files. Nothing is changed when this raises.

    Raises:
        TooLarge: The call itself is.
        SameFile: Two of its paths are one file.
        EditsFailed: Some of the files cannot be changed so; with the failure of each.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing.
        TimedOut, Cancelled: On the way.
        Changed: Another program kept saving one of them.
    """
    _require_usable(job.request)
    for _ in range(CHANGED_TRIES):
        with ExitStack() as opened:
            try:
                batch = _Batch(services, job, opened)
                batch.change()
            except (Moved, Shrunk):
                continue
        return batch.result()
    raise errors.Changed(job.request.path)


def _require_usable(request: EditFilesRequest) -> None:
    files = request.files
    if len(files) > EDIT_FILES:
        raise errors.TooLarge("files", len(files), EDIT_FILES, "files", "Send them in several calls.")
    edits = [edit for file in files if isinstance(file, FileEdits) for edit in file.edits]
    require_few(edits)


class _EditedFile(Struct):
    """A file of the call that gets replacements."""

    asked: FileEdits
    name: HeldName
    encoding: Encoding = UTF8
    before: bytes = b""
    after: bytes = b""
    replacements: int = 0
    diff: Diff = Diff()
    broken: Sequence[Warn] | None = None

    @property
    def path(self) -> str:
        """Its path in the workspace."""
        return self.name.path

    def told(self, deadline: Deadline) -> Sequence[Warn]:
        """Warnings about what its change broke."""
        if self.before == self.after or max(len(self.before), len(self.after)) > CHECKED_BYTES:
            return ()
        if self.broken is None:
            before = Before(self.before, self.encoding)
            after = text_of(self.after, self.encoding)
            self.broken = about_edit(self.name.place.real, before, after, deadline)
        return self.broken


class _Batch:
    """One attempt at a call."""

    def __init__(self, services: Services, job: Job[EditFilesRequest], opened: ExitStack) -> None:
        self._texts = services.texts
        self._room = job.cap.size
        self._request = job.request
        self._deadline = job.deadline
        self._together = Together(services, job.deadline, opened)
        self._files: dict[int, _EditedFile | Section] = {}
        self._failures: _Failures = {}

    def change(self) -> None:
        """Find, prepare and write the files."""
        for number, file in enumerate(self._request.files):
            with self._collecting(number):
                self._files[number] = self._found(file)
        self._require_several()
        self._together.require_one_root()
        if not self._request.dry_run:
            self._together.lock()
        for number, made in list(self._files.items()):
            with self._collecting(number):
                self._prepare(made)
        if self._failures:
            names = [file.path for file in self._request.files]
            raise errors.EditsFailed([(names[at], self._failures[at]) for at in sorted(self._failures)])
        if not self._request.dry_run:
            self._together.commit(partial(announce, self.result, self._versions))
            for made in self._files.values():
                self._remember(made)

    def result(self) -> EditFilesResult:
        """The outcome for the files; asked for once they and their folders are free again."""
        files = [_described(made, self._deadline) for made in self._files.values()]
        return EditFilesResult(files, self._request.dry_run)

    def _versions(self) -> list[Version | None]:
        sources = [made.name.source for made in self._files.values()]
        return [None if source is None else source.version for source in sources]

    @contextlib.contextmanager
    def _collecting(self, number: int) -> Iterator[None]:
        """Record an error as that of one file, so that the other files are still checked."""
        try:
            yield
        except (errors.TimedOut, errors.Cancelled):
            raise
        except errors.SameFile as error:
            if isinstance(self._request.files[number], FileEdits):
                raise
            self._failures[number] = error
        except errors.ReadroomError as error:
            self._failures[number] = error
            self._files.pop(number, None)

    def _found(self, file: FileEdits | FilePatch) -> _EditedFile | Section:
        if isinstance(file, FilePatch):
            return found(self._together, file)
        if file.problem is not None:
            raise file.problem
        name = self._together.name(file.path, once=True)
        if name.place.look() is None:
            self._together.drop(name)
            raise errors.NotFound(name.path)
        return _EditedFile(file, name)

    def _require_several(self) -> None:
        """Refuse two names of one file: the second change would overwrite the first."""
        files, seen = self._request.files, dict[object, int]()
        for number, file in enumerate(files):
            for key in self._names(number):
                other = seen.setdefault(key, number)
                if other != number:
                    raise errors.SameFile(file.path, files[other].path)

    def _names(self, number: int) -> Iterator[object]:
        """Keys that two names of one file have in common."""
        made, failure = self._files.get(number), self._failures.get(number)
        if isinstance(made, _EditedFile):
            yield made.name.place.real
            stat = made.name.place.look()
            if stat is not None and stat.inode:
                yield stat.device, stat.inode
        elif isinstance(failure, errors.SymbolicLink):
            yield failure.target  # a link to a file that has an entry of its own

    # --- preparing ----------------------------------------------------------------------------

    def _prepare(self, made: _EditedFile | Section) -> None:
        self._deadline.check()
        if isinstance(made, Section):
            room = Room(self._room, self._request.diff)
            patch(self._together, made, room, self._deadline)
        else:
            self._edit(made)
        self._room -= sum(cost(hunk) for hunk in made.diff.hunks)

    def _edit(self, file: _EditedFile) -> None:
        before = self._together.content(file.name)
        if before is None:
            raise Moved
        file.before = file.after = before
        assert file.name.source is not None
        encoding = file.encoding = _encoding(file.name.source, file)
        start = len(encoding.bom)
        text = encodings.decode(before[start:], encoding)
        changed = self._edited(file, text)
        if changed != text:
            file.after = before[:start] + _encoded(file.path, text, changed, encoding, before[start:])
            file.diff = between(text, changed, self._room, self._request.diff)
            self._together.put(file.name, file.after)

    def _edited(self, file: _EditedFile, text: str) -> str:
        """Make each edit in the text that the edits before it left."""
        for number, edit in enumerate(file.asked.edits):
            if not edit.old_text:
                raise errors.BadValue(
                    f"edits[{number}].old_text", "", "is empty", "Send the text to be replaced."
                )
            self._deadline.check()
            try:
                text, count = replaced(
                    text, edit.old_text, edit.new_text, every=edit.replace_all, named=MATCHES_NAMED
                )
            except NoPlace as none:
                raise _no_match(file.path, number, text, edit, none) from None
            except ManyPlaces as many:
                raise errors.ManyMatches(file.path, number, many.lines, many.count) from None
            file.replacements += count
            if len(text) > EDIT_FILES_BYTES:
                raise errors.TooLarge(
                    "The changed file", len(text), EDIT_FILES_BYTES, "characters", "Replace less."
                )
        return text

    def _remember(self, made: _EditedFile | Section) -> None:
        """Keep both states, so that a later call with the hash of one can learn what changed."""
        states: Sequence[tuple[HeldName, bytes | None]]
        if isinstance(made, _EditedFile):
            states = ((made.name, made.before), (made.name, made.after))
        else:
            states = ((made.name, made.previous), (made.to or made.name, made.content))
        for name, data in states:
            if data is not None:
                self._texts.put(name.place.real, sha256(data).hexdigest(), data)


def _broken(made: Section, deadline: Deadline) -> Sequence[Warn]:
    """Warnings about what a section of a patch broke."""
    old, new = made.previous, made.content
    if old is None or new is None or old == new or max(len(old), len(new)) > CHECKED_BYTES:
        return ()
    encoding = encodings.detect(old[:HEAD_BYTES], complete=len(old) <= HEAD_BYTES) or UTF8
    name = made.to or made.name
    return about_edit(name.place.real, Before(old, encoding), text_of(new, encoding), deadline)


def _described(made: _EditedFile | Section, deadline: Deadline) -> FileEdited:
    if isinstance(made, Section):
        name = made.to or made.name
        return FileEdited(
            made.file.path,
            name.path,
            _hash(made.previous),
            _hash(made.content),
            len(made.content or b""),
            len(made.file.hunks),
            made.diff,
            tuple(dict.fromkeys((*made.name.warnings, *name.warnings, *_broken(made, deadline)))),
            action=made.file.action,
        )
    return FileEdited(
        made.asked.path,
        made.path,
        _hash(made.before),
        _hash(made.after),
        len(made.after),
        made.replacements,
        made.diff,
        (*made.name.warnings, *made.told(deadline)),
    )


def _no_match(path: str, number: int, text: str, edit: Edit, none: NoPlace) -> errors.NoMatch:
    slip = Slip(line_ends=True) if none.line_ends else slip_in(text, edit.old_text, edit.new_text)
    return errors.NoMatch(path, number, "Compare it with the file, blanks and all.", slip=slip)


def _hash(data: bytes | None) -> str | None:
    return None if data is None else hashes.full(sha256(data).hexdigest())


def _encoding(source: Source, file: _EditedFile) -> Encoding:
    sample = file.before[:HEAD_BYTES]
    encoding = encodings.detect(sample, complete=len(sample) == source.size)
    return require_editable(file.path, source, sample, encoding, "Only text can be edited.")


def _encoded(path: str, old: str, new: str, encoding: Encoding, before: bytes) -> bytes:
    """The changed text as bytes, in which unchanged text keeps its bytes, invalid ones included."""
    start = common_start(old, new)
    end = common_end(old, new, start)
    head, tail = _as_it_was(old[:start], encoding), _as_it_was(old[len(old) - end :], encoding)
    if not before.startswith(head) or not before.endswith(tail):
        raise errors.BrokenPlace(path, old.count("\n", 0, start) + 1, encoding.name)
    inserted = new[start : len(new) - end]
    try:
        encoded = head + _as_it_was(inserted, encoding) + tail
    except UnicodeEncodeError as error:
        line = new.count("\n", 0, start + error.start) + 1
        char = inserted[error.start]
        advice = "Use characters that it has."
        raise errors.Unencodable(path, "replace", char, line, encoding.name, advice) from None
    if encodings.decode(encoded, encoding) != new:
        raise errors.BrokenPlace(path, old.count("\n", 0, start) + 1, encoding.name)
    return encoded


def _as_it_was(text: str, encoding: Encoding) -> bytes:
    if encoding.unit == 1:
        return text.encode(encoding.name, "readroom.restore")
    return text.encode(encoding.name, "surrogatepass")


def _restored(error: UnicodeError) -> tuple[bytes, int]:
    """Error handler that restores an invalid byte, which decoding carries as a lone surrogate."""
    assert isinstance(error, UnicodeEncodeError)
    code = ord(error.object[error.start]) - 0xDC00
    if not 0 <= code <= 0xFF:
        raise error
    return bytes([code]), error.start + 1


codecs.register_error("readroom.restore", _restored)
