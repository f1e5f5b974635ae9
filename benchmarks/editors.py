"""What replaces a text in a file: ours and peers, each asked as its own interface wants it.

An editor takes all jobs at once, because starting a peer takes seconds, and says of each job
what it answered: nothing when it says that the edit was made, otherwise its refusal.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.peers import PEERS
from readroom import Workspace
from readroom.core.errors import ReadroomError

_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Job:
    """An edit as a caller asks for it: texts with LF, and the lines that hold the old one."""

    path: str
    old: str
    new: str
    encoding: str
    first: int
    last: int


Answers: TypeAlias = Sequence[str | None]
"""None where the edit was made, as the editor says."""

Editor: TypeAlias = Callable[[Path, Sequence[Job]], Answers]


def readroom(folder: Path, jobs: Sequence[Job]) -> Answers:
    """Ours, in process; nothing is said about the encoding."""
    return _readroom(folder, jobs, named=False)


def readroom_named(folder: Path, jobs: Sequence[Job]) -> Answers:
    """Ours, told the encoding, as a caller does that reads in it."""
    return _readroom(folder, jobs, named=True)


def _readroom(folder: Path, jobs: Sequence[Job], *, named: bool) -> Answers:
    found: list[str | None] = []
    with Workspace(folder) as workspace:
        for job in jobs:
            known = hashlib.sha256((folder / job.path).read_bytes()).hexdigest()
            asked = job.encoding if named else None
            try:
                workspace.edit(job.path, known, [{"old_text": job.old, "new_text": job.new}], encoding=asked)
                found.append(None)
            except ReadroomError as error:
                found.append(error.code)
    return found


def official(folder: Path, jobs: Sequence[Job]) -> Answers:
    """@modelcontextprotocol/server-filesystem, edit_file."""
    program = str(PEERS / "node_modules" / ".bin" / "mcp-server-filesystem")

    async def act(session: ClientSession, job: Job) -> str | None:
        edits = [{"oldText": job.old, "newText": job.new}]
        return _refusal(await _call(session, "edit_file", path=str(folder / job.path), edits=edits))

    return asyncio.run(_served(StdioServerParameters(command=program, args=[str(folder)]), jobs, act))


def text_editor(folder: Path, jobs: Sequence[Job]) -> Answers:
    """mcp-text-editor, told the encoding: reads the lines, replaces in them, sends them back."""
    program = str(PEERS / "venv" / "bin" / "mcp-text-editor")

    async def act(session: ClientSession, job: Job) -> str | None:
        path = str(folder / job.path)
        ranges = [{"file_path": path, "ranges": [{"start": job.first, "end": job.last}]}]
        reply = await _call(session, "get_text_file_contents", files=ranges, encoding=job.encoding)
        if refusal := _refusal(reply):
            return refusal
        known = json.loads(_text(reply))[path]
        (part,) = known["ranges"]
        patch = {
            "line_start": job.first,
            "line_end": job.last,
            "range_hash": part["range_hash"],
            "contents": part["content"].replace(job.old, job.new, 1),
        }
        files = [{"path": path, "file_hash": known["file_hash"], "patches": [patch]}]
        reply = await _call(session, "patch_text_file_contents", files=files, encoding=job.encoding)
        if _refusal(reply):
            reply = await _call(session, "edit_text_file_contents", files=files, encoding=job.encoding)
        if refusal := _refusal(reply):
            return refusal
        answer = json.loads(_text(reply))[path]
        return None if answer.get("result") == "ok" else str(answer.get("reason"))

    return asyncio.run(_served(StdioServerParameters(command=program), jobs, act))


async def _served(
    server: StdioServerParameters, jobs: Sequence[Job], act: Callable[[ClientSession, Job], Any]
) -> Answers:
    with open("/dev/null", "w", encoding="utf-8") as quiet:
        async with stdio_client(server, errlog=quiet) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [await act(session, job) for job in jobs]


async def _call(session: ClientSession, tool: str, **arguments: object) -> Any:
    return await asyncio.wait_for(session.call_tool(tool, arguments), _LIMIT_S)


def _text(reply: Any) -> str:
    return "".join(getattr(part, "text", "") for part in reply.content)


def _refusal(reply: Any) -> str | None:
    return _text(reply)[:200] or "refused" if reply.is_error else None


_DEEPAGENTS = """
from deepagents.backends.filesystem import FilesystemBackend

def act(folder, job, backend=[]):
    if not backend:
        backend.append(FilesystemBackend(root_dir=folder, virtual_mode=True))
    return backend[0].edit("/" + job["path"], job["old"], job["new"]).error
"""

_HARNESS = """
import asyncio
from pydantic_ai.workspaces import LocalWorkspaceBackend
from pydantic_ai_harness.filesystem import FileSystem

def act(folder, job):
    tools = FileSystem(root_dir=folder).get_toolset()
    where = LocalWorkspaceBackend(folder)
    asyncio.run(tools.edit_file(job["path"], job["old"], job["new"], workspace=where))
"""

_LOOP = """
import json, sys
def answer(job):
    try:
        return act(sys.argv[1], job)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
print(json.dumps([answer(job) for job in json.load(sys.stdin)]))
"""


def deepagents(folder: Path, jobs: Sequence[Job]) -> Answers:
    """deepagents, FilesystemBackend.edit."""
    return _library("venv-deepagents", _DEEPAGENTS, folder, jobs)


def harness(folder: Path, jobs: Sequence[Job]) -> Answers:
    """pydantic-ai-harness, FileSystem.edit_file."""
    return _library("venv-harness", _HARNESS, folder, jobs)


def _library(venv: str, act: str, folder: Path, jobs: Sequence[Job]) -> Answers:
    done = subprocess.run(
        [str(PEERS / venv / "bin" / "python"), "-W", "ignore", "-c", act + _LOOP, str(folder)],
        input=json.dumps([asdict(job) for job in jobs]),
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=True,
    )
    found: list[str | None] = json.loads(done.stdout)
    return found


EDITORS: dict[str, tuple[Editor, Path | None]] = {
    "readroom": (readroom, None),
    "readroom, encoding named": (readroom_named, None),
    "server-filesystem": (official, PEERS / "node_modules/.bin/mcp-server-filesystem"),
    "mcp-text-editor, encoding named": (text_editor, PEERS / "venv/bin/mcp-text-editor"),
    "deepagents": (deepagents, PEERS / "venv-deepagents/bin/python"),
    "pydantic-ai-harness": (harness, PEERS / "venv-harness/bin/python"),
}
"""By name, and the program that must be there."""
