"""One workspace that is asked for every hostile document in turn, and says how it went.

python -m tests.hostile.served FOLDER SECONDS   one JSON line for each document, and one for all

A process of its own, so that what it and its children take can be told.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from readroom.core.config import Settings
from readroom.core.limits import Limits
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.peak import UNIT, own_peak_bytes


def main(folder: str, seconds: str) -> None:
    """Read all of them in that time, and a plain file at the end."""
    settings = Settings(limits=Limits(document_timeout_s=float(seconds)))
    with Workspace(folder, settings=settings) as space:
        for name in sorted(os.listdir(folder)):
            before = cpu_s()
            arguments = {"path": name, "pages": "1-"} if name.endswith("html") else {"path": name}
            reply = space.call("read_file", arguments)
            space.call("read_file", {"path": "plain.txt"})
            say(name=name, cpu_s=cpu_s() - before, **outcome(reply))
        plain = space.call("read_file", {"path": "plain.txt"})
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * UNIT
    say(name="", plain=plain.text, children_bytes=children, own_bytes=own_peak_bytes())


def outcome(reply: Reply) -> dict[str, object]:
    """How a read went."""
    error = reply.facts.get("error")
    code = error["code"] if isinstance(error, dict) else None
    return {"code": code, "text": reply.text[:4000], "bytes": len(reply.text.encode())}


def cpu_s() -> float:
    """Processor time of this process and of those it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def say(**what: object) -> None:
    """One line of JSON."""
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
