"""A function that passes options on, as type checkers understand it.  python docs_src/typed.py FOLDER"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Unpack

from readroom import OneEdit, Reply, Workspace

if TYPE_CHECKING:
    from readroom.core.methods.keywords import GrepKeywords


def mentions(workspace: Workspace, name: str, **options: Unpack[GrepKeywords]) -> Reply:
    """The lines with a word, and what the caller asks for besides."""
    return workspace.grep(rf"\b{name}\b", **options)


def main(folder: str) -> None:
    with Workspace(folder) as workspace:
        print(mentions(workspace, "shipping", type="py", limit=3).text)
        edits: list[OneEdit] = [{"old_text": '"basic": 5', "new_text": '"basic": 6'}]
        known = workspace.read("src/orders.py", limit=1).hash or "absent"
        print(workspace.edit("src/orders.py", known, edits, dry_run=True).text)


if __name__ == "__main__":
    main(sys.argv[1])
