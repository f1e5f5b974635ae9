"""Measure log, blame, changes and old files of a repository with 1,000,000 commits.

python -m benchmarks.history.million --work FOLDER --out RUN
"""

from __future__ import annotations

import argparse
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.history.asking import git_text
from benchmarks.measure import Record, seconds
from readroom import Workspace

COMMITS, FILES, LINES = 1_000_000, 200, 40
"""Each commit changes one line of one file; all but two files take turns."""

_EARLY, _PAGES = "rare/early.txt", 2
"""A file of the first commit alone, and the calls that go on at most."""


def main() -> None:
    """Make the repository if it is not there, ask, and write the run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    folder: Path = given.work / "million"
    record = Record()
    if not folder.exists():
        began = time.monotonic()
        _make(folder)
        record.say(f"- Made with `git fast-import` in {time.monotonic() - began:.0f} s.")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    count = git_text(folder, "rev-list", "--count", "HEAD").strip()
    record.say(f"- {int(count):,} commits, {FILES + 2} files, {size:,.0f} MB on the disk.", "")
    record.table(
        ["call", "first page", "pages", "all of them", "peak of the child, MB", "it ends with"],
        list(_rows(record, folder)),
    )
    record.write(given.out, "python -m benchmarks.history.million --work FOLDER --out RUN")


def _make(folder: Path) -> None:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    importing = subprocess.Popen(
        ["git", "-C", str(folder), "fast-import", "--quiet", "--depth=10"], stdin=subprocess.PIPE
    )
    assert importing.stdin is not None
    for chunk in _stream():
        importing.stdin.write(chunk)
    importing.stdin.close()
    if importing.wait():
        raise RuntimeError("git fast-import failed")


def _stream() -> Iterator[bytes]:
    texts = [[f"line {line} of {file}" for line in range(LINES)] for file in range(FILES)]
    early = b"once and never again\n"
    for number in range(COMMITS):
        file = number * 7919 % FILES
        texts[file][number // FILES % LINES] = f"changed by {number}"
        files = {f"part{file % 10}/f{file}.txt": ("\n".join(texts[file]) + "\n").encode()}
        if number == 0:
            files[_EARLY] = early
        if number == COMMITS // 2:
            files["rare/middle.txt"] = early
        subject = f"change {number}".encode()
        when = 1_000_000_000 + number * 60
        own = [b"commit refs/heads/main\ncommitter Ann <ann@example.org> %d +0000\n" % when]
        own.append(b"data %d\n%b\n" % (len(subject), subject))
        for path, data in files.items():
            own.append(b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(data), data))
        yield b"".join(own)


def _rows(record: Record, folder: Path) -> Iterator[list[str]]:
    path = "part3/f3.txt"
    calls: Mapping[str, tuple[str, dict[str, Any]]] = {
        "log": ("git", {"show": "log"}),
        "log of a file that 5,000 commits change": ("git", {"show": "log", "path": path}),
        "log of a file that the first commit alone has": ("git", {"show": "log", "path": _EARLY}),
        "log of lines": ("git", {"show": "log", "path": path, "lines": "3-4"}),
        "log of a range of 9,000": ("git", {"show": "log", "revision": "HEAD~9000..HEAD"}),
        "blame of 40 lines": ("git", {"show": "blame", "path": path, "revision": "HEAD"}),
        "blame of a file of the first commit": ("git", {"show": "blame", "path": _EARLY, "revision": "HEAD"}),
        "changes since HEAD~900000": ("git", {"show": "changes", "revision": "HEAD~900000..HEAD"}),
        "changes since the common commit": ("git", {"show": "changes", "revision": "HEAD~999999...HEAD"}),
        "read a file of HEAD~999000": ("read_file", {"path": f"@HEAD~999000/{path}"}),
        "list HEAD~500000": ("list_directory", {"path": "@HEAD~500000"}),
        "search HEAD~500000": ("grep_files", {"pattern": "changed by 499999", "path": "@HEAD~500000"}),
    }
    for title, (tool, arguments) in calls.items():
        with Workspace(folder) as workspace:
            row = [title, *_asked(record, title, workspace, tool, arguments)]
        print(*row, sep="\t", flush=True)
        yield row


def _asked(record: Record, title: str, workspace: Workspace, tool: str, arguments: Any) -> list[str]:
    took: list[float] = []
    call: Any = {"tool": tool, "arguments": arguments}
    ends = ""
    peak = 0.0
    while call is not None and len(took) < _PAGES:
        began = time.monotonic()
        reply = workspace.call(call["tool"], call["arguments"])
        took.append(time.monotonic() - began)
        peak = max(peak, _peak_of_children())
        facts: Any = reply.facts
        ends = facts["error"]["code"] if reply.is_error else "goes on" if facts["next"] else "end"
        if not reply.is_error and (warned := facts.get("warnings")):
            ends += f" ({'; '.join(warn['code'] for warn in warned)})"
        if not reply.is_error and facts.get("not_finished"):
            ends += ", lines left"
        call = None if reply.is_error else facts["next"]
    record.add(title, "page", "readroom", took, "s")
    record.add(title, "child", "readroom", [peak], "MB")
    return [seconds(took[0]), str(len(took)), seconds(sum(took)), f"{peak:.0f}", ends]


def _peak_of_children() -> float:
    """The largest peak of memory of a child of this process that is alive, in MB."""
    peak = 0.0
    for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text(encoding="ascii").split():
        try:
            status = Path(f"/proc/{child}/status").read_text(encoding="utf-8")
        except OSError:
            continue
        for line in status.splitlines():
            if line.startswith("VmHWM:"):
                peak = max(peak, int(line.split()[1]) / 1024)
    return peak


if __name__ == "__main__":
    main()
