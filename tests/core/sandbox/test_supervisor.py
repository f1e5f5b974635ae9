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


ORDER: dict[str, object] = {
    "environment": {}, "folder": None, "rules": None, "filter": b"", "keep": [], "started": None,
    "spare": False, "unprivileged": False, "calls": {}, "places": [], "watched": [], "seccomp": 0,
    "maximum": 9, "grace_s": 1.0, "drain_s": 1.0,
}  # fmt: skip


def test_the_order_ends_where_it_says_however_it_arrives() -> None:
    """The byte after it asks the command to end; the kernel gives a pipe of this size in pieces."""
    (heard, report), (out, output), (err, messages) = os.pipe(), os.pipe(), os.pipe()
    arguments = ["/bin/sh", "-c", "exec sleep 20"]
    filled = {**ORDER, "places": ["x" * 200_000], "maximum": 30.0, "grace_s": 30.0}
    order = {**filled, "arguments": arguments, "output": output, "messages": messages}
    data = marshal.dumps(order)
    with subprocess.Popen(
        [*PROGRAM, str(report)], stdin=subprocess.PIPE, pass_fds=[report, output, messages]
    ) as run:
        assert run.stdin is not None
        run.stdin.write(b"%012d" % len(data) + data + b"t")
        run.stdin.flush()
        ended = json.loads(os.read(heard, 4096))
        run.stdin.close()
    assert ended["code"] == -15
    for end in (heard, report, out, output, err, messages):
        os.close(end)


def test_what_cannot_be_started_is_said_in_json() -> None:
    """Also in words that JSON has to quote."""
    quoted = r"UnicodeEncodeError('utf-8', '/\ud800',"
    for arguments, said in ((['/no "such"'], os.strerror(2)), (["/\ud800"], quoted)):
        (heard, report), (out, output), (err, messages) = os.pipe(), os.pipe(), os.pipe()
        data = marshal.dumps({**ORDER, "arguments": arguments, "output": output, "messages": messages})
        given, passed = b"%012d" % len(data) + data, [report, output, messages]
        subprocess.run([*PROGRAM, str(report)], input=given, pass_fds=passed, check=True)
        assert json.loads(os.read(heard, 4096))["error"].startswith(said)
        for end in (heard, out, err, *passed):
            os.close(end)
