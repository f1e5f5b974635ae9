"""The programs of the documentation, and the library as its users write it, for pyright in its strict mode.

mypy checks the same files wherever `scripts/check` runs, where a comment that suppresses nothing is an error.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HERE = Path(__file__).parent

MISTAKES = HERE / "mistakes.py"

PROGRAMS = [
    *(path for path in sorted((ROOT / "docs_src").glob("*.py")) if path.name != "first_client.py"),
    *sorted((ROOT / "examples").glob("*.py")),
    HERE / "api.py",
]
"""What users copy; the client of another package is left to that."""

pytestmark = pytest.mark.skipif(
    find_spec("pyright") is None and "CI" not in os.environ, reason="pyright is not installed; CI has it"
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[int]]:
    """The lines of errors by the name of the file, from one run: its start takes longer than the files."""
    place = tmp_path_factory.mktemp("pyright")
    settings = {
        "extraPaths": [str(ROOT / "src"), str(ROOT)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "enableTypeIgnoreComments": False,
    }
    (place / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    for path in (*PROGRAMS, MISTAKES):
        shutil.copy(path, place)
    words = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*words, "--project", str(place)], cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(PROGRAMS) + 1
    lines: dict[str, set[int]] = {}
    for one in report["generalDiagnostics"]:
        if one["severity"] == "error":
            lines.setdefault(Path(one["file"]).name, set()).add(one["range"]["start"]["line"] + 1)
    return lines


def test_programs_of_users_have_no_errors(found: dict[str, set[int]]) -> None:
    assert {name: lines for name, lines in found.items() if name != MISTAKES.name} == {
        "api.py": _marked(PROGRAMS[-1])
    }


def test_every_mistake_is_found(found: dict[str, set[int]]) -> None:
    assert found[MISTAKES.name] == _marked(MISTAKES)


def _marked(path: Path) -> set[int]:
    """The lines that a comment says are wrong."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if "# type: ignore[" in line}
