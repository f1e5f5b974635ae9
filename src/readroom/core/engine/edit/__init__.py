"""Replace texts in one file, all of them or none.

    find      the file, through rules and confinement; its folder is held open and locked
    search    one pass: encoding, hash, every old text, the bytes to be changed
    refuse    another hash; a text that does not occur exactly once; edits that overlap
    write     the file with those bytes changed, next to the old one
    rename    it over the old one, if that is still what was read

The expected hash is compared with the hash of the very bytes that are then copied.

Knows: the steps from old and new texts to the changed file.
Does not know: the other verbs, and how a reply is worded.
May be touched: with the race tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.edit.anchors import Anchors, name_of, searched
from readroom.core.engine.edit.cells import NOTEBOOK_BYTES, CellPlan, is_notebook, missing, planned
from readroom.core.engine.edit.checks import about_links, about_nuls, require_editable, stale
from readroom.core.engine.edit.forms import form_of
from readroom.core.engine.edit.masked import EditedBytes, require_unmasked
from readroom.core.engine.edit.meant import LENIENT_BYTES, meant
from readroom.core.engine.edit.told import CHECKED_BYTES, Before, about_cells, about_edit, text_of
from readroom.core.engine.edit.usable import (
    PlannedEdit,
    described,
    ends_with,
    expected_digits,
    require_usable,
    unchanged,
)
from readroom.core.engine.read.classify import asked_for
from readroom.core.engine.services import Job, Services
from readroom.core.errors.changes import AROUND
from readroom.core.formats.kinds import reads_as_document
from readroom.core.limits import DIFF_CONTEXT, HEAD_BYTES, MATCHES, VALUE_CHARS
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.quoting import quote
from readroom.core.stores.base import Moved, PutFile, Source, WriteTarget
from readroom.core.text import encodings, hashes
from readroom.core.text.edits import Change, Scan, TooManyMatches, prepare, scan, with_lone_cr
from readroom.core.text.edits.diff import within
from readroom.core.text.edits.splice import (
    NotEncodable,
    applied,
    broken_line,
    encode,
    new_size,
    spliced,
    touched,
)
from readroom.core.text.edits.suggest import OtherEdit, closest
from readroom.core.text.encodings import NUL_SIGN, Encoding, decode
from readroom.core.text.hashes import Hashing
from readroom.core.text.line_index import Shrunk, build_index
from readroom.core.values import ReadRequest
from readroom.core.values.changes import EditRequest, EditResult
from readroom.core.values.files import Warn


def perform(services: Services, job: Job[EditRequest]) -> EditResult:
    """Replace texts in the state of a file that has the expected hash.

    Raises:
        BadValue, TooLarge: The call itself cannot be followed.
        Denied, Protected, SymbolicLink, HardLinked, ReadOnlyFile, NotFound, ...: From finding the file.
        Binary, BadEncoding: It is not text, or not in that encoding.
        Stale: It is in another state.
        NoMatch, ManyMatches, Overlap: The texts are not where they should be.
        Unencodable, BrokenPlace: The new text cannot stand there.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing. Nothing was changed.
        Changed: Another program kept saving the file.
    """
    request, places = job.request, services.targets
    expected = expected_digits(request)
    require_usable(request)
    for _ in range(CHANGED_TRIES):
        with places.find(request.path) as place:
            try:
                if not request.dry_run:
                    places.enter(place, job.deadline, make_folders=False)
                with places.source(place, request.path) as source:
                    planned_here = planned_edit(services, job, place, source, expected)
                    put, result = planned_here.put, planned_here.result
                    if not request.dry_run:
                        warnings = places.put(place, put.pieces, put.over, planned_here.ready)
                        result = planned_here.made(warnings)
            except errors.NotFound:
                raise errors.NotFound(request.path) from None
            except (Moved, Shrunk, errors.ObjectChanged):
                continue
        return replace(result, warnings=(*result.warnings, *planned_here.told()))
    raise errors.Changed(request.path, next_request=ReadRequest(request.path, encoding=request.encoding))


def planned_edit(
    services: Services, job: Job[EditRequest], place: WriteTarget, source: Source, expected: str
) -> PlannedEdit:
    """The plan of an edit of an opened file. Raises as `perform` does; nothing is changed.

    `expected` are the digits of the hash, "" for any state.
    """
    return _Editing(services, job, place, source, expected).planned()


GROWTH_BYTES = 256 * 1024 * 1024
"""How much one call may enlarge a file: replace_all can multiply a text by the number of places."""

CLOSEST_BYTES = 4 * 1024 * 1024
"""How much of a file is compared with a text that was not found: 0.3 s (measured, 100,000 lines)."""


class _Editing:
    """One attempt at an edit."""

    def __init__(
        self,
        services: Services,
        job: Job[EditRequest],
        place: WriteTarget,
        source: Source,
        expected: str,
    ) -> None:
        self._services = services
        self._job = job
        self._place = place
        self._source = source
        self._request = job.request
        self._path = job.request.path
        self._expected = expected
        self._deadline = job.deadline
        self._encoding = self._text_encoding()
        # Edits that name cells are no texts of the file; it is then read for its hash alone.
        self._named = job.request.by_cells and any(item.cell for item in job.request.edits)
        self._edits = [] if self._named else [searched(item) for item in job.request.edits]
        self._changes: list[Change] = []
        self._matched = ""
        self._states: tuple[bytes, bytes] | None = None
        self._cells: CellPlan | None = None

    def told(self) -> tuple[Warn, ...]:
        """Warnings about what the edit broke; asked for once the file and its folder are free again."""
        if self._cells is not None:
            return about_cells(self._cells.code, self._deadline)
        if self._states is None:
            return ()
        before, after = self._states
        return about_edit(
            self._source.real,
            Before(before, self._encoding),
            text_of(after, self._encoding),
            self._deadline,
        )

    def planned(self) -> PlannedEdit:
        self._changes = self._prepared()
        self._require_encodable()
        scanned, digits = self._scanned()
        if not digits.startswith(self._expected):
            raise self._stale(digits)
        plan = self._by_cells()
        if plan is not None:
            return self._of_cells(scanned, digits, plan)
        if self._take_lone_cr(scanned) or self._take_literally(scanned):
            scanned, _ = self._scanned()
        if self._take_leniently(scanned):
            scanned, _ = self._scanned()
        self._require_one_place_each(scanned)
        if form_of(self._source.real) is not None:
            self._require_readable(scanned)
        cap = self._job.cap
        room = cap.size - cap.measure.frame(self._path)
        diff = within(touched(self._source, self._encoding, scanned.splices, self._request.diff), room)
        result = described(self._request, self._source, self._encoding, scanned, digits, diff, self._matched)
        if any(not splice.data.isascii() or b"\0" in splice.data for splice in scanned.splices):
            result = replace(result, warnings=tuple(self._about(scanned)))
        return self._plan(scanned, digits, result)

    def _prepared(self) -> list[Change]:
        """The edits as changes; those that name their place need the lines of the file."""
        bom = bool(self._encoding.bom)
        if not any(item.is_placed for item in self._edits):
            return [prepare(item, bom=bom) for item in self._edits]
        index = build_index(self._source, self._encoding, self._deadline)
        if not index.sha256.startswith(self._expected):
            raise self._stale(index.sha256)
        request = ReadRequest(self._path, encoding=self._read_in)
        anchors = Anchors(self._services, request, self._source, self._encoding, index, self._deadline)
        changes = []
        for number, item in enumerate(self._edits):
            name = name_of(self._edits, number)
            change = anchors.change(item, name) if item.is_placed else prepare(item, bom=bom)
            if not change.pieces:
                raise unchanged(item, name)
            changes.append(change)
        return changes

    def _stale(self, digits: str) -> errors.Stale:
        """The refusal of another state, which may be that after the same edit."""
        item = self._edits[0] if self._edits else None
        if (
            item is not None
            and len(self._edits) == 1
            and item.insert == "end"
            and self._expected
            and ends_with(self._source, self._encoding, item.new_text, self._expected, self._deadline)
        ):
            expected, found = hashes.full(self._expected), hashes.full(digits)
            return errors.AlreadyAppended(self._path, expected, found, changed=None)
        return stale(self._services, self._job, self._source, self._expected, digits, self._read_in)

    def _by_cells(self) -> CellPlan | None:
        """The changes of a notebook by its cells; None for any other file, or text that is in no cell."""
        request = self._request
        if not request.by_cells:
            return None
        return planned(self._path, self._notebook(), request.edits, request.diff, self._deadline)

    def _notebook(self) -> bytes | None:
        """The bytes of a notebook whose cells are what the call means; None for any other file."""
        request, source = self._request, self._source
        if not request.by_cells or request.encoding is not None or not is_notebook(source.real):
            return None
        if source.size > NOTEBOOK_BYTES or form_of(source.real) is None:
            return None
        return source.read_at(0, source.size)

    def _of_cells(self, scanned: Scan, digits: str, plan: CellPlan) -> PlannedEdit:
        self._cells = plan
        made = replace(scanned, splices=list(plan.splices), crossing=None, ragged=[])
        cap = self._job.cap
        diff = within(plan.hunks, cap.size - cap.measure.frame(self._path))
        result = described(self._request, self._source, self._encoding, made, digits, diff, self._matched)
        result = replace(
            result, replacements=plan.replacements, cells=plan.cells, warnings=tuple(plan.warnings)
        )
        return self._plan(made, digits, result)

    def _about(self, scanned: Scan) -> Iterator[Warn]:
        """Warnings about inserted text: NULs, and other letters in an encoding that is a guess."""
        texts = [(splice.line, decode(splice.data, self._encoding)) for splice in scanned.splices]
        yield from islice((nul for line, text in texts for nul in about_nuls(text, line)), 1)
        name, known = self._encoding.name, self._request.encoding is not None or self._encoding.bom
        if not known and name != "utf-8" and not all(text.isascii() for _, text in texts):
            yield Warn("encoding_guessed", f"written as {name}; set `encoding` for another")

    def _scanned(self) -> tuple[Scan, str]:
        hashing = Hashing()
        try:
            scanned = scan(self._source, self._encoding, self._changes, self._deadline, hashing)
        except TooManyMatches:
            advice = "Make old_text longer, or change the file with a program."
            raise errors.TooLarge(
                "An edit with replace_all", MATCHES + 1, MATCHES, "places", advice
            ) from None
        return scanned, hashing.digits

    def _take_literally(self, scanned: Scan) -> bool:
        """Retry edits that did not match, taking what they say for what it shows.

        CR LF is literal for lines that end in CR CR LF, and the sign of a NUL means one.
        """
        again = False
        for number, (item, place) in enumerate(zip(self._edits, scanned.found, strict=True)):
            if item.is_placed:
                continue
            literal, signs = "\r\n" in item.old_text, NUL_SIGN in item.old_text
            if place.count or not (literal or signs):
                continue
            old, new = item.old_text, item.new_text
            if signs:
                old, new = old.replace(NUL_SIGN, "\0"), new.replace(NUL_SIGN, "\0")
            meant = replace(item, old_text=old, new_text=new)
            self._changes[number] = prepare(meant, bom=bool(self._encoding.bom), literal=literal)
            again = True
        return again

    def _take_leniently(self, scanned: Scan) -> bool:
        """Retry edits that did not match as the contract has it. Raises ManyMatches, LargerMatch."""
        known = self._request.lenient is None or all(place.count for place in scanned.found)
        if known or self._source.size > LENIENT_BYTES:
            return False
        text, bom = self._start_of_text(LENIENT_BYTES)[0], bool(self._encoding.bom)
        for number, (item, place) in enumerate(zip(self._request.edits, scanned.found, strict=True)):
            if not place.count and not item.replace_all:
                found = meant(self._request, number, text, self._deadline.check, bom=bom)
                self._changes[number], self._matched = found or (self._changes[number], self._matched)
        return bool(self._matched)

    def _take_lone_cr(self, scanned: Scan) -> bool:
        """Switch to CR as the line end, if the lines of the file end in CR."""
        if not self._request.lone_cr or scanned.line_feeds or any(item.is_placed for item in self._edits):
            return False
        start = self._source.read_at(0, min(CLOSEST_BYTES, self._source.size))
        if self._encoding.carriage_return not in start:
            return False
        edits = [
            replace(
                item,
                old_text=with_lone_cr(item.old_text),
                new_text=with_lone_cr(item.new_text),
            )
            for item in self._edits
        ]
        self._changes = [prepare(item, bom=bool(self._encoding.bom)) for item in edits]
        return True

    # --- before anything is searched ----------------------------------------------------------

    def _text_encoding(self) -> Encoding:
        source = self._source
        sample = source.read_at(0, min(HEAD_BYTES, source.size))
        name = self._request.encoding
        if name is None:
            encoding = encodings.detect(sample, complete=len(sample) == source.size)
        else:
            encoding = asked_for(name, self._path, sample, replace(self._request, encoding=None))
        advice = "write_file replaces it by text; text in an unusual encoding is edited with `encoding`."
        packed = "It is compressed: read_file shows what is in it, only other programs can change that."
        return require_editable(self._path, source, sample, encoding, advice, compressed=packed)

    def _require_encodable(self) -> None:
        for number, change in enumerate(self._changes):
            for piece in change.pieces:
                try:
                    encode(piece.text, self._encoding)
                except NotEncodable as problem:
                    line = change.new.count("\n", 0, piece.at + problem.index) + 1
                    raise errors.Unencodable(
                        self._path,
                        f"{name_of(self._edits, number)}.new_text",
                        problem.char,
                        line,
                        self._encoding.name,
                        "Use characters that it has; write_file with encoding=utf-8 changes the encoding "
                        "of the whole file.",
                    ) from None

    # --- after the search ---------------------------------------------------------------------

    def _require_one_place_each(self, scanned: Scan) -> None:
        wrong = [
            number
            for number, (place, change) in enumerate(zip(scanned.found, self._changes, strict=True))
            if place.count != 1 and not (change.every and place.count)
        ]
        for number, (item, place) in enumerate(zip(self._edits, scanned.found, strict=True)):
            replaced = place.count if item.replace_all else min(place.count, 1)
            if item.count is not None and replaced and replaced != item.count:
                raise errors.WrongCount(self._path, self._at(number), item.count, replaced)
        if wrong:
            first, *others = wrong
            raise (
                self._missing(first, others)
                if not scanned.found[first].count
                else self._ambiguous(scanned, first, others)
            )
        if scanned.crossing is not None:
            crossing = scanned.crossing
            first, second = self._at(crossing.first), self._at(crossing.second)
            raise errors.Overlap(self._path, first, second, crossing.line)
        line = broken_line(self._source, self._encoding, scanned.splices, scanned.ragged)
        if line is not None:
            raise errors.BrokenPlace(self._path, line, self._encoding.name)
        size = new_size(self._source.size, scanned.splices)
        maximum = self._request.most_bytes
        if maximum is not None and size > maximum:
            raise errors.TooLarge("The changed file", size, maximum, "bytes", "Send smaller edits.")
        grown = size - self._source.size
        if grown > GROWTH_BYTES:
            raise errors.TooLarge("The file would grow", grown, GROWTH_BYTES, "bytes", "Send smaller edits.")

    def _require_readable(self, scanned: Scan) -> None:
        """Raise BadValue if a file that is shown otherwise than it is stored could no longer be read."""
        form = form_of(self._source.real)
        if form is None or not form.is_broken_by(self._source, self._spliced(scanned)):
            return
        edits = [replace(item, new_text=form.written(item.new_text)) for item in self._request.edits]
        changed = [number for number, item in enumerate(edits) if item != self._request.edits[number]]
        number = changed[0] if changed else 0
        self._changes = [prepare(item, bom=bool(self._encoding.bom)) for item in edits]
        works = bool(changed) and form.is_valid(self._spliced(self._scanned()[0]))
        text = json.dumps(edits[number].new_text, ensure_ascii=False)
        raise errors.BadValue(
            f"{name_of(self._edits, number)}.new_text",
            self._request.edits[number].new_text[:VALUE_CHARS],
            f"would leave {quote(self._path)} invalid {form.name}: an edit changes what is stored",
            f"Send it escaped, here as a JSON string: {text}." if works else f"Send what {form.name} allows.",
        )

    def _spliced(self, scanned: Scan) -> bytes:
        return b"".join(spliced(self._source, scanned.splices, self._deadline, Hashing()))

    def _missing(self, number: int, others: Sequence[int]) -> errors.NoMatch:
        data = self._notebook()
        if data is not None:
            in_cells = missing(self._path, data, number, self._request.edits, others, self._deadline)
            if in_cells is not None:
                return in_cells
        change = self._changes[number]
        text, whole = self._start_of_text(CLOSEST_BYTES)
        others_of = [
            OtherEdit(at, other.old, other.new) for at, other in enumerate(self._changes) if at != number
        ]
        near = closest(text, change.old, change.new, others_of)
        hint = near.hint
        if not whole:
            hint += f" (Only the first {text.count(chr(10))} lines were compared.)"
        if near.first is None or near.last is None:
            following = ReadRequest(self._path, encoding=self._read_in)
        else:
            following = self._around(near.first, near.last)
        return errors.NoMatch(
            self._path,
            self._at(number),
            hint,
            place=near.shown,
            first=near.first,
            last=near.last,
            others=[self._at(other) for other in others],
            next_request=following,
        )

    def _start_of_text(self, maximum: int) -> tuple[str, bool]:
        start = len(self._encoding.bom)
        data = self._source.read_at(start, maximum)
        whole = start + len(data) >= self._source.size
        if not whole:
            data = data[: encodings.prefix(data, self._encoding)]
        return encodings.decode(data, self._encoding).replace("\r\n", "\n"), whole

    def _ambiguous(self, scanned: Scan, number: int, others: Sequence[int]) -> errors.ManyMatches:
        place = scanned.found[number]
        return errors.ManyMatches(
            self._path,
            self._at(number),
            place.lines,
            place.count,
            exact=not place.more,
            others=[self._at(other) for other in others],
            next_request=self._around(place.lines[0], place.lines[0]),
        )

    def _around(self, first: int, last: int) -> ReadRequest:
        start = max(1, first - DIFF_CONTEXT)
        limit = min(last - start + 1 + DIFF_CONTEXT, first - start + AROUND)
        return ReadRequest(self._path, offset=start, limit=limit, encoding=self._read_in)

    @property
    def _read_in(self) -> str | None:
        """The encoding a suggested read must name to show the matched text: a notebook would show cells."""
        return self._encoding.name if reads_as_document(self._path) else self._request.encoding

    def _at(self, number: int) -> int:
        """The position of an edit in the call."""
        own = self._edits[number].number
        return number if own is None else own

    # --- writing ------------------------------------------------------------------------------

    def _plan(self, scanned: Scan, digits: str, result: EditResult) -> PlannedEdit:
        source, original = self._source, Hashing()
        if source.size <= CHECKED_BYTES:
            state = source.read_at(0, source.size)
            self._states = state, applied(state, scanned.splices)
        texts = self._services.texts
        keep = texts.wants(new_size(source.size, scanned.splices))
        before = source.read_at(0, source.size) if texts.wants(source.size) else b""
        changed = EditedBytes(self._services.guard, source, keep=keep)
        if changed.masks:
            require_unmasked(self._path, source, scanned.splices, self._cells)

        def pieces() -> Iterator[bytes]:
            for piece in spliced(source, scanned.splices, self._deadline, original):
                changed.add(piece)
                yield piece
            changed.end()

        def ready() -> None:
            self._deadline.check()
            if original.digits != digits or source.current() != source.version:
                raise Moved

        def made(warnings: Sequence[Warn]) -> EditResult:
            if before:
                texts.put(source.real, digits, before)
            if keep:
                texts.put(source.real, changed.digits, changed.text)
            every = (*result.warnings, *about_links(source), *warnings)
            return replace(result, content_hash=hashes.full(changed.digits), warnings=every)

        return PlannedEdit(result, PutFile(self._place, pieces(), source), ready, made, self.told)
