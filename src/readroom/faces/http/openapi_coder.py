"""The addresses of coder's workspace agent in the OpenAPI document, from the records of its routes."""

from __future__ import annotations

from typing import Any

from readroom.contracts import coder_routes as routed
from readroom.contracts.base import Contract
from readroom.contracts.schema import properties, schema

PREFIX = "/api/v0"

ERRORS = (400, 401, 403, 404, 408, 409, 413, 421, 429, 500, 503, 504, 507)

_ANSWERS: dict[str, str] = {
    routed.READ_LINES: "Whether it was read, and its lines; failures of the file are told here, too.",
    routed.READ_BYTES: "The bytes, with a type by the ending of the name.",
    routed.WRITE: "It was written.",
    routed.EDIT: "All files were changed; their diffs, when asked for.",
    routed.LIST: "Folders, then files, by name.",
}
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


def paths(record: Contract) -> dict[str, Any]:
    """The paths of a record's routes."""
    found = {}
    for route in record.routes:
        operation: dict[str, Any] = {
            "operationId": f"coder.{route.name}",
            "summary": route.title,
            "description": route.description,
            "responses": {"200": _answer(route.name), **{str(status): _PROBLEM for status in ERRORS}},
        }
        method = "get" if route.name in (routed.READ_LINES, routed.READ_BYTES) else "post"
        names = properties(route.arguments)
        if route.name == routed.WRITE:
            names = {"path": names["path"]}
            binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
            operation["requestBody"] = {"content": binary}
        elif route.name == routed.EDIT:
            names = {}
            operation["requestBody"] = _json(schema(route.arguments))
        elif route.name == routed.LIST:
            parts = {"path": names["parts"], "relativity": names["relativity"]}
            names = {"path": names["path"]}
            body = {"type": "object", "properties": parts, "additionalProperties": False}
            operation["requestBody"] = _json(body, required=False)
        operation["parameters"] = [
            {
                "name": name,
                "in": "query",
                "schema": one,
                "required": name == "path" and route.name not in (routed.EDIT, routed.LIST),
            }
            for name, one in names.items()
        ]
        found[f"{PREFIX}/{route.name}"] = {method: operation}
    return found


def _json(body: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"required": required, "content": {"application/json": {"schema": body}}}


def _answer(name: str) -> dict[str, Any]:
    media = "*/*" if name == routed.READ_BYTES else "application/json"
    return {"description": _ANSWERS[name], "content": {media: {}}}
