"""None of the hostile archives takes more than 128 MB, or 10 s on a machine of today, or ends the server.

Each is listed, searched and read, itself and what it lists: by a reply or a failure that says why.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.containers import NAMES, archive
from tests.pace import pace
from tests.peak import REPO
from tests.suites import parts

pytestmark = pytest.mark.long

MOST_BYTES = 128 * 1024 * 1024
MOST_S = 10.0


@pytest.mark.parametrize("names", parts(NAMES, 12))
def test_hostile_archives_are_bounded(names: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "in" / "archives"
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_bytes(archive(name))
    (folder / "plain.txt").write_text("still here\n", encoding="utf-8")
    command = [sys.executable, "-m", "tests.hostile.opened", str(folder)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found = json.loads(done.stdout)
    assert found["bytes"] <= MOST_BYTES
    assert found["cpu_s"] <= MOST_S * pace()
    assert "internal" not in found["codes"], found["codes"]
    assert "broken_data" in found["codes"]
    assert "still here" in found["plain"]
    there = {one.name for one in tmp_path.rglob("*")}
    assert there == {"in", "archives", "plain.txt", *names}, "a member came out of its archive"
