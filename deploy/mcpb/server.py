"""What a desktop client starts from the bundle: readroom over stdio, for the folder that was chosen."""

from __future__ import annotations

import sys

from readroom.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["mcp", *sys.argv[1:]]))
