"""The command line searches compressed files when asked to."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.cli.running import run


def test_the_command_line_takes_it(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"needle\n"))
    done = run("grep", "--include", "compressed", "needle", cwd=tmp_path)
    assert b"a.gz" in done.stdout
