"""A contract: tools, and the wording of results and failures.

A contract never reads a file, applies no policy and has no limit of its own in
code elsewhere.  It turns arguments into canonical requests, and results into
replies; continuations are requests, which it turns back into calls of its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from readroom.core import values
from readroom.core.contracts.schema import parse, schema
from readroom.core.errors import ReadroomError, UnknownTool
from readroom.core.policy.rules.terms import NO_TERMS, Terms
from readroom.core.values.files import PartView
from readroom.core.values.steps import AS_IT_IS, Steps

FACTS_KEY = "readroom/facts"
"""The key of machine facts in an MCP result's `_meta`. Never `structuredContent`: several
clients show the model nothing else when it is there."""


class Wording(Struct, frozen=True):
    """How to word the result or the failure of one call."""

    render: Callable[[values.Result, values.Cap], values.Reply]
    render_error: Callable[[ReadroomError, values.Cap], values.Reply]


Sentences: TypeAlias = Mapping[type[ReadroomError], str | Callable[[Any, Any], str | None]]
"""The wording of failures: by class a template of the call, the error and its facts, or a function of call
and error if the sentence depends on more. The first matching class decides."""


def sentence(error: ReadroomError, call: object, *tables: Sentences) -> str:
    """The words of these tables for a failure; the last has some for every class."""
    for kind, own in (row for table in tables for row in table.items()):
        if isinstance(error, kind):
            if isinstance(own, str):
                return own.format(call=call, error=error, facts=error.facts)
            words = own(call, error)
            if words is not None:
                return words
    raise AssertionError(error)


def call_of(tool: str, **arguments: values.Fact) -> values.Call:
    """A call with those arguments that are not None."""
    return values.Call(tool, {name: value for name, value in arguments.items() if value is not None})


class Tool(Struct, frozen=True):
    """One published tool: its name, its words, its arguments, and the request they mean.

    `render` and `render_error` word its results and failures if those of its contract do not,
    `wording` those of one call by its arguments, if the words repeat what the caller sent.
    `reply_bytes` is the cap of its replies if it is not that of its contract.
    `store` names the store in memory that a call means, None for the workspace itself.
    `steps` are the contract's decisions about the read that a call means.
    `dialect` is the version of JSON Schema that its schema names; None names none.
    """

    name: str
    title: str
    description: str
    arguments: type[msgspec.Struct]
    to_request: Callable[[Any], values.Request]
    read_only: bool = True
    idempotent: bool = True
    render: Callable[[values.Result, values.Cap], values.Reply] | None = None
    render_error: Callable[[ReadroomError, values.Cap], values.Reply] | None = None
    wording: Callable[[Any], Wording] | None = None
    store: Callable[[Any], str | None] | None = None
    steps: Callable[[Any], Steps] | None = None
    reply_bytes: int | None = None
    dialect: str | None = None

    @property
    def destructive(self) -> bool:
        """Whether hosts should ask first: whatever changes something can take something away."""
        return not self.read_only

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        own = schema(self.arguments)
        return own if self.dialect is None else {"$schema": self.dialect, **own}


class Bound(Struct, frozen=True):
    """A call whose tool is looked up and whose arguments are parsed, once.

    Attributes:
        request: The request to perform.
        wording: The wording of its result or failure.
        store: The store in memory that it means; None for the workspace itself.
        steps: The contract's decisions about the read.
    """

    request: values.Request
    wording: Wording
    store: str | None
    steps: Steps = AS_IT_IS


IMAGE_PIXELS_PER_TOKEN = 750
"""The cost of an image: Anthropic's published formula; others charge by tiles, about the same."""


def reply_tokens(text: str, images: Sequence[values.Image], count: Callable[[str], int]) -> int:
    """The tokens of a reply: its text, and its images by their size."""
    return count(text) + sum(picture_tokens(image.width, image.height) for image in images)


def picture_tokens(width: int, height: int) -> int:
    """The tokens of an image of this size, about."""
    return -(-width * height // IMAGE_PIXELS_PER_TOKEN)


def remarked(reply: values.Reply, words: str) -> values.Reply:
    """The reply with one more bracketed line."""
    return replace(reply, text=f"{reply.text}\n[{words}]")


def untold(reply: values.Reply, words: str) -> values.Reply:
    """The reply as it is: for contracts whose replies are prescribed to the byte."""
    return reply


class Contract(Struct, frozen=True, dict=True):
    """A published interface as data.

    `reply_bytes` is the cap on a reply's text. An operator can lower every cap, and raise those that
    no document prescribes (`raisable`).  `render` words a result under the cap that the engine
    selected for; `to_call` is the call for a request, None when the contract has none.
    `commands` are tools that run programs: offered only where policy allows that, as `runs` says.
    `unlisted` can be called and are never listed: other names of tools that are.
    `routes` have addresses of their own over HTTP: never listed as tools.
    `remark` adds a sentence about the call itself to a reply, such as how much of a budget is left.
    `tell` adds a sentence about what has happened elsewhere, where its replies have room for one.
    `terms` are its decisions about the paths of its calls, `seconds` their longest time.
    `notice` is shown to the operator at the start.
    `by_lines` says that replies have a line for each thing they show, as a client that counts
    lines sees it; others are one object.
    `by_name` are all tools, listed or not.
    """

    name: str
    title: str
    instructions: str
    tools: tuple[Tool, ...]
    reply_bytes: int
    measure: values.Measure
    render: Callable[[values.Result, values.Cap], values.Reply]
    render_error: Callable[[ReadroomError, values.Cap], values.Reply]
    to_call: Callable[[values.Request], values.Call | None]
    commands: tuple[Tool, ...] = ()
    unlisted: tuple[Tool, ...] = ()
    routes: tuple[Tool, ...] = ()
    remark: Callable[[values.Reply, str], values.Reply] = remarked
    tell: Callable[[values.Reply, str], values.Reply] = untold
    terms: Terms = NO_TERMS
    seconds: float | None = None
    raisable: bool = False
    notice: str = ""
    by_lines: bool = False
    runs: bool = False

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        """The tools by name; the first of a name counts."""
        return {tool.name: tool for tool in reversed(self.callable)}

    def offered(self, *, commands: bool) -> tuple[Tool, ...]:
        """The tools that are listed; with `commands`, those that run programs too."""
        return (*self.tools, *self.commands) if commands else self.tools

    @property
    def callable(self) -> tuple[Tool, ...]:
        """All tools that have a name, listed or not."""
        return (*self.offered(commands=True), *self.unlisted, *self.routes)

    def tool(self, name: str) -> Tool:
        """The tool of that name.

        Raises:
            UnknownTool: It lists the tools.
        """
        named = self.by_name.get(name)
        if named is not None:
            return named
        raise UnknownTool(name, [tool.name for tool in self.offered(commands=self.runs)])

    def cap_of(self, name: str) -> int:
        """The cap on the replies of a tool, even an unknown one."""
        tool = self.by_name.get(name)
        own = None if tool is None else tool.reply_bytes
        return self.reply_bytes if own is None else own

    def bind(self, name: str, arguments: object) -> Bound:
        """Parse the call of a tool, with arguments as a caller sends them.

        Raises:
            UnknownTool: It lists the tools.
            UsageError: The arguments are invalid.
        """
        tool = self.by_name.get(name) or self.tool(name)
        parsed = parse(tool.arguments, tool.name, arguments)
        store = None if tool.store is None else tool.store(parsed)
        steps = AS_IT_IS if tool.steps is None else tool.steps(parsed)
        return Bound(tool.to_request(parsed), self._wording(tool, parsed), store, steps)

    def worded(self, name: str, arguments: object) -> Wording:
        """How to word a call, even of an unknown tool or with invalid arguments."""
        tool = self.by_name.get(name)
        if tool is None:
            return Wording(self.render, self.render_error)
        if tool.wording is not None:
            with contextlib.suppress(ReadroomError):
                return self._wording(tool, parse(tool.arguments, name, arguments))
        return Wording(tool.render or self.render, tool.render_error or self.render_error)

    def _wording(self, tool: Tool, parsed: msgspec.Struct) -> Wording:
        if tool.wording is not None:
            with contextlib.suppress(ReadroomError):
                return tool.wording(parsed)
        return Wording(tool.render or self.render, tool.render_error or self.render_error)


def tool_result(reply: values.Reply) -> dict[str, values.Fact]:
    """A reply in the shape of an MCP tool result: what every face sends or prints."""
    content: list[dict[str, values.Fact]] = [{"type": "text", "text": reply.text}]
    for image in reply.images:
        from base64 import b64encode

        data = b64encode(image.data).decode("ascii")
        content.append({"type": "image", "data": data, "mimeType": image.media_type})
    for file in reply.attached:
        from base64 import b64encode
        from urllib.parse import quote

        blob = b64encode(file.data).decode("ascii")
        uri = f"file://{quote(file.path)}"
        resource: dict[str, values.Fact] = {"uri": uri, "mimeType": file.media_type, "blob": blob}
        content.append({"type": "resource", "resource": resource})
    facts = {**(reply.build_sent or reply.build_facts)(), **reply.build_cost()}
    return {"content": content, "isError": reply.is_error, "_meta": {FACTS_KEY: facts}}


# -----------------------------------------------------------------------------
# Replies to clients that count lines as well as characters.
#
# Each row of a list is charged at least its share of the reply, so that rows which
# fit its bytes fit its lines; lines of a text are counted where they are chosen.
# -----------------------------------------------------------------------------

_ROWS_OF_MATCH = 3
"""The definition around a match, the match, and the end of the definition."""


LINES_AROUND = 6
"""Most lines of a reply besides its content: the first, the last, the header of a table, the mark above an
outline, and a note about a budget."""


def in_lines(cap: values.Cap, lines: int) -> values.Cap:
    """The cap of a reply of at most `lines` lines, including those around its content."""
    left = max(1, lines - LINES_AROUND)
    return replace(cap, measure=_in_rows(cap.measure, -(-cap.size // left)), lines=left)


def _in_rows(measure: values.Measure, least: int) -> values.Measure:
    """A measure by which every row costs at least `least` bytes."""
    read, parts, search, listing = measure.read, measure.parts, measure.search, measure.list
    return replace(
        measure,
        read=replace(read, outlined=lambda row: max(least, read.outlined(row))),
        parts=None if parts is None else _parts_in_rows(parts, least),
        search=None if search is None else _search_in_rows(search, least),
        list=None if listing is None else values.ListMeasure(lambda entry: max(least, listing.listed(entry))),
    )


def _parts_in_rows(measure: values.PartsMeasure, least: int) -> values.PartsMeasure:
    def part(part: PartView, unit: str, total: int) -> int:
        return max(least * (LINES_AROUND + len(part.notes)), measure.part(part, unit, total))

    return values.PartsMeasure(lambda heading: max(least, measure.heading(heading)), part)


def _search_in_rows(measure: values.SearchMeasure, least: int) -> values.SearchMeasure:
    def line_bytes(line: values.GrepLine) -> int:
        rows = 1 if line.symbol is None else _ROWS_OF_MATCH
        return max(least * rows, measure.line(line))

    return replace(measure, file=lambda file: max(least, measure.file(file)), line=line_bytes)
