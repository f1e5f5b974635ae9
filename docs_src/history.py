"""A change that is seen and taken back.  python docs_src/history.py"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from readroom import Workspace


def main(folder: str) -> None:
    Path(folder, "rates.txt").write_text("basic 5\npriority 12\n", encoding="utf-8")
    with Workspace(folder) as workspace:
        seen = workspace.read("rates.txt").facts["content_hash"]
        workspace.edit("rates.txt", str(seen), [{"old_text": "basic 5", "new_text": "basic 50"}])

        listed: Any = workspace.history("rates.txt", limit=1).facts["changes"]
        change = listed[0]["change"]
        print(workspace.diff(change).text)

        print(workspace.undo(change, dry_run=True).text)
        workspace.undo(change)
        print(Path(folder, "rates.txt").read_text(encoding="utf-8"))


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(folder)
