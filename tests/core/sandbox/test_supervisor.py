"""The program between readroom and a command, run as readroom runs it."""

from __future__ import annotations

import json
import marshal
import os
import subprocess
import sys
from pathlib import Path

from readroom.core.sandbox import supervisor

PROGRAM = [sys.executable, "-I", "-S", str(Path(supervisor.__file__).with_name("__main__.py"))]


def test_it_imports_nothing_that_takes_long() -> None:
    """Each of these takes as long as to start Python, and every command waits for it."""
    words = [sys.executable, "-X", "importtime", *PROGRAM[1:], "1"]
    said = subprocess.run(words, input=b"", capture_output=True, check=False).stderr.decode()
    imported = {
        line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time")
    }
    assert {"watch", "processes", "attributes"} <= imported
    assert not imported & {"argparse", "asyncio", "contextlib", "enum", "json", "re", "subprocess", "typing"}


def test_what_cannot_be_started_is_said_in_json() -> None:
    """Also in words that JSON has to quote."""
    order: dict[str, object] = {
        "environment": {}, "folder": None, "rules": None, "filter": b"", "keep": [], "started": None,
        "spare": False, "unprivileged": False, "calls": {}, "places": [], "watched": [], "seccomp": 0,
        "maximum": 9, "grace_s": 1.0, "drain_s": 1.0,
    }  # fmt: skip
    quoted = r"UnicodeEncodeError('utf-8', '/\ud800',"
    for arguments, said in ((['/no "such"'], os.strerror(2)), (["/\ud800"], quoted)):
        (heard, report), (out, output), (err, messages) = os.pipe(), os.pipe(), os.pipe()
        data = marshal.dumps({**order, "arguments": arguments, "output": output, "messages": messages})
        given, passed = b"%012d" % len(data) + data, [report, output, messages]
        subprocess.run([*PROGRAM, str(report)], input=given, pass_fds=passed, check=True)
        assert json.loads(os.read(heard, 4096))["error"].startswith(said)
        for end in (heard, out, err, *passed):
            os.close(end)
