"""The addresses of the history in the OpenAPI document, from the arguments of its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readroom.core.contracts.base import Tool
from readroom.core.contracts.history.record import (
    FORGET_CHANGES,
    LIST_CHANGES,
    SHOW_CHANGE,
    UNDO_CHANGES,
)
from readroom.core.contracts.schema import properties
from readroom.server.http.history import PATH

_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_NUMBER = {"type": "integer"}
_PERHAPS = {"type": ["integer", "null"]}
_FLAG = {"type": "boolean"}


def _object(description: str, **fields: object) -> dict[str, Any]:
    return {"description": description, "type": "object", "properties": fields, "required": list(fields)}


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_STATE = _object(
    "The state of a name: absent, file, folder or link.",
    kind=_TEXT, content_hash=_MAYBE, kept=_FLAG, size_bytes=_NUMBER, mode=_TEXT, modified=_MAYBE,
    target=_MAYBE,
)  # fmt: skip
_FILE: dict[str, Any] = {
    "path": _TEXT,
    "to": {**_MAYBE, "description": "The new name of something moved."},
    "action": {**_TEXT, "description": "created, changed, deleted or moved."},
    "added": {**_PERHAPS, "description": "Lines that came; null where they were not counted."},
    "removed": {**_PERHAPS, "description": "Lines that went."},
    "undone_by": _PERHAPS,
    "before": _STATE,
    "after": _STATE,
}
_CHANGE: dict[str, Any] = {
    "change": {**_NUMBER, "description": "Its number."},
    "time": _MAYBE,
    **dict.fromkeys(("agent", "session", "token", "face", "contract", "tool", "call", "traceparent"), _TEXT),
    "others": {**_FLAG, "description": "Another token made it, and yours may not know whose: no names then."},
    "undoes": {**_PERHAPS, "description": "The change that it takes back."},
    "undone_by": _PERHAPS,
    "interrupted": {**_FLAG, "description": "Its process was killed before it was complete."},
    "anew": {**_FLAG, "description": "Another folder was at this place then."},
    "count": {**_NUMBER, "description": "Its names, also those that are not listed here."},
    "hidden": {**_NUMBER, "description": "Those of them that policy denies now."},
}
_REST: dict[str, Any] = {
    "truncated": _FLAG,
    "omitted": _list({"type": "object"}),
    "next": {"type": ["object", "null"]},
    "warnings": _list({"type": "object"}),
}

_UNDONE = {
    "path": _TEXT, "to": _MAYBE, "action": _TEXT, "diff": _MAYBE, "left_out": _NUMBER,
    "right": {**_TEXT, "description": "The kind of change that it is: edit, create, delete, move or folder."},
    "fits": _NUMBER, "left": _NUMBER,
}  # fmt: skip
_CONFLICT = {
    "path": _TEXT,
    "reason": _TEXT,
    "ours": _MAYBE,
    "theirs": _MAYBE,
    "fits": _NUMBER,
    "left": _NUMBER,
}

SCHEMAS: dict[str, Any] = {
    "Change": _object(
        "One change.", **_CHANGE, files=_list(_object("A name that it changed.", **_FILE))
    ),
    "Changes": _object(
        "Changes, newest first; `cursor` is that of the next page, or null.",
        changes=_list({"$ref": "#/components/schemas/Change"}), cursor=_PERHAPS, **_REST,
    ),
    "ChangeDiff": _object(
        "One change with the diff of each file.",
        **_CHANGE, **_REST,
        files=_list(_object("A name.", **_FILE, diff=_MAYBE, left_out=_NUMBER, note=_TEXT)),
    ),
    "Undone": _object(
        "The effects of an undo, or of its dry run; `change` is the change that it is itself.",
        undone=_list(_object("A name.", **_UNDONE)), changes=_list(_NUMBER), change=_PERHAPS,
        conflicts=_list(_object("A name that was changed since.", **_CONFLICT)), dry_run=_FLAG, **_REST,
    ),
    "Forgotten": _object("The past that went.", changes=_NUMBER, names=_NUMBER, size_bytes=_NUMBER, **_REST),
}  # fmt: skip
"""The answers."""


def paths(names: Sequence[Mapping[str, Any]], refusals: Mapping[str, Any]) -> dict[str, Any]:
    """The addresses; `names` are the headers by which a caller names itself."""

    def operation(tool: Tool, name: str, answer: str, *in_path: str) -> dict[str, Any]:
        ok = {
            "description": tool.title,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{answer}"}}},
        }
        return {
            "operationId": f"history.{name}",
            "summary": tool.title,
            "description": tool.description,
            "parameters": [*names, *(_parameter(tool, one, "path") for one in in_path)],
            "responses": {"200": ok, **refusals},
        }

    listing = operation(LIST_CHANGES, "list", "Changes")
    one = operation(LIST_CHANGES, "change", "Changes", "change")
    diff = operation(SHOW_CHANGE, "diff", "ChangeDiff", "change")
    listing["parameters"] += [
        _parameter(LIST_CHANGES, name, "query")
        for name in properties(LIST_CHANGES.arguments)
        if name != "change"
    ]
    diff["parameters"].append(_parameter(SHOW_CHANGE, "path", "query"))
    undo, forget = operation(UNDO_CHANGES, "undo", "Undone"), operation(FORGET_CHANGES, "forget", "Forgotten")
    for made, tool in ((undo, UNDO_CHANGES), (forget, FORGET_CHANGES)):
        body = {"application/json": {"schema": tool.input_schema}}
        made["requestBody"] = {"required": True, "content": body}
    return {
        PATH: {"get": listing},
        f"{PATH}/{{change}}": {"get": one},
        f"{PATH}/{{change}}/diff": {"get": diff},
        f"{PATH}/undo": {"post": undo},
        f"{PATH}/forget": {"post": forget},
    }


def _parameter(tool: Tool, name: str, where: str) -> dict[str, Any]:
    schema = properties(tool.arguments)[name]
    return {"name": name, "in": where, "required": where == "path", "schema": schema}
