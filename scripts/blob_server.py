"""The server of Azure Blob Storage that tests of `az://` run against.

python -m scripts.blob_server --install    fetch it; `make test` does so before the tests
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.locked import Locked, NotInstalled

AZURITE = Locked("azurite", Path("azurite", "dist", "src", "blob", "main.js"))


if __name__ == "__main__":
    if sys.argv[1:] != ["--install"]:
        sys.exit(__doc__)
    try:
        AZURITE.install()
    except NotInstalled as missing:
        sys.exit(f"The server of Azure Blob Storage does not run: {missing}")
