"""Entry point of `python -m readroom`: runs the command line."""

from __future__ import annotations

import os
import sys

# `python -m` looks for modules in the current folder first, which may be the served one: later imports
# would load its content.
try:
    if not sys.flags.safe_path and sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(__file__)):
        del sys.path[0]
except FileNotFoundError:
    pass  # the folder was removed, so nothing is found in it

from readroom.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
