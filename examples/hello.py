"""Read a folder as an agent does.  python examples/hello.py [FOLDER]"""

from __future__ import annotations

import sys

from readroom import ReadroomError, Workspace

with Workspace(sys.argv[1] if len(sys.argv) > 1 else ".") as workspace:
    print(workspace.list(limit=20).text)
    print(workspace.grep("TODO|FIXME", limit=5).text)
    try:
        print(workspace.read("README.md", limit=10).text)
    except ReadroomError as error:
        print(error)
