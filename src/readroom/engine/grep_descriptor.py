"""Searching one opened file with rg, through the descriptor that the guard opened.

Where the file lies does not matter any more: rg is given no name.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence

from readroom.deadline import Deadline
from readroom.engine.grep_child import Child, failed
from readroom.errors import StoreFailed
from readroom.limits import HEAD_BYTES
from readroom.model import GrepRequest
from readroom.search.pattern import Hit
from readroom.search.ripgrep import pattern_flags, refusal
from readroom.stores.base import Source

_HIT = re.compile(rb"(\d+):(\d+):")


def lines_of_bytes(data: bytes, request: GrepRequest, deadline: Deadline) -> Iterator[Hit]:
    """The matching lines of a text in memory."""
    fd = _file_of(data)
    try:
        yield from _lines(fd, request, deadline)
    finally:
        os.close(fd)


def _file_of(data: bytes) -> int:
    """A descriptor of a file without a name, in memory where the system has such files."""
    if sys.platform == "linux":
        fd = os.memfd_create("readroom")
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(data)
        return fd
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return os.dup(file.fileno())


def lines_of_source(
    source: Source, request: GrepRequest, deadline: Deadline, patterns: Sequence[str]
) -> Iterator[Hit]:
    """The matching lines of an opened file, read through its descriptor; offsets without a mark.

    `patterns` are looked for instead of that of the request if there are any.
    """
    fd = source.fileno()
    assert fd is not None
    yield from _lines(fd, request, deadline, _ways(source), patterns)


def _ways(source: Source) -> tuple[bool, ...]:
    """Whether to map the file into rg's memory: where a line does not fit, which its beginning may show."""
    return (False, True) if b"\n" in source.read_at(0, HEAD_BYTES) else (True,)


def _lines(
    fd: int,
    request: GrepRequest,
    deadline: Deadline,
    ways: Sequence[bool] = (False,),
    patterns: Sequence[str] = (),
) -> Iterator[Hit]:
    # One column: what is wanted is where the line is, and a line may have a gigabyte.
    flags = ["--byte-offset", "--max-columns=1", "--no-filename", "--line-buffered"]
    last = 0
    for mapped in ways:
        with _on_descriptor(fd, flags, request, deadline, mapped, patterns) as child:
            left = b""
            for data in child.output():
                *whole, left = (left + data).split(b"\n")
                for line in whole:
                    found = _HIT.match(line)
                    if found is not None and (number := int(found[1])) > last:
                        last = number
                        yield Hit(number, int(found[2]))
            if child.status in (0, 1):
                return
            if not child.starved:
                raise refusal(child.messages, request) or failed(child)
    raise StoreFailed(".", "a line of it is too long to be searched")


def count_of_source(source: Source, request: GrepRequest, deadline: Deadline) -> int:
    """How many lines of an opened file match."""
    fd = source.fileno()
    assert fd is not None
    for mapped in _ways(source):
        with _on_descriptor(fd, ["--count", "--no-filename"], request, deadline, mapped) as child:
            said = b"".join(child.output())
            if child.status in (0, 1):
                return int(said or 0)
            if not child.starved:
                raise refusal(child.messages, request) or failed(child)
    raise StoreFailed(source.real, "a line of it is too long to be searched")


def _on_descriptor(
    fd: int,
    flags: Sequence[str],
    request: GrepRequest,
    deadline: Deadline,
    mapped: bool,
    patterns: Sequence[str] = (),
) -> Child:
    # Its offset is shared with the child; whoever reads by position does not mind.
    os.lseek(fd, 0, os.SEEK_SET)
    text = [] if "binary" in request.include else ["--text"]
    where = "/dev/fd/0" if mapped else "-"
    flags = [*pattern_flags(request, patterns), *text, *flags, "--", where]
    return Child(flags, deadline, stdin=fd, mapped=mapped)
