"""Replies of Everruns to changes, and to stat_file: each one object."""

from __future__ import annotations

from functools import partial

from readroom.contracts.everruns.names import Names
from readroom.contracts.everruns.requests import REPLY_BYTES, calls
from readroom.contracts.everruns.words import Fields, with_notes
from readroom.core import values
from readroom.core.contracts import json_replies
from readroom.core.contracts.native import facts as native_facts
from readroom.core.quoting import as_value
from readroom.core.values.changes import DeleteResult, EditResult, StatResult, WriteResult

DIFF_CHARS = 16_000
"""The diff that an edit shows."""

_CUT_DIFF = f"\n... diff truncated after {DIFF_CHARS} characters ..."


def render_edit(names: Names, result: EditResult, cap: values.Cap) -> values.Reply:
    """The reply for an edit."""
    path = names.named(result.path)
    heading = f"--- {path} (before)\n+++ {path} (after)\n"
    diff, cut = _cut_diff(heading + result.diff.text, bool(result.diff.left_out))
    fields = _edit_fields(names, result, diff, cut=cut)
    most = min(cap.size, REPLY_BYTES)
    while json_replies.size(fields) > most and diff:
        # The size of escapes is known only now; the change itself is made and is reported anyway.
        diff, cut = diff[: len(diff) // 2], True
        fields = _edit_fields(names, result, diff + _CUT_DIFF, cut=cut)
    return json_replies.reply(fields, partial(native_facts.of_edit, result))


def _cut_diff(text: str, left_out: bool) -> tuple[str, bool]:
    if len(text) > DIFF_CHARS:
        return text[:DIFF_CHARS] + _CUT_DIFF, True
    return (text + _CUT_DIFF, True) if left_out else (text, False)


def _edit_fields(names: Names, result: EditResult, diff: str, *, cut: bool) -> Fields:
    fields: Fields = {
        "path": names.shown(result.path),
        "size_bytes": result.size_bytes,
        "content_hash": result.content_hash,
        "previous_content_hash": result.previous_hash,
        "applied_edits": result.edits,
        "rebased": False,
        "first_changed_line": result.first_line,
        "diff": diff,
        "diff_truncated": cut,
    }
    return with_notes(fields, result.warnings)


def render_write(names: Names, result: WriteResult, cap: values.Cap) -> values.Reply:
    """The reply for a file that was written."""
    del cap
    fields: Fields = {
        "path": names.shown(result.path),
        "size_bytes": result.size_bytes,
        "created": result.previous_hash is None,
        "content_hash": result.content_hash,
    }
    return json_replies.reply(with_notes(fields, result.warnings), partial(native_facts.of_write, result))


def render_stat(names: Names, result: StatResult, cap: values.Cap) -> values.Reply:
    """The reply of stat_file."""
    path = names.shown(result.path)
    fields: Fields = {"path": path}
    if result.exists:
        fields |= {
            "name": as_value(result.path.rpartition("/")[2])
            if result.path != "."
            else path.rpartition("/")[2],
            "exists": True,
            "is_directory": result.kind is values.EntryKind.FOLDER,
            "is_readonly": result.read_only,
            "size_bytes": result.size_bytes,
            "created_at": native_facts.timestamp(result.created_ns),
            "updated_at": native_facts.timestamp(result.mtime_ns),
        }
    else:
        fields["exists"] = False
    return json_replies.reply(with_notes(fields, result.warnings), partial(_facts, names, result))


def render_delete(names: Names, result: DeleteResult, cap: values.Cap) -> values.Reply:
    """The reply of delete_file."""
    fields: Fields = {"path": names.shown(result.path), "deleted": True}
    return json_replies.reply(with_notes(fields, result.warnings), partial(_facts, names, result))


def _facts(names: Names, result: StatResult | DeleteResult) -> Fields:
    return {
        "path": as_value(result.path),
        **native_facts.common((), None, result.warnings, calls(names)),
    }
