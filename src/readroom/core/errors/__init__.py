"""The one tree of failures.

Each class has a stable `code`, a sentence that says what happened, advice that
says what to do, typed facts for programs, and, where one exists, `next`: the
request that will work.  Engines raise them where they know; the workspace catches
them once; a contract words them for its callers.

Each is of one of four kinds: `UsageError`, the call itself is wrong; `RefusedError`,
policy says no; `AbsentError`, there is nothing at that name; `FailedError`, it is there and
allowed, and cannot be served, with `ConflictError` for a file that is not what the call
takes it for.  `base` has these, and how the others are written.

Knows: every failure, its code, facts and next step.
Does not know: where it is raised, and how a contract words it.
May be touched: freely; a code that clients know keeps its name.
"""

from __future__ import annotations

# Each name is exported where its class is defined; type checkers follow the stars.
from readroom.core.errors.base import *
from readroom.core.errors.base import ReadroomError
from readroom.core.errors.buckets import *
from readroom.core.errors.changes import *
from readroom.core.errors.commands import *
from readroom.core.errors.git import *
from readroom.core.errors.history import *
from readroom.core.errors.reading import *
from readroom.core.errors.review import *
from readroom.core.errors.secrets import *
from readroom.core.errors.serving import *
from readroom.core.errors.usage import *


def of_code(code: object) -> type[ReadroomError]:
    """The class of failures with that code, as replies name them; ReadroomError for an unknown one."""
    pending: list[type[ReadroomError]] = [ReadroomError]
    while pending:
        kind = pending.pop()
        if kind.code == code:
            return kind
        pending += reversed(kind.__subclasses__())
    return ReadroomError


def names() -> list[str]:
    """The names of all classes of the tree, in order."""
    kinds = (kind for kind in globals().values() if isinstance(kind, type))
    return sorted(kind.__name__ for kind in kinds if issubclass(kind, ReadroomError))
