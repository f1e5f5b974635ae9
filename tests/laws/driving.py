"""Using a workspace as a model does: by calls, by what replies show, and by the calls they name.

Everything here looks at a reply from outside: its text, its facts, its size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

from readroom.core.config import Settings
from readroom.core.contracts.native.outline import ASIDE
from readroom.core.limits import MIN_REPLY_BYTES, REPLY_BYTES, Limits
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.laws.places import PlaceName, over_bucket, over_shell

StoreName: TypeAlias = Literal["memory", "kernel", "walk"]
STORES: tuple[StoreName, ...] = ("memory", "kernel", "walk")
"""Those of this machine; `test_elsewhere` has the others."""

MOST_CALLS = 5000
"""A chain of calls that is longer goes round in a circle."""


@contextmanager
def stored(name: StoreName | PlaceName, files: Mapping[str, bytes]) -> Iterator[Store]:
    """A store of that sort holding these files."""
    if name == "memory":
        yield MemoryStore(files)
        return
    if name == "bucket" or name == "container":
        with over_bucket(files, kind=name) as store:
            yield store
        return
    with TemporaryDirectory(prefix="readroom-law-") as folder:
        for path, data in files.items():
            target = Path(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        yield over_shell(Path(folder)) if name == "shell" else LocalStore(folder, confinement=name)


class Driver:
    """One caller of one workspace, who checks the size of every reply."""

    def __init__(self, store: Store, *, reply_bytes: int | None = None, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.workspace = Workspace(store, settings=Settings(limits=limits))
        self.reply_bytes = reply_bytes
        own = REPLY_BYTES if limits.reply_bytes is None else limits.reply_bytes
        self.cap = max(MIN_REPLY_BYTES, min(own, reply_bytes or own))

    def call(self, tool: str, /, **arguments: object) -> Reply:
        """A reply within its cap, whose text and facts can be sent as UTF-8 and JSON."""
        reply = self.workspace.call(tool, arguments, reply_bytes=self.reply_bytes)
        assert len(reply.text.encode()) <= self.cap, f"{len(reply.text.encode())} > {self.cap}: {arguments}"
        json.dumps(reply.facts, allow_nan=False).encode()
        return reply

    def follow(self, call: Mapping[str, Any]) -> Reply:
        """The reply to a call that another reply named, sent as it stands."""
        sent = json.loads(json.dumps(call))
        return self.call(sent["tool"], **sent["arguments"])

    def pages(self, tool: str, /, **arguments: object) -> Iterator[Reply]:
        """The reply and all that follow by `next`."""
        reply = self.call(tool, **arguments)
        yield reply
        yield from self.rest(reply)

    def rest(self, reply: Reply) -> Iterator[Reply]:
        """All replies that follow one by `next`."""
        for _ in range(MOST_CALLS):
            following = fact(reply, "next")
            if following is None:
                return
            reply = self.follow(following)
            assert not reply.is_error, reply.text
            yield reply
        raise AssertionError("following `next` does not end")

    def lines(self, path: str, /, **arguments: object) -> dict[int, str]:
        """Every line that following `next` alone shows, in order, the cut ones joined from their pieces.

        Pages must join without a gap, downwards or upwards; every line and every character must come once.
        """
        found: dict[int, str] = {}
        left: dict[int, int] = {}
        for reply in self.pages("read_file", path=path, **arguments):
            assert not reply.is_error, reply.text
            one_call(reply)
            here, rests = shown(reply), fact(reply, "columns_shown")
            if rests is None and here:
                assert not found or min(here) == max(found) + 1 or max(here) == min(found) - 1, list(here)
                assert not set(here) & set(found)
                found |= here
            for piece in rests or ():
                line = piece["line"]
                assert piece["from"] == len(found[line]) + 1, f"{piece} after {len(found[line])}"
                assert here[line], "a piece of a line shows nothing"
                found[line] += here[line]
                assert len(found[line]) == piece["to"]
            for line in here:
                left.pop(line, None)
            left |= {line: columns for line, columns in cut(reply).items() if line in here}
        assert not left, f"never shown: {left}"
        return dict(sorted(found.items()))

    def whole_lines(self, reply: Reply) -> dict[int, str]:
        """The lines of one reply, completed by the calls named in `omitted`."""
        found = shown(reply)
        for item in fact(reply, "omitted"):
            if item["what"] != "columns":
                continue
            line = item["line"]
            if line not in found:
                continue  # the header of a table, above a later window
            assert item["from"] == len(found[line]) + 1
            found[line] += "".join(self._pieces(item))
            assert len(found[line]) == item["to"]
        return found

    def _pieces(self, item: Mapping[str, Any]) -> Iterator[str]:
        column, line = item["from"], item["line"]
        reply = self.follow(item["call"])
        for piece in [reply, *self.rest(reply)]:
            assert not piece.is_error, piece.text
            (text,) = shown(piece).values()
            assert fact(piece, "lines_shown") == {"start": line, "end": line}
            assert fact(piece, "columns_shown")[0]["from"] == column
            assert text, "a piece of a line shows nothing"
            column += len(text)
            yield text
        assert column == item["to"] + 1


def fact(reply: Reply, name: str) -> Any:
    """One machine fact."""
    return reply.facts[name]


def hints(reply: Reply) -> Iterator[Mapping[str, Any]]:
    """Every call that a reply suggests."""
    if reply.is_error:
        suggested = [fact(reply, "error")["next"]]
    else:
        suggested = [fact(reply, "next"), *(item["call"] for item in fact(reply, "omitted"))]
    yield from (call for call in suggested if call is not None)


def rows(reply: Reply) -> list[str]:
    """The lines of the reply between its header and its closing line."""
    return reply.text.split("\n")[1:-1]


def lines_of(reply: Reply) -> list[str]:
    """Without the outline of what a cut reply does not show."""
    found = rows(reply)
    return found[: found.index(ASIDE)] if fact(reply, "outline") is not None and ASIDE in found else found


def header_row(reply: Reply) -> str | None:
    """Line 1 of a table as shown above a later window."""
    return rows(reply)[0] if fact(reply, "header_line") else None


def cut(reply: Reply) -> dict[int, int]:
    """How many characters of which lines the reply says to have cut."""
    return {
        item["line"]: item["to"] - item["from"] + 1
        for item in fact(reply, "omitted")
        if item["what"] == "columns"
    }


_CALL = re.compile(r"\b\w+_\w+ \{\"")


_NEWS = re.compile(r" \[[^\[\]]* since you saw it[^\n]*\Z")
"""Files that changed since they were shown, after the words about the reply itself."""


def one_call(reply: Reply) -> None:
    """The last line names one call, where there is any: the one that goes on."""
    last = _NEWS.sub("", reply.text.rpartition("\n")[2])
    calls = _CALL.findall(last)
    assert len(calls) <= 1, last
    following = fact(reply, "next")
    if following is not None and "More in the facts" not in last:
        assert json.dumps(following["arguments"], ensure_ascii=False, separators=(",", ":")) in last
        assert last.endswith("}]")


def shown(reply: Reply) -> dict[int, str]:
    """The shown lines by number, or what is shown of them, without the marks of cut ones."""
    left = {number: f" [+{columns} chars]" for number, columns in cut(reply).items()}
    starts = {item["line"]: item["from"] for item in fact(reply, "columns_shown") or ()}
    found = {}
    for row in lines_of(reply)[1 if fact(reply, "header_line") else 0 :]:
        place, tab, text = row.partition("\t")
        assert tab
        number, _, column = place.partition(":")
        assert int(column or 1) == starts.get(int(number), 1)
        mark = left.get(int(number), "")
        assert text.endswith(mark)
        found[int(number)] = text.removesuffix(mark)
    span = fact(reply, "lines_shown")
    if starts:
        assert list(found) == list(starts)
        assert span == {"start": min(starts), "end": max(starts)}
    else:
        assert list(found) == (list(range(span["start"], span["end"] + 1)) if span["end"] else [])
    return found
