"""Edit from Python: an edit names the version it is based on, and a late one is refused.

python docs_src/editing.py FOLDER
"""

from __future__ import annotations

import sys

from readroom import NoMatch, Stale, Workspace


def content_hash(workspace: Workspace, path: str) -> str:
    return str(workspace.read(path, limit=1).facts["content_hash"])


def edit(workspace: Workspace, path: str, expected_hash: str, old: str, new: str) -> str:
    """Edit a file; the result is the text for the model."""
    try:
        return workspace.edit(path, expected_hash, [{"old_text": old, "new_text": new}]).text
    except Stale as error:
        # Another editor was first. The detail shows the changes since, if they are known.
        return f"{error}\n{error.detail}"
    except NoMatch as error:
        return str(error)


def main(folder: str) -> None:
    with Workspace(folder) as workspace:
        known = content_hash(workspace, "src/orders.py")
        print(edit(workspace, "src/orders.py", known, '"basic": 5', '"basic": 6'))
        print()
        # The same hash again: that version of the file is gone.
        print(edit(workspace, "src/orders.py", known, '"priority": 12', '"priority": 14'))
        print()
        known = content_hash(workspace, "src/orders.py")
        print(edit(workspace, "src/orders.py", known, "def shiping(", "def postage("))


if __name__ == "__main__":
    main(sys.argv[1])
