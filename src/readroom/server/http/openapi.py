"""The HTTP agent described from its contracts: OpenAPI 3.1 for programs, a page for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from readroom.contracts.coder import editing, packing, routes, uploads
from readroom.contracts.coder.processes import ADDRESSES, OUTPUT
from readroom.core.contracts.base import FACTS_KEY, Contract, Tool
from readroom.core.contracts.schema import in_words, properties, schema
from readroom.core.release import VERSION
from readroom.server.http.gate import AGENT_PATH, NAME
from readroom.server.http.header_names import AGENT, READ, SESSION, WRITTEN
from readroom.server.http.history import PATH
from readroom.server.http.history import openapi as of_history
from readroom.server.http.review import openapi as of_review

# -----------------------------------------------------------------------------
# The addresses of coder's workspace agent in the OpenAPI document, from the routes of its contract.
# -----------------------------------------------------------------------------

CODER_ERRORS = (400, 401, 403, 404, 405, 408, 409, 413, 421, 429, 500, 503, 504, 507)

_ANSWERS: dict[str, str] = {
    routes.READ_LINES: "Whether it was read, and its lines; failures of the file are reported here as well.",
    routes.READ_BYTES: "The bytes, with a type by the ending of the name.",
    routes.WRITE: "It was written.",
    editing.EDIT: "All files were changed; their diffs, when asked for.",
    routes.LIST: "Folders, then files, by name.",
    routes.RESOLVE: "The path without links; what is missing of it is kept.",
    packing.ZIP: "A zip archive with the files, and a manifest of what it holds and lacks.",
    uploads.UPLOAD: "It was kept: its path, name and size.",
}
_GETS = frozenset((routes.READ_LINES, routes.READ_BYTES, routes.RESOLVE))
_MEDIA: dict[str, str] = {routes.READ_BYTES: "*/*", packing.ZIP: "application/zip"}
_PROBLEM = {
    "description": "A refusal: `message`, and what is wrong with a query, or the error of the agent.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "message": {"type": "string"},
                    "detail": {"type": "string"},
                    "validations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"field": {"type": "string"}, "detail": {"type": "string"}},
                            "required": ["field", "detail"],
                        },
                    },
                    "success": {"type": "boolean"},
                    "error": {},
                },
            }
        }
    },
}


def coder_paths(record: Contract) -> dict[str, Any]:
    """The paths of a contract's routes."""
    paths: dict[str, Any] = {}
    for route in record.routes:
        if route.name in ADDRESSES:
            paths |= _process_path(route)
            continue
        operation: dict[str, Any] = {
            "operationId": f"coder.{route.name}",
            "summary": route.title,
            "description": route.description,
            "responses": {
                "200": _coder_answer(route.name),
                **{str(status): _PROBLEM for status in CODER_ERRORS},
            },
        }
        method = "get" if route.name in _GETS else "post"
        names = {**properties(route.arguments)}
        if route.name in (routes.WRITE, uploads.UPLOAD):
            del names["content"]
            binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
            operation["requestBody"] = {"content": binary}
        elif route.name in (editing.EDIT, packing.ZIP):
            names = {}
            operation["requestBody"] = _json(schema(route.arguments))
        elif route.name == routes.LIST:
            parts = {"path": names["parts"], "relativity": names["relativity"]}
            names = {"path": names["path"]}
            body = {"type": "object", "properties": parts, "additionalProperties": False}
            operation["requestBody"] = _json(body, required=False)
        operation["parameters"] = [
            {
                "name": name,
                "in": "query",
                "schema": parameter,
                "required": name in ("path", "chat_id", "name") and route.name != routes.LIST,
            }
            for name, parameter in names.items()
        ]
        paths[f"{AGENT_PATH}/{route.name}"] = {method: operation}
    return paths


def _process_path(route: Tool) -> dict[str, Any]:
    """The path of an address for processes."""
    method, address = ADDRESSES[route.name]
    fields = {
        name: field for name, field in properties(route.arguments).items() if name not in _FROM_ELSEWHERE
    }
    operation: dict[str, Any] = {
        "operationId": f"coder.{route.name}",
        "summary": route.title,
        "description": route.description,
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            for _ in range("{id}" in address)
        ],
        "responses": {
            "200": {"description": f"{route.title}.", "content": {"application/json": {}}},
            **{str(status): _PROBLEM for status in CODER_ERRORS},
        },
    }
    if method == "POST":
        body = {"type": "object", "properties": fields, "additionalProperties": False}
        operation["requestBody"] = _json(body)
    else:
        operation["parameters"] += [
            {"name": name, "in": "query", "schema": field, "required": False}
            for name, field in (fields | _WAITS.get(route.name, {})).items()
        ]
    return {f"{AGENT_PATH}/{address}": {method.lower(): operation}}


_WAITS: dict[str, dict[str, Any]] = {
    OUTPUT: {"wait": {"type": "boolean", "description": "Once it has ended, after 300 s at the latest"}}
}
"""Parameters that are no arguments of a call: what is waited for before it."""

_FROM_ELSEWHERE = frozenset(("id", "chat", "below_ms"))
"""Arguments that are in the address and in headers."""


def _json(body: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"required": required, "content": {"application/json": {"schema": body}}}


def _coder_answer(name: str) -> dict[str, Any]:
    media = _MEDIA.get(name, "application/json")
    return {"description": _ANSWERS[name], "content": {media: {}}}


ERRORS = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 429, 500, 501, 503, 504, 505, 507)

_TEXT = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
    "required": ["type", "text"],
}
_IMAGE = {
    "type": "object",
    "properties": {
        "type": {"const": "image"},
        "data": {"type": "string", "contentEncoding": "base64"},
        "mimeType": {"type": "string"},
    },
    "required": ["type", "data", "mimeType"],
}
_SCHEMAS: dict[str, Any] = {
    "Result": {
        "description": "What a model receives, and facts for programs.",
        "type": "object",
        "properties": {
            "content": {"type": "array", "items": {"anyOf": [_TEXT, _IMAGE]}},
            "isError": {"const": False},
            "_meta": {"type": "object", "properties": {FACTS_KEY: {"type": "object"}}},
        },
        "required": ["content", "isError"],
    },
    "Error": {
        "description": "A refusal or failure; `content` is there when a tool was called.",
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "facts": {"type": "object"},
                    "next": {"type": ["object", "null"], "description": "The call that works instead."},
                },
                "required": ["code", "message", "facts", "next"],
            },
            "content": {"type": "array", "items": _TEXT},
            "isError": {"const": True},
        },
        "required": ["error"],
    },
}


def document(contracts: Iterable[Contract], names: Sequence[str], *, commands: bool) -> dict[str, Any]:
    """The OpenAPI document.

    Args:
        contracts: Contracts served under /v1.
        names: Workspaces other than the default one.
        commands: Whether some workspace runs commands.
    """
    paths: dict[str, Any] = {}
    for contract in contracts:
        for tool in contract.offered(commands=commands):
            paths[f"/v1/{contract.name}/{tool.name}"] = {"post": _operation(contract, tool)}
        paths |= coder_paths(contract)
    paths |= of_history.paths(_CALLER_NAMES, _errors())
    paths |= of_review.paths(_CALLER_NAMES, _errors())
    paths["/v1/sessions/{session}/compacted"] = {"post": _compacted()}
    paths["/healthz"] = {
        "get": _plain("health", "Whether the server answers.", "application/json", open_=True)
    }
    paths["/readyz"] = {
        "get": _plain(
            "readiness", "Whether calls can be answered: 503 if not.", "application/json", open_=True
        )
    }
    paths["/metrics"] = {"get": _plain("metrics", "Figures for Prometheus.", "text/plain")}
    paths["/openapi.json"] = {"get": _plain("openapi", "This document.", "application/json")}
    paths["/docs"] = {"get": _plain("docs", "This document for people.", "text/html")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "readroom",
            "version": VERSION,
            "description": "Find, read and safely change the files of a workspace. MCP is at /mcp.",
        },
        "servers": [
            {"url": "/", "description": "The default workspace"},
            *({"url": f"/w/{name}", "description": f"The workspace {name}"} for name in names),
        ],
        "security": [{"token": []}, {}],
        "paths": paths,
        "x-headers": {"read": READ, "written": WRITTEN},
        "components": {
            "schemas": {**_SCHEMAS, **of_history.SCHEMAS, **of_review.SCHEMAS},
            "parameters": {name: _named_by(name) for name in _NAMES},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(contract: Contract, tool: Tool) -> dict[str, Any]:
    return {
        "operationId": f"{contract.name}.{tool.name}",
        "summary": tool.title,
        "description": tool.description,
        "parameters": _CALLER_NAMES,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": tool.input_schema}},
        },
        "responses": {
            "200": _answer("The reply of the tool.", "application/json", "Result"),
            **_errors(),
        },
    }


_NAMES = (SESSION, AGENT)
"""The headers by which a caller names itself."""

_CALLER_NAMES = [{"$ref": f"#/components/parameters/{name}"} for name in _NAMES]


def _named_by(header: str) -> dict[str, Any]:
    name = {"type": "string", "pattern": f"^{NAME}$"}
    return {"name": header, "in": "header", "description": READ[header], "schema": name}


def _compacted() -> dict[str, Any]:
    name = {"type": "string", "pattern": f"^{NAME}$"}
    return {
        "operationId": "compacted",
        "summary": "Say that a conversation was shortened: what was shown before counts as unseen.",
        "parameters": [{"name": "session", "in": "path", "required": True, "schema": name}],
        "responses": {
            "200": {
                "description": "Noted.",
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "properties": {"session": name, "compacted": {"const": True}},
                            "required": ["session", "compacted"],
                        }
                    }
                },
            },
            **_errors(),
        },
    }


def _plain(name: str, summary: str, media: str, *, open_: bool = False) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "responses": {"200": {"description": summary, "content": {media: {}}}, **_errors()},
    }
    return {**operation, "security": []} if open_ else operation


def _errors() -> dict[str, Any]:
    return {str(status): _answer("A refusal or failure.", "application/json", "Error") for status in ERRORS}


def _answer(words: str, media: str, schema: str) -> dict[str, Any]:
    return {
        "description": words,
        "content": {media: {"schema": {"$ref": f"#/components/schemas/{schema}"}}},
    }


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:54rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}"
    "code{font:14px ui-monospace,monospace;background:#f2f2ef;padding:.1em .3em}"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0 2rem}"
    "td,th{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #ddd}"
    "@media(prefers-color-scheme:dark){body{background:#161616;color:#e8e8e8}code{background:#2a2a2a}"
    "td,th{border-color:#333}}"
)


def page(contracts: Iterable[Contract], names: Sequence[str], *, commands: bool) -> str:
    """The same as a page for people, without scripts."""
    parts = [_tool(contract, tool) for contract in contracts for tool in contract.offered(commands=commands)]
    others = "".join(f" <code>/w/{escape(name)}/</code>" for name in names)
    where = f"<p>Other workspaces have the same addresses under{others}.</p>" if names else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>readroom</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>readroom {escape(VERSION)}</h1>"
        "<p>An HTTP workspace agent. MCP clients use <code>/mcp</code>; programs send a tool's arguments as "
        "JSON with <code>POST</code>, and a token, where one is needed, as "
        "<code>Authorization: Bearer TOKEN</code>. "
        'The same for programs: <a href="/openapi.json">openapi.json</a>.</p>'
        f"{where}<p>What was changed, and how to take it back: <code>GET {PATH}</code>, "
        f"<code>GET {PATH}/CHANGE/diff</code>, <code>POST {PATH}/undo</code>.</p>"
        f"{''.join(parts)}</body></html>"
    )


def _tool(contract: Contract, tool: Tool) -> str:
    schema = tool.input_schema
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code>{' *' if name in schema['required'] else ''}</td>"
        f"<td>{escape(in_words(argument))}</td><td>{escape(argument.get('description', ''))}</td></tr>"
        for name, argument in schema["properties"].items()
    )
    return (
        f"<h2><code>POST /v1/{contract.name}/{tool.name}</code></h2><p>{escape(tool.description)}</p>"
        f"<table><tr><th>argument (* required)</th><th>value</th><th></th></tr>{rows}</table>"
    )
