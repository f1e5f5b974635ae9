"""Without the modules that read documents the rest works; a document is then a binary file with advice."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents.formats.packages import word
from tests.hostile.containers import zipped

ABSENT = """
import json, sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("readroom.documents"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import readroom
with readroom.Workspace(sys.argv[1]) as space:
    replies = [space.call(tool, arguments) for tool, arguments in json.loads(sys.argv[2])]
print(json.dumps([reply.text for reply in replies]))
"""

CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("read_file", {"path": "a.docx"}),
    ("read_file", {"path": "a.ipynb"}),
    ("read_file", {"path": "big.py", "view": "outline"}),
    ("list_directory", {}),
    ("list_directory", {"path": "a.zip"}),
    ("grep_files", {"pattern": "words", "documents": True, "include": ["archives"]}),
    ("find_relevant", {"query": "words", "documents": True, "include": ["archives"]}),
    ("write_file", {"path": "new.ipynb", "content": "{}", "expected_hash": "absent"}),
)


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    """The replies to `CALLS`."""
    (tmp_path / "a.docx").write_bytes(word("<w:p><w:r><w:t>words</w:t></w:r></w:p>").getvalue())
    (tmp_path / "a.zip").write_bytes(zipped({"inside.txt": b"words\n"}))
    (tmp_path / "a.ipynb").write_text('{"cells": [], "words": 1}\n', encoding="utf-8")
    (tmp_path / "big.py").write_text("x = 1\n" * 400_000, encoding="utf-8")
    (tmp_path / "plain.txt").write_text("a few words\n", encoding="utf-8")
    command = [sys.executable, "-c", ABSENT, str(tmp_path), json.dumps(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


def test_everything_else_works(texts: list[str]) -> None:
    document, notebook, outline, listing, archive, matches, ranked, changed = texts
    assert "a.docx is binary" in document
    assert "ask for an export" in document
    assert '"words": 1' in notebook
    assert "too large to outline here" in outline
    assert "plain.txt" in listing
    assert "is a file" in archive
    assert "plain.txt" in matches
    assert "plain.txt" in ranked
    assert "new.ipynb" in changed
