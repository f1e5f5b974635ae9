"""The lines of files that a reply shows, in the words of each contract: the text is read as a model reads it.

Facts say which lines these are where a contract does not number them, and which were cut inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from readroom.lens.evidence import Known, Run, evidence
from readroom.lens.records.events import Called, Returned
from readroom.lens.records.values import as_count, as_list, as_object, as_text, decode
from readroom.lens.replay.fitting import NATIVE
from readroom.values import Reply

_NUMBERED = {
    "everruns": re.compile(r"(\d+)\|(.*)"),
    "kilo": re.compile(r" *(\d+) \|(?: (.*))?"),
    "coder": re.compile(r"(\d+)\t(.*)"),
    "inspect_agents": re.compile(r" *(\d+)\t(.*)"),
}
"""How a contract numbers lines; one that is not here does not."""


def lines_of(reply: Reply, contract_name: str, tool: str) -> tuple[Run, ...]:
    """The lines of files that a reply of a contract shows whole."""
    if contract_name == NATIVE:
        return _native(reply, tool)
    answer = as_object(decode(reply.text.encode()) if reply.text.startswith("{") else None)
    if "matches" in answer:
        return tuple(_matches(answer))
    shown = as_object(reply.facts.get("lines_shown"))
    if not shown:
        return ()
    header = as_count(reply.facts.get("header_line"))
    first, last = as_count(shown.get("start")), as_count(shown.get("end"))
    rows = as_text(answer.get("content") if answer else reply.text).split("\n")
    pattern = _NUMBERED.get(contract_name)
    if pattern is None:
        numbers = [header] if header and header < first else []
        pairs: Iterable[tuple[int, str]] = zip([*numbers, *range(first, last + 1)], rows, strict=False)
    else:
        pairs = (pair for pair in _pairs(pattern, rows) if first <= pair[0] <= last or pair[0] == header)
    cut = {as_count(as_object(part).get("line")) for part in as_list(reply.facts.get("omitted"))}
    file = as_text(reply.facts.get("path"))
    return tuple(Run(file, number, (line,)) for number, line in pairs if number not in cut)


def _native(reply: Reply, tool: str) -> tuple[Run, ...]:
    # The header of a reply names the file, so its own arguments are not needed to read it.
    path = reply.text.split(" | ", 1)[0]
    called = Called("", "", tool, {"path": path}, server="readroom")
    return evidence(called, Returned("", "", reply.text, False), Known()).runs


def _pairs(pattern: re.Pattern[str], rows: list[str]) -> Iterator[tuple[int, str]]:
    before = 0
    for row in rows:
        match = pattern.fullmatch(row)
        if match and int(match[1]) > before:
            before = int(match[1])
            yield before, match[2] or ""


def _matches(answer: Mapping[str, Any]) -> Iterator[Run]:
    for match in map(as_object, as_list(answer.get("matches"))):
        path = as_text(match.get("path")).removeprefix("/workspace/")
        yield Run(path, as_count(match.get("line_number")), (as_text(match.get("line")),))
