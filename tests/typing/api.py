"""The public API as users write it, for the type checker. It is never run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_type

import readroom
from readroom import (
    AsyncWorkspace,
    BadRange,
    Call,
    Deadline,
    Denied,
    Image,
    NotFound,
    ReadroomError,
    Reply,
    Workspace,
)
from readroom.core import errors


def folders(path: Path) -> None:
    Workspace("relative/folder")
    Workspace(path)
    with Workspace(path) as workspace:
        assert_type(workspace, Workspace)
    workspace.close()


def replies(workspace: Workspace) -> None:
    reply = workspace.read("a.txt", offset=-10, limit=5, encoding="utf-8")
    assert_type(reply, Reply)
    assert_type(reply.text, str)
    assert_type(reply.is_error, bool)
    assert_type(reply.images, Sequence[Image])
    workspace.grep("needle", glob=["*.py", "!test_*"], context=2, ignore_case=True)
    workspace.list(depth=2, sort="size")


def calls(workspace: Workspace, sent: object) -> Reply:
    deadline = Deadline(5.0, progress=lambda done, total, unit: None)
    reply = workspace.call("read_file", sent, deadline=deadline, reply_bytes=4096)
    deadline.cancel()
    following = reply.facts["next"]
    if isinstance(following, Mapping) and isinstance(following["tool"], str):
        return workspace.call(following["tool"], following["arguments"])
    return workspace.perform("list_directory", {"path": "."})


def failures(workspace: Workspace) -> str:
    try:
        return workspace.read("a.txt").text
    except NotFound as error:
        assert_type(error.path, str)
    except (Denied, BadRange) as error:
        return f"{error.code}: {error.message}. {error.advice}"
    except FileNotFoundError:
        return "a builtin that a Python caller expects"
    except ReadroomError as error:
        return str(error.next)
    return ""


def one_error_of_each_module() -> None:
    """They come through stars, and are the same classes under both names."""
    assert_type(readroom.RefusedError, type[errors.RefusedError])
    assert_type(readroom.Stale("a", "b", "c", changed=None), errors.Stale)
    assert_type(readroom.Busy(), errors.Busy)
    readroom.NotATool  # type: ignore[attr-defined]  # a name that is nowhere  # noqa: B018
    kinds: list[type[ReadroomError]] = [readroom.NoFolder, readroom.Binary, readroom.BadConfig]
    assert_type(kinds[0].code, str)


def what_a_reply_says(workspace: Workspace) -> None:
    reply = workspace.read("big.log")
    assert_type(reply.next, Call | None)
    assert_type(reply.tokens, int)
    assert_type(reply.hash, str | None)
    for page in reply.pages():
        assert_type(page, Reply)
    workspace.edit("a.txt", reply.hash or "absent", [{"old_text": "a", "new_text": "b", "replace_all": True}])
    workspace.change([{"action": "move", "path": "a", "to": "b"}], dry_run=True)


async def the_same_awaited(workspace: AsyncWorkspace) -> None:
    reply = await workspace.read("big.log", offset=1, view="outline")
    assert_type(reply, Reply)
    async for page in reply.pages():
        assert_type(page, Reply)
    assert_type(await workspace.call("read_file", {}), Reply)
