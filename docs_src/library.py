"""readroom from Python: read, page through a log, and meet a refusal.

python docs_src/library.py FOLDER
"""

from __future__ import annotations

import sys

from readroom import Denied, Workspace


def main(folder: str) -> None:
    with Workspace(folder) as workspace:
        reply = workspace.read("logs/orders.log", limit=2)
        print(reply.text)
        print(reply.tokens, "tokens; next:", reply.next)

        pages = 0
        for page in workspace.read("logs/orders.log", offset=1).pages():
            pages += not page.is_error
        print(pages, "replies hold the whole log")

        try:
            workspace.read(".env")
        except Denied as refusal:
            print(f"{refusal.code}: {refusal}")


if __name__ == "__main__":
    main(sys.argv[1])
