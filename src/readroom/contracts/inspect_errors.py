"""The sentences of inspect_agents for failures; exact where its documents and tests have them."""

from __future__ import annotations

from readroom.contracts.inspect_told import Told
from readroom.errors import (
    BadRange,
    Denied,
    ManyMatches,
    NoMatch,
    NotFound,
    OutsideRoot,
    Protected,
    ReadroomError,
    SymbolicLink,
    TimedOut,
    TooLarge,
    WrongCount,
)
from readroom.quoting import as_given

_VARIABLE = "INSPECT_AGENTS_FS_MAX_BYTES"


def words(told: Told, error: ReadroomError) -> str:
    """What is said of a failure of a call."""
    match error:
        case NotFound():
            return _missing(told)
        case BadRange() if "total_lines" in error.facts and told.op == "read":
            return _past_end(told, error)
        case TooLarge() if error.facts["unit"] == "bytes" and error.facts["limit"] == told.setup.max_bytes:
            return _too_large(told, error)
        case OutsideRoot():
            return (
                f"Access denied: path '{told.shown}' is outside the configured filesystem root "
                f"'{told.setup.root}'. Only paths within the root are allowed in sandbox mode."
            )
        case SymbolicLink():
            return (
                f"Access denied: '{told.shown}' is a symbolic link. Symbolic links are not allowed "
                "in sandbox mode for security reasons."
            )
        case Denied():
            return _denied(told, error)
        case Protected() if not told.in_store and told.setup.read_only:
            return "SandboxReadOnly"
        case Protected() if not told.in_store and told.op == "delete":
            return (
                "delete is disabled in sandbox mode; set INSPECT_AGENTS_FS_MODE=store to delete "
                "from the in-memory Files store"
            )
        case WrongCount():
            return f"ExpectedCountMismatch: expected {error.facts['expected']}, got {error.facts['found']}"
        case NoMatch():
            return (
                f"String '{told.other}' not found in file '{told.shown}'. "
                "Please check the exact text to replace."
            )
        case ManyMatches():
            return (
                f"String '{told.other}' stands more than once in file '{told.shown}'. "
                "Add text around it until it is unique, or use replace_all."
            )
        case TimedOut():
            return (
                f"Timeout: {told.op or 'the call'} took longer than {told.setup.seconds:g} seconds. "
                "Ask for less, or increase INSPECT_AGENTS_TOOL_TIMEOUT."
            )
    return _any(told, error)


def _missing(told: Told) -> str:
    match told.op:
        case "move":
            return f"Source '{told.shown}' not found"
        case "trash":
            return f"File '{told.shown}' not found"
    return f"File '{told.shown}' not found. Please check the file path and ensure the file exists."


def _past_end(told: Told, error: BadRange) -> str:
    total = int(str(error.facts["total_lines"]))
    return (
        f"Line offset {told.other} exceeds file length ({total} lines). "
        f"Use an offset between 0 and {max(total - 1, 0)}."
    )


def _too_large(told: Told, error: TooLarge) -> str:
    sizes = f"{error.facts['size']:,} bytes > {error.facts['limit']:,} bytes"
    match told.op:
        case "write":
            return (
                f"File content exceeds maximum size limit: {sizes}. "
                f"Consider breaking the content into smaller files or increase {_VARIABLE}."
            )
        case "edit":
            return (
                f"Edit would result in file exceeding maximum size limit: {sizes}. "
                f"Consider smaller edits or increase {_VARIABLE}."
            )
    return f"File exceeds maximum size limit: {sizes}. Use a smaller limit parameter or increase {_VARIABLE}."


def _denied(told: Told, error: Denied) -> str:
    root = told.setup.root
    path = as_given(told.path if told.path.startswith(("/", '"')) else f"{root}/{told.path}")
    rule = error.facts["rule"]
    return f"PolicyDenied: operation '{told.op}' on '{path}' denied by rule '{rule}' under root '{root}'"


def _any(told: Told, error: ReadroomError) -> str:
    """The engine's own sentence, in this contract's names."""
    text = str(error)
    for ours, theirs in (
        ("edits[0].old_text", "old_string"),
        ("edits[0].new_text", "new_string"),
        ("old_text", "old_string"),
        ("new_text", "new_string"),
        ("write_file", "the command write"),
        ("list_directory", "the command ls"),
    ):
        text = text.replace(ours, theirs)
    path = error.facts.get("path")
    if isinstance(path, str) and told.path and told.in_store:
        text = text.replace(as_given(path), told.shown)
    return text
