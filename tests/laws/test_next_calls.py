"""The call that continues a reply is another one; one that repeats the call would be sent for ever."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from readroom.core.config import open_store
from readroom.core.contracts import NAMES
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import GrepRequest, ListRequest, ReadRequest, Request
from readroom.core.workspace import Workspace
from tests.each import each

FILES = {f"d/f{number:04}.py": "a needle\n" * 3 for number in range(1_500)} | {"long.txt": "words\n" * 9_000}

ASKED: dict[str, Request] = {
    "search": GrepRequest("needle", "d"),
    "files that match": GrepRequest("needle", "d", output="files"),
    "list": ListRequest("d"),
    "glob": ListRequest("d", glob=("*.py",), files=True),
    "read": ReadRequest("long.txt"),
}


@each("name", NAMES)
@each("kind", ASKED)
def test_a_call_that_continues_differs_from_the_one_before(name: str, kind: str) -> None:
    with Workspace(MemoryStore(FILES)) as workspace:
        call = workspace.contract(name).to_call(ASKED[kind])
        for _ in range(3):
            if call is None:
                return
            reply = workspace.call(call.tool, call.arguments, contract_name=name)
            following = reply.facts.get("next")
            if reply.is_error or not isinstance(following, dict):
                return
            assert (following["tool"], following["arguments"]) != (call.tool, call.arguments)
            call = type(call)(following["tool"], following["arguments"])


LEFT_OUT = {
    "a.py": b"def needle():\n    pass\n",
    ".hidden/b.py": b"needle()\n",
    "c.bin": b"\x00\x01\x02" * 9_000,
    "d.ipynb": b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "e.tar.gz": gzip.compress(b"\x00" * 512),
    "f.log.gz": gzip.compress(b"needle\n"),
}
SEARCHES: dict[str, dict[str, object]] = {
    "plain": {},
    "newest first": {"sort": "mtime"},
    "best first": {"sort": "relevance"},
    "references": {"output": "references"},
    "references, newest first": {"output": "references", "sort": "path"},
    "counts, newest first": {"output": "count", "sort": "mtime"},
    "calls": {"kinds": ["call"]},
    "some included": {"include": ["binary"], "sort": "mtime"},
}


@each("asked", SEARCHES)
def test_the_same_call_with_what_was_left_out_works(asked: str) -> None:
    arguments = {"pattern": "needle", **SEARCHES[asked]}
    with TemporaryDirectory() as folder:
        for name, data in LEFT_OUT.items():
            Path(folder, name).parent.mkdir(exist_ok=True)
            Path(folder, name).write_bytes(data)
        with Workspace(open_store(folder)) as workspace:
            reply = workspace.call("grep_files", arguments)
            assert not reply.is_error, reply.text
            said = re.search(r"the same call with (.*?)(?: and without (.*?))?\.\]", reply.text)
            assert said is not None, reply.text
            pairs = re.findall(r"(\w+)=(\[.*?\]|\S+)", said[1])
            again = {name: json.loads(value) for name, value in pairs}
            gone = (said[2] or "").split(", ")
            kept = {name: value for name, value in arguments.items() if name not in gone}
            following = workspace.call("grep_files", {**kept, **again})
            assert not following.is_error, (reply.text, following.text)
            assert ".hidden/b.py" in following.text
