"""The addresses of the review in the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readroom.server.http.review import PATH

_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_NUMBER = {"type": "integer"}
_FLAG = {"type": "boolean"}


def _object(description: str, **fields: object) -> dict[str, Any]:
    return {"description": description, "type": "object", "properties": fields, "required": list(fields)}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_SET: dict[str, Any] = {
    "id": _TEXT,
    **dict.fromkeys(("agent", "session", "token"), _TEXT),
    "began": {**_TEXT, "format": "date-time"},
    "changed": {**_TEXT, "format": "date-time"},
    "names": {**_NUMBER, "description": "The names that are changed in it."},
    "bytes": {**_NUMBER, "description": "The contents that it holds."},
    "problem": {**_TEXT, "description": "Why it cannot be accepted; empty if it can."},
}
_CHANGE: dict[str, Any] = {
    "path": _TEXT,
    "action": {**_TEXT, "description": "created, changed, deleted or moved."},
    "kind": {**_TEXT, "description": "file, folder or link."},
    "from": {**_MAYBE, "description": "The former name of something moved."},
    "names": {**_NUMBER, "description": "The names in a folder that go with it."},
    "fits": {**_FLAG, "description": "Whether the change was made to what is there now."},
    "problem": {**_TEXT, "description": "Why it does not fit; empty if it does."},
}
_WARNING = _object("A warning.", code=_TEXT, detail=_TEXT)

SCHEMAS: Mapping[str, Any] = {
    "Reviews": _object("The sets of changes that wait.", sets=_list(_object("A set.", **_SET))),
    "Review": _object(
        "One set, with the difference of each file.",
        **_SET,
        changes=_list(
            _object(
                "A change.",
                **_CHANGE,
                diff={**_MAYBE, "description": "In unified form, or null."},
                note={**_TEXT, "description": "Why there is no difference, or what is not shown of it."},
            )
        ),
        hidden={**_NUMBER, "description": "Changes that policy denies now."},
    ),
    "Decided": _object(
        "The changes that were accepted or rejected.",
        changes=_list(_object("A change.", **_CHANGE)),
        left={**_NUMBER, "description": "Those that still wait in the set."},
        warnings=_list(_WARNING),
    ),
}
"""The answers."""

_PATHS = {
    "type": "object",
    "properties": {
        "paths": {**_list(_TEXT), "description": "The files, or folders with all in them; all for none."}
    },
}


def paths(names: Sequence[Mapping[str, Any]], refusals: Mapping[str, Any]) -> dict[str, Any]:
    """The addresses; `names` are the headers by which a caller names itself."""
    own = {"name": "id", "in": "path", "required": True, "schema": _TEXT}

    def operation(name: str, summary: str, answer: str, *more: Mapping[str, Any]) -> dict[str, Any]:
        schema = {"$ref": f"#/components/schemas/{answer}"}
        return {
            "operationId": f"review.{name}",
            "summary": summary,
            "parameters": [*names, *more],
            "responses": {
                "200": {"description": summary, "content": {"application/json": {"schema": schema}}},
                **refusals,
            },
        }

    accept = operation("accept", "Make changes of a set.", "Decided", own)
    reject = operation("reject", "Drop changes of a set.", "Decided", own)
    for one in (accept, reject):
        one["requestBody"] = {"required": True, "content": {"application/json": {"schema": _PATHS}}}
    return {
        PATH: {"get": operation("list", "The sets of changes that wait.", "Reviews")},
        f"{PATH}/{{id}}": {"get": operation("show", "One set with its changes.", "Review", own)},
        f"{PATH}/{{id}}/accept": {"post": accept},
        f"{PATH}/{{id}}/reject": {"post": reject},
    }
