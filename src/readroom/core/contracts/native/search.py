"""Native replies for searches: files, their lines, and what was not searched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.core import values
from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import outline as native_outline
from readroom.core.contracts.native.calls import (
    FIND,
    Aside,
    closing,
    ending,
    in_documents,
    spells_tools,
    to_call,
)
from readroom.core.contracts.native.facts import named
from readroom.core.contracts.native.render import body_within, cut_mark, reply, warning_parts
from readroom.core.contracts.native.words import short_hash
from readroom.core.contracts.schema import DIGITS, NEVER_ZERO, into
from readroom.core.limits.find import FIND_BUDGET_TOKENS, FIND_REPEATED_CHARS
from readroom.core.quoting import as_value, quote
from readroom.core.text.select import byte_size
from readroom.core.values.find import FindInclude, FindOutput, FoundFile, Passage, Reason
from readroom.core.values.matches import USE_KINDS, UseCounts, UseKind


def file_bytes(file: values.GrepFile) -> int:
    """The bytes of a file's heading."""
    return len(_file_line(file).encode()) + 1


def line_bytes(line: values.GrepLine) -> int:
    """The bytes of a found line, with the definition around it."""
    worded = _found_line(line) if line.kind is None else _told_line(line)
    return len(worded.encode()) + 1 + native_outline.symbol_bytes(line)


def render_grep(result: values.GrepResult, cap: values.Cap) -> values.Reply:
    """The reply for a search that was selected under `cap`."""
    return reply(_grep_text(result, cap), partial(native_facts.of_grep, result))


def _grep_text(result: values.GrepResult, cap: values.Cap) -> str:
    rows: list[str] = [_grep_header(result)]
    for file in result.files:
        rows.append(
            _file_line(file) if result.request.output != "count" else f"{file.matches}\t{quote(file.path)}"
        )
        worded = _told_line if result.uses is not None and file.kind is None else _found_line
        rows.extend(native_outline.with_symbols(file.lines, worded))
    asides: list[str | Aside] = [*_coverage(result), *_warnings(result), *_not_searched(result)]
    # How a place in a document is read.
    asides += in_documents(
        (file.path, line.part, line.number) for file in result.files for line in file.lines
    )
    if cuts := [item for item in result.omitted if item.what == "columns"]:
        asides.append(Aside("Long lines are shown around their match (…); the rest", cuts[0].request))
    parts = ending(asides, result.next)
    body = body_within("\n".join(rows), cap)
    return f"{body}\n{closing(parts or ['end of matches'], cap.size - byte_size(body) - 1)}"


def _warnings(result: values.GrepResult | values.FindResult) -> list[str]:
    """The note about files left out comes last, before the call that includes them."""
    last = [warning for warning in result.warnings if warning.code in ("compressed", "left_out")]
    others = [warning for warning in result.warnings if warning not in last]
    return [*warning_parts(others), *warning_parts(last)]


def _grep_header(result: values.GrepResult) -> str:
    unit = "match" if result.request.output in ("content", "references") else "file"
    count = f"{result.shown} {unit}{'' if result.shown == 1 else 'es' if unit == 'match' else 's'}"
    if unit == "match":
        files = len({file.path for file in result.files})
        count += f" in {files} file{'' if files == 1 else 's'}"
    found = "" if result.uses is None else _uses(result.uses)
    if result.reason == "unfinished":
        return f"{count} (not all files were searched completely){found}"
    if result.complete or not result.reason:
        return f"{count}{found}"
    return f"{count} (not all: {_WHY.get(result.reason, result.reason)}){found}"


_WHY = {"limit": "limit reached", "reply_cap": "reply full", "timeout": "out of time"}
"""Why a search stopped, for the first line of its reply."""


def _coverage(result: values.GrepResult) -> list[str]:
    if result.complete or result.reason != "timeout":
        return []
    searched = "part of the tree" if result.searched_files is None else f"{result.searched_files} files"
    total = "" if result.total_files is None else f" of {result.total_files}"
    return [f"Time limit: {searched}{total} searched."]


_TO_SEARCH = {
    "timeout": "To search only that",
    "compressed": "To include them",
    "left_out": "To include them",
    "binary": "To search it anyway",
}
"""The words before the first call for files that were left out, by the reason."""


_AT_LONGEST = {
    values.ListRequest: "No search may take longer; search its folders one by one, listed with",
    values.ReadRequest: "No search may take longer; read its lines with",
}
"""The same where the search itself cannot go on."""


def _not_searched(result: values.GrepResult) -> list[str | Aside]:
    """The calls that search files which were left out or left unfinished."""
    calls: dict[str, str | Aside] = {}
    for item in result.omitted:
        if item.reason in _TO_SEARCH and item.request is not None:
            words = _AT_LONGEST.get(type(item.request), _TO_SEARCH[item.reason])
            calls.setdefault(item.reason, Aside(words, item.request))
    if "left_out" in calls:  # its call includes what is compressed
        calls.pop("compressed", None)
    # This stands below every search of such a tree.
    brief = ("left_out", "binary")
    return [_in_brief(call, result.request) if why in brief else call for why, call in calls.items()]


def _file_line(file: values.GrepFile) -> str:
    return quote(file.path) if file.kind is None else f"{OF_KIND[file.kind]} in {quote(file.path)}"


OF_KIND: Mapping[UseKind, str] = {kind: kind if kind == "text" else f"{kind}s" for kind in USE_KINDS}
"""The words for several places of a kind."""


BY_NAME = " | by name: "
"""Follows the number of matches where they are the places of a name."""


def _uses(uses: UseCounts) -> str:
    """The counts of a name, for the first line of a reply."""
    counts = (
        f"{count:,} {kind if count == 1 else OF_KIND[kind]}" for kind, count in uses.kinds.items() if count
    )
    return f"{BY_NAME}{', '.join(counts) or 'nothing'}"


def _found_line(line: values.GrepLine) -> str:
    before = "…" if line.column > 1 else ""
    after = "…" if line.chars is None or line.column - 1 + len(line.text) < line.chars else ""
    mark = "" if line.is_match else "-"
    doubt = "" if line.certain else native_outline.UNCERTAIN
    where = "" if line.part is None else f"p{line.part}:"
    return f"{where}{line.number}{mark}{doubt}\t{before}{line.text}{after}"


def _told_line(line: values.GrepLine) -> str:
    """A found line with its kind."""
    number, _, text = _found_line(line).partition("\t")
    return f"{number} {line.kind}\t{text}"


# -----------------------------------------------------------------------------
# find_relevant: its arguments, its call, how its pages are worded, and their facts.
# -----------------------------------------------------------------------------


class FindArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of find_relevant."""

    query: Annotated[str, Meta(extra=DIGITS)]
    path: str = "."
    glob: str | None = None
    type: str | None = None
    output: FindOutput = "passages"
    budget_tokens: Annotated[int, Meta(extra=NEVER_ZERO)] = FIND_BUDGET_TOKENS
    include: list[FindInclude] = []
    documents: bool = False
    explain: bool = False
    cursor: str | None = None


def _to_find(arguments: FindArguments) -> values.FindRequest:
    return into(
        values.FindRequest,
        arguments,
        glob=() if arguments.glob is None else (arguments.glob,),
        budget_tokens=None if arguments.budget_tokens == FIND_BUDGET_TOKENS else arguments.budget_tokens,
        include=frozenset(arguments.include),
    )


FIND_RELEVANT = Tool(
    name=FIND,
    title="Find relevant passages",
    description=("Find the passages that best answer a question, error message or symbol."),
    arguments=FindArguments,
    to_request=_to_find,
)


def render_find(result: values.FindResult, cap: values.Cap) -> values.Reply:
    """The reply for a page that was selected under `cap`."""
    return reply(_find_text(result, cap), partial(of_find, result))


def _find_text(result: values.FindResult, cap: values.Cap) -> str:
    body = body_within(_found(result), cap)
    return f"{body}\n{closing(_sentences(result), cap.size - byte_size(body) - 1)}"


def find_tokens(result: values.FindResult) -> int:
    """The tokens of the text of a page where all of it fits."""
    from readroom.core.text.tokens import estimate  # of ranked searches alone

    return estimate(f"{_found(result)}\n[{' '.join(_sentences(result))}]")


def _found(result: values.FindResult) -> str:
    rows = [_find_header(result)]
    for file in result.files:
        rows.extend(_file_rows(file, result.request.output))
    return "\n".join(rows)


def _sentences(result: values.FindResult) -> list[str]:
    asides: list[str | Aside] = [*_asides(result), *_warnings(result), *_left_out(result)]
    following = result.next
    is_long = len(result.request.query) > FIND_REPEATED_CHARS
    if following is not None or is_long:
        asides = [_in_brief(aside, result.request) for aside in asides]
    sentences = ending(asides, following)
    if following is not None and is_long:  # a long question is not paid twice; the facts have the call
        sentences[-1] = f'Next: the same call with cursor="{following.cursor}"'
    return sentences or ["end of files" if result.request.output == "files" else "end of passages"]


def _left_out(result: values.FindResult) -> list[str | Aside]:
    """The calls that show files which were left out, compressed ones among them."""
    left = [item.request for item in result.omitted if item.reason == "left_out" and item.request is not None]
    return [_in_brief(Aside("To include them", request), result.request) for request in left]


def _in_brief(aside: str | Aside, asked: values.FindRequest | values.GrepRequest) -> str | Aside:
    """The same; of another search of the same kind, only the arguments that differ."""
    if isinstance(aside, str) or not isinstance(aside.request, type(asked)) or not spells_tools():
        return aside
    known = to_call(replace(asked, cursor=None)).arguments
    called = to_call(aside.request).arguments
    other = {name: value for name, value in called.items() if known.get(name) != value}
    arguments = " ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in other.items())
    gone = [name for name in known if name not in called]
    without = f" and without {', '.join(gone)}" if gone else ""
    return f"{aside.text}: the same call with {arguments}{without}."


def _find_header(result: values.FindResult) -> str:
    if result.request.output == "files":
        count = _number(result.shown, "file")
    else:
        unit = "passage" if result.request.output == "passages" else "signature"
        count = f"{_number(result.shown, unit)} in {_number(len(result.files), 'file')}"
    looked = f"{_number(result.searched_files, 'file')} searched"
    more = "" if result.complete else " (not all: out of time)"
    return f"{count} | {looked}{more}"


def _number(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def _file_rows(file: FoundFile, output: FindOutput) -> Iterator[str]:
    if output == "files":
        yield quote(file.path)
    else:
        known = "" if file.content_hash is None else f" | {short_hash(file.content_hash)}"
        yield f"{quote(file.path)} | {_where(file)}{known}"
    if file.why:
        yield f"  file {file.score:.1f}: {_reasons(file.why)}"
    latest, part = 0, None
    for passage in file.passages:
        numbered = [*passage.around, *passage.rows]
        if passage.part != part:
            latest, part = 0, passage.part
        within = "" if part is None else f"p{part}:"
        if passage.why:
            name = quote(passage.symbol) if passage.symbol else f"line {within}{passage.first}"
            yield f"  {name} {passage.score:.1f}: {_reasons(passage.why)}"
        for number, line in numbered:
            if number <= latest:
                continue
            if latest and number > latest + 1 and output == "passages":
                yield "…"
            yield f"{within}{number}\t{line}{cut_mark(passage.cuts.get(number))}"
            latest = number


def _where(file: FoundFile) -> str:
    """The lines of its passages, or which parts of a document they are from.

    The lines of several passages are only counted: their numbers stand before them.
    """
    if file.unit is not None:
        numbers = dict.fromkeys(str(passage.part) for passage in file.passages)
        return f"{file.unit}{'' if len(numbers) == 1 else 's'} {', '.join(numbers)} of {file.total_parts}"
    first, last = file.passages[0].first, file.passages[-1].last
    shown = sum(passage.last - passage.first + 1 for passage in file.passages)
    if shown <= last - first:
        return f"{shown} of {file.total_lines} lines"
    return (
        f"line {first} of {file.total_lines}" if shown == 1 else f"lines {first}-{last} of {file.total_lines}"
    )


def _reasons(whys: Sequence[Reason]) -> str:
    return ", ".join(f"{reason.what} {'*' if reason.factor else '+'}{reason.value:.2f}" for reason in whys)


_OUTLINES = "Outlines now show more than further pages"
"""From the second page on: measured on fixes, by the needed lines that this number of tokens shows."""


def _asides(result: values.FindResult) -> list[str | Aside]:
    """The note on what is not shown."""
    parts = list[str | Aside]()
    if result.more_passages or result.more_files:
        left = [_number(result.more_passages, "more passage")] if result.more_passages else []
        left += [f"{_number(result.more_files, 'more file')} that match"] if result.more_files else []
        parts.append(f"{' and '.join(left)}.")
        for item in result.omitted:
            if item.what == "signatures":  # its cursor is that of the next call, which follows
                brief = f'{_OUTLINES}: the next call with output="outline".'
                parts.append(brief if spells_tools() else Aside(_OUTLINES, item.request))
    if result.left_words:
        parts.append(f"{_number(result.left_words, 'word')} of the query not searched for.")
    for item in result.omitted:
        if item.reason == "compressed" and not _left_out(result):
            parts.append(Aside("To include compressed files", item.request))
        elif item.reason == "documents":
            count = f"{_number(item.last, 'document')} not searched"
            parts.append(
                f"{count}." if _left_out(result) else Aside(f"{count}; to include them", item.request)
            )
        elif item.what == "passages":
            parts.append(Aside("More passages from files searched so far", item.request))
        elif item.what == "parts":
            which = f"Parts {item.first}-{item.last}" if item.last > item.first else f"Part {item.first}"
            path = "it" if item.request is None else quote(item.request.path)
            parts.append(Aside(f"{which} of {path} not searched completely", item.request))
        elif item.reason == "too_large":
            alone = "by itself" if item.last == 1 else "the first by itself"
            too_large = f"{_number(item.last, 'file')} too large to rank with the rest"
            parts.append(Aside(f"{too_large}; {alone}", item.request))
    parts += _did_not_fit([item for item in result.omitted if item.what == "lines"])
    parts += in_documents(
        (file.path, passage.part, passage.first) for file in result.files for passage in file.passages
    )
    cuts = [item for item in result.omitted if item.what == "columns"]
    if cuts:
        parts.append(Aside(f"{_number(len(cuts), 'long line')} cut; the first continues", cuts[0].request))
    if not result.complete:
        parts.append("Time limit: the next call searches the rest.")
    elif not result.shown and result.request.cursor is None:
        parts.append(_nothing(result))
    return parts


def _did_not_fit(items: Sequence[values.Omission]) -> Iterator[str]:
    """The place of the rest of a passage that was cut."""
    if items:
        which = " and ".join(f"{item.first}-{item.last}" for item in items)
        yield f"Lines {which} did not fit; they come next."


def _nothing(result: values.FindResult) -> str:
    """Why nothing is shown, and what to ask instead if nothing else in the reply says so."""
    if result.searched_files:
        return "No file has any of these words. Try other words."
    alone = not result.omitted and not result.warnings
    return "No text was searched." + (" Try another path." if alone else "")


def of_find(result: values.FindResult) -> dict[str, values.Fact]:
    """Facts of a ranked search, without the tokens."""
    return {
        "query": result.request.query,
        "path": as_value(result.request.path),
        "output": result.request.output,
        "files": [_file(file) for file in result.files],
        **named(result, "shown", "more_passages", "more_files", "searched_files", "complete", "reason"),
        "left_words": result.left_words,
        **native_facts.common(result.omitted, result.next, result.warnings),
    }


def _file(file: FoundFile) -> dict[str, values.Fact]:
    return {
        "path": as_value(file.path),
        "score": round(file.score, 3),
        **named(file, "content_hash", "total_lines", "unit", "total_parts"),
        "passages": [_passage(passage) for passage in file.passages],
        "why": _why(file.why),
    }


def _passage(passage: Passage) -> dict[str, values.Fact]:
    return {
        "start": passage.first,
        "end": passage.last,
        **named(passage, "part", "symbol", "signature"),
        "score": round(passage.score, 3),
        "why": _why(passage.why),
    }


def _why(whys: Sequence[Reason]) -> list[values.Fact]:
    facts: list[values.Fact] = []
    for reason in whys:
        facts.append({"what": reason.what, "factor" if reason.factor else "points": round(reason.value, 3)})
    return facts
