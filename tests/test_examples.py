"""Property tests draw the same examples in every worker, whatever it has loaded before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRAWN = """
import {loaded}
import tests.conftest
from hypothesis import given, settings, strategies as st

@settings(max_examples=200, database=None)
@given(st.integers(), st.text())
def drawn(number, text):
    print(number, ascii(text))

drawn()
"""


@pytest.mark.parametrize("loaded", ["readroom.core.limits", "readroom.core.errors"])
def test_what_is_loaded_changes_no_example(loaded: str) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", DRAWN.format(loaded=module)],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for module in ("json", loaded)
    ]
    assert runs[0] == runs[1] != ""
