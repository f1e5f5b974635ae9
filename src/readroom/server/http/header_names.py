"""The headers that the server reads and writes, as the guide and the OpenAPI document describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from readroom.server.http.gate import NAME_IN_WORDS

SESSION: Final = "Readroom-Session"
AGENT: Final = "Readroom-Agent"

READ: Final[Mapping[str, str]] = {
    "Authorization": "`Bearer TOKEN`: whose request it is.",
    SESSION: "The conversation, for requests that are not MCP: what was shown in it, its kept outputs, its "
    f"budget, and its rows in the ledger. {NAME_IN_WORDS}; without it, all requests of a token are one.",
    AGENT: "The name of the program, for ledger and dashboard, in the same characters; it is not verified.",
    "Host": "A name of this server; another is refused.",
    "Origin": "Sent by browsers; only pages of this address are accepted.",
    "Sec-Fetch-Site": "Sent by browsers; only pages of this address change something in the dashboard.",
    "Cookie": "The sign-in of a visitor to the dashboard.",
    "Content-Type": "`application/json`, at addresses that take a body.",
    "Content-Length": "The length of the body.",
    "Transfer-Encoding": "`chunked`, for a body of unknown length.",
    "Accept": "At `/mcp`: `application/json, text/event-stream`.",
    "Mcp-Session-Id": "The session that `initialize` has opened.",
    "Mcp-Protocol-Version": "The version of MCP.",
    "Mcp-Method": "The method, in requests of MCP since 2026-07-28.",
    "Mcp-Name": "The subject of the method, in the same requests.",
    "Last-Event-Id": "Accepted at most once; no stream is resumed.",
    "Traceparent": "The trace of a call, for the ledger and for spans; a value of another form is ignored.",
    "Tracestate": "The additions of vendors to that trace; more than 512 characters are ignored.",
    "If-None-Match": "The `ETag` of a file of the dashboard that the browser has.",
    "Upgrade": "Ignored.",
}
"""The headers that the server reads."""

WRITTEN: Final[Mapping[str, str]] = {
    "Content-Type": "The type of the body.",
    "Content-Length": "Its length.",
    "Date": "When the answer was made.",
    "Connection": "`close`, after a refusal whose request was not read to its end.",
    "Transfer-Encoding": "`chunked`, for a stream.",
    "Retry-After": "Seconds, with 429 and 503.",
    "Allow": "The methods, with 405.",
    "WWW-Authenticate": "With 401: that a token is missing, or why it does not work.",
    "Mcp-Session-Id": "The session, to be sent with its requests.",
    "X-Content-Type-Options": "`nosniff`, always.",
    "Location": "Where a page of the dashboard is.",
    "Set-Cookie": "The sign-in of a visitor to the dashboard.",
    "ETag": "The state of a file of the dashboard.",
    "Cache-Control": "`no-store` for pages of the dashboard, `no-cache` for streams and its files.",
    "Access-Control-Allow-Origin": "`*` for the server card and the catalog, which are public.",
    "Access-Control-Allow-Methods": "`GET`, for the same.",
    "Access-Control-Allow-Headers": "`Content-Type, If-None-Match`, for the same.",
    "Access-Control-Expose-Headers": "`ETag`, for the same.",
    "X-Accel-Buffering": "`no` for streams: a proxy passes them on at once.",
    "Content-Disposition": "The name of an export of the dashboard.",
    "Content-Security-Policy": "The sources from which a page may load.",
    "Referrer-Policy": "`same-origin`, for pages of the dashboard.",
    "Cross-Origin-Opener-Policy": "`same-origin`, for the same.",
    "Cross-Origin-Resource-Policy": "`same-origin`, for the same.",
    "X-Frame-Options": "`DENY`, for the same.",
}
"""The headers that it writes."""
