"""Wrappings of a tool's text by clients, and their marks of cuts.

Everything here was seen in real records. In an unknown form the text stays as it is, which costs a line at
one end at most.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

Who: TypeAlias = Literal["client", "tool", "server", "arguments"]


class Unwrapped(msgspec.Struct, frozen=True):
    """A result without the client's wrapping.

    `body` is the tool's text, in pieces if something was cut out of its middle. `head_cut`: text is missing
    before the first piece; `half_end`: the last line is cut inside; `exact`: the body ends with the lines of
    its file. `lines` is how many lines the whole had, where the client says so.
    """

    body: tuple[str, ...]
    cut: bool = False
    by_client: bool = False
    head_cut: bool = False
    half_end: bool = False
    exact: bool = False
    lines: int | None = None
    exit_code: int | None = None
    kept_at: str = ""


_CUT_INSIDE = re.compile(
    r"…[\d,]+ (?:chars|characters|tokens|lines) truncated…"
    r"|\.\.\. ?\[[\d,]+ (?:chars|characters|lines) (?:truncated|omitted)\] ?\.\.\."
    r"|\[\.\.\. [\d,]+ (?:chars|characters|lines) (?:left out|omitted|truncated) \.\.\.\]"
    r"|\n?\[\.\.\. omitted [\d,]+ of [\d,]+ lines \.\.\.\](?:\n\n)?"
    r"|\.\.\. \[CONTENT TRUNCATED\] \.\.\.|\.\.\. \[TRUNCATED\] \.\.\."
)
_OF_CODEX = re.compile(r"\n\[\.\.\. omitted [\d,]{1,12} of ([\d,]{1,12}) lines \.\.\.\]\n\n")
"""The mark of older versions of Codex, with how many lines the whole had."""
_CUT_HEAD = re.compile(
    r"\A(?:\.\.\.output truncated\.\.\.\n+(?:Full output saved to: [^\n]*\n+)?"
    r"|\(previous \d{1,9} lines truncated\)\n\n)"
)
_CUT_TAIL = re.compile(r"\n?(?:\[cut at [\d,]+ characters\]|\(Results truncated\.[^\n]*\))\s*\Z")
_CUT_SEARCH = re.compile(r"\n---\n\[[\d,]+ lines? truncated\] \.\.\.\s*\Z")
"""Qwen ends a search with this that it cut inside a line."""
_CUT_NOTE = re.compile(
    r"\n\n\.\.\.[\d,]+ (?:bytes|lines|chars) truncated\.\.\.\n\n"
    r"The tool call succeeded but the output was truncated\.[\s\S]{0,2000}\Z"
)
"""opencode before version 1.2 ended a long output with this."""
_KEPT_AT = re.compile(
    r"(?:[Ff]ull output (?:has been )?saved to|For full output see|Full output available at|"
    r"Output has been saved to|output saved to|\. Full output|\)\. Saved to): ?(\S{1,1000})"
)
_CODEX = re.compile(
    r"\A(?:Chunk ID: [^\n]*\n)?(?:Wall time: [^\n]*\n)?"
    r"(?:Process (?:exited with code (-?\d+)|running with [^\n]*)\n)?"
    r"(?:Original token count: [^\n]*\n)?Output:\n?"
    r"(Warning: truncated output[^\n]*\n(?:Total output lines: (\d+)\n)?\n?)?"
)
_JSON_OUTPUT = '{"output":'
_QWEN = re.compile(r"\ACommand: [\s\S]*?\nDirectory: [^\n]*\nOutput: ")
_QWEN_TAIL = re.compile(
    r"\nError: [\s\S]{0,4000}?\nExit Code: (-?\d+|\(none\))\nSignal: [^\n]*(?:\n[^\n]*){0,4}\s*\Z"
    r"|\nError: \(none\)[\s\S]{0,400}\Z"
)
_GEMINI_TAIL = re.compile(
    r"(?:\nError: [^\n]*)?(?:\nExit Code: (-?\d+))?(?:\nSignal: [^\n]*)?(?:\nBackground PIDs: [^\n]*)?"
    r"(?:\nProcess Group PGID: [^\n]*)?\s*\Z"
)
_EXIT = re.compile(r"\A\s*(?:<tool_use_error>)?(?:Exit code|exit code|exit)[: ](-?\d+)[^\n|]*(?:\n|\Z)")
_TRUNCATED_NOTE = re.compile(
    r"\ATool output was too large and has been truncated\.\n[\s\S]{0,2000}?Truncated part of the output:\n"
)
_PERSISTED = re.compile(r"\A<persisted-output>\n[^\n]*\n\nPreview \(first [^\n]*\n")
_PERSISTED_END = re.compile(r"(\n\.\.\.)?\n</persisted-output>\s*\Z")
_NUMBERED_FILE = re.compile(r"\A<path>[^\n]*</path>\n<type>file</type>\n<content>\n?(?=\d)")
_RETURNED = re.compile(
    r"\A(?:<exception>[\s\S]{0,4000}?</exception>\n)?<returncode>(-?\d+)</returncode>\n"
    r"(?:<output>\n|(<warning>\n[\s\S]{0,2000}?</warning>\s*<output_head>\n))"
)
_ELIDED = re.compile(
    r"\n</output_head>\n<elided_chars>\n(\d+ characters) elided\n</elided_chars>\n<output_tail>\n"
)
"""mini-swe-agent cuts an output with this."""
_COPILOT_END = re.compile(r"(?:\A|\n)<shellId: \S{1,100} completed with exit code (-?\d{1,9})>\s*\Z")
_COPILOT_SAVED = re.compile(
    r"\AOutput too large to read at once \([^\n)]{1,40}\)\. Saved to: [^\n]{1,1000}\n[^\n]{0,1000}\n\n"
    r"Preview \(first [^\n]{1,40}\):\n"
)
_PI_END = re.compile(
    r"\n\n\[(?:Showing lines (\d{1,9})-\d{1,9} of \d{1,9}(?: \([^)\n]{1,40}\))?"
    r"|[\d,]{1,12} more lines in file)\. (?:Use offset=|Full output: )[^\n]{1,1000}\]\s*\Z"
)
_PI_EXIT = re.compile(r"(?:\A|\n\n)Command exited with code (-?\d{1,9})\s*\Z")
_NUMBERED_FILE_END = re.compile(r"\n\n\([^\n]*\)\n</content>[\s\S]{0,4000}\Z")


def unwrap(text: str) -> Unwrapped:
    """The tool's own text in a result, and the client's changes to it."""
    kept = _KEPT_AT.search(text, 0, 2000) or _KEPT_AT.search(text, max(0, len(text) - 2000))
    exit_code: int | None = None
    lines: int | None = None
    by_client = half_end = False
    body = _without_reminders(text)
    if body.startswith(_JSON_OUTPUT):
        body, exit_code = _of_json(body)
    if (codex := _CODEX.match(body)) and codex[0]:
        exit_code = int(codex[1]) if codex[1] else None
        by_client = bool(codex[2])
        lines = int(codex[3]) if codex[3] else None
        body = body[codex.end() :]
    body, cut, code = _clients(body)
    by_client |= cut
    exit_code = code if exit_code is None else exit_code
    if exit_line := _EXIT.match(body):
        exit_code = int(exit_line[1]) if exit_code is None else exit_code
        body = body[exit_line.end() :]
    head = _CUT_HEAD.match(body)
    if head:
        body = body[head.end() :]
    body, by_pi, head_cut, code = _of_pi(body)
    by_client |= by_pi
    head_cut |= bool(head)
    exit_code = code if exit_code is None else exit_code
    tail = _CUT_TAIL.search(body, max(0, len(body) - 300))
    if tail:
        body = body[: tail.start()]
    if note := _CUT_NOTE.search(body, max(0, len(body) - 2500)):
        by_client, body = True, body[: note.start()]
    if ending := _CUT_SEARCH.search(body, max(0, len(body) - 300)):
        by_client, half_end = True, body.endswith("...", 0, ending.start())
        body = body[: ending.start()].removesuffix("...")
    pieces = tuple(_CUT_INSIDE.split(body)) if _CUT_INSIDE.search(body) else (body,)
    older = _OF_CODEX.search(body) if len(pieces) == 2 else None
    if older:
        by_client, lines = True, int(older[1].replace(",", ""))
    cut_here = by_client or head_cut or bool(tail) or len(pieces) > 1
    # A mark inside is the client's, unless a tool of a framework cut its own reply ("[... ").
    return Unwrapped(
        pieces, cut_here, by_client or bool(head) or (len(pieces) > 1 and "[... " not in text), head_cut,
        half_end, bool((opened := _NUMBERED_FILE.match(text)) and opened[0].endswith("\n")), lines, exit_code,
        kept[1].rstrip(").,]") if kept else "",
    )  # fmt: skip


def _of_json(text: str) -> tuple[str, int | None]:
    """The output and the exit code in a JSON object, as older versions of Codex send it."""
    try:
        whole = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text, None
    output = whole.get("output")
    beside = whole.get("metadata")
    code = beside.get("exit_code") if isinstance(beside, dict) else None
    return output if isinstance(output, str) else text, code if type(code) is int else None


def _of_pi(body: str) -> tuple[str, bool, bool, int | None]:
    """The text without what pi writes after it, whether pi cut it, also before it, and the exit code."""
    code, cut, head_cut = None, False, False
    if ending := _PI_EXIT.search(body, max(0, len(body) - 100)):
        code, body = int(ending[1]), body[: ending.start()]
    if ending := _PI_END.search(body, max(0, len(body) - 1500)):
        cut = ending[1] is not None
        head_cut = cut and int(ending[1]) > 1
        body = body[: ending.start()]
    return body, cut, head_cut, code


def _without_reminders(text: str) -> str:
    while (start := text.rfind("<system-reminder>")) >= 0 and text.rstrip().endswith("</system-reminder>"):
        text = text[:start].rstrip("\n")
    return text


def _clients(body: str) -> tuple[str, bool, int | None]:
    """The text inside the wrappings of several clients, whether it was cut, and the exit code."""
    cut = False
    code: int | None = None
    if body.startswith("Output too large. Showing first"):
        cut = True
        body = body.partition("\n")[2]
    if note := _TRUNCATED_NOTE.match(body):
        cut = True
        body = body[note.end() :]
    if tail := _COPILOT_END.search(body, max(0, len(body) - 200)):
        code, body = int(tail[1]), body[: tail.start()]
    if head := _COPILOT_SAVED.match(body):
        cut, body = True, body[head.end() :]
    if body.startswith("<untrusted_context>\n"):
        body = body.removeprefix("<untrusted_context>\n").rstrip().removesuffix("</untrusted_context>")
        body = body.removesuffix("\n")
        if body.startswith("Output: "):
            body = body.removeprefix("Output: ")
            if (tail := _GEMINI_TAIL.search(body)) and tail[0]:
                code = int(tail[1]) if tail[1] else None
                body = body[: tail.start()]
    elif head := _QWEN.match(body):
        body = body[head.end() :]
        if tail := _QWEN_TAIL.search(body):
            code = int(tail[1]) if tail[1] and tail[1] != "(none)" else None
            body = body[: tail.start()]
    elif head := _PERSISTED.match(body):
        body = body[head.end() :]
        if tail := _PERSISTED_END.search(body, max(0, len(body) - 100)):
            cut = bool(tail[1])
            body = body[: tail.start()]
    elif head := _RETURNED.match(body):
        code, cut = int(head[1]), bool(head[2])
        body = re.sub(r"\n?</output(?:_tail)?>\s*\Z", "", body[head.end() :])
        if cut:
            body = _ELIDED.sub(r"[... \1 left out ...]", body, count=1)
    elif head := _NUMBERED_FILE.match(body):
        body = body[head.end() :]
        if tail := _NUMBERED_FILE_END.search(body, max(0, len(body) - 5000)):
            body = body[: tail.start()]
    elif "<START_TOOL_OUTPUT>\n" in body[:400]:
        cut = True
        body = (
            body.partition("<START_TOOL_OUTPUT>\n")[2].rpartition("<END_TOOL_OUTPUT>")[0].removesuffix("\n")
        )
    return body, cut, code


_FAILED = re.compile(
    r"\A\s*(?:<tool_use_error>|Error[: ]|error: |An error occurred|File does not exist|File not found|"
    r"No such file|Access to .{1,1000} is denied|apply_patch verification failed|Could not find|"
    r"Failed to (?:edit|find)|.{1,1000} has changed: expected sha256|Path not in workspace"
    r"|\w{1,40} takes no argument '|old (?:text )?occurs 0 times"
    r"|Your proposed (?:edit|insertion) has introduced|No replacement was performed"
    r"|File too large to read at once \("
    r"|\[Line \d{1,9} is [^\]\n]{1,40} exceeds )"
)


def says_error(text: str, exit_code: int | None) -> bool:
    """Whether a result is a failure by its words or its exit code, where the record does not say."""
    return exit_code not in (None, 0) or bool(_FAILED.match(text))


_STATED_CUT = re.compile(
    r"([\d,]{1,12}) (chars|characters|bytes|tokens|lines) (?:truncated|omitted|left out|elided)"
    r"|omitted ([\d,]{1,12}) of [\d,]{1,12} (lines)"
)


def stated_cut(text: str) -> tuple[int, str] | None:
    """The amount that was cut, by a mark in the result, and its unit: characters, tokens or lines."""
    marks = (_CUT_INSIDE, _CUT_SEARCH, _CUT_NOTE, _ELIDED)
    cuts = (cut for mark in marks for cut in mark.finditer(text))
    match = next((said for cut in cuts if (said := _STATED_CUT.search(cut[0]))), None)
    if match is None:
        return None
    count, noun = match[1] or match[3], match[2] or match[4]
    unit = noun if noun in ("tokens", "lines") else "characters"
    number = int(count.replace(",", "") or 0)
    return (number, unit) if number else None  # of no whole line, but of some bytes


_RECEIPT = re.compile(
    r"\A\s*\[?(?:File .{1,2000} unchanged since last read|File unchanged since last read"
    r"|.{1,2000} not modified)"
)


_EMPTY = re.compile(
    r"\A\W{0,20}(?:system-reminder>)?(?:System reminder: |Warning: |Note: )?(?:The |the )?(?:file|File)"
    r"(?: '?[^\n]{1,1000}'?)? (?:is empty|exists but (?:the contents are|has) empty(?: contents)?)"
    r"|\A\(?(?:[Ee]mpty file|no content)\)?\.?\s*\Z"
)


NO_OUTPUT = frozenset({
    "(empty)", "(no output)", "[no output]", "<no output>", "(Bash completed with no output)", "[No output]",
})  # fmt: skip
"""Texts of clients in place of an empty output."""


def shows_nothing(text: str) -> bool:
    """Whether a read answered that nothing changed, or that the file is empty, without content."""
    return len(text) < 3000 and bool(_RECEIPT.match(text) or (text.count("\n") < 4 and _EMPTY.match(text)))
