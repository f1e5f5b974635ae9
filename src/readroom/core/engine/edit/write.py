"""Create a file, or replace its whole content if it is still in the state that the call names.

A replaced file keeps its encoding and byte order mark.  It keeps CR LF line ends if all of its lines had
them and the new content has line feeds only, because a model that read the file saw neither.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.engine.edit.checks import about_links, about_nuls, binary_media, stale
from readroom.core.engine.edit.forms import form_of
from readroom.core.engine.edit.intent import announce
from readroom.core.engine.edit.told import CHECKED_BYTES, Before, about_write
from readroom.core.engine.services import Job, Services
from readroom.core.errors import (
    BadValue,
    Changed,
    Exists,
    NotAFile,
    NotFound,
    ObjectChanged,
    SymbolicLink,
    TooLarge,
    Unencodable,
    Vanished,
)
from readroom.core.limits import CHANGE_TEXT_BYTES, HEAD_BYTES, VALUE_CHARS
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.paths import WorkPath, join, parent
from readroom.core.policy.changes import WriteTargets
from readroom.core.quoting import quote
from readroom.core.stores.base import Moved, PutFile, Source, WriteTarget
from readroom.core.text import encodings, hashes
from readroom.core.text.edits.splice import NotEncodable, encode
from readroom.core.text.encodings import UTF8, Encoding
from readroom.core.text.line_index import Shrunk, build_index
from readroom.core.values import ReadRequest
from readroom.core.values.changes import ABSENT, WriteRequest, WriteResult
from readroom.core.values.files import LineEnds, Warn

_MARK = "\ufeff"

_MARKED = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
"""Encodings that imply a byte order mark, and their plain names."""

NAMES_TRIED = 1000
"""Numbers that are tried for a name that is taken: a folder full of them must not hold up a call."""

_LINE_ENDS = {"lf": "LF", "crlf": "CR LF", "mixed": "mixed"}


def perform(services: Services, job: Job[WriteRequest]) -> WriteResult:
    """Create a file, or replace the state of it that has the expected hash.

    Raises:
        BadValue, TooLarge: The call itself cannot be followed.
        SymbolicLink: A folder above a file that gets a number is a link.
        Denied, Protected, SymbolicLink, HardLinked, ReadOnlyFile, NotAFile, ...: From finding the place.
        Exists, Vanished, Stale: It is not in the state that the call names.
        Unencodable: The encoding cannot hold the content.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing. Nothing was changed.
        Changed: Another program kept saving the file.
    """
    if job.request.numbered is not None:
        return _numbered(services, job, job.request.numbered)
    return _written(services, job)


def _numbered(services: Services, job: Job[WriteRequest], names: Callable[[int], str]) -> WriteResult:
    """Create the file under the first name that is free."""
    folder = parent(WorkPath(job.request.path))
    for number in range(1, NAMES_TRIED + 1):
        job.deadline.check()
        path = join(folder, names(number))
        try:
            return _written(services, replace(job, request=replace(job.request, path=path)))
        except (Exists, NotAFile):
            continue
        except SymbolicLink:
            # A link at the name itself takes it.
            if services.guard.through_link(folder):
                raise SymbolicLink(folder, None) from None
    raise Exists(job.request.path)


def _written(services: Services, job: Job[WriteRequest]) -> WriteResult:
    request, places = job.request, services.targets
    new, either = request.expected_hash == ABSENT, request.expected_hash is None
    expected = ""
    if request.expected_hash is not None and not new:
        creates = f'; "{ABSENT}" creates the file'
        expected = hashes.parse_hash("expected_hash", request.expected_hash, creates)
    encoding = None if request.encoding is None else _named(request)
    _require_small(request)
    for _ in range(CHANGED_TRIES):
        with places.find(request.path) as place:
            if request.numbered is not None and place.real != request.path:
                raise SymbolicLink(request.path, None)
            writing = _Writing(services, job, place, encoding)
            try:
                places.enter(place, job.deadline, make_folders=new or either)
                if new or (either and place.look() is None):
                    planned = writing.created()
                    result = _put(places, place, planned)
                else:
                    with places.source(place, request.path) as source:
                        planned = writing.replaced(source, expected)
                        result = _put(places, place, planned)
            except NotFound:
                if either:
                    continue  # removed since we looked: the next try creates it
                raise Vanished(request.path, hashes.full(expected)) from None
            except (Moved, Shrunk, ObjectChanged):
                continue
        return replace(result, warnings=(*result.warnings, *writing.told(result)))
    raise Changed(request.path, next_request=ReadRequest(request.path))


class PlannedWrite(Struct):
    """A write that can be made.

    Attributes:
        result: Its effect.
        put: The new content; None if the file has it already.
        ready: Raises Moved if the file is not what was read.
        told: Warnings about what the write broke; asked for once the file and its folder are free again.
    """

    result: WriteResult
    put: PutFile | None
    ready: Callable[[], None]
    told: Callable[[WriteResult], Sequence[Warn]]

    def made(self, warnings: Sequence[Warn]) -> WriteResult:
        """The result when the content is put, which gave these warnings."""
        return replace(self.result, warnings=(*self.result.warnings, *warnings))


def _put(places: WriteTargets, place: WriteTarget, planned: PlannedWrite) -> WriteResult:
    put = planned.put
    warnings = () if put is None else places.put(place, put.pieces, put.over, planned.ready)
    return replace(planned.made(warnings), folders=place.folders)


def planned_write(
    services: Services, job: Job[WriteRequest], place: WriteTarget, source: Source | None
) -> PlannedWrite:
    """The plan of a write to a name, or to the open file there. Raises as `perform` does."""
    request = job.request
    encoding = None if request.encoding is None else _named(request)
    _require_small(request)
    writing = _Writing(services, job, place, encoding)
    if request.expected_hash == ABSENT or source is None:
        return writing.created()
    expected = "" if request.expected_hash is None else request.expected_hash
    return writing.replaced(source, hashes.parse_hash("expected_hash", expected) if expected else "")


def _named(request: WriteRequest) -> Encoding:
    name = request.encoding or ""
    try:
        encoding = encodings.named(name)
    except encodings.UnknownEncoding as unknown:
        near = f"Did you mean {' or '.join(unknown.near)}? " if unknown.near else ""
        raise BadValue(
            "encoding",
            name[: encodings.MAX_NAME],
            unknown.problem,
            f"{near}Leave it out to keep the encoding of the file, or utf-8 for a new one.",
        ) from None
    codec = codecs.lookup(name).name
    if codec == "ascii":
        # The file will be read as UTF-8, which holds more, so check that all of it is ASCII.
        _stored(request.path, request.content, Encoding(codec))
    plain = _MARKED.get(codec)
    return encoding if plain is None else Encoding(plain, _MARK.encode(plain), encoding.unit)


def _require_small(request: WriteRequest) -> None:
    size = len(request.content.encode("utf-8", "replace") if request.data is None else request.data)
    if size > CHANGE_TEXT_BYTES:
        advice = "Write the first part, then add the rest with edits of its last line."
        raise TooLarge("content", size, CHANGE_TEXT_BYTES, "bytes", advice)


class _Bytes(Struct, frozen=True):
    """New content as bytes and as text."""

    data: bytes
    text: str
    encoding: Encoding

    @property
    def ends(self) -> LineEnds:
        text = self.text
        return LineEnds(text.count("\n"), text.count("\r\n"), text.endswith("\n") if text else None)

    @property
    def lines(self) -> int:
        return self.text.count("\n") + bool(self.text and not self.text.endswith("\n"))


def _changed(old: LineEnds, new: LineEnds) -> list[Warn]:
    """Warnings about changed line ends, which the model could not see."""
    warnings = []
    if old.form != new.form and "none" not in (old.form, new.form):
        change = f"were {_LINE_ENDS[old.form]} and are {_LINE_ENDS[new.form]}"
        warnings.append(Warn("line_ends_changed", f"the line ends {change}"))
    if None not in (old.final, new.final) and old.final != new.final:
        change = (
            "had a final newline and has none now" if old.final else "had no final newline and has one now"
        )
        warnings.append(Warn("final_newline_changed", f"the file {change}"))
    return warnings


def _stored(path: str, text: str, encoding: Encoding) -> _Bytes:
    """The content in an encoding. Raises Unencodable."""
    if encoding.bom:
        text = text.removeprefix(_MARK)
    try:
        return _Bytes(encoding.bom + encode(text, encoding), text, encoding)
    except NotEncodable as problem:
        raise Unencodable(
            path,
            "content",
            problem.char,
            text.count("\n", 0, problem.index) + 1,
            encoding.name,
            'Use characters that it has, or send encoding="utf-8".',
        ) from None


class _Writing:
    """One attempt at a write."""

    def __init__(
        self, services: Services, job: Job[WriteRequest], place: WriteTarget, encoding: Encoding | None
    ) -> None:
        self._services = services
        self._job = job
        self._place = place
        self._texts = services.texts
        self._request = job.request
        self._asked = encoding
        self._deadline = job.deadline
        self._before: Before | None = None
        self._text: str | None = None

    def told(self, result: WriteResult) -> tuple[Warn, ...]:
        """Warnings about what the write broke; asked for once the file and its folder are free again."""
        if self._text is None or len(self._text) > CHECKED_BYTES:
            return ()
        lines = result.previous_lines, result.total_lines
        return about_write(self._place.real, self._before, self._text, lines, self._deadline)

    def created(self) -> PlannedWrite:
        """The creation of the file, with the folders above it."""
        if self._place.look() is not None:
            raise Exists(self._request.path)
        content = self._as_it_is() or _stored(self._request.path, self._request.content, self._asked or UTF8)

        def ready() -> None:
            self._deadline.check()
            announce(lambda: self._described(content, None, ()), lambda: [None])

        self._text = content.text
        put = PutFile(self._place, [content.data])
        return PlannedWrite(self._described(content, None, ()), put, ready, self.told)

    def replaced(self, source: Source, expected: str) -> PlannedWrite:
        """The replacement of the file, in its own encoding."""
        sample = source.read_at(0, min(HEAD_BYTES, source.size))
        detected = encodings.detect(sample, complete=len(sample) == source.size)
        index = build_index(source, detected or UTF8, self._deadline)
        if not index.sha256.startswith(expected):
            raise stale(self._services, self._job, source, expected, index.sha256)
        if self._services.guard.masks:
            from readroom.core.secrets.changes import require_none  # few operators mask

            require_none(self._request.path, source)
        warnings: list[Warn] = []
        ends = index.ends
        media = binary_media(source, sample, detected)
        if media is not None:
            warnings.append(Warn("was_binary", f"the file was {media}, {source.size:,} bytes"))
            ends = LineEnds()
        text = self._request.content
        if ends.form == "crlf" and "\r" not in text:
            text = text.replace("\n", "\r\n")
        content = self._as_it_is() or _stored(self._request.path, text, self._asked or detected or UTF8)
        warnings += _changed(ends, content.ends)
        form = form_of(source.real)
        if form is not None and form.is_broken_by(source, content.data):
            problem = f"would leave {quote(self._request.path)} invalid {form.name}"
            raise BadValue("content", text[:VALUE_CHARS], problem, f"Send the whole file as {form.name}.")
        if source.size <= CHECKED_BYTES and media is None:
            self._before = Before(source.read_at(0, source.size), detected or UTF8)
            self._text = content.text
        shown = self._services.guard.as_shown(content.data)
        is_same = self._texts.wants(source.size) and self._keep(source) == shown
        if is_same:
            warnings.append(Warn("unchanged", "the file had this content already and was left as it is"))
        else:
            warnings += about_links(source)

        def ready() -> None:
            self._deadline.check()
            if source.current() != source.version:
                raise Moved
            announce(lambda: self._described(content, index.sha256, ()), lambda: [source.version])

        described = self._described(content, index.sha256, warnings)
        if media is None:
            described = replace(described, previous_lines=index.total_lines)
        put = None if is_same else PutFile(self._place, [content.data], source)
        return PlannedWrite(described, put, ready, self.told)

    def _keep(self, source: Source) -> bytes:
        """The content of a small file, which a later call may have to be compared with."""
        before = source.read_at(0, source.size)
        self._texts.put(source.real, sha256(before).hexdigest(), before)
        return before

    def _as_it_is(self) -> _Bytes | None:
        """The bytes of the request, if it brings bytes instead of text."""
        data = self._request.data
        if data is None:
            return None
        encoding = encodings.detect(data[:HEAD_BYTES], complete=len(data) <= HEAD_BYTES) or UTF8
        return _Bytes(data, encodings.decode(data[len(encoding.bom) :], encoding), encoding)

    def _described(self, content: _Bytes, previous: str | None, warnings: Sequence[Warn]) -> WriteResult:
        data = self._services.guard.as_shown(content.data)
        digits = sha256(data).hexdigest()
        self._texts.put(self._place.real, digits, data)
        return WriteResult(
            path=self._request.path,
            previous_hash=None if previous is None else hashes.full(previous),
            content_hash=hashes.full(digits),
            size_bytes=len(content.data),
            total_lines=content.lines,
            encoding=content.encoding.name,
            bom=bool(content.encoding.bom),
            ends=content.ends,
            folders=self._place.folders,
            warnings=(*about_nuls(content.text), *warnings),
        )
