"""What a program imports before it does what it was asked: the time that somebody waits for it.

Counted, not timed: modules say on every machine what seconds say on a quiet one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mcp.serving import END_S, initialize, request, strict

HEAVY = (
    "PIL",
    "anyio",
    "asyncio",
    "click",
    "dataclasses",
    "httpx2",
    "inspect",
    "logging.config",
    "lxml",
    "mcp",
    "mcp_types",
    "opentelemetry",
    "prometheus_client",
    "pydantic",
    "pygments",
    "pypdfium2",
    "python_calamine",
    "rapidfuzz",
    "re2",
    "requests",
    "rich",
    "readroom.documents.reading",
    "readroom.server.ledger.ledger",
    "readroom.server.otel",
    "readroom.core.sandbox",
    "sqlite3",
    "ssl",
    "starlette",
    "stringzilla",
    "subprocess",
    "tempfile",
    "tree_sitter",
    "typing_extensions",
    "uvicorn",
    "xml.etree",
    "yaml",
)

_AT_THE_LIST = """
import json, os, sys
from readroom.cli import main

def watch(event, arguments):
    # What follows on the list begins with this module.
    if event == "import" and arguments[0] == "readroom.cli.answers":
        print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True)
        os._exit(0)

sys.addaudithook(watch)
sys.exit(main.main(["mcp", sys.argv[1]]))
"""
"""The server, which says what it has imported when it has listed its tools, and ends."""

_AFTER = """
import sys
before = set(sys.modules)
from readroom.cli.main import main

code = main(sys.argv[1:])
loaded = sorted(set(sys.modules) - before)
import json
print(json.dumps(loaded), file=sys.stderr)
sys.exit(code)
"""


def _loaded(stderr: bytes) -> set[str]:
    return set(strict(stderr.splitlines()[-1]))


def _heavy(loaded: set[str], *allowed: str) -> list[str]:
    return [name for name in HEAVY if name in loaded and name not in allowed]


def test_a_server_has_listed_its_tools_before_it_imports_anything_heavy(tmp_path: Path) -> None:
    asked = [initialize("somebody"), request(1, "tools/list")]
    done = subprocess.run(
        [sys.executable, "-c", _AT_THE_LIST, os.fspath(tmp_path)],
        input=b"".join(json.dumps(one).encode() + b"\n" for one in asked),
        capture_output=True,
        timeout=END_S,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 2
    loaded = _loaded(done.stderr)
    assert _heavy(loaded) == []
    ours = {name for name in loaded if name.startswith("readroom")}
    assert len(ours) <= 22, sorted(ours)
    assert len(loaded) <= 140, sorted(loaded)


@pytest.mark.parametrize(
    ("words", "allowed", "most"),
    [
        (["--help"], {"click", "inspect"}, 90),
        (["read", "a.txt"], {"click", "inspect", "stringzilla"}, 250),
    ],
)
def test_a_command_imports_what_it_needs(
    tmp_path: Path, words: list[str], allowed: set[str], most: int
) -> None:
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _AFTER, *words], cwd=tmp_path, capture_output=True, timeout=END_S, check=True
    )
    loaded = _loaded(done.stderr)
    assert _heavy(loaded, *allowed) == []
    assert len(loaded) <= most, len(loaded)
