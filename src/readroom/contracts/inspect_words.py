"""How inspect_agents words results and failures: text, or objects where typed results are on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from readroom.changes import EditResult, WriteResult
from readroom.contracts import envelope, inspect_errors, native_facts, native_text
from readroom.contracts.inspect_told import Told
from readroom.errors import BadRange, NotFound, ReadroomError
from readroom.limits_inspect import INSPECT_NUMBER_WIDTH
from readroom.model import (
    Cap,
    EntryKind,
    Fact,
    GrepFile,
    GrepLine,
    ListEntry,
    ListResult,
    ReadResult,
    Reply,
    Result,
)
from readroom.moves import (
    DeleteResult,
    FolderResult,
    MoveResult,
    StatResult,
    TrashResult,
)
from readroom.outlines import Row
from readroom.quoting import as_given
from readroom.shown import ShownPart

EMPTY = "System reminder: File exists but has empty contents"

_FRAME_BYTES = 256
"""The words around a path, and a reminder where the reply ends early."""

_QUOTES_BYTES = 4
"""What a text in a JSON list costs beside its own bytes: quotes, a comma, one escape."""


class _Measure:
    """What the rendering below adds."""

    def frame(self, path: str) -> int:
        return _FRAME_BYTES + 2 * len(path.encode("utf-8", "replace"))

    def numbered(self, number: int) -> int:
        return max(INSPECT_NUMBER_WIDTH, len(str(number))) + 1 + _QUOTES_BYTES

    def heading(self, heading: tuple[int, str, int]) -> int:
        return len(heading[1].encode("utf-8", "replace"))

    def part(self, part: ShownPart, unit: str, total: int) -> int:
        return _FRAME_BYTES

    def found_in(self, file: GrepFile) -> int:
        return _FRAME_BYTES

    def found(self, line: GrepLine) -> int:
        return _FRAME_BYTES

    def listed(self, entry: ListEntry) -> int:
        return len(entry.path.encode("utf-8", "replace")) + _QUOTES_BYTES

    def outlined(self, row: Row) -> int:
        return _FRAME_BYTES


MEASURE = _Measure()


def render(told: Told, result: Result, cap: Cap) -> Reply:
    """The reply for a result of a call."""
    match result:
        case ReadResult():
            return _read(told, result, cap)
        case ListResult():
            return _listed(told, result, cap)
        case WriteResult():
            text = f"Updated file {told.shown}"
            return _said(told, text, {"path": told.path}, native_facts.of_write(result))
        case EditResult():
            return _edited(told, result)
        case StatResult():
            return _stat(told, result)
        case DeleteResult():
            return _said(told, f"Deleted file {told.shown}", {"path": told.path}, {})
        case FolderResult():
            return _reply(told, f"Created directory {told.shown}", {"path": told.path})
        case MoveResult():
            return _moved(told, "Moved", told.other)
        case TrashResult():
            return _moved(told, "Trashed", told.name(result.trashed_to))
    raise AssertionError(result)  # no tool of this contract asks for it


def render_error(told: Told, error: ReadroomError, cap: Cap) -> Reply:
    """The reply for a failure; that nothing is left to delete is none."""
    if isinstance(error, NotFound) and told.op == "delete":
        text = f"File {told.shown} did not exist (delete operation was idempotent)"
        return _said(told, text, {"path": told.path}, {})
    if isinstance(error, BadRange) and told.op == "read" and error.facts.get("total_lines") == 0:
        text = envelope.encoded({"lines": [], "summary": EMPTY}) if told.setup.typed else EMPTY
        return _reply(told, text, {"path": told.path, "total_lines": 0})
    return _failed(told, inspect_errors.words(told, error), error, cap)


def render_invalid(told: Told, error: ReadroomError, cap: Cap) -> Reply:
    """The reply for arguments of `files` that fit no command."""
    return _failed(told, f"Invalid parameters: {error}", error, cap)


# --- reading ----------------------------------------------------------------------------------


def _read(told: Told, result: ReadResult, cap: Cap) -> Reply:
    if _is_blank(result):
        text = envelope.encoded({"lines": [], "summary": EMPTY}) if told.setup.typed else EMPTY
        return _reply(told, text, _read_facts(told, result))
    shown = envelope.fitted(result, cap, lambda one: len(_read_text(told, one).encode()))
    return _reply(told, _read_text(told, shown), _read_facts(told, shown))


def _is_blank(result: ReadResult) -> bool:
    """Whether the whole file was looked at and has nothing but white space."""
    seen = len(result.lines) == result.total_lines
    return seen and not result.cuts and not any(line.strip() for line in result.lines)


def _read_text(told: Told, result: ReadResult) -> str:
    width = INSPECT_NUMBER_WIDTH
    lines = [f"{number:{width}d}\t{line}" for number, line in enumerate(result.lines, result.start)]
    capped = any(item.reason == "reply_cap" and item.what == "lines" for item in result.omitted)
    goes_on = (
        f"Output stopped at line {result.end} of {result.total_lines}. Use offset={result.end} to continue."
    )
    if not told.setup.typed:
        return "\n".join([*lines, f"System reminder: {goes_on}"] if capped else lines)
    count = len(lines)
    summary = (
        f"Read {count} lines from {told.shown} (lines {result.start}-{result.end})"
        if told.in_store
        else f"Read {count} lines from file_path={told.shown} (sandbox mode)"
    )
    return envelope.encoded({"lines": lines, "summary": f"{summary}. {goes_on}" if capped else summary})


def _read_facts(told: Told, result: ReadResult) -> dict[str, Fact]:
    return {**envelope.result_facts(result, told.to_call), "path": told.path}


# --- everything else --------------------------------------------------------------------------


def _listed(told: Told, result: ListResult, cap: Cap) -> Reply:
    files = [
        told.name(entry.path)
        for entry in result.entries
        if not told.in_store or entry.kind is not EntryKind.FOLDER
    ]
    low, high = 0, len(files)
    while low < high:
        middle = (low + high + 1) // 2
        cut = middle < len(files) or result.next is not None
        fits = len(_list_text(told, files[:middle], cut).encode()) <= cap.size
        low, high = (middle, high) if fits else (low, middle - 1)
    cut = low < len(files) or result.next is not None
    facts: dict[str, Fact] = {"total": result.total, "shown": low, "truncated": cut, "next": None}
    return _reply(told, _list_text(told, files[:low], cut), facts)


def _list_text(told: Told, files: Sequence[str], cut: bool) -> str:
    if not cut:
        return envelope.encoded({"files": files} if told.setup.typed else files)
    note = f"Only the first {len(files)} names are shown. Use a sandbox folder or instance with fewer files."
    # A list of names has no place for words, and a cut must not be silent.
    return envelope.encoded({"files": files, "truncated": True, "notes": [note]})


def _edited(told: Told, result: EditResult) -> Reply:
    count = result.replacements
    text = f"Updated file {told.shown}"
    if result.dry_run:
        text = f"(dry_run) Would update file {told.shown} replacing {count} occurrence(s)"
    return _said(told, text, {"path": told.path, "replaced": count}, native_facts.of_edit(result))


def _stat(told: Told, result: StatResult) -> Reply:
    is_dir = result.kind is EntryKind.FOLDER
    size = None if is_dir or not result.exists else result.size_bytes
    what = "missing"
    if result.exists:
        what = "dir" if is_dir else f"file ({size} bytes)"
    value: dict[str, Fact] = {
        "path": told.path,
        "exists": result.exists,
        "is_dir": result.exists and is_dir,
        "size": size,
    }
    return _reply(told, envelope.encoded(value) if told.setup.typed else f"{told.shown}: {what}", value)


def _moved(told: Told, verb: str, target: str) -> Reply:
    text = f"{verb} {told.shown} -> {as_given(target)}"
    return _said(told, text, {"src": told.path, "dst": target}, {})


def _said(told: Told, summary: str, value: dict[str, Fact], facts: dict[str, Fact]) -> Reply:
    text = envelope.encoded({**value, "summary": summary}) if told.setup.typed else summary
    return _reply(told, text, {**facts, **value})


def _failed(told: Told, text: str, error: ReadroomError, cap: Cap) -> Reply:
    data = text.encode("utf-8", "replace")[: cap.size].decode("utf-8", "ignore")
    found = _reply(told, data, envelope.error_facts(error, told.to_call))
    return replace(found, is_error=True)


def _reply(told: Told, text: str, facts: dict[str, Fact]) -> Reply:
    return native_text.reply(text, lambda: {"answered_by": told.answered_by, **facts})
