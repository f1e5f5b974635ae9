"""Replace texts in several files, all of them or none.

find     every file; two names of one file are refused
lock     the folders, in one order for all callers
prepare  every file in memory, collecting failures
write    all of them or none, as the store does it, also when the process is killed (`Store.commit`)
"""

from __future__ import annotations

import codecs
import contextlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from hashlib import sha256
from typing import TypeAlias

from msgspec import Struct, field

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import require_editable, require_few
from readroom.core.engine.edit.intent import announce
from readroom.core.engine.edit.told import CHECKED_BYTES, Before, about_edit, text_of
from readroom.core.engine.services import Job, Services
from readroom.core.limits import HEAD_BYTES, MATCHES_NAMED
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.quoting import quote
from readroom.core.stores.base import Moved, PutFile, Source, WriteTarget
from readroom.core.text import encodings, hashes
from readroom.core.text.edits.diff import between, common_end, common_start, cost
from readroom.core.text.edits.lenient import ManyPlaces, NoPlace, replaced
from readroom.core.text.edits.slips import slip_in
from readroom.core.text.encodings import UTF8, Encoding
from readroom.core.text.line_index import Shrunk
from readroom.core.values.changes import (
    Diff,
    Edit,
    EditFilesRequest,
    EditFilesResult,
    FileEdited,
    FileEdits,
    Slip,
)
from readroom.core.values.files import OTHER_SPELLING, Warn

EDIT_FILES = 100
"""Files in one call that edits. All are held open until the last is written, next to their new contents."""

EDIT_FILE_BYTES = 16 * 1024 * 1024
"""Largest file that is edited leniently: it is held as text."""

EDIT_FILES_BYTES = 32 * 1024 * 1024
"""All files of one call together, before and after."""

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
    edits = [edit for file in files for edit in file.edits]
    require_few(edits)


class _EditedFile(Struct):
    """A file of the call while it is changed."""

    asked: FileEdits
    path: str
    place: WriteTarget
    respelled: bool = False
    source: Source | None = None
    encoding: Encoding = UTF8
    before: bytes = b""
    after: bytes = b""
    replacements: int = 0
    diff: Diff = field(default_factory=Diff)
    warnings: Sequence[Warn] = ()

    @property
    def changes(self) -> bool:
        """Whether its content changes."""
        return self.before != self.after

    @property
    def opened(self) -> Source:
        """Its source, once it is prepared."""
        assert self.source is not None
        return self.source

    def told(self, deadline: Deadline) -> tuple[Warn, ...]:
        """What its change broke."""
        if not self.changes or max(len(self.before), len(self.after)) > CHECKED_BYTES:
            return ()
        before = Before(self.before, self.encoding)
        return about_edit(self.opened.real, before, text_of(self.after, self.encoding), deadline)


class _Batch:
    """One attempt at a call."""

    def __init__(self, services: Services, job: Job[EditFilesRequest], opened: ExitStack) -> None:
        self._places = services.targets
        self._texts = services.texts
        self._room = job.cap.size
        self._request = job.request
        self._deadline = job.deadline
        self._held = opened
        self._files: dict[int, _EditedFile] = {}
        self._failures: _Failures = {}
        self._bytes = 0

    def change(self) -> None:
        """Find, prepare and write the files."""
        for number, edits in enumerate(self._request.files):
            with self._collecting(number):
                self._find(number, edits)
        self._require_several()
        if not self._request.dry_run:
            self._lock()
        for number, file in list(self._files.items()):
            with self._collecting(number):
                self._prepare(file)
        if self._failures:
            names = [file.path for file in self._request.files]
            raise errors.EditsFailed([(names[at], self._failures[at]) for at in sorted(self._failures)])
        if not self._request.dry_run:
            self._write([file for file in self._files.values() if file.changes])

    def result(self) -> EditFilesResult:
        """What became of the files; asked for once they and their folders are free again."""
        return EditFilesResult(
            [self._described(file) for file in self._files.values()], self._request.dry_run
        )

    @contextlib.contextmanager
    def _collecting(self, number: int) -> Iterator[None]:
        """Record an error as that of one file, so that the other files are still checked."""
        try:
            yield
        except (errors.TimedOut, errors.Cancelled):
            raise
        except errors.ReadroomError as error:
            self._failures[number] = error
            self._files.pop(number, None)

    # --- finding ------------------------------------------------------------------------------

    def _find(self, number: int, edits: FileEdits) -> None:
        if edits.problem is not None:
            raise edits.problem
        asked = self._places.guard.parse(edits.path)
        path = self._places.guard.spelled(asked)
        place = self._held.enter_context(self._places.find(path))
        if place.look() is None:
            raise errors.NotFound(path)
        self._files[number] = _EditedFile(edits, path, place, respelled=path != asked)

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
        file, failure = self._files.get(number), self._failures.get(number)
        if file is not None:
            yield file.place.real
            stat = file.place.look()
            if stat is not None and stat.inode:
                yield stat.device, stat.inode
        elif isinstance(failure, errors.SymbolicLink):
            yield failure.target  # a link to a file that has an entry of its own

    def _lock(self) -> None:
        """Lock the folders, in a fixed order so that two calls cannot wait for each other."""
        first = {file.place.lock: file.place for file in reversed(self._files.values())}
        for key in sorted(first):
            first[key].hold(self._deadline)

    # --- preparing ----------------------------------------------------------------------------

    def _prepare(self, file: _EditedFile) -> None:
        self._deadline.check()
        source = file.source = self._held.enter_context(self._places.source(file.place, file.path))
        if source.size > EDIT_FILE_BYTES:
            advice = "Edit it with the tools of another contract."
            raise errors.TooLarge(quote(file.path), source.size, EDIT_FILE_BYTES, "bytes", advice)
        file.before = source.read_at(0, source.size)
        if len(file.before) < source.size:
            raise Shrunk
        encoding = file.encoding = _encoding(source, file)
        start = len(encoding.bom)
        text = encodings.decode(file.before[start:], encoding)
        changed = self._edited(file, text)
        if changed == text:
            file.after = file.before
        else:
            file.after = file.before[:start] + _encoded(
                file.path, text, changed, encoding, file.before[start:]
            )
            file.diff = between(text, changed, self._room)
            self._room -= sum(cost(hunk) for hunk in file.diff.hunks)
        self._bytes += len(file.before) + len(file.after)
        if self._bytes > EDIT_FILES_BYTES:
            raise errors.TooLarge(
                "All files", self._bytes, EDIT_FILES_BYTES, "bytes", "Send them in several calls."
            )

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

    # --- writing ------------------------------------------------------------------------------

    def _write(self, files: Sequence[_EditedFile]) -> None:
        """Give all files their new contents, or none."""
        if not files:
            return

        def ready() -> None:
            self._deadline.check()
            if any(file.opened.current() != file.opened.version for file in files):
                raise Moved
            every = list(self._files.values())
            announce(
                lambda: EditFilesResult([self._described(file) for file in every], dry_run=False),
                lambda: [file.opened.version for file in every],
            )

        changes = [PutFile(file.place, [file.after], file.opened) for file in files]
        warnings = self._places.guard.store.commit(changes, ready)
        for file, warned in zip(files, warnings, strict=True):
            file.warnings = warned
            self._texts.put(file.opened.real, sha256(file.before).hexdigest(), file.before)
            self._texts.put(file.opened.real, sha256(file.after).hexdigest(), file.after)

    def _described(self, file: _EditedFile) -> FileEdited:
        return FileEdited(
            file.asked.path,
            file.path,
            hashes.full(sha256(file.before).hexdigest()),
            hashes.full(sha256(file.after).hexdigest()),
            len(file.after),
            file.replacements,
            file.diff,
            (*([OTHER_SPELLING] if file.respelled else ()), *file.warnings, *file.told(self._deadline)),
        )


def _no_match(path: str, number: int, text: str, edit: Edit, none: NoPlace) -> errors.NoMatch:
    slip = Slip(line_ends=True) if none.line_ends else slip_in(text, edit.old_text, edit.new_text)
    return errors.NoMatch(path, number, "Compare it with the file, blanks and all.", slip=slip)


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
