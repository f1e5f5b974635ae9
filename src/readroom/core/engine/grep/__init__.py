"""Search the contents of files: rg finds candidates, the guard decides, and the engine searches again.

    find       files that may match, in path order: with rg below a local folder, with a walk elsewhere
    open       each through the guard; files that are refused, gone, or links by now are dropped
    search     the opened file itself: every shown line and every count comes from there
    show       matches until the page is full or the deadline passes; the cursor says where to continue

A limit or a deadline never looks like "not found": the result says what stopped the search, how far it came,
and how to continue.  No file holds up the files after it: what is left unfinished is named (`coverage`).

Knows: the steps from a pattern to a page of matches.
Does not know: the other verbs, and how a reply is worded.
May be touched: with a run of the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from typing import TypeVar, final

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import GrepPlace, path_key, read_grep_cursor, sort_of, write_grep_cursor
from readroom.core.engine.grep import left
from readroom.core.engine.grep.brought import SearchesArchives
from readroom.core.engine.grep.candidates import FIRST, PLAIN, WIDE, Rounds, SecondRound, rounds_below
from readroom.core.engine.grep.file import GONE, UNREADABLE, FileSearch, Opened, Searcher
from readroom.core.engine.grep.order import UNRANKED, Ranked, Relevance, by_age, in_turn
from readroom.core.engine.grep.page import Collects, Last, Page, Symbols, part_of, place_in, uncounted
from readroom.core.engine.grep.process import globs_of_type, pattern_of, require_usable
from readroom.core.engine.scope import Scope, join_below, reading_of, relative_to
from readroom.core.engine.services import Job, Services
from readroom.core.engine.unsearched import Unsearched
from readroom.core.errors import Binary, BrokenData, HardLinked, TimedOut
from readroom.core.formats.registry import provided, table
from readroom.core.limits import GREP_MAX_TIMEOUT_S
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.search.pattern import Pattern
from readroom.core.stores.base import Folder, OrderedFolder, Source
from readroom.core.stores.spending import spending
from readroom.core.values import EntryKind, GrepRequest, GrepResult, Omission, Warn

_REPORT_EVERY = 64
"""Files between two reports of progress."""

_T = TypeVar("_T")


def perform(services: Services, job: Job[GrepRequest], *, confined: bool = True) -> GrepResult:
    """Search for a pattern; with `confined` False rg is not confined by the kernel.

    Raises:
        BadPattern: The pattern, a glob or the type cannot be used.
        BadCursor: The cursor belongs to other arguments.
        NotFound, Denied, OutsideRoot, NoPermission, NotAFile, HardLinked: From opening what was asked for.
        MissingProgram: rg is not installed, or is too old.
        Cancelled: The caller went away.
    """
    search = partial(_searched, services, confined=confined)
    with spending() as cost:
        if job.request.output != "references":
            result = search(job, None)
        else:
            from readroom.core.engine.grep.references import told_apart  # few searches ask for it

            result = told_apart(job, services.limits, search)
    return cost.told(result)


def _searched(
    services: Services, job: Job[GrepRequest], page: Collects | None, *, confined: bool
) -> GrepResult:
    """Search, and let `page` take the matches; None for one that shows them."""
    guard, limits, request, deadline = services.guard, services.limits, job.request, job.deadline
    seconds = min(request.timeout_s or limits.grep_timeout_s, GREP_MAX_TIMEOUT_S)
    require_usable(request)
    # Outside the time limit of the search: whether a pattern is valid does not depend on it.
    pattern = pattern_of(request, deadline, local=_is_local(guard, request) and not request.documents)
    within = deadline.within(seconds)
    search = _Search(services, job, pattern, within, seconds, confined, page)
    if request.documents and table().documents:
        room = services.documents()
        search.files.documents = provided("search")(room, request, pattern, limits, within, guard)
    if "archives" in request.include and table().archives:
        search.archives = provided("search_archives")(services.archives(), guard, request, within)
    _, stat = guard.stat(request.path)
    if stat.kind is not EntryKind.FOLDER:
        return search.file()
    with guard.open_folder(request.path) as top:
        return search.folder(top)


def _is_local(guard: Guard, request: GrepRequest) -> bool:
    """Whether rg can walk what is searched."""
    return guard.folder_at(WorkPath(request.path)) is not None


GREP_RANK_SHARE = 0.7
"""The part of the time for sorting in an order other than by path, which needs all files first; if that does
not suffice, the rest is searched by path."""


@final
class _Search:
    """The search of one call."""

    def __init__(
        self,
        services: Services,
        job: Job[GrepRequest],
        pattern: Pattern,
        deadline: Deadline,
        seconds: float,
        confined: bool,
        page: Collects | None,
    ) -> None:
        guard, limits, request = services.guard, services.limits, job.request
        self._guard = guard
        self._limits = limits
        self._request = request
        self._deadline = deadline
        self._seconds = seconds
        self._local = _is_local(guard, request)
        self._cursor = read_grep_cursor(request)
        self._confined = confined
        self._pattern = pattern
        symbols = Symbols(deadline) if request.symbols else None
        self._page: Collects = page or Page(request, limits, job.cap, symbols)
        self._left = left.Left(request, seconds, symbols)
        self._searcher = Searcher(request, pattern, self._left, local=self._local)
        shared = (self._searcher, self._page, self._left, self._cursor, deadline, seconds)
        self.files = FileSearch(request, services.indexes, limits, *shared)
        self.archives: SearchesArchives | None = None
        self._examined = 0
        self._counting = False
        self._saw_second = self._in_pages = False
        self._second: SecondRound | None = None
        self._top = ROOT

    # --- one file -----------------------------------------------------------------------------

    def file(self) -> GrepResult:
        """Search one file that was asked for by name, even if hidden, ignored or compressed."""
        path = WorkPath(self._request.path)
        with self._guard.open(path) as source:
            file, is_document = Opened(source, self._deadline), False
            try:
                with self.files.content(file, path) as content, self._noting(source, path):
                    is_document = self.files.is_document(content.source)
                    unread = self._alone(content, path, is_document=is_document)
            except TimedOut:
                if not is_document:
                    self.files.leave(file, left.ITSELF)
                first = Last((), left.ITSELF, place_in(1, 0)) if is_document else None
                return self._stopped(self._start() or first, alone=True)
            except Binary as error:
                raise left.with_documents(error, self._request) from None
        if unread is None:
            return self._result()
        omission = Omission("files", 1, 1, "binary", request=unread[1])
        return replace(self._result(), omitted=[omission], warnings=[unread[0]])

    def _alone(self, file: Opened, path: WorkPath, *, is_document: bool) -> tuple[Warn, GrepRequest] | None:
        """Show the matches of the only file; returns a warning and a working request if it is not text."""
        if is_document and self.files.documents is not None:
            within = self.files.documents.within(self._deadline, alone=True)
            self.files.document(file.source, path, left.ITSELF, within)
            return None
        self.files.text(file, path, left.ITSELF)
        return left.not_text(self._request, file.source) if self._left.unread else None

    @contextmanager
    def _noting(self, source: Source, path: WorkPath) -> Iterator[None]:
        """Record the names of a file with several names, if something is shown from it."""
        try:
            yield
        finally:
            links = source.stat.links
            if links > 1 and self._page.files and self._page.files[-1].path == path:
                self._left.linked[path] = links

    def _start(self) -> Last | None:
        """Where this page began."""
        start = self._cursor
        return None if start is None else Last(start.place.rank, start.path, start.line)

    # --- a folder -----------------------------------------------------------------------------

    def folder(self, top: Folder) -> GrepResult:
        """Search everything below a folder."""
        self._top = top.real
        self._in_pages = isinstance(top, OrderedFolder)
        scope = Scope(self._guard, self._request, top.real, globs_of_type(self._request))
        searched = {*self._request.include, *(["documents"] if self._request.documents else [])}
        self._left.names = Unsearched(self._guard, self._request.path, top.real, scope, searched)
        if sort_of(self._request) != "path" and (ranked := self._in_rank_order(top, scope)) is not None:
            return ranked
        with ExitStack() as opened:
            rounds = self._rounds_below(top, scope, opened, self._deadline)
            if rounds.tree is None:
                return self._in_path_order(rounds, None)
            coverage = left.Coverage(rounds.tree.listing, self._deadline)
            return self._in_path_order(rounds, opened.enter_context(coverage))

    def _rounds_below(self, top: Folder, scope: Scope, opened: ExitStack, deadline: Deadline) -> Rounds:
        assert self._left.names is not None
        given = (self._guard, self._request, self._pattern, top, scope, self._left.names, deadline, opened)
        share, filled = self.files.share, self._page.filled
        rounds = rounds_below(*given, share=share, filled=filled, confined=self._confined)
        if self.files.documents is not None:
            rounds = self.files.documents.added_to(rounds, scope)
        if self.archives is not None:
            rounds = self.archives.added_to(rounds, top, scope)
        return rounds

    def _in_path_order(self, rounds: Rounds, coverage: left.Coverage | None) -> GrepResult:
        start = PLAIN if self._cursor is None else self._cursor.place.rank
        if start == PLAIN:
            stopped = self._round(rounds, PLAIN, coverage)
            if stopped is not None:
                return stopped
        # Without rg the first round saw all files, and knows whether any is left for the second.
        left_over = self._local or self._cursor is not None or self._saw_second
        if self._page.goes_on and left_over and not self._in_pages:
            stopped = self._round(rounds, WIDE, None)
            if stopped is not None:
                return stopped
        return self._whole(rounds)

    def _whole(self, rounds: Rounds) -> GrepResult:
        """The result of a search that came to an end, with what it left out."""
        names = self._left.names
        if self._page.goes_on and names is not None:
            names.counted = True
            if self._cursor is not None:
                self._look_again(rounds)
            for real, head in self._left.unread.items():
                names.add_unread(relative_to(self._top, real), head)
            (names.walk if rounds.second is None else rounds.second.count)(self._deadline)
        if self._request.glob and not self._page.shown and self._cursor is None:
            self._left.remarks += reading_of(self._guard, self._request.path, self._request.glob)
        return self._result()

    def _look_again(self, rounds: Rounds) -> None:
        """Find the files that earlier pages have left out when they opened them."""
        with suppress(TimedOut), closing(rounds.plain.files(None, at_once=False)) as files:
            for path in files:
                self._opened(path, partial(self.files.leaves, path))

    def _round(
        self, rounds: Rounds, rank: tuple[int, ...], coverage: left.Coverage | None
    ) -> GrepResult | None:
        """Show the results of one round; returns a result if time ran out."""
        self._second = rounds.second
        finder = rounds.plain if rank == PLAIN else rounds.wide
        cursor = self._cursor if self._cursor is not None and self._cursor.place.rank == rank else None
        self._page.rank, self._left.latest = rank, None
        current: str | None = None
        try:
            # Close it now rather than when it is collected: it holds a process.
            with closing(finder.files(cursor)) as files:
                for current in files:
                    if not self._examine(current, wide=None if self._in_pages else rank == WIDE):
                        break
                    current = None
        except TimedOut:
            self._take_over(rounds)
            at = current or finder.stopped_at or (None if rank == PLAIN else FIRST)
            return self._stopped(None if at is None else Last(rank, at, 0), coverage)
        self._take_over(rounds)
        return None

    def _in_rank_order(self, top: Folder, scope: Scope) -> GrepResult | None:
        """The page in an order other than by path; None if there is only time for path order."""
        begins = self._cursor is None
        within = self._deadline.within(self._seconds * GREP_RANK_SHARE) if begins else self._deadline
        with ExitStack() as opened:
            try:
                rounds = self._rounds_below(top, scope, opened, within)
                ranked = sorted(self._ranked(rounds, within))
            except TimedOut:
                if not begins:
                    return self._unsorted()
                self._left.begin_again(left.NOT_SORTED)
                self._request = replace(self._request, sort="path")
                return None
            self._take_over(rounds)
            for place, path in in_turn(ranked, self._cursor, self._guard, self._top, self._deadline):
                self._page.rank = place.rank
                try:
                    if not self._examine(path):
                        break
                except TimedOut:
                    return self._stopped(Last(place.rank, path, 0))
            return self._whole(rounds)

    def _ranked(self, rounds: Rounds, within: Deadline) -> Iterator[Ranked]:
        with closing(rounds.all()) as files:
            if sort_of(self._request) == "mtime":
                yield from by_age(self._guard, self._top, files, within)
            else:
                yield from self._by_relevance(files, within)

    def _by_relevance(self, files: Iterator[str], within: Deadline) -> Iterator[Ranked]:
        relevance = Relevance(self._request)
        for path in files:
            within.check()
            if not relevance.has_room or self._looked(relevance, path, within) is False:
                yield GrepPlace(UNRANKED, path_key(path)), path
        yield from relevance.places()

    def _looked(self, relevance: Relevance, relative: str, within: Deadline) -> bool | None:
        """Whether a file was ranked; None if it is not a visible file."""

        def look(source: Source) -> bool:
            file = Opened(source, within)
            if file.compression is not None and "compressed" not in self._request.include:
                return False  # counted and left out later, when it would be shown
            with within.share(self.files.share) as file.deadline:
                try:
                    with self.files.content(file, join_below(self._top, relative)) as content:
                        searched = self._searcher.search(content)
                        if searched is not None:
                            relevance.look(relative, searched)
                        return True
                except TimedOut:
                    within.check()
                    return False
                except (Binary, BrokenData):
                    return False

        return self._opened(relative, look)

    def _examine(self, relative: str, *, wide: bool | None = None) -> bool:
        """Open and search a candidate, and show what is in it; False when the page is full.

        With `wide` only files that are, or are not, of the second round.
        """
        self._examined += 1
        if self._examined % _REPORT_EVERY == 0:
            self._deadline.report(self._examined, None, "files")
        self._deadline.check()
        path = join_below(WorkPath(self._request.path), relative)

        def shown(source: Source) -> bool:
            with self._noting(source, path):
                if self.files.is_document(source):
                    return wide is True or self.files.document_of_many(source, path, relative)
                file = Opened(source, self._deadline)
                # All members come in one round.
                is_member = self.archives is not None and self.archives.holds(path)
                is_second = not is_member and self.files.is_second_round(file)
                self._saw_second = self._saw_second or is_second
                if self._second is not None and wide is not None:
                    if is_second and not wide:
                        self._second.add(relative)
                    is_second = is_second or (wide and relative in self._second.texts)
                if wide and not is_second and self._local:
                    self.files.leaves(
                        relative, source
                    )  # rg took its beginning for that of a file of the second round
                return wide not in (None, is_second) or self.files.one_of_many(file, path, relative)

        goes_on = self._opened(relative, shown) is not False
        seconds = self._request.options.count_s
        if self._page.full is not None and seconds is not None and not self._counting:
            self._counting, self._deadline = True, self._deadline.within(seconds)
            self.files.deadline = self._deadline
        return goes_on

    def _opened(self, relative: str, use: Callable[[Source], _T]) -> _T | None:
        """Open a candidate through the guard and call `use`; None if it is not a visible file."""
        path = join_below(WorkPath(self._request.path), relative)
        try:
            with self._source(path) as source:
                # rg follows no links, so it did not look at this file.
                if source.real != join_below(self._top, relative):
                    return None
                return use(source)
        except HardLinked as error:
            if not error.known:
                self._left.unreadable.append(relative)
            return None
        except GONE:
            return None
        except UNREADABLE:
            self._left.unreadable.append(relative)
            return None

    def _source(self, path: WorkPath) -> Source:
        if self.archives is not None and self.archives.holds(path):
            return self.archives.open(path)
        return self._guard.open(path)

    def _take_over(self, rounds: Rounds) -> None:
        """Record files that the finders could not read, or left unfinished."""
        for file in rounds.noted.passed():
            self._left.text(file.path, file.read, file.size, 0)
        if rounds.second is not None and not rounds.second.texts_known:
            self._left.remarks.insert(0, left.TEXTS_UNKNOWN)
        self._left.add(rounds.noted)

    # --- the result ---------------------------------------------------------------------------

    def _result(self) -> GrepResult:
        page, counted = self._page, self._request.options.count_s is not None
        unfinished = self._left.some_unfinished
        following = None
        if page.full is not None and counted:
            following = replace(self._request, skip=self._request.skip + page.shown)
        elif page.full is not None and (last := self._behind_left(page.last)) is not None:
            following = replace(self._request, cursor=write_grep_cursor(self._request, *last))
        return GrepResult(
            request=self._request,
            files=left.shown_in(page.files),
            shown=page.shown,
            complete=page.full is None and not unfinished,
            reason=page.full or ("unfinished" if unfinished else None),
            total_matches=page.matches if counted and not unfinished else None,
            omitted=[*self._left.omissions(), *page.omitted],
            next=following,
            warnings=[*self._left.warnings(page.files)],
        )

    def _stopped(
        self, at: Last | None, coverage: left.Coverage | None = None, *, alone: bool = False
    ) -> GrepResult:
        """The result after the deadline: the matches so far, how far the search came, and how to continue.

        `at` is the first file that is not done; None if that is unknown, or it is the only one.
        """
        if self._request.options.count_s is not None:
            return uncounted(self._result())
        last = self._page.last
        if last is not None and (at is None or last.reaches(at)):
            at = last
        at = self._behind_left(at)
        rank = PLAIN if at is None else at.rank
        following = self._more_time(at)
        if at is not None and not self._began_at(at):
            following = replace(left.patient(self._request), cursor=write_grep_cursor(self._request, *at))
        searched, total = (None, None) if coverage is None or at is None else coverage.at(at.path)
        if not self._local and self._cursor is None and rank == PLAIN:
            searched = self._examined
        result, omitted = (
            self._result(),
            [] if following is not None else [left.instead(self._request, alone=alone)],
        )
        return replace(
            result,
            omitted=[*omitted, *result.omitted],
            complete=False,
            reason="timeout",
            searched_files=searched,
            total_files=total,
            next=following,
        )

    def _behind_left(self, at: Last | None) -> Last | None:
        """Move a place past the file that was left unfinished last, so that no page repeats it."""
        latest = self._left.latest
        if latest is None or latest == left.ITSELF or sort_of(self._request) != "path":
            return at
        if at is not None and (at.rank != self._page.rank or path_key(at.path) > path_key(latest)):
            return at
        return Last(self._page.rank, latest, None)

    def _began_at(self, place: Last) -> bool:
        """Whether this page began at the place or after it, so that continuing there would go back."""
        start = self._cursor
        if start is None:
            return place.line == place_in(1, 0)
        if start.place.rank != place.rank:
            return False
        key = path_key(place.path)
        if key != start.place.key:
            return key < start.place.key
        return start.line is None or (place.line is not None and place.line <= start.line)

    def _more_time(self, at: Last | None) -> GrepRequest | None:
        """The same search with more time; at the longest limit, from after the part that took all of it."""
        if self._seconds < GREP_MAX_TIMEOUT_S:
            return replace(self._request, timeout_s=left.more_time(self._seconds))
        place = 0 if at is None else at.line or 0
        if at is None or not part_of(place):
            return None
        cursor = write_grep_cursor(self._request, at.rank, at.path, place_in(part_of(place) + 1, 0))
        return replace(self._request, cursor=cursor)

    def _unsorted(self) -> GrepResult:
        """The result of a later page when time ran out before the order was known: nothing is shown."""
        following = self._more_time(None)
        if following is None:
            self._left.begin_again(left.BEGINS_AGAIN)
            following = replace(self._request, sort="path", cursor=None)
        return replace(self._result(), complete=False, reason="timeout", next=following)
