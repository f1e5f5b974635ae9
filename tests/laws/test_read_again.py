"""Reads of files that were read before, in another contract as well, are those of a new workspace."""

from __future__ import annotations

from pathlib import Path

from readroom import Workspace
from readroom.core.values import Reply

FILES = {
    "plain.py": b"def one():\n    return 1\n",
    "open.txt": b"no final newline",
    "empty.txt": b"",
    "ends.txt": b"one\r\ntwo\nthree\r\n",
    "marked.txt": b"\xef\xbb\xbfwith a mark\n",
    "wide.txt": "zwei Bytes je Zeichen\n".encode("utf-16"),
    "latin.txt": "caf\xe9 cr\xe8me br\xfbl\xe9e d\xe9j\xe0 vu\n".encode("latin-1"),
    "hidden.txt": "in order \u202e and not\n\x0cpage\n".encode(),
    "nul.txt": b"text" * 3000 + b"\0" + b"more\n",
    "broken.ipynb": b'{"cells": \n',
    "page.html": b"<html><body><p>words</p></body></html>\n",
    "rows.csv": b"a,b\n1,2\n3,4\n",
    "long.log": b"".join(b"%d started\n" % number for number in range(3000)),
}

REQUESTS: tuple[dict[str, str | int], ...] = (
    {},
    {"offset": 2},
    {"limit": 1},
    {"encoding": "latin-1"},
    {"view": "outline"},
    {"pages": "1"},
    {"column": 3},
    {},
)


def _asked(workspace: Workspace, name: str, request: dict[str, str | int]) -> tuple[Reply, object]:
    reply = workspace.call("read_file", {"path": name, **request})
    return reply, reply.facts


def test_replies_are_those_of_a_workspace_that_has_read_nothing(tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    with Workspace(tmp_path) as lived_in:
        for name in FILES:
            # Another contract takes some of the files for something else.
            lived_in.call("read_file", {"path": f"/workspace/{name}"}, contract_name="everruns")
            for request in REQUESTS:
                again = _asked(lived_in, name, request)
                assert _asked(lived_in, name, request) == again or request.get("view") == "outline"
                if request.get("view") == "outline":
                    continue  # what follows is shown once in a conversation
                with Workspace(tmp_path) as fresh:
                    assert again == _asked(fresh, name, request), (name, request)
