"""Editors of models, each asked as its own interface wants it: ours, and peers at their published versions.

An editor takes all tasks at once, each in a folder of its own, because starting a peer takes seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.edit_tasks import Task
from benchmarks.peers import PEERS
from readroom import Workspace
from readroom.core.errors import ReadroomError

_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Said:
    """What was sent to an editor for a task, and what it replied, as the model pays for both."""

    call: str
    reply: str


Editor: TypeAlias = Callable[[Sequence[tuple[Path, Task]]], list[Said]]


def readroom_edit(places: Sequence[tuple[Path, Task]]) -> list[Said]:
    """readroom, `edit_file` with the hashes of what the caller read."""
    return [_ours(folder, "edit_file", _edit_call(task)) for folder, task in places]


def readroom_patch(places: Sequence[tuple[Path, Task]]) -> list[Said]:
    """readroom, `apply_patch` with a unified diff."""
    return [_ours(folder, "apply_patch", {"patch": task.diff()}) for folder, task in places]


def _edit_call(task: Task) -> dict[str, Any]:
    known = {
        path: "sha256:" + hashlib.sha256(task.read.get(path, data)).hexdigest()[:12]
        for path, data in task.files.items()
    }
    named = [
        {"path": edit.path, "expected_hash": known[edit.path], **_texts(task, edit.old, edit.new)}
        for edit in task.edits
    ]
    if len(task.files) > 1:
        return {"edits": named}
    path = task.edits[0].path
    edits = [
        {name: value for name, value in edit.items() if name not in ("path", "expected_hash")}
        for edit in named
    ]
    return {"path": path, "expected_hash": known[path], "edits": edits}


def _texts(task: Task, old: str, new: str) -> dict[str, str]:
    """The two texts; of a notebook those of the cell, which is what our read shows."""
    if task.kind != "notebook":
        return {"old_text": old, "new_text": new}
    return {"old_text": _of_cell(old), "new_text": _of_cell(new)}


def _of_cell(stored: str) -> str:
    text: str = json.loads(stored.strip().removesuffix(","))
    return text


def _ours(folder: Path, tool: str, arguments: dict[str, Any]) -> Said:
    with Workspace(folder) as workspace:
        try:
            reply = workspace.perform(tool, arguments).text
        except ReadroomError as error:
            reply = str(error)
    return Said(_json(arguments), reply)


def official(places: Sequence[tuple[Path, Task]]) -> list[Said]:
    """@modelcontextprotocol/server-filesystem, `edit_file`: a call for each file."""
    program = str(PEERS / "node_modules" / ".bin" / "mcp-server-filesystem")
    root = str(places[0][0].parent)

    async def all_tasks() -> list[Said]:
        with open("/dev/null", "w", encoding="utf-8") as quiet:
            server = StdioServerParameters(command=program, args=[root])
            async with stdio_client(server, errlog=quiet) as streams, ClientSession(*streams) as session:
                await session.initialize()
                return [await one(session, folder, task) for folder, task in places]

    async def one(session: ClientSession, folder: Path, task: Task) -> Said:
        calls, replies = [], []
        for path in dict.fromkeys(edit.path for edit in task.edits):
            edits = [{"oldText": edit.old, "newText": edit.new} for edit in task.edits if edit.path == path]
            arguments: dict[str, Any] = {"path": str(folder / path), "edits": edits}
            calls.append(_json({**arguments, "path": path}))
            found = await asyncio.wait_for(session.call_tool("edit_file", arguments), _LIMIT_S)
            replies.append("".join(getattr(part, "text", "") for part in found.content))
        return Said("\n".join(calls), "\n".join(replies))

    return asyncio.run(all_tasks())


def git_apply(places: Sequence[tuple[Path, Task]]) -> list[Said]:
    """`git apply` with the same diff, outside of a repository, and nothing ignored."""
    said = []
    for folder, task in places:
        patch = task.diff()
        done = subprocess.run(
            ["git", "-c", "core.autocrlf=false", "apply", "-"],
            cwd=folder,
            input=patch.encode(),
            capture_output=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(folder.parent)},
        )
        said.append(Said(_json({"patch": patch}), (done.stdout + done.stderr).decode("utf-8", "replace")))
    return said


# --- libraries, each in an environment of its own ------------------------------------------------

_LOOP = """
import json, sys
jobs = json.load(sys.stdin)
out = []
for job in jobs:
    try:
        out.append(act(job))
    except Exception as error:
        out.append([str(job.get("call", "")), f"{type(error).__name__}: {error}"])
print("\\x00" + json.dumps(out))
"""

_DEEPAGENTS = """
from deepagents.backends.filesystem import FilesystemBackend

def act(job):
    backend = FilesystemBackend(root_dir=job["folder"], virtual_mode=True)
    calls, replies = [], []
    for edit in job["edits"]:
        sent = {"file_path": "/" + edit["path"], "old_string": edit["old"], "new_string": edit["new"]}
        calls.append(json.dumps(sent, ensure_ascii=False))
        done = backend.edit(*sent.values())
        made = f"Successfully replaced {done.occurrences} instance(s) of the string in '{done.path}'"
        replies.append(done.error or made)
    return ["\\n".join(calls), "\\n".join(replies)]
"""

_OPENHANDS = """
from pathlib import Path
from openhands_aci.editor import OHEditor, ToolError

def act(job):
    editor, calls, replies = OHEditor(), [], []
    for edit in job["edits"]:
        sent = {"command": "str_replace", "path": str(Path(job["folder"]) / edit["path"]),
                "old_str": edit["old"], "new_str": edit["new"]}
        calls.append(json.dumps({**sent, "path": "/w/" + edit["path"]}, ensure_ascii=False))
        try:
            done = editor(**sent)
            replies.append(done.error or done.output or "")
        except ToolError as error:
            replies.append(error.message)
    return ["\\n".join(calls), "\\n".join(replies)]
"""

_AIDER = """
from aider.coders.editblock_coder import EditBlockCoder
from aider.coders.udiff_coder import UnifiedDiffCoder
from aider.io import InputOutput
from pathlib import Path

def coder(kind, job):
    made = kind.__new__(kind)
    made.io = InputOutput(pretty=False, yes=True)
    made.root, made.fence, made.shell_commands = job["folder"], ("```", "```"), []
    made.abs_fnames = {str(Path(job["folder"]) / edit["path"]) for edit in job["edits"]}
    made.abs_root_path_cache = {}
    return made

def apply(made, text):
    made.partial_response_content = text
    try:
        edits = made.get_edits()
        edits = made.apply_edits_dry_run(edits) or edits if KIND == "diff" else edits
        made.apply_edits(edits)
    except ValueError as error:
        return [text, str(error)]
    return [text, "Applied edit to " + ", ".join(sorted({edit[0] for edit in edits}))]

def act(job):
    if KIND == "udiff":
        diff = job["diff"].replace("--- a/", "--- ").replace("+++ b/", "+++ ")
        return apply(coder(UnifiedDiffCoder, job), "```diff\\n" + diff + "```\\n")
    text = ""
    for edit in job["edits"]:
        old, new = (part + "\\n" * (part[-1:] not in ("", "\\n")) for part in (edit["old"], edit["new"]))
        text += edit["path"] + "\\n```python\\n<<<<<<< SEARCH\\n" + old + "=======\\n" + new
        text += ">>>>>>> REPLACE\\n```\\n\\n"
    return apply(coder(EditBlockCoder, job), text)
"""

_AGENTS = """
from pathlib import Path
from agents import apply_diff

def act(job):
    sent = [{"type": "update_file", "path": path, "diff": diff} for path, diff in job["v4a"].items()]
    replies = []
    for path, diff in job["v4a"].items():
        file = Path(job["folder"]) / path
        try:
            text = file.open(encoding="utf-8", newline="").read()
            new = apply_diff(text, diff)
            file.open("w", encoding="utf-8", newline="").write(new)
            replies.append(f"Updated {path}")
        except Exception as error:
            replies.append(f"{type(error).__name__}: {error}")
    return [json.dumps(sent, ensure_ascii=False), "\\n".join(replies)]
"""


def _library(venv: str, act: str) -> Editor:
    def edit(places: Sequence[tuple[Path, Task]]) -> list[Said]:
        jobs = [
            {
                "folder": str(folder),
                "edits": [{"path": one.path, "old": one.old, "new": one.new} for one in task.edits],
                "diff": task.diff(),
                "v4a": {path: task.v4a(path) for path in task.wanted},
            }
            for folder, task in places
        ]
        done = subprocess.run(
            [str(PEERS / venv / "bin" / "python"), "-W", "ignore", "-c", act + _LOOP],
            input=json.dumps(jobs),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            check=True,
        )
        return [Said(*each) for each in json.loads(done.stdout.rpartition("\x00")[2])]

    return edit


def _json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


EDITORS: dict[str, tuple[Editor, str, str]] = {
    "readroom, edits": (readroom_edit, "", ""),
    "readroom, diff": (readroom_patch, "", ""),
    "server-filesystem": (official, "", "@modelcontextprotocol/server-filesystem"),
    "deepagents": (_library("venv-deepagents", _DEEPAGENTS), "venv-deepagents", "deepagents"),
    "openhands-aci": (_library("venv-aci", _OPENHANDS), "venv-aci", "openhands-aci"),
    "aider, diff": (_library("venv-aider", "KIND = 'diff'\n" + _AIDER), "venv-aider", "aider-chat"),
    "aider, udiff": (_library("venv-aider", "KIND = 'udiff'\n" + _AIDER), "venv-aider", "aider-chat"),
    "openai-agents": (_library("venv-agents", _AGENTS), "venv-agents", "openai-agents"),
    "git apply": (git_apply, "", "git"),
}
"""By name: the editor, the environment that it needs, and its package."""
