"""Other contracts are read without the parser of front matter."""

from __future__ import annotations

import subprocess
import sys


def test_reading_needs_no_yaml_for_other_contracts() -> None:
    modules = "import sys, readroom.core.workspace, readroom.cli.main"
    done = subprocess.run(
        [sys.executable, "-c", f"{modules}; print('yaml' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"
