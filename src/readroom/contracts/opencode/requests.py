"""Arguments of opencode's tools, the requests that they mean, and calls for requests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.opencode.matching import fit
from readroom.contracts.opencode.names import Names
from readroom.core.contracts import OwnSettings
from readroom.core.contracts.base import call_of
from readroom.core.contracts.native.calls import write_text
from readroom.core.errors import BadValue, Binary, TooLarge
from readroom.core.formats.kinds import UNKNOWN, sniff, suffix
from readroom.core.limits import LIST_MAX_DEPTH, NUMBER_MOST
from readroom.core.quoting import quote
from readroom.core.values import Call, GrepRequest, Kind, ListRequest, ReadRequest, Request
from readroom.core.values.changes import ABSENT, Edit, EditRequest, WriteRequest
from readroom.core.values.commands import RunRequest, Tail
from readroom.core.values.options import ReadOptions, SearchOptions
from readroom.core.values.steps import Candidate, Steps

READ, GLOB, GREP, EDIT, WRITE, BASH = "read", "glob", "grep", "edit", "write", "bash"

LINES = 2000
"""Lines of a read, entries of a folder, and lines of the output of a command, if the call does not say."""

LINE_UNITS = 2000
"""The longest line that is shown whole, in units of UTF-16."""

CONTENT_BYTES = 50 * 1024
"""All lines of a read with their line ends but without numbers, and the output of a command."""

FOUND = 100
"""Files of one glob, and matches of one grep."""

FILE_BYTES = 10 * 1024 * 1024
"""The largest PDF that is attached: clients send all of it to a model."""

TIMEOUT_MS = 120_000
"""Time for a command, if the call does not say."""

SUGGESTED = 3
"""Names that are suggested for one that is missing."""

_SAFE = 2**53 - 1
"""The largest integer of JavaScript, which the schemas name."""

_GIT = "!**/.git/**"
"""The folder that no search looks into, as a glob."""

_LINE = Meta(ge=0, le=_SAFE, description="The line number to start reading from (1-indexed)")
_COUNT = Meta(ge=0, le=_SAFE, description="The maximum number of lines to read (defaults to 2000)")
_TIME = Meta(
    gt=0, le=_SAFE, extra_json_schema={"minimum": -_SAFE}, description="Optional timeout in milliseconds"
)


class OpencodeSettings(OwnSettings, frozen=True):
    """Differences between programs that have these tools.

    Attributes:
        kilo: The tools are those of Kilo 7.
    """

    kilo: bool = False


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read."""

    filePath: Annotated[str, Meta(description="The absolute path to the file or directory to read")]
    offset: Annotated[int, _LINE] | None = None
    limit: Annotated[int, _COUNT] | None = None


class GlobArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of glob."""

    pattern: Annotated[str, Meta(description="The glob pattern to match files against")]
    path: (
        Annotated[
            str,
            Meta(
                description="The directory to search in. If not specified, the current working directory "
                "will be used. IMPORTANT: Omit this field to use the default directory. DO NOT enter "
                '"undefined" or "null" - simply omit it for the default behavior. Must be a valid '
                "directory path if provided."
            ),
        ]
        | None
    ) = None


class GrepArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of grep."""

    pattern: Annotated[str, Meta(description="The regex pattern to search for in file contents")]
    path: (
        Annotated[
            str,
            Meta(description="The directory to search in. Defaults to the current working directory."),
        ]
        | None
    ) = None
    include: (
        Annotated[
            str,
            Meta(description='File pattern to include in the search (e.g. "*.js", "*.{ts,tsx}")'),
        ]
        | None
    ) = None


class EditArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of edit."""

    filePath: Annotated[str, Meta(description="The absolute path to the file to modify")]
    oldString: Annotated[str, Meta(description="The text to replace")]
    newString: Annotated[
        str, Meta(description="The text to replace it with (must be different from oldString)")
    ]
    replaceAll: (
        Annotated[bool, Meta(description="Replace all occurrences of oldString (default false)")] | None
    ) = None


class WriteArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of write."""

    content: Annotated[str, Meta(description="The content to write to the file")]
    filePath: Annotated[
        str, Meta(description="The absolute path to the file to write (must be absolute, not relative)")
    ]


class BashArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of bash."""

    command: Annotated[str, Meta(description="The command to execute")]
    timeout: Annotated[int, _TIME] | None = None
    workdir: (
        Annotated[
            str,
            Meta(
                description="The working directory to run the command in. Defaults to the current directory. "
                "Use this instead of 'cd' commands."
            ),
        ]
        | None
    ) = None


Arguments: TypeAlias = (
    ReadArguments | GlobArguments | GrepArguments | EditArguments | WriteArguments | BashArguments
)

# -----------------------------------------------------------------------------
# Reads: of files, and of folders.
# -----------------------------------------------------------------------------

BINARY = frozenset(
    """
    zip tar gz exe dll so class jar war 7z doc docx xls xlsx ppt pptx odt ods odp bin dat obj o a lib wasm
    pyc pyo
    """.split()  # noqa: SIM905  a list literal reads worse
)
"""Suffixes of files that are binary whatever they hold."""

EXTRACTED = frozenset({"docx", "ipynb"})
"""Suffixes of documents that Kilo reads as text, and that can be here."""

PDF = b"%PDF-"

_SAMPLE_BYTES = 4096
_CONTROL_SHARE = 0.3
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
"""Marks of UTF-16 and UTF-32."""

_CONTROLS = bytes(set(range(32)) - set(range(9, 14)))

_READ = ReadOptions(
    line_chars=LINE_UNITS,
    header=False,
    outline_bytes=0,
    past_end="empty",
    rests=False,
    raw_bytes=FILE_BYTES,
)


def first_line(arguments: ReadArguments) -> int:
    """The first line, or entry of a folder, that a call asks for, from 1."""
    return arguments.offset or 1


def wanted(arguments: ReadArguments, *, kilo: bool) -> int:
    """How many lines or entries a call asks for."""
    limit = LINES if arguments.limit is None else arguments.limit
    return max(1, limit) if kilo else limit


def to_read(own: OpencodeSettings, names: Names, arguments: ReadArguments) -> ReadRequest:
    """The request for a call of read; it has one line where none is asked for."""
    path = _required(names, arguments.filePath)
    flat = own.kilo and suffix(path.removesuffix('"')) in EXTRACTED
    return ReadRequest(
        path,
        first_line(arguments),
        max(1, wanted(arguments, kilo=own.kilo)),
        options=replace(_READ, flat="window") if flat else _READ,
    )


def steps_of(own: OpencodeSettings, arguments: ReadArguments) -> Steps:
    """The decisions about a call of read."""
    limit = wanted(arguments, kilo=own.kilo)

    def listed(request: ReadRequest) -> ListRequest:
        skip = first_line(arguments) - 1
        return ListRequest(
            request.path, include=frozenset(("ignored",)), sort="locale", limit=max(1, limit), skip=skip
        )

    return Steps(
        partial(_accept, kilo=own.kilo),
        expands=False,
        folder=listed,
        suggests=_none if own.kilo else _alike,
    )


def _accept(candidate: Candidate, *, kilo: bool) -> Kind:
    """The kind as which a file is read. Raises Binary, TooLarge."""
    sample = candidate.sample[:_SAMPLE_BYTES]
    if candidate.plain is Kind.IMAGE:
        return Kind.IMAGE
    if sample.startswith(PDF):
        size = candidate.stat.size
        if size > FILE_BYTES:
            advice = "Convert it to text, or ask for a smaller one."
            raise TooLarge(quote(candidate.path), size, FILE_BYTES, "bytes", advice)
        return Kind.BINARY
    marked = kilo and sample.startswith(_MARKS)
    ending = suffix(candidate.path)
    if ending in BINARY or (not marked and _is_binary(sample)):
        raise binary(candidate.path, candidate.sample, candidate.stat.size)
    return Kind.TEXT if candidate.plain is Kind.BINARY else candidate.plain


def _is_binary(sample: bytes) -> bool:
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return b"\0" in sample or controls > _CONTROL_SHARE * len(sample)


def binary(path: str, sample: bytes, size: int) -> Binary:
    """The refusal of a file that is not text."""
    media = sniff(sample) or UNKNOWN
    return Binary(path, media.name, size, media.advice)


def _alike(missing: str, names: Sequence[str]) -> Sequence[str]:
    """The first names that hold the missing one or are held by it, in any case."""
    small = missing.lower()
    return [name for name in names if small in name.lower() or name.lower() in small][:SUGGESTED]


def _none(missing: str, names: Sequence[str]) -> Sequence[str]:
    return ()


# -----------------------------------------------------------------------------
# Searches, changes and commands.
# -----------------------------------------------------------------------------


def to_glob(names: Names, arguments: GlobArguments) -> ListRequest:
    """The request for a call of glob."""
    if not arguments.pattern:
        raise BadValue("pattern", "", "is empty", "Send a glob.")
    return ListRequest(
        names.meant(arguments.path or "."),
        glob=(arguments.pattern, _GIT),
        depth=LIST_MAX_DEPTH,
        limit=FOUND,
        skip=0,
        files=True,
    )


def to_grep(names: Names, arguments: GrepArguments) -> GrepRequest:
    """The request for a call of grep."""
    if not arguments.pattern:
        raise BadValue("pattern", "", "is empty", "Send a regular expression.")
    return GrepRequest(
        arguments.pattern,
        names.meant(arguments.path or "."),
        glob=(*([arguments.include] if arguments.include else ()), _GIT),
        include=frozenset(("hidden",)),
        sort="path",
        limit=FOUND,
        options=SearchOptions(preview_chars=LINE_UNITS + 2, whole_lines=True),
    )


def to_edit(names: Names, arguments: EditArguments) -> EditRequest | WriteRequest:
    """The request for a call of edit: an empty oldString creates a file. Raises BadValue."""
    path, old, new = _required(names, arguments.filePath), arguments.oldString, arguments.newString
    if old == new:
        raise BadValue("newString", "", "is the same as oldString", "Send another text.")
    if not old:
        return WriteRequest(path, new, ABSENT)
    edit = Edit(old, new, replace_all=bool(arguments.replaceAll))
    return EditRequest(path, None, (edit,), lenient=fit)


def to_write(names: Names, arguments: WriteArguments) -> WriteRequest:
    """The request for a call of write."""
    return WriteRequest(_required(names, arguments.filePath), arguments.content, None)


def to_run(names: Names, arguments: BashArguments) -> RunRequest:
    """The request for a call of bash."""
    seconds = min(arguments.timeout or TIMEOUT_MS, NUMBER_MOST) / 1000
    tail = Tail(LINES, CONTENT_BYTES)
    return RunRequest(
        arguments.command, names.meant(arguments.workdir or "."), timeout_s=seconds, output="full", tail=tail
    )


def _required(names: Names, path: str) -> str:
    if not path:
        raise BadValue("filePath", "", "is empty", "Send the path of a file.")
    return names.meant(path)


# -----------------------------------------------------------------------------
# Calls for requests.
# -----------------------------------------------------------------------------


def to_call(names: Names, request: Request) -> Call | None:
    """The call for `request`, as far as this contract can express it; None if it cannot."""
    path = names.value(request.path)
    match request:
        case ReadRequest() if request.column == 1 and request.pages is None:
            return call_of(READ, filePath=path, offset=request.offset, limit=request.limit)
        case ListRequest() if request.files:
            return (
                None if request.skip or request.cursor else call_of(GLOB, pattern=request.glob[0], path=path)
            )
        case ListRequest():
            offset = None if not request.skip else request.skip + 1
            return call_of(READ, filePath=path, offset=offset)
        case GrepRequest() if not (request.multiline or request.fixed or request.cursor or request.skip):
            globs = [glob for glob in request.glob if glob != _GIT]
            return call_of(GREP, pattern=request.pattern, path=path, include=globs[0] if globs else None)
        case EditRequest() if len(request.edits) == 1:
            edit = request.edits[0]
            every = edit.replace_all or None
            return call_of(
                EDIT, filePath=path, oldString=edit.old_text, newString=edit.new_text, replaceAll=every
            )
        case WriteRequest() if request.data is None:
            return call_of(WRITE, filePath=path, content=write_text(request)[0])
        case RunRequest():
            return call_of(BASH, command=request.command)
    return None
