"""The MCP server, independent of the transport: the tools of a contract, answered by a workspace.

It performs the calls that `readroom.mcp.protocol` parses.  A tool result is exactly that of
`contracts.base.tool_result`, as in every other face; the protocol adds what its version requires.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.caller import HTTP_FACE, Caller, Carried, conversation, trace_of, vendors_of
from readroom.core.contracts.base import FACTS_KEY, Contract, Tool, tool_result
from readroom.core.errors import Busy, StateFailed
from readroom.core.limits.session import LEDGER_NAME_CHARS
from readroom.core.log import log
from readroom.core.quoting import as_key
from readroom.core.values import Fact
from readroom.mcp.access import Access
from readroom.mcp.listing import LONGEST_META, NATIVE, capped, card, methods, page
from readroom.mcp.pending import PendingCall
from readroom.mcp.place import Place
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.card import Card
from readroom.mcp.protocol.connection import Connection, Notice
from readroom.mcp.protocol.messages import Answer, Refusal
from readroom.mcp.resources import Resources
from readroom.mcp.subscriptions import Listening, Watch, listening, subscribe

T = TypeVar("T")

# -----------------------------------------------------------------------------
# The caller of a tool over MCP: the client's name, and the conversation.
#
# The host names the conversation (`_meta["readroom/session"]`); otherwise it is the
# session of the protocol, or everything that one process receives.  A host that compacts
# a conversation sends the notification `notifications/readroom/compacted`, or counts
# compactions itself in `_meta["readroom/epoch"]`, which needs no connection.
# -----------------------------------------------------------------------------

SESSION_META: Final = "readroom/session"
EPOCH_META: Final = "readroom/epoch"
TRACE_META: Final = "traceparent"
"""The trace of a request, in W3C form; without it that of the HTTP header counts."""

VENDORS_META: Final = "tracestate"
"""The additions of vendors to that trace."""

_MOST_EPOCHS = 2**31
"""No conversation is compacted more often."""

_PROCESS = uuid.uuid4().hex[:12]
"""The conversation of clients without any session: one process serves one client over stdio."""


def caller(meta: Mapping[str, Any] | None, client: str | None, header: str | None) -> Caller:
    """The other side of a call.

    Args:
        meta: `_meta` of the request.
        client: `clientInfo.name`.
        header: `Mcp-Session-Id` of an HTTP request.
    """
    session = str((meta or {})[SESSION_META]) if _names_session(meta) else header or _PROCESS
    if len(session) > LEDGER_NAME_CHARS:  # cut off, two conversations could be one
        session = as_key(session, LEDGER_NAME_CHARS)
    trace, vendors = trace_of((meta or {}).get(TRACE_META)), vendors_of((meta or {}).get(VENDORS_META))
    agent, passing = (client or "")[:LEDGER_NAME_CHARS], session == _PROCESS
    return Caller(
        agent=agent,
        session=session,
        face="mcp",
        traceparent=trace,
        tracestate=vendors if trace else "",
        passing=passing,
    )


def _names_session(meta: Mapping[str, Any] | None) -> bool:
    """Whether the host names the conversation."""
    stated = (meta or {}).get(SESSION_META)
    return isinstance(stated, str) and bool(stated)


def epoch_of(meta: Mapping[str, Any] | None) -> int | None:
    """The host's notice that the conversation was compacted."""
    epoch = (meta or {}).get(EPOCH_META)
    if isinstance(epoch, bool) or not isinstance(epoch, int) or not 0 <= epoch <= _MOST_EPOCHS:
        return None
    return epoch


# -----------------------------------------------------------------------------
# How much of a reply each MCP client passes on to its model.
#
# A client that receives more truncates it, mostly in the middle, without saying so;
# therefore the reply is made to fit.  The numbers were measured on released clients
# (November 2026) and leave a margin for additions by the client.
#
# Clients count characters or UTF-16 units.  A cap is applied to the UTF-8 bytes of
# the whole text part, header and closing line included: never fewer than either.
# -----------------------------------------------------------------------------


class Client(Struct, frozen=True):
    """One client: the prefix of its name in `clientInfo`, and its limits.

    Attributes:
        title: Its name for people.
        prefix: How its name in `clientInfo` starts.
        chars: The longest text that it passes on; None for one that does not cut.
        lines: The maximum lines that it passes on; None if it does not limit lines.
        shows_meta: It shows its model the whole JSON of an error result, including `_meta`.
        images: It passes on images, and not their bytes as text or a word in their place.
    """

    title: str
    prefix: str
    chars: int | None
    lines: int | None = None
    shows_meta: bool = False
    images: bool = True


CLAUDE_CODE_CHARS = 49_000
CLAUDE_CODE = Client("Claude Code", "claude-code", CLAUDE_CODE_CHARS)
"""Passes on 50,000, then a file and a preview of 2 KB. A tool's `_meta` can raise it; nothing needs that."""

CLIENTS = (
    Client("Codex", "codex", 11_500),  # 12,000: the first and the last 6,000
    CLAUDE_CODE,
    Client("opencode", "opencode", 49_000, lines=1990),  # 50 KiB of whole lines, and 2,000 of them
    # 40,000: the first 8,000 and the last 32,000
    Client("Gemini CLI", "gemini-cli", 39_000, shows_meta=True),
    # About 25,500; qwen-cli-mcp-client-NAME. Of an image its model gets a word.
    Client("Qwen Code", "qwen", 25_000, shows_meta=True, images=False),
    # About 20,000, then a file outside the workspace and a preview of 500.
    Client("GitHub Copilot CLI", "copilot-cli", 19_500),
    Client("Continue CLI", "continue-cli-client", None, images=False),  # base64: 45,000 tokens a picture
)
"""Bridges keep the name in front, as in "claude-code (via mcp-remote 0.1.37)"; some clients append more."""


def reply_bytes(client_name: str | None, asked_chars: int | None = None) -> int | None:
    """The cap on a reply's text in UTF-8 bytes; None for a client that is not known to cut.

    Six of thirteen measured clients truncate, and only two of them below 25,000; a cap for the others
    would break what a contract promises.

    Args:
        client_name: `clientInfo.name` of the handshake or of the request; None when it was not sent.
        asked_chars: The operator's `--max-chars`, which applies to every client.
    """
    if asked_chars is not None:
        return asked_chars
    client = known(client_name)
    return None if client is None else client.chars


def known(client_name: str | None) -> Client | None:
    """The client of that name; None for one that was not measured."""
    return None if client_name is None else _known(client_name[:LEDGER_NAME_CHARS])


@lru_cache  # each call asks
def _known(beginning: str) -> Client | None:
    name = beginning.lower().replace(" ", "-")
    return next((client for client in CLIENTS if name.startswith(client.prefix)), None)


class Sender(Struct, frozen=True):
    """The sender of a message.

    Attributes:
        access: What the caller may use.
        session: The session of the protocol, over HTTP before 2026-07-28.
        apart: Others may send in the same conversation, unless the host names its own.
    """

    access: Access
    session: str | None = None
    apart: bool = False


WITHOUT_WORK: Final = frozenset(("tools/list", "resources/templates/list"))
"""Methods that are answered without a call."""


class Server:
    """Performs the protocol's calls, for one contract."""

    def __init__(
        self,
        record: Contract,
        *,
        reply_chars: int | None,
        shared: bool = True,
        place: Place | None = None,
    ) -> None:
        """A server for the tools of one contract.

        Args:
            record: The contract whose tools are served.
            reply_chars: `--max-chars`; None for what each client is known to pass on.
            shared: All clients see the same tools.
            place: Where the workspace is, to be said with the first reply; None for this machine.
        """
        self._reply_chars = reply_chars
        self._unsaid = [] if place is None else [place]
        self._record = record
        self._methods: dict[str, Callable[[PendingCall, Sender], dict[str, Any]]] = {
            "tools/list": self._list_tools,
            "tools/call": self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            eras.SUBSCRIBE: self._subscribe,
            eras.UNSUBSCRIBE: self._unsubscribe,
        }
        self.card: Card = card(record.title, record.instructions, methods(record.name), shared=shared)

    def perform(self, pending: PendingCall, sender: Sender, *, busy: bool = False) -> Answer | None:
        """The answer to a call; None if its client has cancelled it. `busy`: the server is too busy."""
        pending.busy = busy
        connection, call = pending.connection, pending.call
        method = self._methods[call.method]
        return self._guarded(pending, lambda: connection.answer(call, method(pending, sender)))

    def listen(
        self, pending: PendingCall, sender: Sender, *, busy: bool = False
    ) -> Listening | Answer | None:
        """The subscription that a request opens; or why it does not, as the answer to it."""
        connection, call = pending.connection, pending.call

        def opened() -> Listening:
            if busy:
                raise Refusal(eras.INTERNAL_ERROR, str(Busy()), {"code": Busy.code})
            return listening(self._host(pending, sender), connection, call)

        return self._guarded(pending, opened)

    def watch(self, connection: Connection, sender: Sender) -> Watch:
        """The resources that a client of a version before 2026-07-28 hears of."""
        access = _conversing(sender, connection.client, None)
        return Watch(replace(access, caller=replace(access.caller, hosts=True)), connection.subscribed)

    def _guarded(self, pending: PendingCall, work: Callable[[], T]) -> T | Answer | None:
        connection, call = pending.connection, pending.call
        try:
            return work()
        except Refusal as refused:
            return connection.refuse(call, refused.code, refused.message, refused.data)
        except Exception:
            log().exception("a request of the method %s failed", call.method)
        words = "readroom failed inside; see the server's log"
        pending.log("error", words)
        return connection.refuse(call, eras.INTERNAL_ERROR, words)

    def hear(self, notice: Notice, sender: Sender) -> None:
        """Handle a host's notice that it has compacted a conversation. Raises StateFailed."""
        access = _conversing(sender, notice.client, notice.meta)
        access.workspace.session(access.caller.session).compacted()

    def _list_tools(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        tools = [capped(listed(tool), self._reply_chars) for tool in sender.access.tools]
        return page("tools", tools, pending.call.params.get("cursor"))

    def _call_tool(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        parameters, client = pending.call.params, known(pending.call.client)
        result = self._run(pending, sender, parameters["name"], parameters.get("arguments") or {})
        if not result["isError"]:
            return self._with_place(result, sender) if self._unsaid else result
        pending.failed = result["_meta"][FACTS_KEY]["error"]["code"]
        if client is not None and client.shows_meta:
            del result["_meta"]  # the client would show its model the whole JSON of an error
        return result

    def _with_place(self, result: dict[str, Any], sender: Sender) -> dict[str, Any]:
        try:
            place = self._unsaid.pop()
        except IndexError:  # another thread has said it
            return result
        promises = sender.access.workspace.guard.store.promises
        return place.shown_with(result, promises, in_text=self._record.name == NATIVE)

    def _room(self, cap: int | None, sender: Sender) -> int | None:
        """The cap on a reply that will have a line about the place."""
        if not self._unsaid:
            return cap
        line = self._unsaid[0].line(sender.access.workspace.guard.store.promises)
        most = self._record.reply_bytes if cap is None else min(cap, self._record.reply_bytes)
        return max(1, most - len(line.encode()) - 1)

    def _list_resources(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        return self._resources(pending, sender).list(pending.call.params.get("cursor"))

    def _list_templates(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        # The name of an output cannot be guessed, so a template would be useless.
        return {"resourceTemplates": []}

    def _read_resource(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        return self._resources(pending, sender).read(pending.call.params["uri"])

    def _subscribe(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        subscribe(self._host(pending, sender), pending.connection, pending.call)
        return {}

    def _unsubscribe(self, pending: PendingCall, sender: Sender) -> dict[str, Any]:
        pending.connection.subscribed.pop(pending.call.params["uri"], None)
        return {}

    def _host(self, pending: PendingCall, sender: Sender) -> Access:
        """The permissions of a sender for a host: what it sees is not what its model was shown."""
        access = _conversing(sender, pending.call.client, pending.call.meta)
        return replace(access, caller=replace(access.caller, hosts=True))

    def _resources(self, pending: PendingCall, sender: Sender) -> Resources:
        access = _conversing(sender, pending.call.client, pending.call.meta)
        return Resources(partial(self._run, pending, sender, host=True), pending.call.version, access)

    def _run(
        self,
        pending: PendingCall,
        sender: Sender,
        tool: str,
        arguments: Mapping[str, Fact],
        *,
        host: bool = False,
    ) -> dict[str, Any]:
        call = pending.call
        access = self._host(pending, sender) if host else _conversing(sender, call.client, call.meta)
        carried = Carried(call.version, str(call.id), sender.access.caller.face == HTTP_FACE)
        access = replace(access, caller=replace(access.caller, mcp=carried))
        client = known(call.client)
        if client is not None and not client.images:
            access = replace(access, images=False)
        cap = self._room(reply_bytes(call.client, self._reply_chars), sender)
        if pending.busy:
            refused = access.workspace.refuse(Busy(), access.contract_name, tool, reply_bytes=cap)
            return tool_result(refused)
        epoch = epoch_of(call.meta)
        if epoch is not None:
            try:
                access.workspace.session(access.caller.session).reached(epoch)
            except StateFailed as error:
                return tool_result(access.workspace.refuse(error, access.contract_name, tool))
        lines = None if client is None else client.lines
        reply = access.call(tool, arguments, pending.deadline, reply_bytes=cap, reply_lines=lines)
        pending.done()
        return tool_result(reply)


def listed(tool: Tool) -> dict[str, Any]:
    """A tool as `tools/list` shows it."""
    changing = {"destructiveHint": tool.destructive, "idempotentHint": tool.idempotent}
    if tool.read_only:  # they have no meaning for read-only tools
        changing = {}
    return {
        "_meta": {
            # Exempts the text from a second limit, counted in tokens, which users can lower.
            LONGEST_META: CLAUDE_CODE_CHARS,
            # Models do not use a file tool that they have to search for first. The schema costs each
            # conversation its tokens; a test keeps those of a contract under 1,500.
            "anthropic/alwaysLoad": True,
        },
        "annotations": {"readOnlyHint": tool.read_only, **changing, "openWorldHint": False},
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "name": tool.name,
        "title": tool.title,
    }


def _conversing(sender: Sender, client: str | None, meta: Mapping[str, Any] | None) -> Access:
    """The permissions of a sender, in the name of the client and for its conversation."""
    named = caller(meta, client, sender.session)
    token = sender.access.caller.token
    traced = named if named.traceparent else sender.access.caller
    named = replace(
        named,
        agent=named.agent or sender.access.caller.agent,
        session=conversation(token, named.session),
        token=token,
        traceparent=traced.traceparent,
        tracestate=traced.tracestate,
        apart=sender.apart and not _names_session(meta),
    )
    return replace(sender.access, caller=named)
