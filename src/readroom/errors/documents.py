"""Documents that cannot be read, as a whole or in part."""

from __future__ import annotations

from readroom.errors.base import FailedError
from readroom.model import Request
from readroom.quoting import as_value, quote


class BadDocument(FailedError):
    """A document, or a part of one, that cannot be extracted."""

    code = "bad_document"

    def __init__(
        self,
        path: str,
        kind: str,
        problem: str,
        advice: str,
        *,
        part: int | None = None,
        next_request: Request | None = None,
    ) -> None:
        """`problem` is a clause; `part` is the one that it is about, None for the whole document."""
        super().__init__(
            f"{quote(path)} ({kind}) cannot be read: {problem}",
            advice,
            facts={"path": as_value(path), "format": kind, "problem": problem, "part": part},
            next_request=next_request,
        )


class EncryptedDocument(BadDocument):
    """A document that only a password opens."""

    code = "encrypted"
