"""The contract of the `read` command with front matter: path, offset and limit; text without numbers.

Results are ok, content, lines_read and total_lines. Lines count from 1; the content is as in the file. Limits
and lists of paths come from the command file.

Knows: the command of its file, and where ours differs.
Does not know: the other contracts.
May be touched: freely, with its clauses.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from readroom.contracts.rnd.front_matter import FrontMatter, published
from readroom.core import errors, values
from readroom.core.contracts import Setup, json_replies
from readroom.core.contracts.base import Contract, Tool, Wording, call_of
from readroom.core.contracts.native import facts as native_facts
from readroom.core.limits import CLOSING_BYTES
from readroom.core.paths import ELSEWHERE
from readroom.core.policy.rules import AllowList, Denials, Layer, Rule
from readroom.core.policy.rules.terms import Terms
from readroom.core.quoting import as_given, as_value, quote, shortened, unquoted
from readroom.core.values.files import Row
from readroom.core.values.options import ReadOptions
from readroom.core.values.steps import Steps, TextUpTo

WARNINGS = 5
"""Warnings about hidden characters and the like in one answer."""

NAME_BYTES = 1_000
"""Longest path in an answer; longer ones are cut in their middle."""

_OPTIONS = ReadOptions(line_chars=0, header=False, outline_bytes=0, rests=False)

_MAGIC = frozenset("*?[")


class RndRead(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read."""

    path: Annotated[str, Meta(description="Relative to the project root, or absolute inside it")]
    offset: Annotated[int, Meta(ge=1, description="First line, from 1")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None


def made(setup: Setup) -> Contract:
    """The contract for a workspace with that setup."""
    command = setup.own if isinstance(setup.own, FrontMatter) else published()

    def to_request(arguments: RndRead) -> values.ReadRequest:
        return values.ReadRequest(
            arguments.path,
            offset=arguments.offset or 1,
            limit=min(arguments.limit or command.max_lines, command.max_lines),
            options=_OPTIONS,
        )

    def steps(arguments: RndRead) -> Steps:
        whole = arguments.offset is arguments.limit is None
        return Steps(TextUpTo(command.max_bytes if whole else None), expands=False)

    def wording(arguments: RndRead) -> Wording:
        call = RndCall(arguments, command)
        return Wording(partial(render, call), partial(render_error, call))

    tool = Tool(
        name=READ,
        title="Read a file",
        description=(
            f"Read file contents: raw text, at most {command.max_lines:,} lines at once. Files above "
            f"{megabytes(command.max_bytes)[0]} need offset or limit. "
            "warnings say what is not shown and how to continue."
        ),
        arguments=RndRead,
        to_request=to_request,
        wording=wording,
        steps=steps,
    )
    unknown = wording(RndRead(path=""))
    return Contract(
        name="rnd",
        title="read command",
        instructions="Read files in parts: each answer says in its warnings where to continue.",
        tools=(tool,),
        # A whole file of the largest size, and the fields around it.
        reply_bytes=command.max_bytes + 2 * command.max_lines + CLOSING_BYTES,
        measure=MEASURE,
        render=unknown.render,
        render_error=unknown.render_error,
        to_call=to_call,
        remark=partial(json_replies.remark, field="warnings"),
        tell=partial(json_replies.remark, field="warnings"),
        terms=Terms(_layers(command)),
        seconds=command.timeout_seconds,
    )


def _layers(command: FrontMatter) -> tuple[Layer, ...]:
    """Denials first, so that their reason is the one that is given."""
    denied = Denials(Rule(text, command.source, "denied_paths") for text in command.denied_paths)
    allowed = []
    for text in command.allowed_paths:
        allowed.append(text)
        last = text.rstrip("/").rpartition("/")[2]
        if not _MAGIC & set(last):  # the name of a folder means everything in it
            allowed.append(f"{text.rstrip('/') if '/' in text.rstrip('/') else '**/' + text.rstrip('/')}/**")
    return (denied, AllowList(allowed, command.source, below_matches=False))


# -----------------------------------------------------------------------------
# Replies.
# -----------------------------------------------------------------------------

READ = "read"
_POLICY = "security_policy"

_OTHER_TOOLS = re.compile(r"\b\w+_(?:file|files|directory|command|hash)\b|\bknown_hash\b")
"""Advice that names tools and arguments of another contract is not passed on."""


class RndCall(Struct, frozen=True):
    """The call that is answered, as it was sent, and the command file in force."""

    given: RndRead
    command: FrontMatter

    @property
    def name(self) -> str:
        """The path, shortened where it is not a path any more."""
        return as_given(self.given.path, NAME_BYTES)


MEASURE = values.Measure(
    frame=lambda path: CLOSING_BYTES + 2 * len(quote(path).encode("utf-8", "replace")),
    read=values.ReadMeasure(
        numbered=lambda number: len(r"\n"),
        outlined=lambda row: json_replies.size(_outlined(row)) + 1,
        mark_bytes=0,
    ),
)
"""Size that the object adds to its content: escapes of the line ends, and the fields around it."""


def to_call(request: values.Request) -> values.Call | None:
    """The call for a read of lines; this contract has no other."""
    if not isinstance(request, values.ReadRequest) or request.column > 1 or request.view != "text":
        return None
    return call_of(READ, path=as_value(request.path), offset=request.offset, limit=request.limit)


def render(call: RndCall, result: values.Result, cap: values.Cap) -> values.Reply:
    """A window of a file as an object."""
    assert isinstance(result, values.ReadResult), "this contract only reads"
    return json_replies.window(
        result, cap, partial(_object, call), partial(native_facts.of_read, own_call=to_call)
    )


def _object(call: RndCall, result: values.ReadResult) -> dict[str, values.Fact]:
    fields: dict[str, values.Fact] = {
        "ok": True,
        "content": _content(result),
        "lines_read": len(result.lines),
        "total_lines": result.total_lines,
    }
    if not result.lines and result.outline is not None:
        fields["outline"] = [_outlined(row) for row in result.outline.rows]
    warnings = _warnings(call, result)
    return {**fields, "warnings": warnings} if warnings else fields


def _content(result: values.ReadResult) -> str:
    """The lines with their ends, as in the file; the last may have none."""
    if not result.lines:
        return ""
    text = "\n".join(result.lines)
    cut = result.cuts.get(result.end)
    if cut is not None and cut.last < cut.total:
        return text
    return text if result.end == result.total_lines and not result.ends.final else f"{text}\n"


def _warnings(call: RndCall, result: values.ReadResult) -> list[values.Fact]:
    sentences: list[values.Fact] = []
    most = call.command.max_lines
    limit = call.given.limit
    if limit is not None and limit > most:
        sentences.append(f"limit {limit} is above the maximum of {most} lines and was lowered to it")
    for line, cut in result.cuts.items():
        if cut.last < cut.total:
            sentences.append(
                f"Line {line} is cut: characters {cut.first}-{cut.last} of {cut.total} are shown, "
                "no call shows more"
            )
    sentences += _rest(result)
    if result.encoding not in ("utf-8", "ascii"):
        sentences.append(f"The file is in {result.encoding}; its text is shown")
    if result.ends.form == "mixed":
        sentences.append(f"The file has {result.ends.unusual[0]}; all are shown as LF")
    for warning in result.warnings[:WARNINGS]:
        if not _OTHER_TOOLS.search(warning.detail):
            place = "" if warning.line is None else f" at {warning.line}:{warning.column}"
            sentences.append(f"{warning.code.replace('_', ' ').capitalize()}{place}: {warning.detail}")
    return sentences


def _rest(result: values.ReadResult) -> list[str]:
    """The note on omitted lines below, with the offset that continues."""
    if result.total_lines and not result.lines:
        return [f"Content left out: little is left of the budget; the file has {_lines(result.total_lines)}"]
    following = result.next
    if following is None or following.offset is None:
        return []
    after = following.offset + 1 if following.column > 1 else following.offset
    if result.total_lines is not None and after > result.total_lines:
        return []
    rest = f"line {after} is" if after == result.total_lines else f"lines {after}-{result.total_lines} are"
    if result.total_lines is None:
        rest = f"lines from {after} on are"
    return [f"Truncated: {rest} not shown; continue with offset={after}"]


def _outlined(row: Row) -> str:
    """A definition that is there: its lines and its signature."""
    return f"{'  ' * row.depth}{row.item.start}-{row.item.end}: {row.item.signature}"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def render_error(call: RndCall, error: errors.ReadroomError, cap: values.Cap) -> values.Reply:
    """A failure as an object: its message, and a reason or suggestions."""
    value = _failure(call, error)
    if json_replies.size(value) > cap.size:
        least: dict[str, values.Fact] = {"ok": False, "error": "", "reason": error.code}
        words = json_replies.short(str(value["error"]), max(0, (cap.size - json_replies.size(least)) // 6))
        value = {**least, "error": words}
    return json_replies.failure(value, str(value["error"]), error, to_call)


def _failure(call: RndCall, error: errors.ReadroomError) -> dict[str, values.Fact]:
    match error:
        case errors.NotFound():
            return _missing(call)
        case errors.OutsideRoot() if call.given.path.startswith("/") and error.facts.get("how") == ELSEWHERE:
            # It was not looked up, and counts as missing.
            return _missing(call)
        case errors.OutsideRoot():
            return _denied(f"{call.name} is outside the project root")
        case errors.Denied():
            return _by_rule(call, error)
        case errors.HardLinked() | errors.NoPermission() | errors.SymbolicLink():
            return _denied(error.message)
        case errors.TooLarge() if error.facts["unit"] == "bytes":
            sizes = megabytes(error.facts["limit"], error.facts["size"])
            return _failed(
                f"File exceeds size limit ({sizes[1]} > {sizes[0]})",
                "Use offset/limit for partial reading",
                "Process in chunks",
            )
        case errors.BadRange() if "total_lines" in error.facts:
            total, offset = int(str(error.facts["total_lines"])), call.given.offset or 1
            return _failed(
                f"Offset {offset} is beyond the end of {call.name}, which has {_lines(total)}",
                f"Use an offset from 1 to {max(1, total)}",
            )
        case errors.Binary():
            return _failed(
                f"Cannot read binary file: {call.name} ({error.media_type})",
                "Only text files can be read",
                reason=error.code,
            )
        case errors.NotAFile():
            return _failed(f"Not a file: {call.name}", "Name a file in it", reason=error.code)
        case errors.TimedOut():
            return _failed(
                f"Read timed out after {error.seconds:g} seconds",
                "Use offset/limit for partial reading",
                reason=error.code,
            )
    advice = [] if _OTHER_TOOLS.search(error.advice) else [error.advice.rstrip(".")]
    return _failed(error.message, *advice, reason=error.code)


def _failed(words: str, *suggestions: str, reason: str | None = None) -> dict[str, values.Fact]:
    fields: dict[str, values.Fact] = {"ok": False, "error": words}
    if reason is not None:
        fields["reason"] = reason
    return {**fields, "suggestions": list(suggestions)} if suggestions else fields


def _missing(call: RndCall) -> dict[str, values.Fact]:
    return _failed(f"File not found: {call.name}", "Check file path", "Verify file exists")


def _denied(words: str, *suggestions: str) -> dict[str, values.Fact]:
    return _failed(f"Access denied: {words}", *suggestions, reason=_POLICY)


def _by_rule(call: RndCall, error: errors.Denied) -> dict[str, values.Fact]:
    rule = str(error.facts["rule"])
    if error.facts["source"] == call.command.source and not rule.startswith("allow = "):
        return _denied(f"{rule} files are restricted")
    if error.facts["source"] == call.command.source:
        allowed = ", ".join(call.command.allowed_paths) or "none; ask the user to change the command file"
        return _denied(f"{call.name} is not in the allowed paths", f"Allowed are {allowed}")
    return _denied(f"{_last(call.given.path)} files are restricted")


def _last(path: str) -> str:
    """The last part of a path as a caller wrote it."""
    name = (unquoted(path) or path).rstrip("/").rpartition("/")[2]
    return shortened(name, NAME_BYTES)


def megabytes(*sizes: values.Fact) -> list[str]:
    """Sizes in decimal megabytes, or smaller units if the first is smaller, written apart if they differ."""
    counts = [int(str(size)) for size in sizes]
    power, unit = next(
        (p, u) for p, u in ((6, "MB"), (3, "KB"), (0, " bytes")) if counts[0] >= 10**p or not p
    )
    texts = [str(size) for size in counts]
    for digits in range(1, power + 2):
        texts = [f"{size / 10**power:.{digits}f}".rstrip("0").rstrip(".") + unit for size in counts]
        if len(set(texts)) == len(set(counts)):
            break
    return texts
