"""The methods of a workspace with an event loop that make one call each.

Written by `python -m scripts.docs` from the arguments of the tools.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Unpack

from readroom.core.contracts.history import CONTRACT as HISTORY
from readroom.core.methods import sent as _sent

if TYPE_CHECKING:
    from readroom.core.methods.keywords import (
        ChangeKeywords,
        CheckKeywords,
        EditFilesKeywords,
        EditKeywords,
        FindKeywords,
        ForgetKeywords,
        GitKeywords,
        GrepKeywords,
        HistoryKeywords,
        ListKeywords,
        OneChange,
        OneEdit,
        PatchKeywords,
        ReadKeywords,
        RunKeywords,
        UndoKeywords,
        WriteKeywords,
    )
    from readroom.core.values import Fact, Reply


class AsyncToolMethods(ABC):
    """A method for each tool, to await."""

    @abstractmethod
    async def perform(
        self, tool: str, arguments: Mapping[str, Fact], *, contract_name: str = "native"
    ) -> Reply:
        """The reply to one tool call. Raises ReadroomError."""

    async def read(self, /, path: str, **options: Unpack[ReadKeywords]) -> Reply:
        """Read a window of a file.

        Args:
            path: Relative to the root, or absolute inside it.
            options: Others of the tool `read_file`:
                `offset`: First line, from 1; negative counts from the end.
                `limit`: Maximum lines; negative: those ending at `offset`.
                `column`: Start at this character of line `offset` (by default 1).
                `pages`: In documents: 3-5,9; "Sheet2!A1:F200"; cell 7; contents; users!id,name; schema.
                `symbol`: One definition, like Class.method.
                `view`: outline: list definitions; formulas: show those of a workbook (by default 'text').
                `known_hash`: Earlier hash: an unchanged file is not sent again.
                `encoding`: Encoding of the text, if it is not detected correctly.

        Raises:
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            NotAFile: It is a folder or a device.
            Binary: It is neither text nor an image or a document.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("read_file", _sent(options, path=path))

    async def grep(self, /, pattern: str, **options: Unpack[GrepKeywords]) -> Reply:
        """Search the contents of files.

        Args:
            pattern: Regex, no lookaround or backreferences.
            options: Others of the tool `grep_files`:
                `path`: Relative to the root, or absolute inside it (by default '.').
                `glob`: Like *.py, src/** or !test_*.
                `type`: As in rg: py, js.
                `output`: How matches are shown (by default 'content').
                `context`: Lines around matches.
                `before`: Lines before.
                `after`: Lines after.
                `ignore_case`: Ignore upper and lower case.
                `multiline`: Let the pattern match across lines.
                `fixed`: Literal text.
                `include`: Also search these files.
                `documents`: Also PDF, Office, notebooks, mail.
                `sort`: Order of files.
                `symbols`: Name the definition around each match.
                `kinds`: Only these references.
                `limit`: Maximum matches.
                `cursor`: From a reply.
                `timeout_s`: Time limit in seconds.

        Raises:
            BadPattern: The pattern cannot be used.
            NotFound: There is no such file or folder.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("grep_files", _sent(options, pattern=pattern))

    async def find(self, /, query: str, **options: Unpack[FindKeywords]) -> Reply:
        """Find what best answers a question.

        Args:
            query: A question, an error message or a name.
            options: Others of the tool `find_relevant`:
                `path`: Relative to the root, or absolute inside it (by default '.').
                `glob`: Only files that match, like *.py or !tests/**.
                `type`: Only files of a language, like py.
                `output`: How matches are shown (by default 'passages').
                `budget_tokens`: Maximum tokens of the reply (by default 2000).
                `include`: Include these files as well.
                `documents`: Search PDF, Office, notebooks and mail as well.
                `explain`: Explain why each passage was chosen.
                `cursor`: Continue where an earlier reply ended.

        Raises:
            NotFound: There is no such file or folder.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("find_relevant", _sent(options, query=query))

    async def list(self, /, path: str = ".", **options: Unpack[ListKeywords]) -> Reply:
        """List a folder.

        Args:
            path: Relative to the root, or absolute inside it (by default '.').
            options: Others of the tool `list_directory`:
                `glob`: Only files that match, like *.py or !tests/**.
                `depth`: Levels of folders to list (by default 1).
                `include`: Also show these.
                `sort`: mtime: newest first (by default 'name').
                `limit`: Maximum entries.
                `cursor`: From a reply.

        Raises:
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            NotAFolder: It is a file that cannot be listed.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("list_directory", _sent(options, path=path))

    async def edit(
        self, /, path: str, expected_hash: str, edits: Sequence[OneEdit], **options: Unpack[EditKeywords]
    ) -> Reply:
        """Replace texts in a file: all of them, or none.

        Args:
            path: Relative to the root, or absolute inside it.
            expected_hash: The file's hash, from a reply.
            edits: The replacements.
            options: Others of the tool `edit_file`:
                `dry_run`: Only show the diff.
                `encoding`: Encoding of the text, if it is not detected correctly.

        Raises:
            Stale: The file is no longer the one that the hash is of.
            NoMatch, ManyMatches: A text is nowhere in the file, or in several places.
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform(
            "edit_file", _sent(options, path=path, expected_hash=expected_hash, edits=edits)
        )

    async def edit_files(self, /, edits: Sequence[OneEdit], **options: Unpack[EditFilesKeywords]) -> Reply:
        """Edit several files, all or none: each edit names its `path` and `expected_hash`.

        Args:
            edits: The replacements.
            options: Others of the tool `edit_file`:
                `dry_run`: Only show the diff.
                `encoding`: Encoding of the text, if it is not detected correctly.

        Raises:
            Stale: The file is no longer the one that the hash is of.
            NoMatch, ManyMatches: A text is nowhere in the file, or in several places.
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("edit_file", _sent(options, edits=edits))

    async def write(
        self, /, path: str, content: str, expected_hash: str, **options: Unpack[WriteKeywords]
    ) -> Reply:
        """Create or replace a file.

        Args:
            path: Relative to the root, or absolute inside it.
            content: The whole text.
            expected_hash: "absent" creates; the current hash replaces.
            options: Others of the tool `write_file`:
                `encoding`: Encoding of the text, if it is not detected correctly.

        Raises:
            Stale: The file is no longer the one that the hash is of.
            Exists: There is a file of that name already.
            Denied: A rule of the policy denies it.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform(
            "write_file", _sent(options, path=path, content=content, expected_hash=expected_hash)
        )

    async def change(self, /, changes: Sequence[OneChange], **options: Unpack[ChangeKeywords]) -> Reply:
        """Delete, move, copy and make folders, all or none.

        Args:
            changes: The changes, in their order.
            options: Others of the tool `change_files`:
                `dry_run`: Only show what would be changed.

        Raises:
            Stale: The file is no longer the one that the hash is of.
            WrongEntries: A folder holds another number of names.
            Exists: There is a file of that name already.
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("change_files", _sent(options, changes=changes))

    async def patch(self, /, patch: str, **options: Unpack[PatchKeywords]) -> Reply:
        """Apply a unified diff or a V4A patch, all files or none.

        Args:
            patch: The text of a patch.
            options: Others of the tool `apply_patch`:
                `dry_run`: Only show what would be changed.

        Raises:
            BadPatch, HunkMissing, HunkAmbiguous: The patch cannot be read, or does not fit the files.
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("apply_patch", _sent(options, patch=patch))

    async def git(
        self, /, show: Literal["changes", "log", "blame"], path: str = ".", **options: Unpack[GitKeywords]
    ) -> Reply:
        """Show changes, a log or a blame.

        Args:
            show: changes, log or blame.
            path: Relative to the root, or absolute inside it (by default '.').
            options: Others of the tool `git`:
                `revision`: HEAD~2 or A..B; default for changes: HEAD to now.
                `lines`: 10-20, for log, blame.
                `by`: Show changes by lines, definition or file (by default 'lines').
                `limit`: Maximum of entries.
                `cursor`: Continue where an earlier reply ended.

        Raises:
            NotFound: There is no such file or folder.
            Denied: A rule of the policy denies it.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("git", _sent(options, show=show, path=path))

    async def run(self, /, command: str, **options: Unpack[RunKeywords]) -> Reply:
        """Run a command where policy allows it.

        Args:
            command: A line for bash, or else sh.
            options: Others of the tool `run_command`:
                `output`: How much to show (by default 'concise').
                `timeout_s`: Seconds, 120 by default.
                `cwd`: Folder to start in (by default '.').
                `background`: Do not wait; then use check_command.

        Raises:
            CommandsOff: Policy does not allow commands.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("run_command", _sent(options, command=command))

    async def check(self, /, id: str | None = None, **options: Unpack[CheckKeywords]) -> Reply:
        """Look at a command in the background, wait for it, or end it.

        Args:
            id: Without it, list them.
            options: Others of the tool `check_command`:
                `wait_s`: Seconds to wait for its end or a line.
                `until`: Regex of a line to wait for.
                `signal`: End it.
                `output`: How matches are shown (by default 'concise').

        Raises:
            NoSuchCommand: No command of that id was started.
            CommandsOff: Policy does not allow commands.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("check_command", _sent(options, id=id))

    async def history(self, /, path: str | None = None, **options: Unpack[HistoryKeywords]) -> Reply:
        """List changes, newest first.

        Args:
            path: A file, or a folder with everything below it.
            options: Others of the tool `list_changes`:
                `session`: A conversation, as the list names it.
                `agent`: Only changes of this agent.
                `since`: 30m, 2h or 7d (ago), today, yesterday, or 2026-01-31T12:00 (UTC).
                `change`: Number of a change, from the list.
                `limit`: Maximum changes (by default 20).
                `cursor`: From an earlier reply.

        Raises:
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("list_changes", _sent(options, path=path), contract_name=HISTORY)

    async def diff(self, /, change: int, path: str | None = None) -> Reply:
        """Show what a change did.

        Args:
            change: Number of a change, from the list.
            path: A file, or a folder with everything below it.

        Raises:
            NoSuchChange: There is no change of that number.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("show_change", _sent({}, change=change, path=path), contract_name=HISTORY)

    async def undo(self, /, change: int | None = None, **options: Unpack[UndoKeywords]) -> Reply:
        """Take back changes, unless that loses later ones.

        Args:
            change: Number of a change, from the list.
            options: Others of the tool `undo_changes`:
                `session`: A conversation, as the list names it.
                `since`: 30m, 2h or 7d (ago), today, yesterday, or 2026-01-31T12:00 (UTC).
                `path`: Alone: the last change of a file; else only what is there.
                `up_to`: No change after this one.
                `parts`: Take what still fits of files that were changed since.
                `dry_run`: Only say what would be done.

        Raises:
            NoSuchChange: There is no change of that number.
            NothingToUndo: Nothing that was changed is meant.
            ChangedSince: Files were changed since.
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("undo_changes", _sent(options, change=change), contract_name=HISTORY)

    async def forget(self, /, path: str | None = None, **options: Unpack[ForgetKeywords]) -> Reply:
        """Remove the past of a file, a folder or everything, for good.

        Args:
            path: A file, or a folder with everything below it.
            options: Others of the tool `forget_changes`:
                `all`: The past of the whole workspace.

        Raises:
            UsageError: An argument is unknown, missing, of another type or not allowed.
            ReadroomError: Any other failure; it has `code`, `message`, `advice` and `next`.
        """
        return await self.perform("forget_changes", _sent(options, path=path), contract_name=HISTORY)
