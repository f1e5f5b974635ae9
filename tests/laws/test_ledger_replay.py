"""The ledger against the folder as it is today."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from readroom import Workspace
from readroom.core import config


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "readroom", *arguments],
        capture_output=True, text=True, check=False, cwd=cwd, timeout=120,
    )  # fmt: skip


def test_each_call_is_the_same_changed_denied_or_gone(tmp_path: Path) -> None:
    """Four files are read; then one is changed, one removed and one denied."""
    root = tmp_path / "shop"
    root.mkdir()
    ledger = tmp_path / "ledger.sqlite3"
    operator = tmp_path / "operator.toml"
    operator.write_text(f'[ledger]\nenabled = true\nfile = "{ledger}"\n')
    for name in ("same.py", "changed.py", "denied.py", "gone.py"):
        (root / name).write_text(f"{name} = 1\n")
    link = tmp_path / "link"
    link.symlink_to(root)
    with Workspace(link, settings=config.load(config.open_store(link), operator)) as workspace:
        for name in sorted(os.listdir(root)):
            workspace.read(name)
    (root / "changed.py").write_text("other = 2\n")
    (root / "gone.py").unlink()
    (root / ".readroomignore").write_text("denied.py\n")
    done = _run("ledger", "replay", "--config", str(operator), "--json", cwd=root)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {state: count for state, count in found["states"].items() if count} == {
        "same": 1, "changed": 1, "denied": 1, "gone": 1,
    }  # fmt: skip
    assert {call["path"]: call["state"] for call in found["calls"]} == {
        "changed.py": "changed", "denied.py": "denied", "gone.py": "gone",
    }  # fmt: skip
    shown = _run("ledger", "replay", "--config", str(operator), cwd=root)
    assert "1 same, 1 changed, 1 denied, 1 gone" in shown.stdout
    assert "= 1" not in shown.stdout + found.__repr__()
