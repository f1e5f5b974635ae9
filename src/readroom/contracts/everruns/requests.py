"""Numbers and options of the calls of Everruns, and the calls for requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.everruns.names import Names
from readroom.core.contracts.base import call_of
from readroom.core.contracts.native.calls import write_text
from readroom.core.contracts.native.facts import OwnCall
from readroom.core.formats.kinds import kind_among
from readroom.core.values import (
    Call,
    Fact,
    GrepRequest,
    Include,
    Kind,
    ListRequest,
    ReadRequest,
    Request,
)
from readroom.core.values.changes import DeleteRequest, EditRequest, StatRequest, WriteRequest
from readroom.core.values.commands import RunRequest
from readroom.core.values.many import ReadManyRequest
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Candidate, Steps

REPLY_BYTES = 64 * 1024
"""A whole reply, JSON around its content included: its own last limit. It cuts what is longer, wherever that
is; ours shows less, so that a reply stays an object and names its continuation."""

CONTENT_BYTES = 50 * 1024
"""The formatted content of one read: the cap of its document."""

OUTLINE_BYTES = 4 * 1024
"""Size of the outline of lines that a read omits: some 80 definitions, 1,500 tokens."""

CONTEXT = 20
"""Lines around a match on each side."""

GREP_MOST = 1000
"""Matches that one search may ask for."""

LIST_MOST = 1000
"""Entries that one listing may ask for."""

BATCH_BYTES = 60 * 1024
"""A reply about several files: the frame and the failures have room below the last limit."""

BATCH_LEAST, BATCH_MOST = 2, 10
"""Files of one such call."""

BATCH_PATH_BYTES = 4 * 1024
"""The longest path in one."""

TIMEOUT_MS = 30_000
"""Time of a command in the form of today, when the call does not say."""

TIMEOUT_MOST_MS = 60_000
"""The longest time in that form; a longer one counts as this."""

MS = 1000
"""Milliseconds of a second."""

GREP_BYTES = 64 * 1024
"""The matches of one search, as sent."""


def at_most(number: int, words: str | None = None) -> Meta:
    """The mark of a number from 1: the schema says how large it can be, and a larger one counts as that."""
    return Meta(ge=1, extra_json_schema={"maximum": number}, description=words)


READ, GREP, LIST = "read_file", "grep_files", "list_directory"
READ_MANY = "read_many_files"
EDIT, WRITE, STAT, DELETE = "edit_file", "write_file", "stat_file", "delete_file"
RUN = "bash"


SEARCHED: frozenset[Include] = frozenset(("hidden",))
"""Arguments of every search."""

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
"""Characters that mean something in a pattern."""


def read_call(names: Names, request: ReadRequest) -> Call:
    """The call for a read, as far as this contract can express it."""
    return call_of(
        READ,
        path=names.shown(request.path),
        offset=None if request.offset is None else max(0, request.offset - 1),
        column=request.column - 1 if request.column > 1 else None,
        limit=None if request.column > 1 else request.limit,
    )


def calls(names: Names) -> OwnCall:
    """The function that turns requests into calls."""
    return partial(to_call, names)


def to_call(names: Names, request: Request) -> Call | None:
    """The call for `request`, as far as this contract can express it; None if it cannot."""
    path = names.shown(request.path)
    match request:
        case ReadRequest():
            return read_call(names, request)
        case ReadManyRequest():
            return _many_call(names, request)
        case GrepRequest():
            # Nothing here lets matches span lines, or asks for more files than are always searched.
            unsaid = request.multiline or request.include - SEARCHED
            return None if unsaid else _grep_call(names, request)
        case ListRequest():
            return call_of(LIST, path=path, offset=request.skip or None, limit=request.limit)
        case EditRequest():
            edits: list[Fact] = [
                {"old_text": edit.old_text, "new_text": edit.new_text} for edit in request.edits
            ]
            digest: Fact = request.expected_hash
            return Call(EDIT, {"path": path, "expected_hash": digest, "edits": edits})
        case WriteRequest():
            text, encoding = write_text(request)
            return call_of(WRITE, path=path, content=text, encoding=encoding)
        case StatRequest():
            return call_of(STAT, path=path)
        case DeleteRequest():
            return call_of(DELETE, path=path, recursive=request.recursive or None)
        case RunRequest():
            return _run_call(names, request)
    return None


def _many_call(names: Names, request: ReadManyRequest) -> Call:
    paths: list[Fact] = [names.shown(path) for path in request.paths]
    first = read_call(names, ReadRequest("", request.offset, request.limit)).arguments
    return call_of(READ_MANY, **{**first, "path": None, "paths": paths})


def _run_call(names: Names, request: RunRequest) -> Call:
    """In the form of today, unless only the older one has such a time."""
    started = None if request.path == "." else names.shown(request.path)
    seconds = request.timeout_s
    ms = None if seconds is None else round(seconds * MS)
    if ms is None or ms > TIMEOUT_MOST_MS or ms != (seconds or 0) * MS:
        output = None if request.output == "concise" else request.output
        older = {"command": request.command, "output": output, "timeout_s": seconds}
        return call_of(RUN, **older, working_dir=started, tool_call_id=request.name)
    return call_of(
        RUN,
        commands=request.command,
        working_dir=started,
        timeout_ms=None if ms == TIMEOUT_MS else ms,
        output=None if request.output == "auto" else request.output,
        tool_call_id=request.name,
    )


def _grep_call(names: Names, request: GrepRequest) -> Call:
    return call_of(
        GREP,
        pattern=_SPECIAL.sub(r"\\\g<0>", request.pattern) if request.fixed else request.pattern,
        path=None if request.path == "." else names.shown(request.path),
        path_pattern=names.path_pattern(request.glob) if request.glob else None,
        before_context=request.before or None,
        after_context=request.after or None,
        offset=request.skip or None,
        limit=request.limit,
    )


# -----------------------------------------------------------------------------
# What Everruns takes a file for, by the ending of its name, and how it has it read.
# -----------------------------------------------------------------------------

TEXTS: dict[Kind, tuple[str, ...]] = {
    Kind.MINIFIED: (".min.js", ".min.css"),
    Kind.LOG: (".log", ".out"),
    Kind.CSV: (".csv", ".tsv"),
    Kind.CONFIG: (".json", ".yaml", ".yml", ".toml"),
    Kind.TEXT: (".md", ".txt", ".rst"),
}
"""Suffixes in lower case; the first match decides."""

BINARY = tuple(
    f".{ending}"
    for ending in (
        *("wasm", "zip", "tar", "gz", "bz2", "xz", "zst", "7z", "rar", "exe", "dll", "so", "dylib", "bin"),
        *("dat", "o", "a", "pyc", "class", "woff", "woff2", "ttf", "otf", "eot", "ico", "bmp", "tiff", "tif"),
        *("psd", "mp3", "mp4", "avi", "mov", "flv", "wmv", "pdf"),
    )
)
"""Suffixes of files that count as binary whatever their content, unless lines are requested."""

OUTLINED = (".rs", ".ts", ".mts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".py")
"""Suffixes of files whose reads end with an outline."""

_TEXT_ENDINGS = tuple((ending, kind.value) for kind, endings in TEXTS.items() for ending in endings)
_ALL_ENDINGS = (*_TEXT_ENDINGS, *((ending, Kind.BINARY.value) for ending in BINARY))

_RAW_BYTES = CONTENT_BYTES // 4 * 3
"""Bytes whose base64 is as long as a content may be."""

_READ_OPTIONS = ReadOptions(
    line_chars=0,
    past_end="shown",
    raw_bytes=_RAW_BYTES,
    rests=False,  # its own replies describe how a line continues
)


_OUTLINED = replace(_READ_OPTIONS, outline_bytes=OUTLINE_BYTES)
_NOT_OUTLINED = replace(_READ_OPTIONS, outline_bytes=0)


def options_of(path: str) -> ReadOptions:
    """The options for reading a file."""
    return _OUTLINED if path.lower().endswith(OUTLINED) else _NOT_OUTLINED


def _by(endings: Sequence[tuple[str, str]], candidate: Candidate) -> Kind:
    if candidate.nul and candidate.plain is not Kind.IMAGE:
        return Kind.BINARY
    return kind_among(endings, candidate.real, candidate.plain)


LINES = Steps(partial(_by, _TEXT_ENDINGS), expands=False)
"""Advice after a read with its first line and number: a text has lines, whatever its name."""

WHOLE = Steps(partial(_by, _ALL_ENDINGS), expands=False)
"""Advice after any other read."""
