"""Killed processes as counts: what each of them left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

from tests.core.stores.worlds import Way


def kills(program: ModuleType, root: Path, way: Way, mode: str) -> Counter[str]:
    """What a program that kills processes counted in a new folder of `root`."""
    (root / "root").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", program.__name__, str(root / "root"), way, mode],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return Counter(json.loads(done.stdout))
