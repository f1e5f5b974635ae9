"""What type checkers refuse: every line below that has a comment for them, and no other. It is never run."""

from __future__ import annotations

from readroom import AsyncWorkspace, OneEdit, Reply, Workspace


def mistakes(workspace: Workspace) -> None:
    workspace.read("x", ofset=3)  # type: ignore[call-arg]
    workspace.read("x", offset="3")  # type: ignore[arg-type]
    workspace.read("x", view="outlines")  # type: ignore[arg-type]
    workspace.read()  # type: ignore[call-arg]
    workspace.grep("x", include=["hiden"])  # type: ignore[list-item]
    workspace.find("x", limit=3)  # type: ignore[call-arg]
    workspace.list(deph=2)  # type: ignore[call-arg]
    workspace.edit("x", "absent", [{"old_txt": "a", "new_text": "b"}])  # type: ignore[typeddict-unknown-key]
    workspace.edit("x", "absent", [{"old_text": "a"}])  # type: ignore[typeddict-item]
    workspace.change([{"action": "remove", "path": "x"}])  # type: ignore[typeddict-item]
    workspace.git("blames")  # type: ignore[arg-type]
    workspace.run("make", timeout=3)  # type: ignore[call-arg]
    workspace.undo(change="3")  # type: ignore[arg-type]
    workspace.forget(everything=True)  # type: ignore[call-arg]


async def awaited(workspace: AsyncWorkspace) -> None:
    await workspace.read("x", ofset=3)  # type: ignore[call-arg]
    await workspace.write("x", "text")  # type: ignore[call-arg]


def replies(reply: Reply) -> str:
    if reply.next is not None and reply.next.tool:
        return reply.next.tol  # type: ignore[attr-defined, no-any-return]
    one: OneEdit = {"new_text": 3}  # type: ignore[typeddict-item]
    return reply.hash + str(one)  # type: ignore[operator]
