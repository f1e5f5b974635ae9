"""The second stage of a ranked search: read the best files again and split them into parts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.find.document import RanksDocuments
from readroom.core.engine.find.kept import Apart, KeptTexts, TextLines, as_document
from readroom.core.engine.find.opening import DecodedFile, Opener
from readroom.core.engine.services import Services
from readroom.core.errors import Cancelled, ReadroomError, TimedOut
from readroom.core.formats.kinds import kind_by_name
from readroom.core.limits import HEAD_BYTES
from readroom.core.outline.languages import language_of
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.parts import cut, cut_rows
from readroom.core.ranking.score import Candidate, RankedFile
from readroom.core.session.caches import OutlineCache
from readroom.core.stores.base import Source
from readroom.core.values import Kind
from readroom.core.values.files import Item

_WHOLE = frozenset({Kind.MINIFIED, Kind.LOG, Kind.CSV})
"""Kinds that are split by lines, in whatever language."""

_RECORDS = frozenset({Kind.LOG, Kind.CSV})
"""Kinds whose lines are records: they are split into parts of a few lines."""


def take_apart(
    services: Services,
    opener: Opener,
    documents: RanksDocuments | None,
    file: RankedFile,
    deadline: Deadline,
) -> Apart | None:
    """Read a file again and split it into parts; None if it is gone or not visible.

    Raises:
        TimedOut, Cancelled: From the deadline.
    """
    deadline.check()
    path = WorkPath(file.path)
    try:
        with opener.file(path) as (guard, source):
            if source.real != path:
                return None
            texts = services.found()
            if documents is not None and documents.takes(source):
                return _document_apart(texts, documents, guard, source, file, deadline)
            known = texts.get_apart(path, source.stat)
            if known is not None:
                return replace(known, candidate=replace(known.candidate, file=file, parts=known.windows))
            decoded = opener.text(source, deadline)
            if decoded is None:
                return None
            apart = _apart(file, decoded, source.stat.links)
            texts.put_apart(path, source, apart)
            return apart
    except (TimedOut, Cancelled):
        raise
    except ReadroomError:
        return None


def _document_apart(
    texts: KeptTexts,
    documents: RanksDocuments,
    guard: Guard,
    source: Source,
    file: RankedFile,
    deadline: Deadline,
) -> Apart:
    """A document split into parts, which is not cached because it takes no time."""
    known = texts.get(as_document(file.path), source.stat)
    document = None if known is None else known.document
    if document is None:
        document = documents.read(guard, source, deadline)
    lines, starts = _lines_of(document.text)
    candidate = Candidate(file, CountedText(document.text), document.parts(lines), starts)
    return Apart(candidate, source.stat.links, lines, document.digits, document)


def _lines_of(text: str) -> tuple[list[str], Sequence[int]]:
    """The lines of a text and the positions where they begin, with one more for the end."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    if lines[-1] == "":
        lines.pop()
        starts.pop()
    return lines, array("I", starts)


def _apart(file: RankedFile, decoded: DecodedFile, links: int) -> Apart:
    rows, starts = _lines_of(decoded.text)
    rows = [line.removesuffix("\r") for line in rows]
    windows = cut_rows(rows) if kind_by_name(file.path) in _RECORDS else cut(rows, ())
    candidate = Candidate(file, CountedText(decoded.text), windows, starts)
    lines = TextLines(decoded.text, starts)
    return Apart(candidate, links, lines, decoded.hash, windows=windows, encoding=decoded.encoding.name)


def outlined(services: Services, apart: Apart, deadline: Deadline) -> Apart:
    """The file split by its definitions, where a grammar knows it. Raises TimedOut, Cancelled."""
    lines = apart.lines
    if not isinstance(lines, TextLines):
        return apart
    parts = apart.definitions
    if parts is None:
        deadline.check()
        path = apart.candidate.file.path
        items = _items(path, lines.text, apart.encoding, apart.digits, services.outlines, deadline)
        parts = cut(list(lines), items) if items else apart.windows
        apart = replace(apart, definitions=parts)
        services.found().outlined(path, apart)
    return replace(apart, candidate=replace(apart.candidate, parts=parts))


FIND_PARSE_S = 0.5
"""Longest parsing of one file, in processor time; then it is split by lines."""


def _items(
    path: str, text: str, encoding: str, digits: str, outlines: OutlineCache, deadline: Deadline
) -> Sequence[Item]:
    """The definitions in the text; none if no grammar knows it or it takes too long."""
    from readroom.core.outline import Unparsable, build, can_outline

    language = language_of(path, text[:HEAD_BYTES])
    if language is None or not can_outline(language) or kind_by_name(path) in _WHOLE:
        return ()
    outline = outlines.get(language, encoding, digits)
    if outline is None:
        try:
            outline = build(text, language, deadline.of_thread(FIND_PARSE_S))
        except Unparsable:
            return ()
        except TimedOut:
            deadline.check()
            return ()
        outlines.put(outline, encoding, digits)
    return outline.items
