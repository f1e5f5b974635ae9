"""How the native contract words a search: each file, its lines, and what was not searched."""

from __future__ import annotations

from functools import partial

from readroom.contracts.native import facts as native_facts
from readroom.contracts.native import outline as native_outline
from readroom.contracts.native.closing import Aside, closing, ending, in_documents
from readroom.contracts.native.render import body_within, reply, warning_parts
from readroom.quoting import quote
from readroom.text.select import byte_size
from readroom.values import Cap, GrepFile, GrepLine, GrepResult, Reply


def file_bytes(file: GrepFile) -> int:
    """What a file costs before its lines."""
    return len(_file_line(file).encode()) + 1


def line_bytes(line: GrepLine) -> int:
    """What a found line costs, with the definition it stands in."""
    return len(_found_line(line).encode()) + 1 + native_outline.symbol_bytes(line)


def render_grep(result: GrepResult, cap: Cap) -> Reply:
    """The reply for a search that was selected under `cap`."""
    return reply(_grep_text(result, cap), partial(native_facts.of_grep, result))


def _grep_text(result: GrepResult, cap: Cap) -> str:
    rows: list[str] = [_grep_header(result)]
    for file in result.files:
        rows.append(
            _file_line(file) if result.request.output != "count" else f"{file.matches}\t{quote(file.path)}"
        )
        rows.extend(native_outline.with_symbols(file.lines, _found_line))
    asides: list[str | Aside] = [*_coverage(result), *warning_parts(result.warnings)]
    asides += [*_beside(result), *_in_documents(result)]
    if cuts := [item for item in result.omitted if item.what == "columns"]:
        asides.append(Aside("Long lines are shown around their match (…); the rest", cuts[0].request))
    parts = ending(asides, result.next)
    body = body_within("\n".join(rows), cap)
    return f"{body}\n{closing(parts or ['end of matches'], cap.size - byte_size(body) - 1)}"


def _grep_header(result: GrepResult) -> str:
    unit = "match" if result.request.output == "content" else "file"
    count = f"{result.shown} {unit}{'' if result.shown == 1 else 'es' if unit == 'match' else 's'}"
    if unit == "match":
        count += f" in {len(result.files)} file{'' if len(result.files) == 1 else 's'}"
    if result.reason == "unfinished":
        return f"{count} (not all files were searched to their end)"
    if result.complete or not result.reason:
        return count
    return f"{count} (not all: {_WHY.get(result.reason, result.reason)})"


_WHY = {"limit": "limit reached", "reply_cap": "reply full", "timeout": "out of time"}
"""Why a search stopped, for the first line of its reply."""


def _coverage(result: GrepResult) -> list[str]:
    if result.complete or result.reason != "timeout":
        return []
    searched = "part of the tree" if result.searched_files is None else f"{result.searched_files} files"
    total = "" if result.total_files is None else f" of {result.total_files}"
    return [f"Time limit: {searched}{total} searched."]


_BESIDE = {"timeout": "To search just that", "compressed": "To search them too"}
"""What stands before the first call for files that were left, by why they were."""


def _beside(result: GrepResult) -> list[Aside]:
    """How files are searched that were left out, or left before their end."""
    calls: dict[str, Aside] = {}
    for item in result.omitted:
        if item.reason in _BESIDE and item.request is not None:
            calls.setdefault(item.reason, Aside(_BESIDE[item.reason], item.request))
    return list(calls.values())


def _in_documents(result: GrepResult) -> list[Aside]:
    """How a place in a document is read."""
    return in_documents((file.path, line.part, line.number) for file in result.files for line in file.lines)


def _file_line(file: GrepFile) -> str:
    return quote(file.path)


def _found_line(line: GrepLine) -> str:
    before = "…" if line.column > 1 else ""
    after = "…" if line.chars is None or line.column - 1 + len(line.text) < line.chars else ""
    mark = "" if line.is_match else "-"
    where = "" if line.part is None else f"p{line.part}:"
    return f"{where}{line.number}{mark}\t{before}{line.text}{after}"
