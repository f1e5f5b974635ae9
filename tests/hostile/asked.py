"""One workspace that is asked for every hostile table in several ways, and says how each went.

python -m tests.hostile.asked FOLDER   one JSON line for each call, and one for all

A process of its own, so that what it and its children take can be told.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import Any

from readroom.core.workspace import Workspace
from tests.hostile.served import cpu_s, outcome, say
from tests.peak import UNIT, own_peak_bytes

WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "schema": {"pages": "schema"},
    "first": {"pages": "1"},
    "end": {"pages": "1", "offset": -3},
}
"""Arguments of the calls beside the path."""


def main(folder: str) -> None:
    """Read all of them in each way, and a plain file at the end."""
    with Workspace(folder) as space:
        for name in sorted(os.listdir(folder)):
            for way in WAYS:
                before = cpu_s()
                reply = space.call("read_file", {"path": name, **WAYS[way]})
                space.call("read_file", {"path": "plain.txt"})
                say(name=name, way=way, cpu_s=cpu_s() - before, **outcome(reply))
        plain = space.call("read_file", {"path": "plain.txt"})
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * UNIT
    say(name="", plain=plain.text, children_bytes=children, own_bytes=own_peak_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
