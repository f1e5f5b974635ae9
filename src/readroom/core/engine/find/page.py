"""A page of passages: what each costs, which are one, and how they are shown."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.engine.cursors import FindRest
from readroom.core.engine.find.kept import Apart
from readroom.core.formats.kinds import reads_as_document, stored_lines_note
from readroom.core.limits import MAX_WARNINGS
from readroom.core.quoting import quote
from readroom.core.ranking.lines import best_run, points_of_lines
from readroom.core.ranking.score import RankedPart, Scale, Why
from readroom.core.text import hashes, hidden
from readroom.core.text.tokens import estimate
from readroom.core.values import Cut, Omission, ReadRequest, Warn
from readroom.core.values.find import FindOutput, FoundFile, Passage, Reason

_ROW = "{}{}\t{}\n"


FIND_LINE_CHARS = 500
"""Longest line of a passage; longer ones are minified code or data, and the next call reads them."""

FIND_FORM_SHARE = 0.062
"""The share of a page for headings, enclosing signatures and marks. The rest waits for the next
page, and other parts of the files that are on this one come before it."""

FIND_GAPS_SHARE = 0.004
"""The part of that which headings leave for marks and signatures."""

FIND_WANTING = 0.25
"""The share of a page from which more headings are better than no more text."""

FIND_WORTH_CUTTING = 0.06
"""The share of a page that must be left to fill it with some lines of a passage that is longer."""

FIND_LEAST_TOKENS = 25
"""Tokens for which something is still looked for to fill a page: two or three lines."""


class _Taken(Struct, frozen=True):
    """A part on a page, or a piece of one, with its lines by their numbers in the text."""

    ranked: RankedPart
    lines: Sequence[tuple[int, str]]

    @property
    def span(self) -> tuple[int, int]:
        return self.lines[0][0], self.lines[-1][0]


class _Cost(Struct, frozen=True):
    """The cost of a passage on a page: tokens and bytes, and the tokens of headings, signatures and marks."""

    tokens: int
    size: int
    form: int


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
        self._budget = self._tokens = tokens
        self._size = size
        self._form = int(FIND_FORM_SHARE * tokens)
        self._apart: dict[str, Apart] = {}
        self._taken: dict[str, list[_Taken]] = {}
        self._seen: dict[str, set[int]] = {}
        self._scale: Scale
        self._explain = False
        self.shown = 0

    @property
    def left(self) -> int:
        """The rest of the budget, in tokens."""
        return self._tokens

    @property
    def has_room(self) -> bool:
        """Whether a short passage would still fit."""
        return self._tokens >= FIND_LEAST_TOKENS

    @property
    def is_wanting(self) -> bool:
        """Whether much of the budget is left."""
        return self._tokens > FIND_WANTING * self._budget

    def lift_form(self) -> None:
        """Let headings take what they need from now on."""
        self._form = self._budget

    def begin(self, files: Sequence[Apart], scale: Scale, *, explain: bool) -> None:
        """Parts of these files are added next."""
        self._apart |= {file.candidate.file.path: file for file in files}
        self._scale, self._explain = scale, explain

    def add(self, ranked: RankedPart, rest: FindRest, *, cut: bool = False) -> FindRest | None:
        """Add what is left of a part as far as it fits; what is left then, None if nothing is.

        The first passage of a page is cut so that some of it fits, with `cut` others where it is worth it.
        """
        apart, part = self._apart[ranked.path], ranked.part
        left: FindRest | None = rest
        for first, last in rest.spans(part.first, part.last):
            assert left is not None
            piece = ranked
            if (first, last) != (part.first, part.last):
                piece = replace(ranked, part=replace(part, first=first, last=last))
            lines = self._lines(apart, piece, is_rest=bool(rest.line))
            if lines and not self._fits(ranked.path, cost := self._cost(apart, piece, lines)):
                if self.shown and not (cut and self._is_worth_cutting(ranked.path, cost)):
                    return left
                lines = self._cut(apart, piece, lines, goes_on=bool(rest.line))
                self._take(piece, lines, self._cost(apart, piece, lines))
                return left.behind((lines[0][0], lines[-1][0]), part.first, part.last)
            if lines:
                self._take(piece, lines, cost)
            left = left.behind((first, last), part.first, part.last)
        return None

    def _fits(self, path: str, cost: _Cost) -> bool:
        fits = cost.tokens <= self._tokens and cost.size <= self._size
        return fits and (self._has_form(path, cost) or not self.shown)

    def _has_form(self, path: str, cost: _Cost) -> bool:
        """Whether what a passage needs besides its lines is within the share; headings leave some of it."""
        gaps = 0.0 if path in self._taken else FIND_GAPS_SHARE * self._budget
        return cost.form <= self._form - gaps

    def _is_worth_cutting(self, path: str, cost: _Cost) -> bool:
        """Whether some lines of a passage that is too long would fill the page."""
        least = max(FIND_WORTH_CUTTING * self._budget, 2 * cost.form)
        return self._output == "passages" and self._has_form(path, cost) and self._tokens >= least

    def _take(self, ranked: RankedPart, lines: Sequence[tuple[int, str]], cost: _Cost) -> None:
        self._tokens -= cost.tokens
        self._size -= cost.size
        self._form -= cost.form
        self._taken.setdefault(ranked.path, []).append(_Taken(ranked, lines))
        seen = self._seen.setdefault(ranked.path, set())
        seen.update(number for number, _ in lines)
        seen.update(number for number, _ in self._around(ranked, lines[0][0], ()))
        self.shown += 1

    def files(self) -> list[FoundFile]:
        """The files, in the order of their best passages."""
        return [self._file(path, taken) for path, taken in self._taken.items()]

    def warnings(self) -> list[Warn]:
        """Warnings about hidden characters in shown lines, and about files with several names."""
        warnings = []
        apart = (path for path in self._taken if self._apart[path].document is None)
        if cells := next(filter(None, map(stored_lines_note, apart)), None):
            warnings.append(Warn("notebook", cells))
        warnings += hidden.in_names((file.path for file in self.files()), limit=MAX_WARNINGS)
        for file in self.files():
            path = file.path
            links = self._apart[path].links
            if links > 1:
                warnings.append(Warn("hard_link", f"{quote(path)} has {links} names"))
            rows = [row for passage in file.passages for row in (*passage.around, *passage.rows)]
            if hidden.scan([line for _, line in rows], 1, limit=1):
                warnings += [
                    Warn(warn.code, f"{quote(path)}: {warn.detail}", warn.line, warn.column)
                    for number, line in rows
                    for warn in hidden.scan([line], number, limit=MAX_WARNINGS)
                ]
        return hidden.first_told(warnings, MAX_WARNINGS)[:MAX_WARNINGS]

    def _file(self, path: str, taken: Sequence[_Taken]) -> FoundFile:
        apart = self._apart[path]
        document = apart.document
        passages, above = list[Passage](), set[int]()
        for each in sorted(taken, key=lambda each: each.span):
            around = self._around(each.ranked, each.span[0], above)
            above.update(number for number, _ in (*around, *each.lines))
            passage = self._passage(apart, each, around)
            before = passages[-1] if passages else None
            if before is not None and self._follows(before, passage):
                passages[-1] = _joined(before, passage)
            else:
                passages.append(passage)
        return FoundFile(
            path=path,
            score=apart.candidate.file.score,
            passages=passages,
            content_hash=hashes.shown(apart.digits),
            total_lines=len(apart.lines) if document is None else None,
            unit=None if document is None else document.unit,
            total_parts=None if document is None else document.total,
        )

    def _follows(self, before: Passage, passage: Passage) -> bool:
        """Whether two passages are one; reasons are those of a part each."""
        is_next = before.part == passage.part and before.last + 1 == passage.first
        return is_next and self._output == "passages" and not self._explain

    def _lines(self, apart: Apart, ranked: RankedPart, *, is_rest: bool) -> Sequence[tuple[int, str]]:
        """The lines of a part that are shown, by their numbers in the text."""
        part = ranked.part
        numbered = list(enumerate(apart.lines[part.first - 1 : part.last], part.first))
        if self._output != "outline":
            return numbered
        least = part.first if is_rest else 0
        return [row for row in _signatures(ranked, numbered) if least <= row[0] <= part.last]

    def _passage(self, apart: Apart, taken: _Taken, around: Sequence[tuple[int, str]]) -> Passage:
        ranked, (first, last) = taken.ranked, taken.span
        part = ranked.part
        if self._output == "outline":
            first, last = part.first, part.last
        signature = part.signatures[-1][1] if part.signatures else None
        within, begin = apart.at(first)
        numbered = [(apart.at(line)[1], text) for line, text in taken.lines]
        long = ((number, len(line)) for number, line in numbered if len(line) > FIND_LINE_CHARS)
        cuts = {number: Cut(1, FIND_LINE_CHARS, length) for number, length in long}
        return Passage(
            begin,
            begin + last - first,
            [(number, line[:FIND_LINE_CHARS]) for number, line in numbered],
            ranked.score,
            ".".join(part.names) or None,
            signature,
            [(apart.at(line)[1], text) for line, text in around],
            cuts,
            reasons_of(ranked.why) if self._explain else (),
            within,
        )

    def _around(self, ranked: RankedPart, first: int, known: Container[int]) -> list[tuple[int, str]]:
        """The lines with the signatures that enclose a line, unless they are shown already."""
        if self._output != "passages":
            return []
        lines = self._apart[ranked.path].lines
        return [
            (line, lines[line - 1][:FIND_LINE_CHARS])
            for line, _ in ranked.part.signatures
            if line < first and line not in known
        ]

    def omitted(self) -> list[Omission]:
        """The omissions within shown passages: rests of lines, and lines of a passage that was cut."""
        omissions = []
        for path, taken in self._taken.items():
            apart = self._apart[path]
            for each in taken:
                passage = self._passage(apart, each, ())
                pages = None if passage.part is None else str(passage.part)
                plain = "utf-8" if pages is None and reads_as_document(path) else None
                whole = ReadRequest(path, pages=pages, encoding=plain)
                for number, shown in passage.cuts.items():
                    rest = replace(whole, offset=number, column=shown.last + 1)
                    omissions.append(
                        Omission("columns", shown.last + 1, shown.total, "long", line=number, request=rest)
                    )
                for first, last in self._left_of(each.ranked, passage):
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

    def _cost(self, apart: Apart, ranked: RankedPart, lines: Sequence[tuple[int, str]]) -> _Cost:
        """The cost of lines of a part on the page."""
        path = ranked.path
        taken = _Taken(ranked, lines)
        around = self._around(ranked, taken.span[0], self._seen.get(path, ()))
        passage = self._passage(apart, taken, around)
        within = "" if passage.part is None else f"p{passage.part}:"
        form = [_ROW.format(within, number, line) + "…\n" for number, line in passage.around]
        if path not in self._taken:
            numbers = f"{passage.first}-{passage.last} of {len(apart.lines)}"
            form.append(f"{quote(path)} | lines {numbers} | sha256:{apart.digits[:12]}\n")
        elif not {taken.span[0] - 1, taken.span[1] + 1} & self._seen[path]:
            form.append("…\n")
        text = "".join(form)
        rows = "".join(_ROW.format(within, number, line) for number, line in passage.rows)
        rows += "".join(f"{reason.what} {reason.value:.2f}, " for reason in passage.why)
        of_form = estimate(text) if text else 0
        return _Cost(of_form + estimate(rows), len((text + rows).encode("utf-8", "replace")), of_form)

    def _cut(
        self, apart: Apart, ranked: RankedPart, lines: Sequence[tuple[int, str]], *, goes_on: bool
    ) -> Sequence[tuple[int, str]]:
        """The lines of a part around its best ones that there is room for, at least one.

        The definition of a symbol is shown from where it begins, and what is left of a part comes next.
        """
        costs = [estimate(_ROW.format("", number, line[:FIND_LINE_CHARS])) for number, line in lines]
        points = [0.0] * len(lines)
        if self._output == "passages" and not ranked.defines and not goes_on:
            points = points_of_lines(self._scale, apart.candidate, ranked.part)
        room = self._tokens - self._cost(apart, ranked, lines).form
        while True:
            run = best_run(points, costs, room)
            shown = lines[run.start : run.stop]
            cost = self._cost(apart, ranked, shown)
            over = max(cost.tokens - self._tokens, (cost.size - self._size + 3) // 4)
            if len(run) == 1 or over <= 0:
                return shown
            room -= over


def _joined(one: Passage, other: Passage) -> Passage:
    """Two passages of which the second begins where the first ends, as one with the better one's name."""
    best = max(one, other, key=lambda each: each.score)
    return replace(
        best,
        first=one.first,
        last=other.last,
        rows=[*one.rows, *other.rows],
        around=one.around,
        cuts={**one.cuts, **other.cuts},
    )


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
