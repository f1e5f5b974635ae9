"""The meaning of each fact of a reply, for the reference."""

from __future__ import annotations

COMMON = {
    "truncated": "Whether something that the call asked for is missing from the reply.",
    "omitted": "Missing parts: [{what, from, to, line?, part?, reason, call}], counted from 1, inclusive.",
    "next": "The call that continues exactly where this reply ends, or null.",
    "warnings": "About the content: [{code, detail, line?, column?}].",
    "tokens": "Of the reply: its text in o200k tokens, its images by their size where they are charged.",
    "counter": "What counted them: estimate, or o200k where the exact counter is configured.",
    "budget": "What is left where budgets are set: [{scope, limit, used, left}], in tokens.",
}

FACTS: dict[str, dict[str, str]] = {
    "read_file": {
        "path": "The file, relative to the workspace root.",
        "kind": "source, log, csv, config, minified, text, image, document.",
        "size_bytes": "Size of the whole file.",
        "content_hash": "`sha256:` and 64 hex digits, of the raw bytes of the whole file; null when unknown.",
        "compression": "gzip, zstd, xz or bzip2 when what is shown is its expanded content, else null.",
        "expanded_bytes": "Size of that content, as far as it was expanded, or null.",
        "encoding": "How the text was decoded, as a Python codec name.",
        "bom": "Whether a byte order mark precedes the text (it is not shown).",
        "newline": "lf, crlf, mixed or none, over the whole file.",
        "line_ends": "{lf, crlf}: how many of each, where they are mixed; or null.",
        "final_newline": "Whether the last line has an end; null of an empty file, or when not known.",
        "total_lines": "Lines of the whole file; a final newline adds none. Null while not all are counted. "
        "0 for a document.",
        "lines_shown": "{start, end}, inclusive; both 0 when no line is shown, negative from the end.",
        "columns_shown": "[{line, from, to, of}] where the reply shows rests of cut lines, else null. Its "
        "rows are then `line:from<TAB>text`, and the lines need not follow each other.",
        "header_line": "1 when the table's first line is shown above a later window, else null.",
        "read_mode": "offset or tail.",
        "not_modified": "True in a receipt for `known_hash`.",
        "symbol": "{name, kind, start, end, certain} of the definition that is shown, or null; "
        "certain is false where a syntax error leaves the end in doubt.",
        "outline": "{language, items: [{name, kind, signature, start, end, line, depth, certain, folded}], "
        "folded, left_out, partial} or null: of the file, or of what a cut reply does not show; "
        'folded counts by kind what only view="full_outline" lists. '
        "An item of kind run stands for several functions, which its signature names.",
        "image": "{media_type, width, height, original_width, original_height} or null.",
        "document": "{format, unit, total_parts, parts, contents, contents_left} of a document, or null. "
        "parts are those shown, "
        "[{part, title, total_lines, lines_shown, columns_shown, header, total_known, notes, images}]; "
        "images are [{media_type, width, height, original_width, original_height}]; "
        "contents are [{level, title, part}].",
        **COMMON,
    },
    "grep_files": {
        "pattern": "As asked.",
        "path": "As asked, relative to the workspace root.",
        "output": "content, files, count or references.",
        "files": "[{path, matches, lines: [{line, part, text, match, column, chars, symbol?}]}] as shown; "
        "part is the page, slide, sheet, cell or section of a document, or null. Lines of references also "
        "have kind, certain (whether the text there was parsed) and columns, the first places of the name.",
        "shown": "Matches (content, references) or files (files, count) in this reply.",
        "complete": "Whether everything was searched and shown.",
        "reason": "Why not: limit, reply_cap, timeout, or unfinished: files that took too long were left.",
        "searched_files": "Files searched so far, null when not counted.",
        "total_files": "Files to search in all, null when not counted.",
        "kinds": "Lines by kind of all references, shown or not; null for another output.",
        "unlabelled": "How many of these were not parsed, so that their kind is not certain.",
        "files_with_matches": "Files with a reference.",
        **COMMON,
    },
    "find_relevant": {
        "query": "As asked.",
        "path": "As asked, relative to the workspace root.",
        "output": "passages, outline or files.",
        "files": "[{path, score, content_hash, total_lines, unit, total_parts, "
        "passages: [{start, end, part, symbol, signature, score, why}], why}], best first, "
        "passages in the order of their lines; part is the page, slide, sheet, cell or section of a "
        "document, else null, as unit and total_parts are; "
        "why is [{what, points or factor}], empty without explain.",
        "shown": "Passages in this reply, or files with output files.",
        "more_passages": "Those behind it of the files taken apart so far.",
        "more_files": "Files that match and were not taken apart or shown.",
        "searched_files": "Files of text that were searched.",
        "complete": "False when the time limit ended that; `next` then searches the rest.",
        "reason": "Why not: timeout, or null.",
        "left_words": "Words of a long query that were not searched for.",
        **COMMON,
    },
    "list_directory": {
        "path": "The listed folder, relative to the workspace root.",
        "entries": "[{path, kind, size_bytes, modified, target?}], paths relative to the listed folder.",
        "first": "Number of the first entry shown, from 1; 0 when none is.",
        "total": "Entries in all that match the call.",
        "total_known": "False when the time limit ended the count.",
        "ignored": "Entries that ignore files hide.",
        "denied": "Entries that policy denies; they are never named.",
        "reason": "Why the page ends before the last entry: limit, reply_cap or timeout.",
        **COMMON,
    },
    "edit_file": {
        "path": "The file, relative to the workspace root.",
        "content_hash": "Of the new state; null in a dry run.",
        "previous_hash": "Of the state that was edited.",
        "size_bytes": "Size of the new state.",
        "total_lines": "Lines of the new state.",
        "encoding": "Of the file, kept.",
        "bom": "Whether it has a byte order mark, kept.",
        "edits": "Edits in the call.",
        "replacements": "Places that they changed.",
        "lines_changed": "{start, end}, inclusive, in the new state; its last line where its end went.",
        "cells_changed": "Of a notebook: {start, end}, inclusive, in the new state.",
        "total_cells": "Of a notebook: its cells in the new state.",
        "dry_run": "True when nothing was changed.",
        "diff": "Unified diff of the touched hunks, without the lines that name the files.",
        **COMMON,
    },
    "change_files": {
        "changes": "The facts of each change: those of edit_file or write_file; of a name path, kind, "
        "entries, destination and folders, as far as they apply.",
        "dry_run": "True when nothing was changed.",
        **COMMON,
    },
    "apply_patch": {
        "changes": "[{action, previous_hash, content_hash, size_bytes, path, requested}], in the order of "
        "the patch; a hash is null of a file that is not there.",
        "dry_run": "True when nothing was changed.",
        **COMMON,
    },
    "write_file": {
        "path": "The file, relative to the workspace root.",
        "created": "False when it replaced a file.",
        "content_hash": "Of the new state.",
        "previous_hash": "Of the state that was replaced, or null.",
        "size_bytes": "Size of the new state.",
        "total_lines": "Lines of the new state.",
        "encoding": "Of the new state.",
        "bom": "Whether it has a byte order mark.",
        "newline": "lf, crlf, mixed or none.",
        "line_ends": "{lf, crlf}: how many of each, where they are mixed; or null.",
        "final_newline": "Whether the last line has an end; null of an empty file.",
        "folders": "Folders that were made for it.",
        **COMMON,
    },
    "run_command": {
        "command": "As asked.",
        "cwd": "The folder it started in, relative to the workspace root.",
        "call_id": "Names the kept outputs.",
        "exit_code": "As a shell reports it: 128 and the number of the signal that ended it.",
        "signal": "That signal, such as SIGKILL, or null.",
        "timed_out": "Whether the time limit ended it.",
        "duration_s": "How long it ran.",
        "ended": "Processes it left behind, which were ended; null where they cannot be counted.",
        "shell": "The shell that ran it: bash or sh.",
        "confinement": "bwrap, landlock or none.",
        "network": "Whether it could use the network.",
        "outputs": "[{stream, path, size_bytes, kept_bytes, total_lines, shown: [{start, end}], lost, "
        "binary}]; lost is {from, bytes, after_line} or null, path is null when it cannot be read later.",
        "changes": "What changed in the workspace while it ran, by it or by others, or null: {named: [{"
        "action, kind, path, to, names, content_hash}], total, ignored, denied, followed, problem, undo}. "
        "`action` is "
        "created, changed, deleted or moved, `names` counts what is below a folder; ignored and denied names "
        "are counted; `followed` is all, visible or no, `undo` is the change that undoes it, or null.",
        **COMMON,
    },
    "check_command": {
        "id": "Names the background command and its kept outputs.",
        "command": "As asked.",
        "cwd": "The folder it started in, relative to the workspace root.",
        "running": "Whether it still runs.",
        "exit_code": "As a shell reports it, 128 and the number of a signal included; null while it runs.",
        "signal": "That signal, such as SIGKILL, or null.",
        "timed_out": "Whether its time limit ended it.",
        "began": "When it started, in seconds since 1970.",
        "ended": "When it ended, or null.",
        "limit_s": "The longest time that it runs.",
        "asked": "The signal that a call sent: terminate, kill or null.",
        "problem": "Why it was not started, or why its end is not known; usually empty.",
        "shell": "The shell that runs it: bash or sh.",
        "confinement": "bwrap, landlock or none.",
        "network": "Whether it can use the network.",
        "age_s": "How long it has run.",
        "waited": "How the wait ended: matched, ended or time; empty without one.",
        "matched": "{line, text, stream} of the line that ended the wait, or null.",
        "outputs": "As those of run_command; none in the reply that reports its start.",
        "changes": "As those of run_command, once it has ended; null before.",
        **COMMON,
    },
    "check_command without id": {
        "commands": "Running ones first, then the latest first: facts as above, from id to network.",
        "total": "How many there are.",
        **COMMON,
    },
    "error": {
        "error": "{code, message, facts, next}: what happened and what to do; `next` is a call or null.",
        **{name: COMMON[name] for name in ("tokens", "counter", "budget")},
    },
    "list_changes": {
        "changes": "The changes, newest first: [{change, time, agent, session, token, face, contract, tool, "
        "call, traceparent, others, undoes, undone_by, interrupted, anew, count, hidden, files}]. "
        "change is the number; others: another token made it, and this one may not know whose; "
        "anew: another folder was at this place then; count is of all names, hidden of those denied now. "
        "files are the first of its names, [{path, to, action, added, removed, undone_by, before, after}]; "
        "before and after are {kind, content_hash, kept, size_bytes, mode, modified, target}.",
        "cursor": "That of the next page, or null.",
        **COMMON,
    },
    "show_change": {
        "change": "The number, and all other facts of a change in a list.",
        "files": "As in a list, each with {diff, left_out, note}: the lines, the hunks that are not shown, "
        "and why there is no diff.",
        **COMMON,
    },
    "undo_changes": {
        "undone": "[{path, to, action, right, fits, left, diff, left_out}]: what was done, or would be; "
        "right is the kind of change: edit, create, delete, move or folder.",
        "changes": "The numbers of the changes that were taken back.",
        "change": "The number of the undo itself, the last of several, or null.",
        "earlier_changes": "The other numbers of the undo itself, newest first, if a folder was moved.",
        "conflicts": "Names that were changed since: [{path, reason, fits, left, ours, theirs}]; fits and "
        "left count the places that could be taken back, and those that could not.",
        "dry_run": "Whether nothing was changed.",
        **COMMON,
    },
    "forget_changes": {
        "changes": "Changes of which no name is left.",
        "names": "Names whose past went.",
        "size_bytes": "Bytes of contents that went.",
        **COMMON,
    },
}
"""Meaning of every fact by tool, for the reference."""
