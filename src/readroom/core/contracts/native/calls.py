"""Native calls for requests, ready to send, and the closing line of a reply, which names one.

A call has only arguments that differ from defaults. A model that is offered two calls has to choose, and
small ones send the first, so a closing line names one call, and other arguments in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from readroom.core.quoting import as_value
from readroom.core.text.encodings import valid
from readroom.core.text.select import byte_size
from readroom.core.values import (
    Call,
    Fact,
    FindRequest,
    GrepRequest,
    ListRequest,
    ReadRequest,
    Request,
    changes,
    git,
)
from readroom.core.values import history as past
from readroom.core.values.commands import EndRequest, RunRequest, StartedRequest, StartRequest, WatchRequest
from readroom.core.values.files import BytesRequest, ResolveRequest
from readroom.core.values.many import ReadManyRequest
from readroom.core.values.packing import PackRequest
from readroom.core.values.patches import FilePatch

READ, GREP, FIND, LIST = "read_file", "grep_files", "find_relevant", "list_directory"
EDIT, WRITE, CHANGE, PATCH = "edit_file", "write_file", "change_files", "apply_patch"
RUN, CHECK = "run_command", "check_command"
HISTORY = "history"
GIT = "git"
"""Tool names, which the record and the calls share."""

_TOOLS = {
    ReadRequest: READ,
    GrepRequest: GREP,
    FindRequest: FIND,
    ListRequest: LIST,
    changes.EditRequest: EDIT,
    changes.WriteRequest: WRITE,
    RunRequest: RUN,
    StartRequest: RUN,
    **dict.fromkeys((WatchRequest, EndRequest, StartedRequest), CHECK),
    **dict.fromkeys((git.GitChangesRequest, git.GitLogRequest, git.GitBlameRequest), GIT),
}
"""The requests that a native tool means."""


def to_call(request: Request) -> Call:
    """The call that means `request`; parsing it gives the request back, if a native tool means it."""
    tool = _TOOLS.get(type(request))
    if tool is None:
        # No native tool does it; the next best call looks at the place.
        return Call(LIST, arguments(ListRequest(request.path.rpartition("/")[0] or ".")))
    return Call(tool, arguments(request))


# -----------------------------------------------------------------------------
# The arguments for a request: fields without a default always, others if they differ from it.
# The table has requests of other contracts, too: the ledger has one form for all.
# -----------------------------------------------------------------------------

_CONTEXT = "context"
"""The lines `before` and `after` of a search, one number if they are equal."""

_WRITTEN_APART = frozenset(("pattern", "path", "glob", "before", "after", "include", "skip", "options"))
_GREP = [field.name for field in fields(GrepRequest) if field.name not in _WRITTEN_APART]
"""Arguments of a search that are called what the request calls them."""

SAID: Mapping[type[Any], Sequence[str]] = {
    ReadRequest: ("path", "pages", "offset", "limit", "symbol", "known_hash", "encoding", "column", "view"),
    ReadManyRequest: ("paths", "offset", "limit"),
    GrepRequest: ("pattern", "path", "glob", _CONTEXT, *_GREP, "include"),
    FindRequest: (
        *("query", "path", "glob", "type", "output", "budget_tokens", "explain"),
        *("documents", "cursor", "include"),
    ),
    ListRequest: ("path", "glob", "depth", "sort", "limit", "cursor", "include"),
    changes.EditRequest: ("path", "expected_hash", "edits", "dry_run", "encoding"),
    changes.EditFilesRequest: ("path", "files", "dry_run"),
    changes.ChangesRequest: ("path", "changes", "dry_run"),
    changes.WriteRequest: ("path", "content", "expected_hash", "encoding"),
    RunRequest: ("command", "path", "output", "timeout_s"),
    StartRequest: ("command", "path", "timeout_s", "background"),
    WatchRequest: ("id", "wait_s", "until", "output"),
    EndRequest: ("id", "signal", "wait_s", "output"),
    StartedRequest: (),
    BytesRequest: ("path", "first", "count"),
    ResolveRequest: ("path",),
    PackRequest: ("path", "wanted"),
    changes.StatRequest: ("path",),
    changes.DeleteRequest: ("path", "recursive", "expected_hash", "entries"),
    changes.MakeFolderRequest: ("path",),
    changes.MoveRequest: ("path", "destination", "overwrite", "expected_hash", "entries"),
    changes.CopyRequest: ("path", "destination", "expected_hash", "entries"),
    changes.TrashRequest: ("path",),
    past.HistoryRequest: ("path", "session", "agent", "since_ns", "change", "maximum", "cursor"),
    past.DiffRequest: ("change", "path"),
    past.UndoRequest: ("change", "session", "since_ns", "path", "own", "up_to", "parts", "dry_run"),
    past.ForgetRequest: ("path", "all"),
    git.GitChangesRequest: ("show", "path", "revision", "by", "cursor"),
    git.GitLogRequest: ("show", "path", "revision", "lines", "limit", "cursor"),
    git.GitBlameRequest: ("show", "path", "revision", "lines"),
}
"""The included fields, in the order of the arguments."""

_ALWAYS: Mapping[type[Any], Sequence[str]] = {
    changes.EditFilesRequest: ("path", "dry_run"),
    StartRequest: ("background",),
    EndRequest: ("signal",),
    BytesRequest: ("first",),
    changes.DeleteRequest: ("recursive", "expected_hash"),
    changes.MoveRequest: ("overwrite",),
    **dict.fromkeys((git.GitChangesRequest, git.GitLogRequest, git.GitBlameRequest), ("show",)),
}
"""Fields with a default that are always included."""

_CALLED: Mapping[tuple[type[Any], str], str] = {
    (RunRequest, "path"): "cwd",
    (StartRequest, "path"): "cwd",
    (BytesRequest, "first"): "first_byte",
    (BytesRequest, "count"): "bytes",
    (PackRequest, "wanted"): "paths",
}
"""Arguments that are called otherwise than the field."""


def arguments(request: Request | changes.FileChange) -> dict[str, Fact]:
    """The arguments of a request for the ledger; those of `to_call` if they mean the same."""
    named: dict[str, Fact] = {}
    said, values = _said(type(request))
    for (name, default, called), value in zip(said, values(request), strict=True):
        if name == _CONTEXT:
            named |= _context(request)
        elif value != default:
            named[called] = _fact(request, name, value)
    return named


@cache
def _said(
    kind: type[Any],
) -> tuple[Sequence[tuple[str, object, str]], Callable[[Any], Sequence[Any]]]:
    """The field, default and name of each argument; and a getter of all values."""
    always = _ALWAYS.get(kind, ())
    defaults = {field.name: field.default for field in fields(kind) if field.name not in always}
    said = [(name, defaults.get(name, NODEFAULT), _CALLED.get((kind, name), name)) for name in SAID[kind]]
    names = ["before" if name == _CONTEXT else name for name in SAID[kind]]
    if len(names) > 1:
        return said, attrgetter(*names)
    return said, lambda request: tuple(getattr(request, name) for name in names)


def _fact(request: Request | changes.FileChange, name: str, value: Any) -> Fact:
    """The value of a field as an argument."""
    match name:
        case "path" | "destination":
            return as_value(value)
        case "paths":
            return [as_value(path) for path in value]
        case "glob":
            return value[0] if len(value) == 1 else list(value)
        case "include":
            return sorted(value)
        case "lines":
            return f"{value[0]}-{value[1]}"
        case "kinds":
            return list(value)
        case "edits":
            return [_edit(edit, every=edit.replace_all) for edit in value]
        case "files":
            return [_file(file) for file in value]
        case "changes":
            return [{"action": _ACTIONS[type(one)], **arguments(one)} for one in value]
        case "wanted":
            return [wanted.asked_as for wanted in value]
        case "content" if isinstance(request, changes.WriteRequest):
            return write_text(request)[0]
    fact: Fact = value
    return fact


def _context(request: Request | changes.FileChange) -> dict[str, Fact]:
    assert isinstance(request, GrepRequest)
    if request.before != request.after:
        return {"before": request.before, "after": request.after}
    return {_CONTEXT: request.before} if request.before else {}


def _file(file: changes.FileEdits | FilePatch) -> dict[str, Fact]:
    """The changes of one file of a call; a hunk of a patch is written with its marks."""
    path = as_value(file.path)
    if isinstance(file, changes.FileEdits):
        return {"path": path, "edits": [_edit(edit, every=True) for edit in file.edits]}
    said: dict[str, Fact] = {"path": path, "action": file.action}
    if file.destination is not None:
        said["destination"] = as_value(file.destination)
    if file.content is not None:
        said["content"] = valid(file.content)
    if file.hunks:
        said["hunks"] = [
            "".join(f"{line.mark}{valid(line.text)}\n" for line in hunk.lines) for hunk in file.hunks
        ]
    return said


def _edit(edit: changes.Edit, *, every: bool) -> dict[str, Fact]:
    """One replacement; with `every` it always says whether all places are meant."""
    texts: dict[str, Fact] = {"old_text": edit.old_text} if edit.old_text or not edit.is_placed else {}
    texts["new_text"] = edit.new_text
    if edit.lines is not None:
        texts["lines"] = f"{edit.lines[0]}-{edit.lines[1]}"
    if edit.symbol is not None:
        texts["symbol"] = edit.symbol
    if edit.insert is not None:
        texts["insert"] = edit.insert
    if edit.cell is not None:
        texts["cell"] = edit.cell
    return {**texts, "replace_all": edit.replace_all} if every else texts


_ACTIONS: Mapping[type[changes.FileChange], str] = {
    changes.EditRequest: "edit",
    changes.WriteRequest: "write",
    changes.DeleteRequest: "delete",
    changes.MoveRequest: "move",
    changes.CopyRequest: "copy",
    changes.MakeFolderRequest: "mkdir",
}
"""The words for changes of one call in the ledger."""


def as_tool_call(call: Call) -> str:
    """The call as text that a model can send as it is."""
    import json  # few replies to a person name a call so

    return f"{call.tool} {json.dumps(call.arguments, ensure_ascii=False, separators=(',', ':'))}"


_SPELLING: ContextVar[Callable[[Call], str]] = ContextVar("spelling of calls", default=as_tool_call)
"""A reader at a shell gets commands.  Every sentence with a call in it asks here, and
only the command line sets it, around one call: handing it through every function that words something
would put it into some forty signatures."""


@contextmanager
def spelled(spelling: Callable[[Call], str]) -> Iterator[None]:
    """Replies worded inside name their calls in this spelling."""
    before = _SPELLING.set(spelling)
    try:
        yield
    finally:
        _SPELLING.reset(before)


def spells_tools() -> bool:
    """Whether calls are spelled as calls of tools."""
    return _SPELLING.get() is as_tool_call


def shown(request: Request) -> str:
    """The call for a request, as the reader of the reply can send it."""
    return spelled_call(to_call(request))


def spelled_call(call: Call) -> str:
    """A call as the reader of the reply can send it."""
    return _SPELLING.get()(call)


def write_text(request: changes.WriteRequest) -> tuple[str, str]:
    """The content to write as text, and whether that is "text" or "base64"."""
    if request.data is None:
        return request.content, "text"
    try:
        return request.data.decode(), "text"
    except UnicodeDecodeError:
        from base64 import b64encode

        return b64encode(request.data).decode("ascii"), "base64"


# -----------------------------------------------------------------------------
# The last line of a reply: what is missing, in words, and the one call that continues.
# -----------------------------------------------------------------------------


MORE = "More in the facts of this reply."
"""The end of a closing line that does not fit."""


def uncut(count: int) -> str:
    """The note on lines that a page of rests does not show, since they have no rest."""
    if count == 1:
        return "1 other line is not cut: read without column to see it."
    return f"{count} other lines are not cut: read without column to see them."


class Aside(Struct, frozen=True):
    """Something that is left out, and the request that shows it; None if none does."""

    text: str
    request: Request | None


def in_documents(places: Iterable[tuple[str, int | None, int]]) -> list[Aside]:
    """How the first line of a document is read among places that a search has shown: path, part and line."""
    for path, part, line in places:
        if part is not None:
            there = ReadRequest(path, pages=str(part), offset=line)
            return [Aside(f"p{part}:{line} is part {part}, line {line}", there)]
    return []


def ending(parts: Sequence[str | Aside], following: Request | None, path: str | None = None) -> list[str]:
    """The sentences of a closing line, which end with one call.

    Args:
        parts: The sentences.
        following: The continuing request; without one, the first of `parts` with a request gives the call.
        path: What the reply is about, which arguments in words need not name.
    """
    last = "" if following is None else f"Next: {shown(following)}"
    sentences = []
    for part in parts:
        if isinstance(part, str):
            sentences.append(part)
        elif part.request is None:
            sentences.append(f"{part.text}: not reachable.")
        elif not last:
            last = f"{part.text}: {shown(part.request)}"
        else:
            sentences.append(_as_well(part.text, part.request, path))
    return [*sentences, last] if last else sentences


def _as_well(text: str, request: Request, path: str | None) -> str:
    """A sentence with a call that is not the next one."""
    return f"{text}{':' if _SPELLING.get() is as_tool_call else ''} {in_words(request, path)}."


def in_words(request: Request, path: str | None = None) -> str:
    """The arguments of a call in words, without the tool and the path if those are known.

    A person at a shell gets the whole command, in brackets, since a dot after it would be typed as well.
    """
    import json  # a reply that leaves nothing out needs none

    call = to_call(request)
    spelling = _SPELLING.get()
    if spelling is not as_tool_call:
        return f"({spelling(call)})"
    named = path is not None and request.path == path
    arguments = [
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in call.arguments.items()
        if not (named and name == "path")
    ]
    return " ".join(arguments if named else [call.tool, *arguments])


def closing(parts: Sequence[str], room: int) -> str:
    """One bracketed line of sentences; what does not fit is in the facts, as it says.

    The last sentence, which names the next call, is the last to be left out.
    """
    whole = f"[{' '.join(parts)}]"
    if byte_size(whole) <= room:
        return whole
    left = room - len(f"[{MORE}]")
    kept: set[int] = set()
    for at in (len(parts) - 1, *range(len(parts) - 1)):
        cost = byte_size(parts[at]) + 1
        if cost <= left:
            kept.add(at)
            left -= cost
    before = [part for at, part in enumerate(parts[:-1]) if at in kept]
    after = [parts[-1]] if len(parts) - 1 in kept else []
    return f"[{' '.join([*before, MORE, *after])}]"
