"""Arguments of Everruns: paths, globs and options of its calls, and calls for requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from readroom.core.contracts.base import call_of
from readroom.core.contracts.native.calls import write_text
from readroom.core.errors import MissingArgument, ReadroomError
from readroom.core.formats.kinds import kind_among
from readroom.core.paths import OUTPUTS, WorkPath, parse
from readroom.core.quoting import as_value, quote
from readroom.core.values import Call, Fact, GrepRequest, Include, Kind, ListRequest, ReadRequest, Request
from readroom.core.values.changes import DeleteRequest, EditRequest, StatRequest, WriteRequest
from readroom.core.values.commands import RunRequest
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Candidate, Steps

REPLY_BYTES = 64 * 1024
"""A whole reply, JSON around its content included: its own last limit. It cuts what is longer, wherever that
is; ours shows less, so that a reply stays an object and says how it goes on."""

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

GREP_BYTES = 64 * 1024
"""The matches of one search, as sent."""

# -----------------------------------------------------------------------------
# Paths as Everruns spells them: `/workspace/...`, and every other spelling of the same file.
#
# `notes.txt`, `/notes.txt`, `/workspace/notes.txt` and `//workspace//notes.txt` are one
# file.  Kept outputs of commands are `/.outputs/...`, as its document has them, in every spelling, too.
# -----------------------------------------------------------------------------

ROOT = "/workspace"
"""Spellings of the root in replies and calls."""

_QUOTED = 2
"""Characters of a name in quotes, without the name."""


def work_path(spelled: str) -> str:
    """The path of a request for a path as a caller spells it; "" for none. Raises BadPath."""
    text = spelled.strip()
    if len(text) >= _QUOTED and text[0] == text[-1] == '"':
        return quote(parse(text, (ROOT, "/")))
    if not text or "\0" in text:
        return text
    steps = [step for step in text.split("/") if step not in ("", ".")]
    if text.startswith("/") and steps[:1] == [ROOT[1:]]:
        steps = steps[1:]
    path = "/".join(steps)
    # A leading quote marks a quoted name here; paths are parsed again later.
    return f"./{path}" if path.startswith('"') else path or "."


def required_path(spelled: str, tool: str) -> str:
    """The path of a request. Raises MissingArgument if it is missing, and as `work_path`."""
    path = work_path(spelled)
    if not path:
        raise MissingArgument(tool, "path")
    return path


def shown(path: str) -> str:
    """A path of the workspace as fields of replies spell it."""
    return as_value(_spelled(path))


def named(path: str) -> str:
    """The same in sentences and lines."""
    return quote(_spelled(path))


def _spelled(path: str) -> str:
    if path == OUTPUTS or path.startswith(f"{OUTPUTS}/"):
        return path
    return ROOT if path in (".", "") else f"{ROOT}/{path}"


def shown_below(folder: str, name: str) -> str:
    """The same of something below a folder."""
    return shown(name if folder == "." else f"{folder}/{name}")


def plain(path: str) -> WorkPath:
    """The path in an error's facts, which is quoted if it is unusual."""
    if not path.startswith('"'):
        return WorkPath(path)
    try:
        return parse(path)
    except ReadroomError:
        return WorkPath(path)


# -----------------------------------------------------------------------------
# The `path_pattern` of a search as globs of the engine, and back.
#
# A value with a special character is a glob: one without a slash means a name at any
# depth.  Any other value is a part of the path.
# -----------------------------------------------------------------------------

_GLOB_SPECIAL = re.compile(r"[*?\[{]")
_PLAIN = re.compile(r"([\\*?\[\]{}!#])")

_BELOW = "/**"
_ANYWHERE = "**/"


def globs(path_pattern: str) -> tuple[str, ...]:
    """The globs that take the files that `path_pattern` means; none for an empty one."""
    if not path_pattern:
        return ()
    text = path_pattern
    anchored = text == ROOT or text.startswith(f"{ROOT}/")
    if anchored:
        text = text[len(ROOT) :] or "/"
    if _GLOB_SPECIAL.search(text):
        # Only here a "!" takes something out, and a "#" begins a comment.
        return (f"\\{text}" if text[0] in "!#" else text,)
    return _part(text, anchored=anchored)


def _part(text: str, *, anchored: bool) -> tuple[str, ...]:
    """Globs for all paths that hold a text; with a slash before them as they are shown."""
    plain = re.sub(r"/+", "/", _PLAIN.sub(r"\\\1", text))
    if plain == "/" and not anchored:
        return ()
    if anchored:
        begin = plain
    elif plain.startswith("/"):
        begin = f"**{plain}"
    else:
        begin = f"{_ANYWHERE}*{plain}"
    return (f"{begin}*", f"{begin}*{_BELOW}")


def path_pattern(patterns: Sequence[str]) -> str:
    """The `path_pattern` that means these globs."""
    if not patterns:
        return ""
    first = patterns[0]
    if len(patterns) == 1:
        return first[1:] if first[:2] in ("\\!", "\\#") else first
    text = first.removesuffix("*").removeprefix("**/*")
    if first.startswith("**/") and not first.startswith("**/*"):
        text = first.removesuffix("*")[2:]
    elif not first.startswith("**/"):
        text = ROOT + first.removesuffix("*")
    return re.sub(r"\\(.)", r"\1", text)


READ, GREP, LIST = "read_file", "grep_files", "list_directory"
EDIT, WRITE, STAT, DELETE = "edit_file", "write_file", "stat_file", "delete_file"
RUN = "bash"


SEARCHED: frozenset[Include] = frozenset(("hidden",))
"""Arguments of every search."""

_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
"""Characters that mean something in a pattern."""


def read_call(request: ReadRequest) -> Call:
    """The call for a read, as far as this contract can express it."""
    return call_of(
        READ,
        path=shown(request.path),
        offset=None if request.offset is None else max(0, request.offset - 1),
        column=request.column - 1 if request.column > 1 else None,
        limit=None if request.column > 1 else request.limit,
    )


def to_call(request: Request) -> Call | None:
    """The call for `request`, as far as this contract can express it; None if it cannot."""
    path = shown(request.path)
    match request:
        case ReadRequest():
            return read_call(request)
        case GrepRequest():
            # Nothing here lets matches span lines, or asks for more files than are always searched.
            unsaid = request.multiline or request.include - SEARCHED
            return None if unsaid else _grep_call(request)
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
            return call_of(DELETE, path=path)
        case RunRequest():
            output = None if request.output == "concise" else request.output
            return call_of(RUN, command=request.command, output=output)
    return None


def _grep_call(request: GrepRequest) -> Call:
    return call_of(
        GREP,
        pattern=_SPECIAL.sub(r"\\\g<0>", request.pattern) if request.fixed else request.pattern,
        path=None if request.path == "." else shown(request.path),
        path_pattern=path_pattern(request.glob) if request.glob else None,
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
