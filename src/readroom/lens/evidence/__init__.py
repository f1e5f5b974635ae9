"""The lines of files that reached the model in one result, and the lines that were cut from it.

Knows: how clients name their tools, wrap texts and mark cuts, and what commands print.
Does not know: sessions. Lines whose numbers cannot be worked out are left out, never guessed.
May be touched: the names in `tools` and the marks in `wrapping`, each with a record that shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from readroom.core.tool_kinds import Kind
from readroom.lens.evidence import numbering, ours, shell, tools, wrapping
from readroom.lens.evidence.known import Known
from readroom.lens.evidence.numbering import WIDE_CHARS, Run, Stated
from readroom.lens.evidence.shares import shares
from readroom.lens.evidence.shell import Piece, Printed
from readroom.lens.evidence.wrapping import Unwrapped, Who
from readroom.lens.limits import FILES_OF_CALL
from readroom.lens.records.events import Arguments, Called, Returned

__all__ = ["Evidence", "Known", "Run", "evidence"]


class Evidence(msgspec.Struct, frozen=True):
    """The lines that one result showed.

    `runs` are lines seen whole; `wide` are lines seen in part, or too long for a line: (file, line,
    characters seen). `text` is the tool's text without the client's wrapping. `more_files` are the other
    files of a call that is about several, such as a patch.
    """

    kind: Kind
    file: str
    runs: tuple[Run, ...]
    wide: tuple[tuple[str, int, int], ...]
    error: bool
    cut_by: Who | None
    kept_at: str
    exit_code: int | None
    text: str
    total: int | None = None
    more_files: tuple[str, ...] = ()
    printed: Printed = Printed()

    @property
    def sole_file(self) -> str:
        """The file that the whole text is from, if that is certain."""
        if self.more_files:
            return ""
        if self.kind != "command":
            return self.file
        return self.file if self.printed.file else ""


def evidence(call: Called, result: Returned, known: Known) -> Evidence:
    """The parts of files that a result showed."""
    tool, arguments, text, error = call.tool, call.arguments, result.text, result.error
    kind = tools.kind_of(tool, arguments)
    unwrapped = wrapping.unwrap(text)
    own = ours.is_reply(unwrapped.body[0])
    leaves_out = ours.is_cut("\n".join(unwrapped.body)) if own else None
    if own and kind == "command" and (ran := ours.ran(unwrapped.body[0])) is not None:
        unwrapped = replace(
            unwrapped,
            body=(ran.output or "",),
            cut=unwrapped.cut or ran.output is None,
            exit_code=ran.exit_code,
        )
    if kind == "command" and unwrapped.body[0].strip() in wrapping.NO_OUTPUT:
        unwrapped = replace(unwrapped, body=("",))
    if result.exit_code is not None:
        unwrapped = replace(unwrapped, exit_code=result.exit_code)
    body = "\n".join(unwrapped.body)
    failed = error if error is not None else wrapping.says_error(body, unwrapped.exit_code)
    printed = _printed(call, known) if kind == "command" else Printed()
    if printed.alone and _COMPLAINS.match(unwrapped.body[0]):
        printed = replace(printed, alone=False)  # a `cd` before it may have failed
    names = (tools.name_of_file(path, known.root) for path in _paths(kind, arguments, body, printed.pieces))
    file, *more = dict.fromkeys(filter(None, names)) or [""]
    if own and kind in ("read", "search"):
        runs, wide = _parted(_joined(_in_reply(unwrapped, file, known.root)))
        file = runs[0].file if kind == "read" and runs else file
    elif (
        kind in ("read", "search")
        and (within := ours.in_object(body, max(1, tools.requested_range(arguments)[0] or 1))) is not None
    ):
        named = (tools.name_of_file(run.file, known.root) or file for run in within.runs)
        inner = [replace(run, file=name) for run, name in zip(within.runs, named, strict=True)]
        runs, wide = _parted(_joined(inner))
        leaves_out = within.cut
    else:
        runs, wide = _lines(kind, arguments, unwrapped, text, file, known, failed, printed)
    total = _total(kind, result, unwrapped, printed)
    if kind in ("edit", "write"):
        known.doubt([file, *more])
    elif kind == "command" and printed.changes:
        known.doubt(None)
    _learn(known, file, total, runs)
    return Evidence(
        kind, file, tuple(runs), tuple(wide), failed,
        _cut_by(kind, call, unwrapped, result, runs, wide, known.total(file), leaves_out),
        result.kept_at or unwrapped.kept_at, unwrapped.exit_code, body, total, tuple(more), printed,
    )  # fmt: skip


def _in_reply(unwrapped: Unwrapped, file: str, root: str) -> list[Run]:
    """The lines in a reply of our own tools; a client may have cut its middle."""
    head = unwrapped.body[0].partition("\n")[0]
    runs: list[Run] = []
    for index, piece in enumerate(unwrapped.body):
        shown = ours.lines(piece if not index else f"{head}\n{piece.partition(chr(10))[2]}", file)
        if shown and (index < len(unwrapped.body) - 1 or unwrapped.half_end):
            shown[-1] = replace(shown[-1], partial=True)
        runs += shown
    return [replace(run, file=tools.name_of_file(run.file, root)) for run in runs]


_HEADER = re.compile(r"\[File: (\S{1,1000}) \((\d+) lines total\)\]")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.{1,1000})$", re.MULTILINE)


def _patched(text: str) -> list[str]:
    """The files that a patch names, in its order."""
    return [match[1] for match in islice(_PATCHED.finditer(text), FILES_OF_CALL)]


def _patch_of(arguments: Arguments) -> str:
    texts = (arguments.get(name) for name in ("input", "text", "patch", "patchText", "patch_text"))
    return next((text for text in texts if isinstance(text, str)), "")


def _printed(call: Called, known: Known) -> Printed:
    """The output of the command line of a call, which may change the folder of the shell of later calls."""
    command = tools.command_of(call.arguments)
    if not command:
        return Printed()
    afresh = tools.begins_afresh(call.tool)
    began = tools.worked_in(call.arguments) or (None if known.moved and not afresh else "")
    line = shell.printed(command, began)
    if not afresh:
        ended = "" if line.folder is None else tools.name_of_file(line.folder or ".", known.root)
        known.moved = line.folder is None or ended not in (".", "")
    return line


def _paths(kind: Kind, arguments: Arguments, body: str, pieces: Sequence[Piece]) -> list[str]:
    """The file, or for a search the folder, that a call is about; the first where these are several."""
    header = _HEADER.search(body, 0, 20_000)
    if kind in ("read", "edit", "write"):
        # When several files were read at once, it is unknown which lines belong to which.
        named = [tools.path_of(arguments)] if kind == "read" else tools.paths_of(arguments)
        return list(filter(None, named)) or ([header[1]] if header else _patched(_patch_of(arguments)))
    if kind in ("search", "list"):
        return [tools.folder_of(arguments)]
    command = tools.command_of(arguments)
    if kind != "command" or not command:
        return []
    files = [piece.file for piece in pieces if piece.file][-FILES_OF_CALL:]
    # The last command is the one that matters; those before may only lead to it.
    return _patched(command) or files[-1:] + files[:-1] or [tools.script(command)]


def _total(kind: Kind, result: Returned, unwrapped: Unwrapped, printed: Printed) -> int | None:
    if kind == "read":
        return numbering.total_lines(result.text)
    whole = printed.file and printed.pieces[0].first == 1 and printed.pieces[0].count is None
    return unwrapped.lines if whole else None


def _learn(known: Known, file: str, total: int | None, runs: list[Run]) -> None:
    if total is not None and file:
        known.put_total(file, total)
    for run in runs:
        known.learn(run)
        if run.last > (known.total(run.file) or run.last):
            known.put_total(run.file, run.last)


def _lines(
    kind: Kind,
    arguments: Arguments,
    unwrapped: Unwrapped,
    text: str,
    file: str,
    known: Known,
    failed: bool,
    printed: Printed,
) -> tuple[list[Run], list[tuple[str, int, int]]]:
    runs: list[Run] = []
    if kind == "read" and not failed and not wrapping.shows_nothing(text):
        runs = _read(arguments, unwrapped, file)
    elif kind == "search" and not failed:
        folder = tools.folder_of(arguments)
        runs = list(_matches(unwrapped, folder))
    elif kind in ("edit", "write"):
        runs = _edited(unwrapped, file, known)
    elif kind == "command":
        runs = _command(printed, unwrapped, known)
    named = [replace(run, file=tools.name_of_file(run.file, known.root)) for run in runs]
    return _parted(_joined(named))


def _whole_rows(unwrapped: Unwrapped) -> Iterator[tuple[str, str]]:
    """The complete rows of each piece, and the half one at its end; empty if there is none."""
    for index, piece in enumerate(unwrapped.body):
        rows = piece.partition("\n")[2] if index else piece
        if index < len(unwrapped.body) - 1 or unwrapped.half_end:
            rows, _, half = rows.rpartition("\n")
            yield rows, half
        else:
            yield rows, ""


def _matches(unwrapped: Unwrapped, folder: str, single: str = "") -> Iterator[Run]:
    for rows, half in _whole_rows(unwrapped):
        yield from numbering.matches(rows, folder, single)
        for run in numbering.matches(half, folder, single):
            yield replace(run, partial=True)


def _numbered(unwrapped: Unwrapped, file: str) -> list[Run]:
    runs: list[Run] = []
    for rows, half in _whole_rows(unwrapped):
        runs += numbering.numbered(rows, file)
        following = numbering.numbered(half, file) if runs else []
        runs += [replace(run, partial=True) for run in following if run.first == runs[-1].last + 1]
    return runs


def _read(arguments: Arguments, unwrapped: Unwrapped, file: str) -> list[Run]:
    stated = numbering.stated(unwrapped.body[0])
    if stated is not None:
        run = numbering.plain(stated.body, file, stated.first)
        return [_ended(run, stated)] if run else []
    counted = _numbered(unwrapped, file)
    first, limit = tools.requested_range(arguments)
    if counted:
        return _without_end(counted, limit, unwrapped)
    text = _without_title(unwrapped.body[0], tools.path_of(arguments))
    if text.startswith(("<path>", "[image", "Binary content")) or "[image " in text[:400]:
        return []
    if "\0" in text or (len(text) < 400 and text.startswith(_NO_LINES)):
        return []
    run = numbering.plain(text, file, max(1, first or 1))
    return [run] if run else []


def _without_title(text: str, path: str) -> str:
    """The text of a file without the line that Continue writes before it."""
    title, _, rest = text.partition("\n")
    titled = path and title.startswith("Content of ") and title.endswith(path + ":")
    return rest if titled else text


def _ended(run: Run, stated: Stated) -> Run:
    """A run that ends where the text says: a blank line more or less is the client's."""
    if run.last > stated.last:
        return replace(run, lines=run.lines[: max(0, stated.last - run.first + 1)])
    if run.last == stated.last - 1 < stated.total - 1 and stated.body.endswith("\n"):
        return replace(run, lines=(*run.lines, ""))
    return run


def _without_end(runs: list[Run], limit: int | None, unwrapped: Unwrapped) -> list[Run]:
    # A numbered empty line at the end follows the final newline; a line before a cut may be half a
    # line.
    last = runs[-1]
    stated = _RANGE.search(unwrapped.body[0], 0, 2000)
    if stated and int(stated[1]) == last.last:
        return runs
    if unwrapped.exact:
        return runs
    count = sum(len(run.lines) for run in runs)
    cut = unwrapped.cut and len(unwrapped.body) == 1
    if len(last.lines) > 1 and ((last.lines[-1] == "" and count != limit) or cut):
        runs[-1] = replace(last, lines=last.lines[:-1], partial=False)
    return runs


_RANGE = re.compile(r"^[^\n|]{1,1000} \| lines \d+-(\d+) of \d+", re.MULTILINE)
"""The range that our own header states."""

_NO_LINES = ("[Unsupported", "Image read", "Cannot ", "Read image file [", "Viewed image file ")
"""Beginnings of short texts in place of a picture, or of a file that cannot be shown."""

_UPDATED = re.compile(r"Here is the updated code:\n")
_BEFORE = "\nThis is the original code before your "
"""SWE-agent shows how a file would have looked after a broken edit or insertion, and after this how it is."""


def _edited(unwrapped: Unwrapped, file: str, known: Known) -> list[Run]:
    body = "\n".join(unwrapped.body)
    body = body.partition(_BEFORE)[2] or body
    if "\n@@ -" in body or body.startswith("@@ -"):
        return list(numbering.diff(body, file))
    stated = numbering.stated(body)
    if stated is not None:
        run = numbering.plain(stated.body, file, stated.first)
        return [_ended(run, stated)] if run else []
    updated = _UPDATED.search(body, 0, 4000)
    if updated:
        text = re.sub(r"\n?(?:\.\.\. )?Applied [^\n]*\Z", "", body[updated.end() :])
        rows = text.removesuffix("\n...").split("\n")
        first = known.locate(file, rows)
        return [Run(file, first, tuple(rows))] if first is not None else []
    return [
        run for run in numbering.numbered(body, file) if len(run.lines) > 1 or _HEADER.search(body, 0, 4000)
    ]


def _command(printed: Printed, unwrapped: Unwrapped, known: Known) -> list[Run]:
    if not printed.pieces:
        return []
    if printed.alone:
        return _of_one(printed.pieces[0], unwrapped, known)
    # The message of a failed command may be anywhere between the lines of the others.
    cut = len(unwrapped.body) > 1 or unwrapped.head_cut or unwrapped.cut or unwrapped.half_end
    if cut or unwrapped.exit_code or _COMPLAINS.search(unwrapped.body[0]):
        return []
    text = unwrapped.body[0].removesuffix("\n")
    return _of_several(printed.pieces, text.split("\n") if unwrapped.body[0] else [], known)


_COMPLAINS = re.compile(
    r"^(?:\S{0,200}/)?(?:bash|sh|zsh|dash|sed|head|tail|cat|nl|less|more|grep|rg|cd|mkdir|touch|export|ls|git|test"
    r"|\[|bat|awk|find|wc)(?:\[\d+\])?: "
    r"|^.{0,300}: (?:No such file or directory|Permission denied|Is a directory|Not a directory"
    r"|(?:command )?not found|File name too long|Input/output error|binary file matches)$",
    re.MULTILINE,
)


_BLANKS = re.compile(r"^( {0,5}\d{1,6})  ", re.MULTILINE)


def _of_one(piece: Piece, unwrapped: Unwrapped, known: Known) -> list[Run]:
    if piece.search:
        return list(_matches(unwrapped, "", piece.file)) if piece.numbered else []
    if not piece.file or (unwrapped.exit_code or 0) != 0:
        return []
    if piece.numbered:
        # Qwen writes blanks for tabs.
        body = tuple(_BLANKS.sub(r"\1\t", part) for part in unwrapped.body)
        return _numbered(replace(unwrapped, body=body), piece.file)
    last = unwrapped.body[-1].removesuffix("\n").split("\n")
    first = _first(piece, last, known)
    if first is None or unwrapped.head_cut:
        return []
    runs = []
    head = numbering.plain(unwrapped.body[0], piece.file, first)
    if head:
        # The text before the mark of a cut is half a line.
        cut = len(unwrapped.body) > 1 or unwrapped.cut
        runs.append(replace(head, partial=cut and len(unwrapped.body) > 1))
    if len(unwrapped.body) > 1 and unwrapped.lines is not None:
        rows = unwrapped.body[-1].removesuffix("\n").split("\n")
        start = first + unwrapped.lines - len(rows)
        if unwrapped.lines == 1 and len(rows) == 1 and runs:
            runs = [Run(piece.file, first, (runs[0].lines[0] + rows[0],), partial=True)]
        elif len(rows) > 1:
            runs.append(Run(piece.file, start + 1, tuple(rows[1:])))
    return runs


def _first(piece: Piece, rows: Sequence[str], known: Known) -> int | None:
    if not piece.from_end:
        return piece.first
    file = tools.name_of_file(piece.file, known.root)
    total = known.total(file)
    if total is None or (hash(file) in known.stale and not known.shown_at(file, total, rows[-1:])):
        return None
    return max(1, total - (piece.count or 0) + 1)


def _of_several(pieces: Sequence[Piece], rows: list[str], known: Known) -> list[Run]:
    """The lines of several commands in one output, as far as it can be divided in one way only."""
    runs: list[Run] = []
    for piece, (begin, end, start) in zip(pieces, shares(pieces, rows), strict=True):
        if begin >= end or piece.says is not None:
            continue
        text = "\n".join(rows[begin:end])
        if piece.search:
            runs += numbering.matches(text, "", piece.file)
        elif piece.file and piece.numbered:
            runs += numbering.numbered(_BLANKS.sub(r"\1\t", text), piece.file)
        elif (
            piece.file and start is not None and (first := _first(piece, rows[begin:end], known)) is not None
        ):
            runs.append(Run(piece.file, first + begin - start, tuple(rows[begin:end])))
    return runs


def _joined(runs: list[Run]) -> list[Run]:
    """Consecutive runs of a file as one run, such as matches in neighbouring lines."""
    joined: list[Run] = []
    for run in runs:
        before = joined[-1] if joined else None
        if before and before.file == run.file and before.last + 1 == run.first and not before.partial:
            joined[-1] = Run(run.file, before.first, before.lines + run.lines, run.partial)
        else:
            joined.append(run)
    return joined


_MORE = "..."


def _parted(runs: list[Run]) -> tuple[list[Run], list[tuple[str, int, int]]]:
    """Lines seen whole, and those seen in part or too wide to count as a line."""
    whole: list[Run] = []
    wide: list[tuple[str, int, int]] = []
    for run in runs:
        first = run.first
        whole_lines: list[str] = []
        for number, row in enumerate(run.lines, run.first):
            line = row.removesuffix("\r")  # part of the line end
            if len(line) == WIDE_CHARS + len(_MORE) and line.endswith(_MORE):
                line = line[:WIDE_CHARS]  # cut by a client without a better mark
            if len(line) < WIDE_CHARS and not (run.partial and number == run.last):
                whole_lines.append(line)
                continue
            wide.append((run.file, number, len(line)))
            if whole_lines:
                whole.append(Run(run.file, first, tuple(whole_lines)))
            first, whole_lines = number + 1, []
        if whole_lines:
            whole.append(Run(run.file, first, tuple(whole_lines)))
    return whole, [part for part in wide if part[2]]


def _cut_by(
    kind: Kind,
    call: Called,
    unwrapped: Unwrapped,
    result: Returned,
    runs: list[Run],
    wide: list[tuple[str, int, int]],
    total: int | None,
    leaves_out: bool | None,
) -> Who | None:
    text = result.text
    if unwrapped.by_client:
        return "client"
    if result.error is not True and leaves_out is not None:
        return "server" if leaves_out else None
    if any(mark in text[-300:] for mark in _CLIENT_ENDS) or any(
        mark in text[:4000] for mark in _CLIENT_HEADS
    ):
        return "client"
    # A tool that does not mark its cuts leaves lines of exactly its limit.
    if unwrapped.cut or any(chars % 1000 == 0 for _, _, chars in wide):
        return "tool"
    if "[Truncated: PARTIAL view" in text[-2000:]:
        return "client"
    if kind == "read" and runs and not result.error:
        return _cut_of_read(call.arguments, runs, total)
    return None


_CLIENT_ENDS = ("(Results truncated.", "(Output capped at", "... [truncated]")
_CLIENT_HEADS = ("(line truncated to ", "more matches available)", "(results limited to ")


def _cut_of_read(arguments: Arguments, runs: list[Run], total: int | None) -> Who | None:
    first, limit = tools.requested_range(arguments)
    last = max(run.last for run in runs)
    begins = min(run.first for run in runs)
    if limit is None and total is not None and last < total - 1:
        return "client"
    limited = first is not None or limit is not None
    return "arguments" if limited and (begins > 1 or total is None or last < total - 1) else None
