"""readroom from Python: read, follow `next`, and meet a refusal.

python docs_src/library.py FOLDER
"""

from __future__ import annotations

import sys

from readroom import Denied, Reply, Workspace


def pages(workspace: Workspace, path: str) -> list[Reply]:
    """The file from its first line to its last, a reply at a time."""
    found = [workspace.read(path, offset=1)]
    while call := found[-1].facts["next"]:
        assert isinstance(call, dict)
        found.append(workspace.call(call["tool"], call["arguments"]))
    return found


def main(folder: str) -> None:
    with Workspace(folder) as workspace:
        reply = workspace.read("logs/orders.log", limit=2)
        print(reply.text)

        print(len(pages(workspace, "logs/orders.log")), "replies hold the whole log")

        try:
            workspace.read(".env")
        except Denied as refusal:
            print(f"{refusal.code}: {refusal}")


if __name__ == "__main__":
    main(sys.argv[1])
