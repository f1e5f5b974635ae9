"""Replies of the editor, in the words of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from readroom.contracts.text_editor.names import EditorNames
from readroom.contracts.text_editor.requests import (
    TO_THE_END,
    EditorArguments,
    to_call,
)
from readroom.core.contracts import json_replies, patch_words
from readroom.core.contracts.absolute import longest
from readroom.core.contracts.history import words as history_words
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.text.select import byte_size
from readroom.core.values import (
    Call,
    Cap,
    EntryKind,
    ListMeasure,
    ListResult,
    Measure,
    ReadMeasure,
    ReadRequest,
    ReadResult,
    Reply,
    Request,
)
from readroom.core.values.changes import Diff, EditFilesResult, EditResult, WriteResult
from readroom.core.values.history import UndoRequest, UndoResult

_FRAME_BYTES = 700
"""The words around paths, and the notice about what is clipped."""

CLIPPED = (
    "<response clipped><NOTE>To save on context only part of this file has been shown to you. You should "
    "retry this tool after you have searched inside the file with `grep -n` in order to find the line "
    "numbers of what you are looking for.</NOTE>"
)
_REVIEW = "Review the changes and make sure they are as expected{}. Edit the file again if necessary."
_INSERTED = " (correct indentation, no duplicate lines, etc)"


def measure(names: EditorNames) -> Measure:
    """The size of what the replies add."""
    root = longest(names.root)

    def frame(path: str) -> int:
        return _FRAME_BYTES + 2 * (root + byte_size(path))

    return Measure(
        frame=frame,
        read=ReadMeasure(
            # A tab takes up to eight columns; the lines are clipped by characters before.
            numbered=lambda number: max(6, len(str(number))) + len("\t\n"),
            outlined=lambda row: _FRAME_BYTES,
            mark_bytes=0,
        ),
        list=ListMeasure(lambda entry: root + byte_size(entry.path) + len("/\n")),
    )


class Views(Struct, frozen=True):
    """The wording of results, with so many characters of a view."""

    names: EditorNames
    characters: int

    def call(self, request: Request) -> Call | None:
        """The call for a request; None if there is none."""
        return to_call(self.names, request)

    def render(
        self,
        arguments: EditorArguments,
        result: ReadResult | ListResult | WriteResult | EditResult | EditFilesResult | UndoResult,
        cap: Cap,
    ) -> Reply:
        """The reply for a result."""
        match result:
            case ListResult():
                return self._folder(arguments, result, cap)
            case ReadResult():
                return self._view(arguments, result, cap)
            case WriteResult():
                text = f"File created successfully at: {self.names.given(arguments.path)}"
                return native_render.reply(text, partial(native_facts.of_write, result))
            case EditFilesResult():
                text = self._edited(
                    arguments, result.files[0].diff, "a snippet of the edited file", _INSERTED
                )
                return native_render.reply(text, partial(patch_words.facts_of, result))
            case UndoResult():
                return self._undone(arguments, result, cap)
        path = self.names.given(arguments.path)
        text = self._edited(arguments, result.diff, f"a snippet of {path}", "")
        if result.matched:
            text += f"\nold_str did not appear verbatim and was matched with {result.matched}."
        return native_render.reply(text, partial(native_facts.of_edit, result))

    def fit(self, request: ReadRequest, result: ReadResult, cap: Cap) -> ReadResult:
        """As many of the lines as one view may show."""
        if not result.lines:
            return result
        room = max(1, cap.size - cap.measure.frame(result.path))
        result = json_replies.fitted(result, replace(cap, size=room), _shown_bytes)
        return json_replies.fitted(result, replace(cap, size=self.characters), _characters)

    # --- views --------------------------------------------------------------------------------

    def _view(self, arguments: EditorArguments, result: ReadResult, cap: Cap) -> Reply:
        facts = partial(native_facts.of_read, result, self.call)
        path = self.names.given(arguments.path)
        if result.image is not None:
            return native_render.reply(f"Image file {path} read successfully.", facts, (result.image,))
        lines = result.lines or [""]  # of an empty file, as in the reference
        clipped = any(item.reason == "reply_cap" for item in result.omitted)
        text = self._output(lines, path, result.start or 1) + (f"{CLIPPED}\n" if clipped else "")
        last, total = (arguments.view_range or [1, TO_THE_END])[1], result.total_lines
        if total is not None and last > total:
            note = f"We only show up to {total} since there're only {total} lines in this file."
            text = f"NOTE: {note}\n{text}"
        return native_render.reply(_short(text, cap), facts)

    def _output(self, lines: Sequence[str], what: str, first: int) -> str:
        rows = "".join(f"{_row(number, line)}\n" for number, line in enumerate(lines, first))
        return f"Here's the result of running `cat -n` on {what}:\n{rows}"

    def _folder(self, arguments: EditorArguments, result: ListResult, cap: Cap) -> Reply:
        path, folder = self.names.given(arguments.path), result.request.path
        rows = [path]
        for entry in result.entries:
            name = self.names.shown(entry.path if folder == "." else f"{folder}/{entry.path}")
            rows.append(f"{name}/" if entry.kind is EntryKind.FOLDER else name)
        if result.next is not None or not result.total_known:
            rows.append(f"({len(result.entries)} of {result.total} are shown.)")
        head = f"Here's the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        text = "\n".join([head, *rows, ""])
        return native_render.reply(_short(text, cap), partial(native_facts.of_list, result, self.call))

    # --- changes ------------------------------------------------------------------------------

    def _edited(self, arguments: EditorArguments, diff: Diff, what: str, review: str) -> str:
        path = self.names.given(arguments.path)
        return f"The file {path} has been edited. {self._snippet(diff, what)}{_REVIEW.format(review)}"

    def _undone(self, arguments: EditorArguments, result: UndoResult, cap: Cap) -> Reply:
        path = self.names.given(arguments.path)
        diff = next((done.diff for done in result.undone if done.diff is not None), Diff())
        text = f"Last edit to {path} undone successfully. {self._snippet(diff, path)}"
        facts = partial(history_words.facts_of_undo, _UNDO, result, self.call)
        return native_render.reply(_short(text, cap), facts)

    def _snippet(self, diff: Diff, what: str) -> str:
        """The changed parts of a file."""
        blocks = [self._output(lines, what, first) for first, lines in _snippets(diff)]
        return "".join(blocks) if blocks else self._output([], what, 1)


_UNDO = UndoRequest()
"""No command of this contract takes an undo back."""


def _short(text: str, cap: Cap) -> str:
    return json_replies.short(text, cap.size)


def _characters(result: ReadResult) -> int:
    """Those of the lines and of the line feeds between them."""
    return sum(map(len, result.lines)) + max(0, len(result.lines) - 1)


def _shown_bytes(result: ReadResult) -> int:
    """Bytes of the lines as they are shown."""
    return sum(byte_size(_row(number, line)) + 1 for number, line in enumerate(result.lines, result.start))


def _row(number: int, line: str) -> str:
    return f"{number:6}\t{line.expandtabs()}"


def _snippets(diff: Diff) -> Iterator[tuple[int, list[str]]]:
    """The changed parts of the new text with lines around them: the first line and the lines."""
    for hunk in diff.hunks:
        lines = [line[1:] for line in hunk.lines if line[:1] in (" ", "+")]
        yield max(1, hunk.new_start), lines
