"""The second stage of a ranked search: split the best files into parts, and fill a page with them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.find.document import RanksDocuments
from readroom.core.engine.find.kept import Apart, KeptTexts, TextLines, as_document
from readroom.core.engine.find.opening import DecodedFile, Opener
from readroom.core.engine.services import Services
from readroom.core.errors import Cancelled, ReadroomError, TimedOut
from readroom.core.formats.kinds import kind_by_name, reads_as_document, stored_lines_note
from readroom.core.limits import HEAD_BYTES, MAX_WARNINGS
from readroom.core.limits.find import FIND_MIN_TOKENS
from readroom.core.outline.languages import language_of
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.lines import best_run, points_of_lines
from readroom.core.ranking.parts import cut, cut_rows
from readroom.core.ranking.score import Candidate, RankedFile, RankedPart, Scale, Why
from readroom.core.session.caches import OutlineCache
from readroom.core.stores.base import Source
from readroom.core.text import hashes, hidden
from readroom.core.text.tokens import estimate
from readroom.core.values import Cut, Kind, Omission, ReadRequest, Warn
from readroom.core.values.files import Item
from readroom.core.values.find import FindOutput, FoundFile, Passage, Reason

_WHOLE = frozenset({Kind.MINIFIED, Kind.LOG, Kind.CSV})
"""Kinds that are split by lines, in whatever language."""

_RECORDS = frozenset({Kind.LOG, Kind.CSV})
"""Kinds whose lines are records: they are split into parts of a few lines."""

_ROW = "{}{}\t{}\n"


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


FIND_LINE_CHARS = 500
"""Longest line of a passage; longer ones are minified code or data, and the next call reads them."""

FIND_REST_TOKENS = 35
"""Tokens for the call that reads the rest of a passage longer than a page, in addition to its path."""


class PageOfPassages:
    """A page of passages, added best first until the budget is used, then grouped by file."""

    def __init__(self, output: FindOutput, tokens: int, size: int) -> None:
        """Begin a page.

        Args:
            output: What is shown of each passage.
            tokens: The budget.
            size: What a contract lets through, in bytes.
        """
        self._output = output
        self._tokens = tokens
        self._size = size
        self._apart: dict[str, Apart] = {}
        self._taken: dict[str, list[tuple[RankedPart, Passage]]] = {}
        self._above: dict[str, set[tuple[int | None, int]]] = {}
        self._scale: Scale
        self.shown = 0

    @property
    def left(self) -> int:
        """The rest of the budget, in tokens."""
        return self._tokens

    @property
    def has_room(self) -> bool:
        """Whether a short passage would still fit."""
        return self._tokens >= FIND_MIN_TOKENS // 2

    def begin(self, files: Sequence[Apart], scale: Scale) -> None:
        """Parts of these files are added next."""
        self._apart |= {file.candidate.file.path: file for file in files}
        self._scale = scale

    def add(self, ranked: RankedPart, *, explain: bool) -> bool:
        """Add a part if it fits; the first one is cut so that it does."""
        apart = self._apart[ranked.path]
        passage = self._passage(apart, ranked, explain=explain)
        tokens, size = self._cost(ranked.path, passage)
        if tokens > self._tokens or size > self._size:
            if self.shown:
                return False
            passage = self._cut(apart, ranked, passage)
            tokens, size = self._cost(ranked.path, passage)
        self._tokens -= tokens
        self._size -= size
        self._taken.setdefault(ranked.path, []).append((ranked, passage))
        above = self._above.setdefault(ranked.path, set())
        above.update((passage.part, number) for number, _ in passage.around)
        self.shown += 1
        return True

    def files(self) -> list[FoundFile]:
        """The files, in the order of their best passages."""
        return [self._file(path, taken) for path, taken in self._taken.items()]

    def warnings(self) -> list[Warn]:
        """Warnings about hidden characters in shown lines, and about files with several names."""
        warnings = []
        apart = (path for path in self._taken if self._apart[path].document is None)
        if cells := next(filter(None, map(stored_lines_note, apart)), None):
            warnings.append(Warn("notebook", cells))
        for path, taken in self._taken.items():
            links = self._apart[path].links
            if links > 1:
                warnings.append(Warn("hard_link", f"{quote(path)} has {links} names"))
            rows = [row for _, passage in taken for row in (*passage.around, *passage.rows)]
            if hidden.scan([line for _, line in rows], 1, limit=1):
                warnings += [
                    Warn(warn.code, f"{quote(path)}: {warn.detail}", warn.line, warn.column)
                    for number, line in rows
                    for warn in hidden.scan([line], number, limit=MAX_WARNINGS)
                ]
        return warnings[:MAX_WARNINGS]

    def _file(self, path: str, taken: Sequence[tuple[RankedPart, Passage]]) -> FoundFile:
        apart = self._apart[path]
        passages = sorted((passage for _, passage in taken), key=lambda each: (each.part or 0, each.first))
        document = apart.document
        return FoundFile(
            path=path,
            score=apart.candidate.file.score,
            passages=passages,
            content_hash=hashes.full(apart.digits),
            total_lines=len(apart.lines) if document is None else None,
            unit=None if document is None else document.unit,
            total_parts=None if document is None else document.total,
        )

    def _passage(self, apart: Apart, ranked: RankedPart, *, explain: bool) -> Passage:
        part = ranked.part
        signature = part.signatures[-1][1] if part.signatures else None
        within, first = apart.at(part.first)
        around = self._around(apart, ranked, part.first)
        numbered = list(enumerate(apart.lines[part.first - 1 : part.last], part.first))
        last = first + part.last - part.first
        if self._output == "outline":
            numbered, around = _signatures(ranked, numbered), []
        if apart.document is not None:
            numbered = [(apart.at(line)[1], text) for line, text in numbered]
        long = ((number, len(line)) for number, line in numbered if len(line) > FIND_LINE_CHARS)
        cuts = {number: Cut(1, FIND_LINE_CHARS, length) for number, length in long}
        rows = [(number, line[:FIND_LINE_CHARS]) for number, line in numbered]
        why = reasons_of(ranked.why) if explain else ()
        symbol = ".".join(part.names) or None
        return Passage(first, last, rows, ranked.score, symbol, signature, around, cuts, why, within)

    def _around(self, apart: Apart, ranked: RankedPart, first: int) -> list[tuple[int, str]]:
        """The signatures that enclose a line, unless they are shown already."""
        above = self._above.get(ranked.path, set())
        lines = [(line, *apart.at(line)) for line, _ in ranked.part.signatures if line < first]
        return [
            (number, apart.lines[line - 1][:FIND_LINE_CHARS])
            for line, within, number in lines
            if (within, number) not in above
        ]

    def omitted(self) -> list[Omission]:
        """The omissions within shown passages: rests of lines, and lines of a passage that was cut."""
        omissions = []
        for path, taken in self._taken.items():
            for ranked, passage in taken:
                pages = None if passage.part is None else str(passage.part)
                plain = "utf-8" if pages is None and reads_as_document(path) else None
                whole = ReadRequest(path, pages=pages, encoding=plain)
                for number, shown_part in passage.cuts.items():
                    rest = replace(whole, offset=number, column=shown_part.last + 1)
                    omissions.append(
                        Omission(
                            "columns",
                            shown_part.last + 1,
                            shown_part.total,
                            "long",
                            line=number,
                            request=rest,
                        )
                    )
                for first, last in self._left_of(ranked, passage):
                    rest = replace(whole, offset=first, limit=last - first + 1)
                    omissions.append(Omission("lines", first, last, "budget", request=rest))
        return omissions

    def _left_of(self, ranked: RankedPart, passage: Passage) -> Iterator[tuple[int, int]]:
        """The ranges of lines of a passage before and after what is shown of it."""
        if self._output != "passages":
            return
        apart = self._apart[ranked.path]
        first, last = apart.at(ranked.part.first)[1], apart.at(ranked.part.last)[1]
        if first < passage.first:
            yield first, passage.first - 1
        if passage.last < last:
            yield passage.last + 1, last

    def _cost(self, path: str, passage: Passage) -> tuple[int, int]:
        """The tokens and bytes that a passage adds to the page."""
        within = "" if passage.part is None else f"p{passage.part}:"
        rows = [_ROW.format(within, number, line) for number, line in (*passage.around, *passage.rows)]
        rows += [f"{reason.what} {reason.value:.2f}, " for reason in passage.why]
        if path not in self._taken:
            rows.append(
                f"{quote(path)} | lines {passage.first}-{passage.last} of 10000 | sha256:{'0' * 12}\n"
            )
        text = "…\n" + "".join(rows)
        return estimate(text), len(text.encode("utf-8", "replace"))

    def _cut(self, apart: Apart, ranked: RankedPart, passage: Passage) -> Passage:
        """Of a passage those lines around its best ones that there is room for, at least one.

        The definition of a symbol is shown from where it begins.
        """
        rows, path = passage.rows, ranked.path
        costs = [estimate(_ROW.format("", number, line)) for number, line in rows]
        points = [0.0] * len(rows)
        if self._output == "passages" and not ranked.defines:
            points = points_of_lines(self._scale, apart.candidate, ranked.part)
        rest = FIND_REST_TOKENS + estimate(path)
        head = self._cost(path, replace(passage, rows=()))[0]
        room = max(self._tokens - head - rest, self._tokens * 2 // 3 - head)
        while True:
            run = best_run(points, costs, room)
            shown = self._some_rows(apart, ranked, passage, run)
            tokens, size = self._cost(path, shown)
            if len(run) == 1 or (tokens <= room + head and size <= self._size):
                return shown
            room -= max(1, tokens - room - head, (size - self._size) // 4)

    def _some_rows(self, apart: Apart, ranked: RankedPart, passage: Passage, run: range) -> Passage:
        rows = passage.rows[run.start : run.stop]
        numbers = {number for number, _ in rows}
        cuts = {number: value for number, value in passage.cuts.items() if number in numbers}
        around = passage.around
        if run.start:
            around = self._around(apart, ranked, ranked.part.first + run.start)
        return replace(passage, first=rows[0][0], last=rows[-1][0], rows=rows, cuts=cuts, around=around)


FIND_REASONS = 8
"""Reasons shown for a file or passage; the others, of a long question, count little and are summed."""


def reasons_of(whys: Sequence[Why]) -> list[Reason]:
    """The reasons that count most, the sum of the others, and all factors."""
    points = sorted((why for why in whys if not why.factor), key=lambda why: (-why.points, why.what))
    kept = points if len(points) <= FIND_REASONS + 1 else points[:FIND_REASONS]
    rest = points[len(kept) :]
    reasons = [Reason(why.what, why.points) for why in kept]
    if rest:
        reasons.append(Reason(f"{len(rest)} more", math.fsum(why.points for why in rest)))
    return reasons + [Reason(why.what, why.points, factor=True) for why in whys if why.factor]


def _signatures(ranked: RankedPart, numbered: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """The signatures that stand for a part in an outline; without any, its first words.

    Fields and constants are usually not shown with a signature; the one that is asked for is.
    """
    part = ranked.part
    if ranked.minor:
        return sorted({*((number, text) for number, text, _ in part.inside), *ranked.minor})
    if part.inside:
        return [(number, text) for number, text, _ in part.inside]
    if part.signatures:
        return [part.signatures[-1]]
    return [next((row for row in numbered if any(map(str.isalnum, row[1]))), numbered[0])]
