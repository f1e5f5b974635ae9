"""The options of the methods of a workspace, as types.

Written by `python -m scripts.docs` from the arguments of the tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Required, TypedDict


class OneEdit(TypedDict, total=False):
    """One replacement of `edit` and `edit_files`."""

    new_text: Required[str]
    """The text that takes its place."""

    old_text: str | None
    """As in the file, without line numbers; must be unique (by default '')."""

    replace_all: bool | None
    """Replace every place."""

    lines: str | None
    """Or 5-9."""

    symbol: str | None
    """Or a definition."""

    insert: Literal["before", "after", "end"] | None
    """Next to it; end: append."""

    path: str | None
    """Relative to the root, or absolute inside it."""

    expected_hash: str | None
    """Its hash; absent: new."""

    cell: str | None
    """Notebooks: 3; "after 3 markdown" inserts; "delete 3"; "move 3 after 5"; ... "keep outputs"."""


class OneChange(TypedDict, total=False):
    """One change of `change`."""

    action: Required[Literal["delete", "move", "copy", "mkdir"]]
    """delete, move, copy or mkdir."""

    path: Required[str]
    """Relative to the root, or absolute inside it."""

    to: str | None
    """The whole new name, to move and copy."""

    expected_hash: str | None
    """Hash of the file, from a reply."""

    entries: int | None
    """Names in a folder, at any depth."""


class ReadKeywords(TypedDict, total=False):
    """Options of `read`."""

    offset: int | None
    """First line, from 1; negative counts from the end."""

    limit: int | None
    """Maximum lines; negative: those ending at `offset`."""

    column: int | None
    """Start at this character of line `offset` (by default 1)."""

    pages: str | None
    """In documents: 3-5,9; "Sheet2!A1:F200"; cell 7; contents; users!id,name; schema."""

    symbol: str | None
    """One definition, like Class.method."""

    view: Literal["text", "outline", "full_outline", "formulas", "image", "not_shown"] | None
    """outline: list definitions; formulas: show those of a workbook (by default 'text')."""

    known_hash: str | None
    """Earlier hash: an unchanged file is not sent again."""

    encoding: str | None
    """Encoding of the text, if it is not detected correctly."""


class GrepKeywords(TypedDict, total=False):
    """Options of `grep`."""

    path: str | None
    """Relative to the root, or absolute inside it (by default '.')."""

    glob: str | Sequence[str] | None
    """Like *.py, src/** or !test_*."""

    type: str | None
    """As in rg: py, js."""

    output: Literal["content", "files", "count", "references"] | None
    """How matches are shown (by default 'content')."""

    context: int | None
    """Lines around matches."""

    before: int | None
    """Lines before."""

    after: int | None
    """Lines after."""

    ignore_case: bool | None
    """Ignore upper and lower case."""

    multiline: bool | None
    """Let the pattern match across lines."""

    fixed: bool | None
    """Literal text."""

    include: Sequence[Literal["hidden", "ignored", "binary", "compressed", "archives"]] | None
    """Also search these files."""

    documents: bool | None
    """Also PDF, Office, notebooks, mail."""

    sort: Literal["path", "relevance", "mtime"] | None
    """Order of files."""

    symbols: bool | None
    """Name the definition around each match."""

    kinds: Sequence[Literal["definition", "call", "import", "use", "text", "comment"]] | None
    """Only these references."""

    limit: int | None
    """Maximum matches."""

    cursor: str | None
    """From a reply."""

    timeout_s: float | None
    """Time limit in seconds."""


class FindKeywords(TypedDict, total=False):
    """Options of `find`."""

    path: str | None
    """Relative to the root, or absolute inside it (by default '.')."""

    glob: str | None
    """Only files that match, like *.py or !tests/**."""

    type: str | None
    """Only files of a language, like py."""

    output: Literal["passages", "outline", "files"] | None
    """How matches are shown (by default 'passages')."""

    budget_tokens: int | None
    """Maximum tokens of the reply (by default 2000)."""

    include: Sequence[Literal["hidden", "ignored", "archives", "compressed"]] | None
    """Include these files as well."""

    documents: bool | None
    """Search PDF, Office, notebooks and mail as well."""

    explain: bool | None
    """Explain why each passage was chosen."""

    cursor: str | None
    """Continue where an earlier reply ended."""


class ListKeywords(TypedDict, total=False):
    """Options of `list`."""

    glob: str | Sequence[str] | None
    """Only files that match, like *.py or !tests/**."""

    depth: int | None
    """Levels of folders to list (by default 1)."""

    include: Sequence[Literal["ignored"]] | None
    """Also show these."""

    sort: Literal["name", "mtime", "size"] | None
    """mtime: newest first (by default 'name')."""

    limit: int | None
    """Maximum entries."""

    cursor: str | None
    """From a reply."""


class EditKeywords(TypedDict, total=False):
    """Options of `edit`."""

    dry_run: bool | None
    """Only show the diff."""

    encoding: str | None
    """Encoding of the text, if it is not detected correctly."""


class EditFilesKeywords(TypedDict, total=False):
    """Options of `edit_files`."""

    dry_run: bool | None
    """Only show the diff."""

    encoding: str | None
    """Encoding of the text, if it is not detected correctly."""


class WriteKeywords(TypedDict, total=False):
    """Options of `write`."""

    encoding: str | None
    """Encoding of the text, if it is not detected correctly."""


class ChangeKeywords(TypedDict, total=False):
    """Options of `change`."""

    dry_run: bool | None
    """Only show what would be changed."""


class PatchKeywords(TypedDict, total=False):
    """Options of `patch`."""

    dry_run: bool | None
    """Only show what would be changed."""


class GitKeywords(TypedDict, total=False):
    """Options of `git`."""

    revision: str | None
    """HEAD~2 or A..B; default for changes: HEAD to now."""

    lines: str | None
    """10-20, for log, blame."""

    by: Literal["lines", "definition", "file"] | None
    """Show changes by lines, definition or file (by default 'lines')."""

    limit: int | None
    """Maximum of entries."""

    cursor: str | None
    """Continue where an earlier reply ended."""


class RunKeywords(TypedDict, total=False):
    """Options of `run`."""

    output: Literal["silent", "concise", "normal", "verbose", "full"] | None
    """How much to show (by default 'concise')."""

    timeout_s: float | None
    """Seconds, 120 by default."""

    cwd: str | None
    """Folder to start in (by default '.')."""

    background: bool | None
    """Do not wait; then use check_command."""


class CheckKeywords(TypedDict, total=False):
    """Options of `check`."""

    wait_s: float | None
    """Seconds to wait for its end or a line."""

    until: str | None
    """Regex of a line to wait for."""

    signal: Literal["terminate", "kill"] | None
    """End it."""

    output: Literal["silent", "concise", "normal", "verbose", "full"] | None
    """How matches are shown (by default 'concise')."""


class HistoryKeywords(TypedDict, total=False):
    """Options of `history`."""

    session: str | None
    """A conversation, as the list names it."""

    agent: str | None
    """Only changes of this agent."""

    since: str | None
    """30m, 2h or 7d (ago), today, yesterday, or 2026-01-31T12:00 (UTC)."""

    change: int | None
    """Number of a change, from the list."""

    limit: int | None
    """Maximum changes (by default 20)."""

    cursor: int | None
    """From an earlier reply."""


class UndoKeywords(TypedDict, total=False):
    """Options of `undo`."""

    session: str | None
    """A conversation, as the list names it."""

    since: str | None
    """30m, 2h or 7d (ago), today, yesterday, or 2026-01-31T12:00 (UTC)."""

    path: str | None
    """Alone: the last change of a file; else only what is there."""

    up_to: int | None
    """No change after this one."""

    parts: bool | None
    """Take what still fits of files that were changed since."""

    dry_run: bool | None
    """Only say what would be done."""


class ForgetKeywords(TypedDict, total=False):
    """Options of `forget`."""

    all: bool | None
    """The past of the whole workspace."""
