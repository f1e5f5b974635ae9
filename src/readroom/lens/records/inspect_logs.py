"""Inspect AI: `logs/*.eval`, a zip with `header.json` and `samples/ID_epoch_N.json`.

A sample is a session. Its `messages` are the whole conversation; `events` repeats it and says what each
answer took. Inspect itself takes 2 seconds to import and is not needed: a sample of any size is unpacked in
small pieces by our reader of archives, which bounds the memory of decoders, and read element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from readroom.documents.containers.members import BadContainer, Container, Member
from readroom.documents.containers.zips import open_zip
from readroom.lens.limits import RECORD_DOCUMENT_BYTES, Bounds
from readroom.lens.records.events import Answered, Event, Opened, Remembered, Skipped
from readroom.lens.records.messages import message_events
from readroom.lens.records.stream import Element, elements
from readroom.lens.records.values import (
    NotReadable,
    Object,
    as_cost,
    as_object,
    as_text,
    counts_of,
    decode,
    objects,
    parts_text,
    time_of,
)

RECORD_MEMBER_BYTES = 4 * 1024 * 1024 * 1024
"""A member of a zip that unpacks to more is skipped: no log of one sample is that long."""

RECORD_DIRECTORY_BYTES = 4 * 1024 * 1024
"""A zip with a larger directory is not read: 40,000 samples, each of which takes a kilobyte in memory."""


NAME = "Inspect AI"

_METHODS = frozenset({0, 8, 93})
"""Compression methods of logs, in the numbers of ZIP: stored, Deflate, Zstandard."""

_HEADERS = ("header.json", "_journal/start.json")


def read(path: Path, bounds: Bounds) -> Iterator[Event]:
    """The events of every sample in a log."""
    with path.open("rb") as stream:
        try:
            archive = open_zip(_Log(stream, path.stat().st_size), lambda: None)
        except BadContainer as error:
            raise NotReadable(f"not a zip that can be read: {error.problem}") from error
        except OSError as error:
            raise NotReadable(f"not a zip that can be read ({type(error).__name__})") from error
        yield from _samples(archive, path.stem, bounds)


def read_document(elements: Iterable[Element | Skipped], stem: str, bounds: Bounds) -> Iterator[Event]:
    """The events of a log that is one JSON document, as `--log-format json` writes it."""
    evaluation: Object = {}
    number = 0
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "eval":
            evaluation = as_object(element.value)
        elif element.key == "samples":
            number += 1
            sample = as_object(element.value)
            of_sample = f"{as_text(sample.get('id')) or number}_epoch_{as_text(sample.get('epoch')) or 1}"
            opened = _opened(evaluation, stem, of_sample)
            yield opened
            reader = _Sample(opened.session, bounds)
            for key in _LISTS:
                for value in objects(sample.get(key)):
                    yield from reader.events(key, value)


def _opened(evaluation: Object, stem: str, sample: str) -> Opened:
    version = as_text(as_object(evaluation.get("packages")).get("inspect_ai"))
    session = f"{as_text(evaluation.get('eval_id')) or stem}/{sample}"
    model, time = as_text(evaluation.get("model")), time_of(evaluation.get("created"))
    return Opened(session, NAME, version, model=model, time=time)


def _samples(archive: Container, stem: str, bounds: Bounds) -> Iterator[Event]:
    header = _header(archive)
    evaluation = as_object(header.get("eval"))
    if archive.left_out_count:
        yield Skipped("file", f"{archive.left_out_count:,} members whose names lead nowhere in it")
    yield from (Skipped("file", note) for note in archive.notes)
    for name, member in sorted(archive.members.items(), key=lambda item: item[1].at):
        if not name.startswith("samples/") or not name.endswith(".json") or member.kind != "file":
            continue
        problem = _problem(member)
        if problem:
            yield Skipped(name[:80], problem)
            continue
        opened = _opened(evaluation, stem, name[8:-5])
        yield opened
        try:
            yield from _sample(_Content(archive, member), member.size, opened.session, bounds)
        except BadContainer as error:
            yield Skipped(name[:80], error.problem, opened.session)


def _problem(member: Member) -> str:
    if member.size > RECORD_MEMBER_BYTES:
        return f"{member.size:,} bytes"
    return member.problem or ("" if member.method in _METHODS else "compressed in a way no log uses")


class _Log(Struct, frozen=True):
    """The file of a log, read by range; its directory, which is read at once, has to be small."""

    stream: BinaryIO
    size: int

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`. Raises OSError when they are too many to be held."""
        if size > RECORD_DIRECTORY_BYTES:
            raise OSError("too many members")
        self.stream.seek(offset)
        return self.stream.read(size)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Content:
    """The content of a member as a stream that can be rewound."""

    def __init__(self, archive: Container, member: Member) -> None:
        self._archive = archive
        self._member = member
        self.seek(0)

    def seek(self, place: int, /) -> int:
        self._pieces = self._archive.reader.pieces(self._member)
        self._held = b""
        return 0

    def read(self, size: int, /) -> bytes:
        pieces, length = [self._held], len(self._held)
        while length < size:
            piece = next(self._pieces, b"")
            if not piece:
                break
            pieces.append(piece)
            length += len(piece)
        data = b"".join(pieces)
        self._held = data[size:]
        return data[:size]


def _header(archive: Container) -> Object:
    for name in _HEADERS:
        member = archive.members.get(name)
        if member is None or member.kind != "file" or _problem(member):
            continue
        try:
            return as_object(decode(_Content(archive, member).read(RECORD_DOCUMENT_BYTES)))
        except (BadContainer, NotReadable):
            continue
    return {}


def _sample(content: _Content, size: int, session: str, bounds: Bounds) -> Iterator[Event]:
    reader = _Sample(session, bounds)
    for element in elements(content, size, bounds):
        if isinstance(element, Skipped):
            yield Skipped(element.where, element.why, session)
        elif element.key in _LISTS:
            yield from reader.events(element.key, as_object(element.value))


_LISTS = ("messages", "events")
"""The lists of a sample that are read, in the order of a log."""


_USAGE = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")


class _Sample:
    """The answers in the messages of one sample, with the usage of its events."""

    def __init__(self, session: str, bounds: Bounds) -> None:
        self._session = session
        self._number = 0
        self._answers = Remembered[None](bounds.ids)
        self._unnamed = Remembered[tuple[str, ...]](bounds.ids)
        """The answers without an id, as logs of 2024 have them, by what they say."""

    def events(self, key: str, value: Object) -> Iterator[Event]:
        """The keys of a list's element."""
        if key == "messages":
            self._number += 1
            id = as_text(value.get("id"))
            if not id:
                id = f"message {self._number}"
                said = _said(value)
                self._unnamed.put(said, (*(self._unnamed.get(said) or ()), id))
            self._answers.put(id, None)
            yield from message_events(value, self._session, id)
        elif value.get("event") == "model" and value.get("cache") != "read":
            yield from self._usage(value)
        elif value.get("event") == "compaction":
            why = "a compaction at an unknown place in the messages: what it dropped counts as carried"
            yield Skipped("events", why, self._session)

    def _usage(self, event: Object) -> Iterator[Event]:
        # The answers of a grader, or of an agent used as a tool, are not among the messages.
        output = as_object(event.get("output"))
        message = as_object(next(objects(output.get("choices")), {}).get("message"))
        id = as_text(message.get("id"))
        said = "" if id else _said(message)
        if alike := self._unnamed.get(said):
            id, *rest = alike
            self._unnamed.put(said, tuple(rest))
        elif not id and parts_text(message.get("content"))[0].startswith("attachment://"):
            why = "the tokens of an answer with neither id nor calls, its text elsewhere, do not count"
            yield Skipped("events", why, self._session)
        if id not in self._answers:
            return
        usage = as_object(output.get("usage"))
        read, wrote, cached, written = counts_of(usage, *_USAGE)
        time, cost = time_of(event.get("timestamp")), as_cost(usage.get("total_cost"))
        yield Answered(self._session, id, time, "", read, wrote, cached, written, cost)


def _said(message: Object) -> str:
    """A digest of what an answer calls or says, by which it is known in two places of a log.

    The texts of events may be elsewhere in the log (`attachment://`), the ids of calls are not.
    """
    calls = [as_text(call.get("id")) for call in objects(message.get("tool_calls"))]
    return str(hash(tuple(calls) if any(calls) else parts_text(message.get("content"))[0]))
