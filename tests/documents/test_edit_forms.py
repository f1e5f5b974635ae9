"""Edits and writes of documents that are stored in another form than a read shows."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.documents.reading.making import code, notebook
from tests.each import each

FILES: dict[str, bytes] = {
    "n.ipynb": notebook(code("print(1)")),
    "r.rtf": b"{\\rtf1 print(1)}",
    "f.fodt": b"<?xml version='1.0'?><o:document xmlns:o='x'><p>print(1)</p></o:document>",
}


def edited(space: Workspace, path: str, new: str) -> Reply:
    """An edit of the stored text, for which a notebook needs an encoding."""
    known = sha256(FILES[path]).hexdigest()[:12]
    edits = [{"old_text": "print(1)", "new_text": new}]
    arguments = {"path": path, "expected_hash": known, "edits": edits, "encoding": "utf-8"}
    return space.call("edit_file", arguments)


@each(
    ("path", "new"),
    [
        ("n.ipynb", 'print("hi")'),
        ("n.ipynb", "a = 1\nprint(a)"),
        ("n.ipynb", "print('\\x')"),
        ("n.ipynb", "a\tb"),
        ("r.rtf", "if {x"),
        ("f.fodt", "a < b & c"),
    ],
)
def test_an_edit_that_would_break_a_file_is_refused_with_the_text_that_works(path: str, new: str) -> None:
    store = MemoryStore(FILES)
    with Workspace(store) as space:
        refused = edited(space, path, new)
        error: Any = refused.facts["error"]
        assert error["code"] == "bad_value", refused.text
        works = json.JSONDecoder().raw_decode(refused.text.partition(" as a JSON string: ")[2])[0]
        reply = edited(space, path, works)
        assert not reply.is_error, reply.text


def test_a_file_that_is_broken_already_can_be_mended() -> None:
    data = b'{"cells": [print(1)'
    with Workspace(MemoryStore({"n.ipynb": data})) as space:
        known = sha256(data).hexdigest()[:12]
        edits = [{"old_text": "print(1)", "new_text": "2"}]
        reply = space.call("edit_file", {"path": "n.ipynb", "expected_hash": known, "edits": edits})
    assert not reply.is_error, reply.text


def test_a_notebook_is_not_replaced_by_what_is_none() -> None:
    with Workspace(MemoryStore(FILES)) as space:
        known = sha256(FILES["n.ipynb"]).hexdigest()[:12]
        call = {"path": "n.ipynb", "content": "print(1)\n", "expected_hash": known}
        assert space.call("write_file", call).is_error
