"""Beside universal-ctags: what it finds in a file, an outline has in the same line.

Only for the kinds that both list, and only for languages that it parses soundly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from readroom.core.values.files import rows
from tests.core.outline.outlining import FIXTURES, outline_of
from tests.each import each

_CTAGS = shutil.which("ctags")

_LINES = 2
"""From the beginning of a signature to the name in it: `template <...>` or `static int` take a line."""

KINDS = {
    "sample.py": "class function member",
    "sample.js": "class function method",
    "sample.go": "func methodSpec type struct interface",
    "sample.rs": "function struct enum interface method module union",
    "Sample.java": "class interface enum method",
    "sample.c": "function struct union enum",
    "sample.cpp": "class struct function namespace",
    "Sample.cs": "class interface method struct enum namespace",
    "sample.rb": "class module method singletonMethod",
    "sample.php": "class interface trait function",
    "sample.lua": "function",
    "sample.sh": "function",
    "sample.ts": "class interface enum method namespace",
}
"""By sample: the kinds of ctags that an outline lists as well."""

ODD = {
    "sample.rs": {"inner"},
    "sample.py": {"inner"},
    "Sample.cs": {"Inner"},
    "sample.sh": {"inner"},
    "sample.lua": {"inner"},
    "sample.c": {"__anon"},
    "sample.cpp": {"__anon", "operator", "shapes", "FINAL_CLASS"},  # with a blank before ==, and a macro
    "Sample.java": {"value"},  # an element of an annotation
    "sample.js": {"inner", "named", "Store", "exports"},  # also where its prototype is added to
}
"""What ctags lists and an outline does not: functions inside functions, types without a name."""


def _tags(path: Path) -> list[dict[str, object]]:
    assert _CTAGS is not None
    command = [_CTAGS, "--options=NONE", "--output-format=json", "--fields=+nK", "-f", "-", str(path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.skipif(
    _CTAGS is None and not os.environ.get("CI"), reason="universal-ctags is not installed on this machine"
)
@each("name", sorted(KINDS))
def test_what_ctags_finds_is_in_the_outline_in_the_same_line(name: str) -> None:
    path = FIXTURES / name
    own = [(row.item.name, row.item.line) for row in rows(outline_of(path).items)]
    found = 0
    for tag in _tags(path):
        odd = any(str(tag["name"]).startswith(one) for one in ODD.get(name, ()))
        if tag["kind"] not in KINDS[name].split() or odd:
            continue
        found += 1
        # The line of ctags is that of the name, which may stand below what begins the signature.
        name_of = re.split(r"[.:]", str(tag["name"]))[-1]
        near = [line for name, line in own if name == name_of]
        assert any(0 <= int(str(tag["line"])) - line <= _LINES for line in near), tag
    assert found > 2
