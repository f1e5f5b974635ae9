"""What survives a power cut: content is on disk before it has its name, and the name before it is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.engine.edit.changing import digest

STRACE = shutil.which("strace")

pytestmark = pytest.mark.skipif(
    STRACE is None and not os.environ.get("CI"), reason="without strace nobody sees what the system is asked"
)

CHANGE = """
import sys
from readroom.core.workspace import Workspace
with Workspace(sys.argv[1]) as workspace:
    if sys.argv[2] == "edit":
        workspace.edit("d/f", sys.argv[3], [{"old_text": "old", "new_text": "new"}])
    else:
        workspace.write("d/g", "new", "absent")
"""

_CALL = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (\S+)")


def asked(root: Path, *arguments: str) -> list[tuple[str, str]]:
    """The calls that flush and rename, in their order, with the path of the descriptor or the new name."""
    assert STRACE is not None
    trace = root.parent / "trace"
    calls = "trace=fsync,fdatasync,rename,renameat,renameat2,linkat"
    command = [STRACE, "-f", "-y", "-o", str(trace), "-e", calls]
    subprocess.run([*command, sys.executable, "-c", CHANGE, str(root), *arguments], check=True)
    found = (_CALL.match(line) for line in trace.read_text(encoding="utf-8").split("\n"))
    return [(one[1], one[2]) for one in found if one is not None and one[3] == "0" and str(root) in one[2]]


@pytest.mark.parametrize("verb", ["edit", "write"])
def test_content_is_flushed_then_named_then_the_name_is_flushed(verb: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "d" / "f").write_bytes(b"old")
    found = asked(root, verb, *([digest(b"old")] if verb == "edit" else []))
    named = [at for at, (call, _) in enumerate(found) if "rename" in call or call == "linkat"]
    assert named, found
    flushed = [words for call, words in found[: named[0]] if call.startswith("f")]
    # While it is written it has no name, which the system tells as a number; or it has a temporary one.
    assert any("/d/#" in words or ".readroom-" in words for words in flushed), found
    after = [words for call, words in found[named[-1] + 1 :] if call == "fsync"]
    assert any(words.endswith("/d>") for words in after), found
