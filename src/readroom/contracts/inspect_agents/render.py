"""Replies of inspect_agents: text, or objects if typed results are on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.inspect_agents.calls import key_meant, key_of_path, key_sendable, path_of, path_of_key
from readroom.contracts.inspect_agents.settings import InspectSettings
from readroom.core import errors, values
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.formats.kinds import UNKNOWN
from readroom.core.paths import parse
from readroom.core.quoting import as_given, as_value
from readroom.core.text.encodings import STATEFUL
from readroom.core.text.select import MARK_BYTES
from readroom.core.values import changes

NUMBER_WIDTH = 6
"""Width to which line numbers are padded, as in `cat -n`; as documented."""

# -----------------------------------------------------------------------------
# The arguments of a call that its wording repeats.
# -----------------------------------------------------------------------------


class CallWords(Struct, frozen=True):
    """The arguments that wording repeats: `path` and `other` as the caller wrote them.

    `other` is the offset of a read, the destination of a move, the old text of an edit.
    """

    setup: InspectSettings
    in_store: bool
    op: str
    path: str
    other: str
    to_call: Callable[[values.Request], values.Call | None]

    @property
    def answered_by(self) -> str:
        """Which of the two places answered."""
        return "store" if self.in_store else "sandbox"

    def name(self, path: str) -> str:
        """The name of a path of the engine, as this contract writes it."""
        return key_sendable(key_of_path(path)) if self.in_store else path

    @property
    def shown(self) -> str:
        """The path as sentences have it."""
        return as_given(self.path)


# -----------------------------------------------------------------------------
# The sentences of inspect_agents for failures; exact where its documents and tests have them.
# -----------------------------------------------------------------------------

_VARIABLE = "INSPECT_AGENTS_FS_MAX_BYTES"


def words(call: CallWords, error: errors.ReadroomError) -> str:
    """The words for a failure of a call."""
    match error:
        case errors.NotFound():
            return _missing(call)
        case errors.BadRange() if "total_lines" in error.facts and call.op == "read":
            return _past_end(call, error)
        case errors.TooLarge() if (
            error.facts["unit"] == "bytes" and error.facts["limit"] == call.setup.max_bytes
        ):
            return _too_large(call, error)
        case errors.NotAFile() if error.facts["what"] == "folder":
            return f"'{call.shown}' is a directory, not a file. Name a file in it."
        case errors.OutsideRoot():
            return (
                f"Access denied: path '{as_given(_about(call, error))}' is outside the configured filesystem "
                f"root '{call.setup.root}'. Only paths within the root are allowed in sandbox mode."
            )
        case errors.SymbolicLink():
            return (
                f"Access denied: '{as_given(_about(call, error))}' is a symbolic link. Symbolic links are "
                "not allowed in sandbox mode for security reasons."
            )
        case errors.Denied():
            return _denied(call, error)
        case errors.Protected() if not call.in_store and call.setup.read_only:
            return "SandboxReadOnly"
        case errors.Protected() if not call.in_store and call.op == "delete":
            return (
                "delete is disabled in sandbox mode; set INSPECT_AGENTS_FS_MODE=store to delete "
                "from the in-memory Files store"
            )
        case errors.WrongCount():
            return f"ExpectedCountMismatch: expected {error.facts['expected']}, got {error.facts['found']}"
        case errors.NoMatch():
            return (
                f"String '{call.other}' not found in file '{call.shown}'. "
                "Please check the exact text to replace."
            )
        case errors.ManyMatches():
            return (
                f"String '{call.other}' occurs more than once in file '{call.shown}'. "
                "Add text around it until it is unique, or use replace_all."
            )
        case errors.Binary() if error.facts["media_type"] == UNKNOWN.name and call.op in ("read", "edit"):
            size = f"{error.facts['size_bytes']:,} bytes"
            done = "read" if call.op == "read" else "edited"
            return f"File '{call.shown}' is binary ({size}), not text. Only text can be {done}."
        case errors.BrokenPlace() if error.facts["encoding"] in STATEFUL:
            return f"{error.message}. The command write replaces all of it, in that encoding."
        case errors.Unencodable():
            advice = (
                "Use characters that it has, or move the file away first (trash): a file that write makes "
                "is in UTF-8."
            )
            return f"{_in_our_names(call, error, error.message)}. {advice}"
        case errors.BadValue(value="") if error.argument.endswith("old_text"):
            advice = "Send the text to be replaced; the command write fills an empty file."
            return f"{_in_our_names(call, error, error.message)}. {advice}"
        case errors.Taken():
            name = call.shown if call.op == "mkdir" else as_given(call.other)
            return (
                f"'{name}' already exists ({error.facts['kind']}). "
                "Choose another name, or move or delete what is there first."
            )
        case errors.TimedOut():
            return (
                f"Timeout: {call.op or 'the call'} took longer than {call.setup.seconds:g} seconds. "
                "Ask for less, or increase INSPECT_AGENTS_TOOL_TIMEOUT."
            )
    return _in_our_names(call, error, str(error))


def _about(call: CallWords, error: errors.ReadroomError) -> str:
    """The name that a refusal is about, as the caller wrote it: for a move it may be the other one."""
    if call.op != "move":
        return call.path
    source = path_of(call.path, call.setup.root, in_store=call.in_store)
    with suppress(errors.ReadroomError):
        source = parse(source)
    return call.path if error.facts.get("path") == as_value(source) else call.other


_MISSING = {"move": "Source '{}' not found", "trash": "File '{}' not found"}


def _missing(call: CallWords) -> str:
    usual = "File '{}' not found. Please check the file path and ensure the file exists."
    return _MISSING.get(call.op, usual).format(call.shown)


def _past_end(call: CallWords, error: errors.BadRange) -> str:
    total = int(str(error.facts["total_lines"]))
    return (
        f"Line offset {call.other} exceeds file length ({total} lines). "
        f"Use an offset between 0 and {max(total - 1, 0)}."
    )


_TOO_LARGE = {
    "write": "File content exceeds maximum size limit: {}. Consider breaking the content into smaller files",
    "edit": "Edit would result in file exceeding maximum size limit: {}. Consider smaller edits",
}


def _too_large(call: CallWords, error: errors.TooLarge) -> str:
    sizes = f"{error.facts['size']:,} bytes > {error.facts['limit']:,} bytes"
    usual = "File exceeds maximum size limit: {}. Use a smaller limit parameter"
    return f"{_TOO_LARGE.get(call.op, usual).format(sizes)} or increase {_VARIABLE}."


def _denied(call: CallWords, error: errors.Denied) -> str:
    root, name = call.setup.root, _about(call, error)
    path = as_given(name if name.startswith(("/", '"')) else f"{root}/{name}")
    rule = error.facts["rule"]
    return f"PolicyDenied: operation '{call.op}' on '{path}' denied by rule '{rule}' under root '{root}'"


def _in_our_names(call: CallWords, error: errors.ReadroomError, text: str) -> str:
    """Sentences of the engine, in this contract's names."""
    for ours, theirs in (
        ("edits[0].old_text", "old_string"),
        ("edits[0].new_text", "new_string"),
        ("old_text", "old_string"),
        ("new_text", "new_string"),
        ("destination=", "dst_path="),
        ("write_file", "the command write"),
        ("edit_file", "the command edit"),
        ("list_directory", "the command ls"),
    ):
        text = text.replace(ours, theirs)
    path = error.facts.get("path")
    if isinstance(path, str) and call.path and call.in_store:
        own = path_of_key(key_meant(call.path))
        name = call.shown if path in (own, as_value(own)) else as_given(call.name(path))
        text = text.replace(as_given(path), name)
    return text


EMPTY = "System reminder: File exists but has empty contents"

_FRAME_BYTES = 256
"""The words around a path, and a reminder where the reply ends early."""

_QUOTES_BYTES = 4
"""The cost of a string in a JSON list in addition to its own bytes: quotes, a comma, one escape."""


MEASURE = values.Measure(
    frame=lambda path: _FRAME_BYTES + 2 * len(path.encode("utf-8", "replace")),
    read=values.ReadMeasure(
        numbered=lambda number: max(NUMBER_WIDTH, len(str(number))) + 1 + _QUOTES_BYTES,
        outlined=lambda row: _FRAME_BYTES,
        mark_bytes=MARK_BYTES,
    ),
    list=values.ListMeasure(lambda entry: len(entry.path.encode("utf-8", "replace")) + _QUOTES_BYTES),
)
"""Size of what the rendering below adds."""


def render(call: CallWords, result: values.Result, cap: values.Cap) -> values.Reply:
    """The reply for a result of a call."""
    if isinstance(result, values.ReadResult):
        return _read(call, result, cap)
    if isinstance(result, values.ListResult):
        return _listed(call, result, cap)
    return _CHANGED[type(result)](call, result)


def render_error(call: CallWords, error: errors.ReadroomError, cap: values.Cap) -> values.Reply:
    """The reply for a failure; that nothing is left to delete is not a failure."""
    if isinstance(error, errors.NotFound) and call.op == "delete":
        text = f"File {call.shown} did not exist (delete operation was idempotent)"
        return _brief(call, text, {"path": call.path}, {})
    if isinstance(error, errors.BadRange) and call.op == "read" and error.facts.get("total_lines") == 0:
        text = json_replies.encoded({"lines": [], "summary": EMPTY}) if call.setup.typed else EMPTY
        return _reply(call, text, {"path": call.path, "total_lines": 0})
    return _failed(call, words(call, error), error, cap)


def render_invalid(call: CallWords, error: errors.ReadroomError, cap: values.Cap) -> values.Reply:
    """The reply for arguments of `files` that fit no command."""
    return _failed(call, f"Invalid parameters: {error}", error, cap)


# --- reading ----------------------------------------------------------------------------------


def _read(call: CallWords, result: values.ReadResult, cap: values.Cap) -> values.Reply:
    if _is_blank(result):
        text = json_replies.encoded({"lines": [], "summary": EMPTY}) if call.setup.typed else EMPTY
        return _reply(call, text, _read_facts(call, result))
    return json_replies.window(
        result,
        cap,
        partial(_read_text, call),
        lambda part: {"answered_by": call.answered_by, **_read_facts(call, part)},
    )


def _is_blank(result: values.ReadResult) -> bool:
    """Whether the whole file was looked at and has nothing but white space."""
    seen = len(result.lines) == result.total_lines
    return seen and not result.cuts and not any(line.strip() for line in result.lines)


def _read_text(call: CallWords, result: values.ReadResult) -> str:
    width = NUMBER_WIDTH
    lines = [f"{number:{width}d}\t{line}" for number, line in enumerate(result.lines, result.start)]
    capped = any(item.reason == "reply_cap" and item.what == "lines" for item in result.omitted)
    goes_on = (
        f"Output stopped at line {result.end} of {result.total_lines}. Use offset={result.end} to continue."
    )
    if not call.setup.typed:
        return "\n".join([*lines, f"System reminder: {goes_on}"] if capped else lines)
    count = len(lines)
    summary = (
        f"Read {count} lines from {call.shown} (lines {result.start}-{result.end})"
        if call.in_store
        else f"Read {count} lines from file_path={call.shown} (sandbox mode)"
    )
    return json_replies.encoded({"lines": lines, "summary": f"{summary}. {goes_on}" if capped else summary})


def _read_facts(call: CallWords, result: values.ReadResult) -> dict[str, values.Fact]:
    return {**native_facts.of_read(result, call.to_call), "path": call.path}


# --- everything else --------------------------------------------------------------------------


def _listed(call: CallWords, result: values.ListResult, cap: values.Cap) -> values.Reply:
    files = [
        call.name(entry.path)
        for entry in result.entries
        if not call.in_store or entry.kind is not values.EntryKind.FOLDER
    ]

    def text(count: int) -> str:
        return _list_text(call, files[:count], cut=count < len(files) or result.next is not None)

    def fits(count: int) -> bool:
        return len(text(count).encode()) <= cap.size

    # All of them need no sentence about the rest, so that they may take less than all but one.
    shown = len(files) if fits(len(files)) else json_replies.largest(len(files) - 1, fits)
    cut = shown < len(files) or result.next is not None
    total = result.total - (len(result.entries) - len(files))
    facts: dict[str, values.Fact] = {"total": total, "shown": shown, "truncated": cut, "next": None}
    return _reply(call, text(shown), facts)


def _list_text(call: CallWords, files: Sequence[str], cut: bool) -> str:
    if not cut:
        return json_replies.encoded({"files": files} if call.setup.typed else files)
    note = f"Only the first {len(files)} names are shown. Use a sandbox folder or instance with fewer files."
    # A list of names has no place for words, and a cut must not be silent.
    return json_replies.encoded({"files": files, "truncated": True, "notes": [note]})


def _edited(call: CallWords, result: changes.EditResult) -> values.Reply:
    count = result.replacements
    text = f"Updated file {call.shown}"
    if result.dry_run:
        text = f"(dry_run) Would update file {call.shown} replacing {count} occurrence(s)"
    return _brief(call, text, {"path": call.path, "replaced": count}, native_facts.of_edit(result))


def _stat(call: CallWords, result: changes.StatResult) -> values.Reply:
    is_dir = result.kind is values.EntryKind.FOLDER
    size = None if is_dir or not result.exists else result.size_bytes
    state = "missing"
    if result.exists:
        state = "dir" if is_dir else f"file ({size} bytes)"
    value: dict[str, values.Fact] = {
        "path": call.path,
        "exists": result.exists,
        "is_dir": result.exists and is_dir,
        "size": size,
    }
    return _reply(call, json_replies.encoded(value) if call.setup.typed else f"{call.shown}: {state}", value)


def _moved(call: CallWords, verb: str, target: str) -> values.Reply:
    text = f"{verb} {call.shown} -> {as_given(target)}"
    return _brief(call, text, {"src": call.path, "dst": target}, {})


_CHANGED: Mapping[type, Callable[[CallWords, Any], values.Reply]] = {
    changes.EditResult: _edited,
    changes.StatResult: _stat,
    changes.WriteResult: lambda call, result: _brief(
        call, f"Updated file {call.shown}", {"path": call.path}, native_facts.of_write(result)
    ),
    changes.DeleteResult: lambda call, _: _brief(call, f"Deleted file {call.shown}", {"path": call.path}, {}),
    changes.FolderResult: lambda call, _: _reply(
        call, f"Created directory {call.shown}", {"path": call.path}
    ),
    changes.MoveResult: lambda call, _: _moved(call, "Moved", call.other),
    changes.TrashResult: lambda call, result: _moved(call, "Trashed", call.name(result.trashed_to)),
}
"""The wording of the results of all other commands."""


def _brief(
    call: CallWords, summary: str, value: dict[str, values.Fact], facts: dict[str, values.Fact]
) -> values.Reply:
    text = json_replies.encoded({**value, "summary": summary}) if call.setup.typed else summary
    return _reply(call, text, {**facts, **value})


def _failed(call: CallWords, text: str, error: errors.ReadroomError, cap: values.Cap) -> values.Reply:
    data = text.encode("utf-8", "replace")[: cap.size].decode("utf-8", "ignore")
    reply = _reply(call, data, native_facts.of_error(error, call.to_call, data))
    return replace(reply, is_error=True)


def _reply(call: CallWords, text: str, facts: dict[str, values.Fact]) -> values.Reply:
    return native_render.reply(text, lambda: {"answered_by": call.answered_by, **facts})
