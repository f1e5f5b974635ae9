"""Fetch the chart library of the dashboard from its npm package, or say whether what is kept is that.

    python -m scripts.vendor_charts            fetch the version that VENDORED.json names
    python -m scripts.vendor_charts 6.2.0      fetch another, and write it down

It needs `npm`.  Users need neither: the built file of the package is part of readroom.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

STATIC = Path(__file__).parents[1] / "src" / "readroom" / "server" / "http" / "ui" / "static"
RECORD = STATIC / "VENDORED.json"
PACKAGE = "echarts"
FILES = {
    "package/dist/echarts.min.js": "echarts.min.js",
    "package/LICENSE": "echarts.LICENSE",
    "package/NOTICE": "echarts.NOTICE",
}
"""What of the package is kept, and under which name."""


def main(arguments: list[str]) -> int:
    version = arguments[0] if arguments else json.loads(RECORD.read_text())["version"]
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", "--silent", f"{PACKAGE}@{version}"], cwd=folder, capture_output=True, check=True
        )
        archive = Path(folder) / packed.stdout.decode().split()[-1]
        with tarfile.open(archive) as opened:
            for inside, kept in FILES.items():
                member = opened.extractfile(inside)
                assert member is not None, f"{inside} is not in {PACKAGE} {version}"
                (STATIC / kept).write_bytes(member.read())
    RECORD.write_text(json.dumps(record(version), indent=2) + "\n")
    print(f"{PACKAGE} {version} is in {STATIC}")
    return 0


def record(version: str) -> dict[str, object]:
    hashes = {kept: hashlib.sha256((STATIC / kept).read_bytes()).hexdigest() for kept in FILES.values()}
    return {"package": PACKAGE, "version": version, "license": "Apache-2.0", "sha256": hashes}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
