"""Deep pages of logs of 1, 4 and 16 GB: first, from a kept index, and after something was appended."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from benchmarks import corpora, peers, targets
from benchmarks.measure import Record, command, in_child, met, seconds, take_turns
from readroom import Workspace

_SIZES = (1, 4, 16)
_DEEP = 0.9


def run(record: Record) -> None:
    """What a page costs does not grow with the file, once it was passed over.

    One round of each whole pass: 16 GB do not fit the page cache beside other work, so
    their passes are as fast as the disk.  `sed` gives the right lines without their
    number in all, without a hash, and from the start each time; `wc -l` only counts.
    """
    with tempfile.TemporaryDirectory(prefix="readroom-giant-") as kept:
        rows, laters = [], {}
        for size in _SIZES:
            path = corpora.giant_log(size)
            try:
                row, laters[size] = _size(record, path, size, str(Path(kept) / "readroom"))
                rows.append(row)
            finally:
                shutil.rmtree(path.parent)
    record.say("A page of 500 lines at nine tenths of a log; every column but `later` is one call.")
    record.table(
        [
            *("log", "wc -l", "sed to the line", "first, new process", "later", "new process, kept index"),
            *("appended, same process", "appended, new process", "peak above idle"),
        ],
        rows,
    )
    record.say(
        f"- Later page of 16 GB against one of 1 GB: {laters[16] / laters[1]:.2f}",
        f"- Later page of 16 GB in ms: {met(laters[16] * 1000, targets.LATER_PAGE_MS)}",
        "",
    )
    _peer(record)


def _size(record: Record, path: Path, size: int, kept: str) -> tuple[list[str], float]:
    name = f"{size} GB"
    line = int(_DEEP * _lines(path))
    limits = take_turns(
        {
            "wc -l": command("wc", "-l", str(path)),
            "sed -n": command("sed", "-n", f"{line},{line + 499}p;{line + 499}q", str(path)),
        },
        1,
    )
    wc, sed = (record.add("giant", name, tool, limits[tool], "s") for tool in ("wc -l", "sed -n"))
    first = in_child("giant", str(path), kept, str(line), "")
    again = in_child("giant", str(path), kept, str(line), "append")
    with open(path, "ab") as log:
        log.write(b"one more line of a log\n" * 50_000)
    grown = in_child("giant", str(path), kept, str(line), "")
    peak = max(found["peak_mb"] - found["idle_mb"] for found in (first, again, grown))
    figures = {
        "first, new process": first["first_s"],
        "later": first["later_s"],
        "new process, kept index": again["first_s"],
        "appended, same process": again["appended_s"],
        "appended, new process": grown["first_s"],
    }
    for case, value in figures.items():
        record.add("giant", f"{name}, {case}", "readroom", [value], "s")
    record.add("giant", f"{name}, peak above idle", "readroom", [peak], "MB")
    told = [seconds(value) for value in (wc, sed, *figures.values())]
    return [name, *told, met(peak, targets.MEMORY_MB) + " MB"], first["later_s"]


def _lines(path: Path) -> int:
    """About how many lines it has, from its first part."""
    part = corpora.big_log() / "big.log"
    return path.stat().st_size * corpora.LOG_LINES // os.stat(part).st_size


def _peer(record: Record) -> None:
    """The one MCP server found that gives the right lines, on the smallest log: it reads the file whole."""
    log = corpora.big_log() / "big.log"
    servers = [server for server in peers.installed(log.parent) if server.name == "mcp-text-editor"]
    if not servers:
        record.say("mcp-text-editor, the peer that gives the right lines, is not installed here.", "")
        return
    line = int(_DEEP * corpora.LOG_LINES)
    asked: dict[str, object] = {
        "files": [{"file_path": str(log), "ranges": [{"start": line, "end": line + 499}]}]
    }
    found = peers.ask(servers[0], "get_text_file_contents", asked, 1, limit_s=120)
    with Workspace(log.parent) as workspace:
        shown = workspace.read(log.name, offset=line, limit=1).text.splitlines()[1].partition("\t")[2]
    right = "the right lines" if shown in found.text else "not the right lines"
    record.add("giant", "1 GB, over MCP", "mcp-text-editor", found.calls_s, "s")
    record.add("giant", "1 GB, over MCP, peak", "mcp-text-editor", [found.peak_mb - found.idle_mb], "MB")
    record.say(
        f"- mcp-text-editor on 1.15 GB, every call: {seconds(found.median_s)}, {right}, "
        f"{found.peak_mb - found.idle_mb:,.0f} MB above idle",
        "",
    )
