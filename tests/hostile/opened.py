"""One workspace that lists, reads and searches every hostile archive, and says what that took.

python -m tests.hostile.opened FOLDER   one JSON object

A process of its own, so that what it takes can be told.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from readroom.core.workspace import Workspace
from tests.peak import own_peak_bytes


def main(folder: str) -> None:
    """Ask for all of them, one after the other, and for a plain file at the end."""
    slowest: float = 0
    codes: dict[str, str] = {}
    with Workspace(folder) as space:
        space.call("list_directory", {"path": "."})
        begun = own_peak_bytes()
        for name in sorted(os.listdir(folder)):
            start = time.process_time()
            replies = [
                space.call("list_directory", {"path": name, "depth": 5, "limit": 30}),
                space.call("grep_files", {"pattern": "line", "path": name}),
                space.call("read_file", {"path": name}),
            ]
            entries: Any = replies[0].facts.get("entries", [])
            for entry in entries[:12]:
                replies.append(space.call("read_file", {"path": f"{name}!/{entry['path']}"}))
            slowest = max(slowest, time.process_time() - start)
            for reply in replies:
                error: Any = reply.facts.get("error")
                if error:
                    codes.setdefault(error["code"], f"{name}: {reply.text[:500]}")
        plain = space.call("read_file", {"path": "plain.txt"}).text
    taken = own_peak_bytes() - begun
    print(json.dumps({"bytes": taken, "cpu_s": slowest, "codes": codes, "plain": plain}))


if __name__ == "__main__":
    main(sys.argv[1])
