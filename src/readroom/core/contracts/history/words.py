"""Words and facts for the history: lists of changes, their diffs, undone changes, and what was forgotten.

The path ends a line wherever a line has one, since a path may hold anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from readroom.core.contracts.history.calls import to_call
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native.calls import closing, spelled_call
from readroom.core.contracts.native.facts import OwnCall, named, timestamp
from readroom.core.contracts.native.render import body_within, reply, short, warning_parts
from readroom.core.limits import CLOSING_BYTES
from readroom.core.quoting import as_value, quote, shortened
from readroom.core.text.select import byte_size
from readroom.core.values import Cap, Fact, Reply, Request, Warn
from readroom.core.values.changes import Diff
from readroom.core.values.history import (
    ChangedName,
    Conflict,
    DiffRequest,
    DiffResult,
    EntryState,
    ForgetRequest,
    ForgetResult,
    HistoryRequest,
    HistoryResult,
    KeptChange,
    NameDiff,
    Undone,
    UndoRequest,
    UndoResult,
)

OTHERS = "another agent"
"""Who made a change, for somebody who may not know."""

_NAMES_SHOWN = 5
"""Names of one change in a list; that change alone shows all."""

_NUMBERS_SHOWN = 10
"""Numbers of changes in a line."""

_NAME_CHARS = 40
"""Characters of an agent, a conversation or a tool in a list: more than the ids have that clients make."""


# -----------------------------------------------------------------------------
# Lists.
# -----------------------------------------------------------------------------

_HEADS = ("change", "time (UTC)", "who", "session", "tool", "files")


def render_list(
    request: HistoryRequest, result: HistoryResult, cap: Cap, own_call: OwnCall = to_call
) -> Reply:
    """The reply for a list: a line for each name, the newest change first."""
    result = _fitting(request, result, cap)
    body = body_within(_listed(request, result.changes, cap), cap)
    parts = warning_parts(result.warnings)
    hidden = sum(change.hidden for change in result.changes)
    if hidden:
        parts.insert(0, f"{hidden:,} name{_s(hidden)} denied by policy.")
    following = _following(request, result)
    if following is not None:
        parts.append(_with_call("There are older changes", following, own_call))
    text = f"{body}\n{closing(parts or ['end of changes'], cap.size - byte_size(body) - 1)}"
    return reply(text, partial(facts_of_list, request, result, own_call))


def _fitting(request: HistoryRequest, result: HistoryResult, cap: Cap) -> HistoryResult:
    """As many of the changes as one reply can show."""
    room, changes = cap.size - CLOSING_BYTES, result.changes
    while len(changes) > 1 and (size := byte_size(_listed(request, changes, cap))) > room:
        changes = changes[: max(1, min(len(changes) - 1, len(changes) * room // size))]
    if len(changes) == len(result.changes):
        return result
    return replace(result, changes=changes, cursor=changes[-1].id)


def _following(request: HistoryRequest, result: HistoryResult) -> HistoryRequest | None:
    return None if result.cursor is None else replace(request, cursor=result.cursor)


def _listed(request: HistoryRequest, changes: Sequence[KeptChange], cap: Cap) -> str:
    if not changes:
        return "no changes"
    names = len(changes[0].names) if request.change is not None else _NAMES_SHOWN
    rows = [row for change in changes for row in _rows(change, names, cap)]
    widths = [max(len(row[at]) for row in [_HEADS, *rows]) for at in range(len(_HEADS) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in [_HEADS, *rows]
    )


def _rows(change: KeptChange, names: int, cap: Cap) -> Iterator[tuple[str, ...]]:
    files = [name_in_words(name, cap) for name in change.names[:names]]
    if (more := change.count - change.hidden - len(files)) > 0:
        files.append(f"and {more:,} more" if files else f"{more:,} name{_s(more)}")
    about = (
        str(change.id),
        when(change),
        _short(who(change)),
        _short("" if change.others else change.by.session) or "-",
        _short(how(change)),
    )
    for at, file in enumerate(files or ["nothing that may be seen"]):
        yield (*(about if at == 0 else ("",) * len(about)), file)


def _short(name: str) -> str:
    return shortened(quote(name), _NAME_CHARS) if name else ""


def when(change: KeptChange) -> str:
    """The time of a change, to the second, UTC."""
    moment = timestamp(change.at_ns)
    return "unknown" if moment is None else moment[:-1].replace("T", " ")


def who(change: KeptChange) -> str:
    """Who made a change, as far as that may be known: the agent, or the way in of a caller without a name."""
    return OTHERS if change.others else change.by.agent or change.by.face


def how(change: KeptChange) -> str:
    """The maker of a change: the tool, or the change that it takes back."""
    made = change.by.tool if change.undoes is None else f"undo of {change.undoes}"
    return f"{made}, interrupted" if change.interrupted else made


def name_in_words(name: ChangedName, cap: Cap) -> str:
    """A name with its fate: the action, its lines, and the name."""
    parts = [what_became(name), lines_changed(name)]
    if name.undone_by is not None:
        parts.append(f"(undone by {name.undone_by})")
    to = "" if name.to is None else f" -> {short(name.to, cap)}"
    return " ".join(filter(None, [*parts, f"{short(name.path, cap)}{to}"]))


def what_became(name: ChangedName) -> str:
    """The action, and the kind of what is no file."""
    state = name.before if name.action == "deleted" else name.after
    return name.action if state.kind in ("file", "absent") else f"{name.action} {state.kind}"


def lines_changed(name: ChangedName) -> str:
    """The lines that came and went; the sizes of what has no lines."""
    if name.added is not None or name.removed is not None:
        counts = ((name.added, "+"), (name.removed, "-"))
        return " ".join(f"{sign}{count:,}" for count, sign in counts if count)
    if name.action == "changed" and name.before.kind == name.after.kind == "file":
        if name.before.is_same(name.after):
            return f"mode {name.before.mode:04o} to {name.after.mode:04o}"
        return f"{name.before.size:,} to {name.after.size:,} bytes"
    return ""


# -----------------------------------------------------------------------------
# One change.
# -----------------------------------------------------------------------------


def render_diff(request: DiffRequest, result: DiffResult, cap: Cap) -> Reply:
    """The reply for one change: who made it and when, and below each name its diff."""
    change = result.change
    rows = [" | ".join(_heading(change))]
    parts: list[str] = []
    for file in result.files:
        rows.append(name_in_words(file.name, cap))
        rows += [f"({file.note})"] if file.note else _diff_rows(file.diff)
        if file.diff is not None and file.diff.left_out:
            parts.append(_left_out(file.name.path, file.diff, cap))
    if change.hidden:
        parts.append(f"{change.hidden:,} name{_s(change.hidden)} denied by policy.")
    parts += warning_parts(result.warnings)
    body = body_within("\n".join(rows), cap)
    text = f"{body}\n{closing(parts or ['end of change'], cap.size - byte_size(body) - 1)}"
    return reply(text, partial(facts_of_diff, result))


def _heading(change: KeptChange) -> Iterator[str]:
    yield f"change {change.id}"
    yield f"{when(change)} UTC"
    yield _short(who(change)) or "-"
    yield _short(how(change)) or "-"
    if change.by.session and not change.others:
        yield f"session {_short(change.by.session)}"
    if change.undone_by is not None:
        yield f"undone by {change.undone_by}"
    if change.anew:
        yield "of another folder at this place"


def _diff_rows(diff: Diff | None) -> list[str]:
    return [] if diff is None else [row for hunk in diff.hunks for row in (hunk.heading, *hunk.lines)]


def _left_out(path: str, diff: Diff, cap: Cap) -> str:
    what = f"{diff.left_out} hunk{_s(diff.left_out)} in lines {diff.left_first}-{diff.left_last} not shown"
    return f"{what}: {short(path, cap)}."


# -----------------------------------------------------------------------------
# Undo and forget.
# -----------------------------------------------------------------------------


def render_undo(request: UndoRequest, result: UndoResult, cap: Cap, own_call: OwnCall = to_call) -> Reply:
    """The reply for an undo, or for what it would do."""
    header = f"{'dry run, undo of' if result.dry_run else 'undone:'} {_numbered(result.changes)}"
    rows = [header]
    for done in result.undone:
        rows += [_done(done, cap), *_diff_rows(done.diff)]
    for conflict in result.conflicts:
        rows += _conflicted(conflict, cap)
    body = body_within("\n".join(rows), cap)
    parts = [*_left_parts(result), *warning_parts(result.warnings), *_next_of_undo(request, result, own_call)]
    text = f"{body}\n{closing(parts or ['end of undo'], cap.size - byte_size(body) - 1)}"
    return reply(text, partial(facts_of_undo, request, result, own_call))


def _numbered(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:_NUMBERS_SHOWN]))
    more = len(numbers) - _NUMBERS_SHOWN
    return f"change{_s(len(numbers))} {shown}{f' and {more:,} more' if more > 0 else ''}"


def _done(done: Undone, cap: Cap) -> str:
    places = f", {done.fits} of {done.fits + done.left} places" if done.left else ""
    to = "" if done.to is None else f" -> {short(done.to, cap)}"
    what = "already so" if done.action == "nothing" else done.action
    return f"{what}{places} {short(done.path, cap)}{to}"


def _conflicted(conflict: Conflict, cap: Cap) -> Iterator[str]:
    yield f"changed since ({conflict.reason}) {short(conflict.path, cap)}"
    for title, diff in (("the change", conflict.ours), ("since then", conflict.theirs)):
        if diff is not None and diff.hunks:
            yield f"--- {title}"
            yield from _diff_rows(diff)


def _left_parts(result: UndoResult) -> Iterator[str]:
    if result.dry_run:
        yield "Dry run: nothing was changed."
    if result.conflicts:
        count = len(result.conflicts)
        stay = "would stay" if result.dry_run else "stayed"
        yield f"{count:,} file{_s(count)} changed since {stay}, in whole or in part."


def _next_of_undo(request: UndoRequest, result: UndoResult, own_call: OwnCall) -> Iterator[str]:
    following = following_undo(request, result)
    if following is None:
        return
    if result.dry_run:
        fits = sum(conflict.fits for conflict in result.conflicts)
        yield _with_call(f"{fits} place{_s(fits)} still fit{'s' if fits == 1 else ''}", following, own_call)
    else:
        what = f"This is change {result.id}; to take it back"
        if result.earlier:
            every = _numbered([following.change or 0, *result.earlier])
            what = f"These are {every}; to take them back, undo each, beginning with"
        yield _with_call(what, following, own_call)


def following_undo(request: UndoRequest, result: UndoResult) -> UndoRequest | None:
    """The next step: take the undo back, or take the parts that still fit."""
    if not result.dry_run:
        return None if result.id is None else UndoRequest(change=result.id)
    if request.parts or not any(conflict.fits for conflict in result.conflicts):
        return None
    return replace(request, parts=True, dry_run=False, up_to=max(result.changes) if result.changes else None)


def render_forget(request: ForgetRequest, result: ForgetResult, cap: Cap) -> Reply:
    """The reply for a past that was removed."""
    text = (
        f"forgotten: {result.names:,} name{_s(result.names)} in {result.changes:,} "
        f"change{_s(result.changes)} | {result.size_bytes:,} bytes freed"
    )
    parts = warning_parts(result.warnings)
    if parts:
        text += f"\n{closing(parts, cap.size - byte_size(text) - 1)}"
    facts = {**named(result, "changes", "names", "size_bytes"), **_common(None, result.warnings)}
    return reply(text, lambda: facts)


def _with_call(words: str, request: Request, own_call: OwnCall) -> str:
    """A sentence that ends with a call, if the contract has one for that request."""
    call = own_call(request)
    return f"{words}." if call is None else f"{words}: {spelled_call(call)}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"


# -----------------------------------------------------------------------------
# Facts.
# -----------------------------------------------------------------------------


def facts_of_list(
    request: HistoryRequest, result: HistoryResult, own_call: OwnCall = to_call
) -> dict[str, Fact]:
    """The facts of a list."""
    return {
        "changes": [facts_of_change(change) for change in result.changes],
        "cursor": result.cursor,
        **_common(_following(request, result), result.warnings, own_call),
    }


def facts_of_change(change: KeptChange) -> dict[str, Fact]:
    """The facts of one change and its names."""
    by = change.by
    return {
        "change": change.id,
        "time": timestamp(change.at_ns),
        **named(by, "agent", "session", "token", "face", "contract", "tool", "call", "traceparent"),
        **named(change, "others", "undoes", "undone_by", "interrupted", "anew", "count", "hidden"),
        "files": [_of_name(name) for name in change.names],
    }


def _of_name(name: ChangedName) -> dict[str, Fact]:
    return {
        "path": as_value(name.path),
        "to": None if name.to is None else as_value(name.to),
        **named(name, "action", "added", "removed", "undone_by"),
        "before": _of_state(name.before),
        "after": _of_state(name.after),
    }


def _of_state(state: EntryState) -> dict[str, Fact]:
    return {
        **named(state, "kind", "content_hash", "kept"),
        "size_bytes": state.size,
        "mode": f"{state.mode:04o}",
        "modified": timestamp(state.mtime_ns) if state.mtime_ns else None,
        "target": None if state.target is None else as_value(state.target),
    }


def facts_of_diff(result: DiffResult) -> dict[str, Fact]:
    """The facts of one change with its diffs."""
    return {
        **facts_of_change(result.change),
        "files": [_of_diff(file) for file in result.files],
        **_common(
            None, result.warnings, left_out=any(file.diff and file.diff.left_out for file in result.files)
        ),
    }


def _of_diff(file: NameDiff) -> dict[str, Fact]:
    return {**_of_name(file.name), "diff": _text(file.diff), "left_out": _hunks(file.diff), "note": file.note}


def facts_of_undo(request: UndoRequest, result: UndoResult, own_call: OwnCall = to_call) -> dict[str, Fact]:
    """The facts of an undo."""
    return {
        "undone": [_of_undone(done) for done in result.undone],
        "changes": list(result.changes),
        "change": result.id,
        "earlier_changes": list(result.earlier),
        "conflicts": [of_conflict(conflict) for conflict in result.conflicts],
        "dry_run": result.dry_run,
        **_common(following_undo(request, result) if result.dry_run else None, result.warnings, own_call),
    }


def _of_undone(done: Undone) -> dict[str, Fact]:
    return {
        "path": as_value(done.path),
        "to": None if done.to is None else as_value(done.to),
        **named(done, "action", "right", "fits", "left"),
        "diff": _text(done.diff),
        "left_out": _hunks(done.diff),
    }


def of_conflict(conflict: Conflict) -> dict[str, Fact]:
    """The facts of a name that was changed since."""
    return {
        "path": as_value(conflict.path),
        **named(conflict, "reason", "fits", "left"),
        "ours": _text(conflict.ours),
        "theirs": _text(conflict.theirs),
    }


def _text(diff: Diff | None) -> str | None:
    return None if diff is None else diff.text


def _hunks(diff: Diff | None) -> int:
    return 0 if diff is None else diff.left_out


def _common(
    following: Request | None,
    warnings: Sequence[Warn],
    own_call: OwnCall = to_call,
    *,
    left_out: bool = False,
) -> dict[str, Fact]:
    common = native_facts.common((), following, warnings, own_call)
    return {**common, "truncated": bool(common["truncated"]) or left_out}
