"""Policy says no, or there is nothing at that name."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.errors.base import AbsentError, RefusedError
from readroom.model import ReadRequest, Request
from readroom.quoting import as_value, joined, quote


class Denied(RefusedError):
    """A policy rule denies the path."""

    code = "denied"

    def __init__(self, path: str, rule: str, source: str, reason: str) -> None:
        super().__init__(
            f"Access to {quote(path)} is denied by the rule {rule!r} of {source} ({reason})",
            "Go on without this file, or ask the user to change the policy.",
            facts={"path": as_value(path), "rule": rule, "source": source, "reason": reason},
        )


class OutsideRoot(RefusedError):
    """The path, or a link on the way, leads out of the workspace."""

    code = "outside_root"

    def __init__(self, path: str, how: str) -> None:
        super().__init__(
            f"{quote(path)} is outside the workspace ({how})",
            "Only files under the workspace root can be used; give a path relative to it.",
            facts={"path": as_value(path), "how": how},
        )


class HardLinked(RefusedError):
    """A file with several names, of which one is denied or policy refuses all such files."""

    code = "hard_linked"

    def __init__(
        self,
        path: str,
        links: int,
        how: str,
        advice: str = "Ask the user for a copy of the file under a name that policy allows.",
        *,
        known: bool = True,
    ) -> None:
        """`known` is false while the other names are still searched for: another call may succeed."""
        self.known = known
        super().__init__(
            f"{quote(path)} has {links} names on this file system and {how}",
            advice,
            facts={"path": as_value(path), "links": links, "how": how, "known": known},
        )


class NotFound(AbsentError):
    """There is no such file or folder."""

    code = "not_found"

    def __init__(self, path: str, near: Sequence[str] = (), *, next_request: Request | None = None) -> None:
        """`near` are names that exist; the next request reads the first of them unless another is given."""
        if near:
            advice = f"Did you mean {joined(near, ' or ')}?"
        else:
            advice = "Use list_directory or grep_files to find the right path."
        super().__init__(
            f"There is no file or folder {quote(path)}",
            advice,
            facts={"path": as_value(path), "near": [as_value(name) for name in near]},
            next_request=next_request or (ReadRequest(near[0]) if near else None),
        )
        self.path = path
