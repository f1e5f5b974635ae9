"""The encoding that a caller names, as the engines refuse it when there is none."""

from __future__ import annotations

from readroom.errors import BadEncoding
from readroom.model import Request
from readroom.text import encodings
from readroom.text.encodings import Encoding


def asked_for(name: str, path: str, sample: bytes, retry: Request) -> Encoding:
    """The encoding of that name with the mark that the file has.

    Args:
        name: Any of its usual names.
        path: The file, for the refusal.
        sample: Its first bytes.
        retry: The same request without an encoding.

    Raises:
        BadEncoding: There is none of that name.
    """
    try:
        return encodings.with_bom(encodings.named(name), sample)
    except encodings.UnknownEncoding as unknown:
        near = f" Did you mean {' or '.join(unknown.near)}?" if unknown.near else ""
        raise BadEncoding(
            path,
            name[: encodings.MAX_NAME],
            f"it {unknown.problem}",
            f"Leave out `encoding` to have it detected, or name another.{near}",
            next_request=retry,
        ) from None
