"""Find the passages that best answer a question, within a budget of tokens.

    look    at every file that may be seen, for the words of the question (`survey`)
    rank    files by their words, their names and what they define (`ranking.score`)
    part    the best files by their outlines, and rank the parts (`splitting`, `ranking.passages`)
    show    the best parts until the budget is used, grouped by file (`filling`, `page`); the cursor says
            where to continue

Between calls nothing is kept but file texts, each with the state in which it was read, which a stat
confirms (`kept`); a file that was edited a moment ago is ranked as it is now.  Words are counted anew for
every call, in the files that the guard lets through at that time.  So a change of rules takes effect at
once, and a file that may not be seen never influences an answer.

Knows: the steps from a question to a page of passages.
Does not know: how texts are scored (`ranking`), and how a reply is worded.
May be touched: with a run of `benchmarks/find`; what is kept, with the tests of freshness.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import final, get_args

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import (
    FindCursor,
    place_of,
    read_find_cursor,
    write_find_cursor,
)
from readroom.core.engine.find.document import RanksDocuments
from readroom.core.engine.find.filling import Filling
from readroom.core.engine.find.kept import Apart
from readroom.core.engine.find.opening import Opener, encoding_of, is_packed
from readroom.core.engine.find.page import PageOfPassages, reasons_of
from readroom.core.engine.find.splitting import outlined, take_apart
from readroom.core.engine.find.survey import PartialDocument, Seen, Survey, look_at, look_at_document
from readroom.core.engine.find.windows import LargeText
from readroom.core.engine.scope import Scope
from readroom.core.engine.services import Job, Services
from readroom.core.engine.unsearched import Unsearched
from readroom.core.errors import BadValue, Binary, TimedOut
from readroom.core.formats.kinds import UNKNOWN, is_searched, searched_as, sniff
from readroom.core.formats.registry import provided, table
from readroom.core.limits import CLOSING_BYTES, HEAD_BYTES, MAX_WARNINGS, find
from readroom.core.quoting import first_of, quote
from readroom.core.ranking import passages
from readroom.core.ranking.order import BestFirst
from readroom.core.ranking.query import Query, parse
from readroom.core.ranking.score import RankedFile, RankedPart, Scale
from readroom.core.stores.base import Source
from readroom.core.stores.spending import spending
from readroom.core.text.tokens import estimate
from readroom.core.values import (
    EntryKind,
    FindRequest,
    FindResult,
    GrepRequest,
    Omission,
    ReadRequest,
    Request,
    Warn,
)
from readroom.core.values.find import FindInclude, FoundFile, Reason

_AS_DOCUMENT = "Rank its pages with documents."

_SURVEY_SHARE = 0.7
"""The share of the time for looking at files; the rest is for splitting the best."""


def perform(services: Services, job: Job[FindRequest]) -> FindResult:
    """Rank the files and passages below a path, and show a page of them.

    Raises:
        BadValue: The query has no word, or the budget is out of range.
        BadPattern: A glob or the type cannot be used.
        BadCursor: It was given for other arguments.
        NotFound, Denied, OutsideRoot, NoPermission, NotAFile, HardLinked: From opening what was asked for.
        Cancelled: The caller went away.
    """
    with spending() as cost:
        result = _ranked(services, job)
    return cost.told(result)


def _ranked(services: Services, job: Job[FindRequest]) -> FindResult:
    guard, limits, request = services.guard, services.limits, job.request
    query = parse(request.query)
    _require_usable(request, query)
    within = job.deadline.within(limits.grep_timeout_s)
    _, stat = guard.stat(request.path)
    alone = stat.kind is not EntryKind.FOLDER
    opener = Opener(
        services,
        job.deadline,
        archives="archives" in request.include and bool(table().archives),
        compressed=alone or "compressed" in request.include,
    )
    documents = _documents(services, request, alone=alone)
    search = _Ranking(services, job, within, query, opener, documents)
    if alone:
        with guard.open(request.path) as source:
            return search.file(source)
    scoped = GrepRequest("", request.path, request.glob, request.type, include=frozenset({*request.include}))
    with guard.open_folder(request.path) as top:
        scope = Scope(guard, scoped, top.real, _globs_of_type(scoped))
        texts = services.found()
        texts.begin(top.real)
        looking = within.within(_SURVEY_SHARE * limits.grep_timeout_s)
        if search.cursor.goes_on:
            looking = job.deadline  # it was read within the time before, so it has to be again
        searched = {*request.include, *(["documents"] if request.documents else [])}
        left = Unsearched(guard, request.path, top.real, scope, searched)
        survey = Survey(opener, query, scope, texts, documents, looking, job.deadline, left)
        return search.page(survey.look(top, search.cursor.since, search.cursor.until))


def _globs_of_type(scoped: GrepRequest) -> Sequence[str] | None:
    """The globs of the request's type; None without a type."""
    if scoped.type is None:
        return None
    from readroom.core.engine.grep.process import globs_of_type  # imports most of a content search

    return globs_of_type(scoped)


def _documents(services: Services, request: FindRequest, *, alone: bool) -> RanksDocuments | None:
    """What reads documents; None if they are not asked for."""
    if not request.documents or not table().documents:
        return None
    documents: RanksDocuments = provided("rank")(services.documents(), services.limits, alone=alone)
    return documents


FIND_MAX_TOKENS = 50_000
"""Largest budget of a page; the size limit of the reply usually ends it before."""


def _require_usable(request: FindRequest, query: Query) -> None:
    if not query.terms:
        raise BadValue(
            "query", request.query[:80], "contains no word", "Ask with words, a name or an error message."
        )
    budget = request.budget_tokens
    if budget is not None and not find.FIND_MIN_TOKENS <= budget <= FIND_MAX_TOKENS:
        nearest = min(max(budget, find.FIND_MIN_TOKENS), FIND_MAX_TOKENS)
        raise BadValue(
            "budget_tokens",
            budget,
            f"is not between {find.FIND_MIN_TOKENS} and {FIND_MAX_TOKENS:,}",
            f"Use {nearest}.",
            next_request=replace(request, budget_tokens=nearest),
        )


def _tokens_of_passages(request: FindRequest, budget: int) -> int:
    """The budget without the estimated cost of the first and last line of the reply."""
    repeated = estimate(request.query) if len(request.query) <= find.FIND_REPEATED_CHARS else 0
    return budget - min(find.FIND_SENTENCES_TOKENS + repeated, budget // 4)


FIND_SURE_SHARE = 0.95
"""The share of the budget that a page is planned with: 19 of 20 pages take at most 6 % more o200k tokens than
estimated, so that few exceed the budget."""

FIND_LEFT_CALLS = 3
"""Unfinished documents that get a call of their own, and unreadable files that are named."""

FIND_FILES_APART = 15
"""Files split for one page: with 15, half a point of coverage less; each costs some 5 ms. Later pages split
the next ones."""

FIND_OUTLINED_CHARS = 256 * 1024
"""Characters of files that are outlined for one page, those with the best passages first; the others are
split by lines. The best fifteen files of most repositories are shorter together; if not, outlines would take
longer than the rest of the search."""

FIND_SMALL_CHARS = 16 * 1024
"""Files up to this size are always outlined: it takes a millisecond or two."""

FIND_PARSED_CHARS = 256 * 1024
"""Longer texts are split by lines instead of definitions: parsing takes a tenth of a second each."""

FIND_SYMBOL_CHARS = 1024 * 1024
"""Characters of files that seem to define the symbol that is asked for, best first: its definition is wanted,
and many well-known ones are in files of 300,000 characters. Longer ones are split by lines."""


@final
class _Ranking:
    """One ranked search after its first stage.

    Attributes:
        cursor: Where it continues.
    """

    def __init__(
        self,
        services: Services,
        job: Job[FindRequest],
        deadline: Deadline,
        query: Query,
        opener: Opener,
        documents: RanksDocuments | None,
    ) -> None:
        self._services = services
        self._request = request = job.request
        self._query = query
        self.cursor = read_find_cursor(request)
        self._opener = opener
        self._documents = documents
        self._deadline, self._patient = deadline, job.deadline
        self._large: LargeText | None = None
        self._cap = job.cap
        self._budget = int(FIND_SURE_SHARE * (request.budget_tokens or find.FIND_BUDGET_TOKENS))
        self._tokens = _tokens_of_passages(request, self._budget)
        self._used = 0
        self._rounds: dict[int, tuple[list[Apart], list[RankedPart]]] = {}
        self._size = job.cap.size - CLOSING_BYTES - len(request.path.encode("utf-8", "replace"))

    def file(self, source: Source) -> FindResult:
        """The page for one file that was asked for by name."""
        documents, guard = self._documents, self._services.guard
        if documents is not None and documents.takes(source):
            document = documents.read(guard, source, self._deadline)
            return self.page(look_at_document(source.real, self._query, document))
        if self._documents is None and is_searched(source.real):
            self._require_text(source)
        if source.size <= find.FIND_FILE_BYTES or is_packed(source):
            return self.page(look_at(source, self._query, self._opener, self._deadline))
        return self._windows(LargeText(source, self._query, self._deadline))

    def _require_text(self, source: Source) -> None:
        """Raise Binary if a file can be ranked only as a document."""
        head = source.read_at(0, HEAD_BYTES)
        if encoding_of(source, head) is None and searched_as(source.real, head) is not None:
            media = sniff(head) or UNKNOWN
            request = replace(self._request, documents=True, cursor=None)
            raise Binary(source.real, media.name, source.size, _AS_DOCUMENT, next_request=request)

    def page(self, seen: Seen) -> FindResult:
        """The page for the files that the first stage found."""
        scale = Scale(self._query, seen.glimpses, seen.files, seen.chars)
        names = self._request.output == "files" and self._large is None
        files = BestFirst(scale, seen.glimpses, seen.examine, program_first=not names)
        output = self._names if names else self._passages
        return self._within_budget(lambda: self._complete(output(scale, seen, files), seen))

    def _within_budget(self, output: Callable[[], FindResult]) -> FindResult:
        """A page that stays within the budget with everything that is said around its passages.

        The size of a contract's formatting is known only for a whole page, so one that became too long is
        made again from what was ranked, with less.
        """
        tokens_of, result = self._cap.measure.find_tokens, output()
        if tokens_of is None:
            return result
        least = self._budget * find.FIND_LEAST_SHARE
        for _ in range(find.FIND_TRIES):
            over = tokens_of(result) - self._budget
            if over <= 0 or self._tokens <= least:
                break
            self._tokens = max(int(least), self._used - over)
            result = output()
        return result

    def _windows(self, large: LargeText) -> FindResult:
        """The page for one large text: its windows are ranked like files."""
        self._large = large
        result = self.page(large.seen)
        return replace(result, searched_files=1, more_files=0)

    def _apart(self, scale: Scale, files: Sequence[RankedFile], deadline: Deadline) -> list[Apart]:
        """The files split into parts, those that are worth an outline into definitions.

        All of them or none: the next page continues in the order of all their parts. Raises TimedOut.
        """
        if self._large is not None:
            return [self._large.apart(files)] if files else []
        read = (take_apart(self._services, self._opener, self._documents, file, deadline) for file in files)
        apart = [each for each in read if each is not None]
        worth = self._worth_outlines(scale, apart)
        return [
            outlined(self._services, each, deadline) if each.candidate.file.path in worth else each
            for each in apart
        ]

    def _worth_outlines(self, scale: Scale, apart: Sequence[Apart]) -> set[str]:
        """The paths of small files and of the most promising larger ones, within a limit of characters."""
        sizes = {each.candidate.file.path: each.candidate.text.size for each in apart}
        worth = self._defining(apart)
        if self._request.output == "outline" or sum(sizes.values()) <= FIND_OUTLINED_CHARS:
            return worth | {path for path, size in sizes.items() if size <= FIND_PARSED_CHARS}
        left = FIND_OUTLINED_CHARS
        for path in passages.most_promising(scale, [each.candidate for each in apart]):
            if sizes[path] <= min(left, FIND_PARSED_CHARS):
                left -= sizes[path]
                worth.add(path)
        return worth | {path for path, size in sizes.items() if size <= FIND_SMALL_CHARS}

    def _defining(self, apart: Sequence[Apart]) -> set[str]:
        """The files that seem to define the symbol that is asked for, within a limit of characters."""
        left, paths = FIND_SYMBOL_CHARS, set[str]()
        for each in apart if self._query.symbol else ():
            candidate = each.candidate
            if candidate.file.counted.defined and candidate.text.size <= left:
                left -= candidate.text.size
                paths.add(candidate.file.path)
        return paths

    def _parts(
        self, scale: Scale, seen: Seen, files: Sequence[RankedFile], number: int, *, is_first: bool = True
    ) -> tuple[list[Apart], list[RankedPart]]:
        """The files of a round and their parts, best first. Raises TimedOut as `_apart` does.

        A page without results may use all the time of the caller: an empty page would be useless.
        """
        if number not in self._rounds:
            apart = self._apart(scale, files, self._patient if is_first else self._deadline)
            if seen.files == 1 and apart:
                scale = passages.scale_within(self._query, apart[0].candidate)
            self._rounds[number] = apart, passages.rank_parts(scale, [file.candidate for file in apart])
        return self._rounds[number]

    # --- pages ---------------------------------------------------------------------------------

    def _passages(self, scale: Scale, seen: Seen, files: BestFirst) -> FindResult:
        """A page of parts of the best files, then of the next ones, until it is full."""
        request = self._request
        page = PageOfPassages(request.output, self._tokens, self._size)
        filling = Filling(page, self.cursor, seen)
        while True:
            number = filling.cursor.round
            begin = number * FIND_FILES_APART
            try:
                best = files.first(begin + FIND_FILES_APART)[begin:]
                apart, parts = self._parts(scale, seen, best, number, is_first=not page.shown)
            except TimedOut as error:
                if not page.shown:
                    raise self._by_word(error) from None
                break
            page.begin(apart, scale, explain=request.explain)
            filling.fill(apart, parts)
            if filling.waiting or filling.cursor.round * FIND_FILES_APART >= len(files) or not page.has_room:
                break
        cursor, waiting = filling.cursor, filling.waiting
        taken = (cursor.round + 1) * FIND_FILES_APART if waiting else cursor.round * FIND_FILES_APART
        left = max(0, len(files) - taken)
        self._used = self._tokens - page.left
        shown_files = page.files()
        if request.explain and self._large is None:
            ranked = {file.path: file for file in files.first((cursor.round + 1) * FIND_FILES_APART)}
            shown_files = [replace(file, why=_why(files, ranked[file.path])) for file in shown_files]
        return FindResult(
            request,
            shown_files,
            shown=sum(len(file.passages) for file in shown_files),
            more_passages=waiting,
            more_files=left,
            omitted=[*page.omitted(), *self._outlines(cursor, seen, waiting + left)],
            warnings=[*filling.warnings, *page.warnings()],
            next=self._next_page(cursor, seen) if waiting or left else None,
        )

    def _outlines(self, cursor: FindCursor, seen: Seen, left: int) -> Iterator[Omission]:
        """From the second page on, the call that continues with signatures instead of passages."""
        if left and self.cursor.goes_on and self._request.output == "passages":
            following = self._next_page(cursor, seen)
            yield Omission("signatures", 1, left, "budget", request=replace(following, output="outline"))

    def _by_word(self, error: TimedOut) -> TimedOut:
        """The error with a plain search for one word, which works through a tree page by page."""
        request = self._request
        word = max(re.findall(r"\w+", request.query), key=len)
        by_word = GrepRequest(word, request.path, request.glob, request.type, fixed=True, ignore_case=True)
        return TimedOut(error.seconds, "Search for one of its words instead.", next_request=by_word)

    def _names(self, scale: Scale, seen: Seen, files: BestFirst) -> FindResult:
        """A page with the names of the best files."""
        request, cursor = self._request, self.cursor
        listed, used, size, left, following = list[FoundFile](), 0, 0, 0, None
        for position, file in self._in_order(scale, seen, files):
            number, place = int(position >= FIND_FILES_APART), place_of(file.score, file.path)
            if cursor.after is not None and (number, place) <= (cursor.round, cursor.after):
                continue
            why = _why(files, file) if request.explain else ()
            row = quote(file.path) + "\n" + "".join(f"{reason.what} {reason.value:.2f}, " for reason in why)
            cost, size = estimate(row), size + len(row.encode("utf-8", "replace"))
            if listed and (used + cost > self._tokens or size > self._size):
                break
            used += cost
            listed.append(FoundFile(file.path, file.score, why=why))
            following, left = FindCursor(cursor.since, number, after=place), len(files) - position - 1
        self._used = used
        return FindResult(
            request,
            listed,
            shown=len(listed),
            more_files=left,
            next=self._next_page(following, seen) if left and following else None,
        )

    def _in_order(self, scale: Scale, seen: Seen, files: BestFirst) -> Iterator[tuple[int, RankedFile]]:
        """The best files in the order of their parts, then the others in their own order."""
        if not self.cursor.round:
            best = files.first(FIND_FILES_APART)
            _, parts = self._parts(scale, seen, best, 0)
            yield from enumerate(passages.rank_with_parts(best, parts))
        position = FIND_FILES_APART
        while (file := files.at(position)) is not None:
            yield position, file
            position += 1

    def _following(self, cursor: FindCursor) -> FindRequest:
        return replace(self._request, cursor=write_find_cursor(self._request, cursor))

    def _next_page(self, cursor: FindCursor, seen: Seen) -> FindRequest:
        """The request for the next page of the same files."""
        return self._following(replace(cursor, until=seen.stopped_at or self.cursor.until))

    def _complete(self, result: FindResult, seen: Seen) -> FindResult:
        """The page with warnings and omissions of the whole search."""
        result = replace(result, searched_files=seen.files, left_words=self._query.left_out)
        omitted = [*result.omitted, *self._not_ranked(seen)]
        warnings = [*_unreadable(seen.unreadable), *_others_partial(seen.partial), *result.warnings]
        if not self.cursor.goes_on:
            left = seen.left
            warnings[:0] = [] if left is None else left.warnings(seen.compressed)
        result = replace(result, warnings=warnings[:MAX_WARNINGS])
        if seen.large:
            lookup = replace(self._request, path=seen.large[0], glob=(), type=None, cursor=None)
            omitted.append(Omission("files", 1, seen.large_files, "too_large", request=lookup))
        if seen.stopped_at is None:
            return replace(result, omitted=omitted)
        rest = FindCursor(since=seen.stopped_at, until=self.cursor.until)
        if result.next is not None:
            omitted.append(Omission("passages", 1, result.more_passages or 1, "timeout", request=result.next))
        return replace(result, omitted=omitted, complete=False, reason="timeout", next=self._following(rest))

    def _not_ranked(self, seen: Seen) -> Iterator[Omission]:
        """Omissions of documents that were left out, or left unfinished."""
        # Earlier pages have reported those that they ranked.
        new = not self.cursor.goes_on
        if new and seen.left is not None and seen.left.total:
            kinds = {*seen.left.kinds, *(["compressed"] if seen.compressed else [])}
            with_them = self._request.include.union(kind for kind in get_args(FindInclude) if kind in kinds)
            documents = self._request.documents or bool(seen.documents)
            again = replace(self._request, include=with_them, documents=documents)
            request = None if again == self._request else replace(again, cursor=None)
            yield Omission("files", 1, seen.left.total, "left_out", request=request)
        if seen.compressed and new:
            with_them = self._request.include | {"compressed"}
            again = replace(self._request, include=with_them, cursor=None)
            yield Omission("files", 1, len(seen.compressed), "compressed", request=again)
        if seen.documents and new:
            again = replace(self._request, documents=True, cursor=None)
            yield Omission("files", 1, seen.documents, "documents", request=again)
        for document in seen.partial[:FIND_LEFT_CALLS]:
            alone: Request = replace(self._request, path=document.path, glob=(), type=None, cursor=None)
            if document.path == self._request.path:
                rest, total = document.rest, document.total
                pages = f"{rest}-{total}" if total > rest else str(rest)
                alone = ReadRequest(document.path, offset=document.line, pages=pages if total else None)
            yield Omission("parts", document.rest, document.total, document.reason, request=alone)


def _others_partial(documents: Sequence[PartialDocument]) -> list[Warn]:
    """A warning about unfinished documents beyond those that get a call of their own."""
    others = [document.path for document in documents[FIND_LEFT_CALLS:]]
    if not others:
        return []
    return [Warn("unfinished", f"also not searched completely: {first_of(others, FIND_LEFT_CALLS)}")]


def _unreadable(clauses: Sequence[str]) -> list[Warn]:
    if not clauses:
        return []
    clauses = list(dict.fromkeys(clauses))  # an archive is also a file
    more = len(clauses) - FIND_LEFT_CALLS
    text = "; ".join(clauses[:FIND_LEFT_CALLS]) + (f"; and {more} more" if more > 0 else "")
    return [Warn("unreadable", f"cannot be read: {text}")]


def _why(files: BestFirst, file: RankedFile) -> list[Reason]:
    return reasons_of(files.explain(file))
