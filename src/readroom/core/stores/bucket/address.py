"""Addresses of buckets: s3://bucket/prefix, az://container/prefix.

An address comes from arguments or the operator's configuration.  It holds no key and no secret: those come
from where the provider's own tools take them.
"""

from __future__ import annotations

import os
import re

from msgspec import Struct

from readroom.core.errors import BadValue
from readroom.core.quoting import quote

SCHEME = "s3"

AZURE = "az"

AZURE_VARIABLES = (
    "AZURE_STORAGE_CONNECTION_STRING",
    "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
)
"""Variables that keys of Azure come from, as its own tools take them."""

OTHERS = ("gs", "abfs", "abfss", "gcs", "r2", "s3a", "s3n")
"""Schemes of object stores that are refused by name: no server of theirs was there to try this with."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_DIRECTORY = "--x-s3"
"""Ends the names of directory buckets, which list their keys in no order."""

_LONGEST_KEY = 1024
_CONTAINER = re.compile(r"\$web|\$root|(?!.*--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_FORM = "The form is s3://bucket/prefix, or az://container/prefix."


class BucketAddress(Struct, frozen=True):
    """A bucket, and the folder in it: "" or keys' beginning with a slash at its end."""

    bucket: str
    prefix: str
    scheme: str = SCHEME

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.scheme}://{self.bucket}/{self.prefix}".rstrip("/")


def is_bucket(text: object) -> bool:
    """Whether a root is meant as a bucket, of a kind that is known or not."""
    if not isinstance(text, str):
        return False
    scheme, sign, _ = text.partition("://")
    return bool(sign) and scheme.lower() in (SCHEME, AZURE, *OTHERS)


def absolute(root: str) -> str:
    """The name of a root that stays the same: of a folder by its links, of a bucket without a final slash."""
    return root.rstrip("/") if is_bucket(root) else os.path.realpath(root)


def parsed(text: str) -> BucketAddress:
    """The address that a text is. Raises BadValue."""
    written, _, rest = text.partition("://")
    scheme = written.lower()
    if scheme not in (SCHEME, AZURE):
        raise _bad(text, f"is for {scheme}, and only s3 and az have been tried", _FORM)
    bucket, _, prefix = rest.partition("/")
    if "@" in bucket or ":" in bucket:
        where = "Keys come from AWS_ACCESS_KEY_ID and the like, a server of your own from AWS_ENDPOINT_URL."
        if scheme == AZURE:
            where = "Keys and the account come from AZURE_STORAGE_ACCOUNT and the like."
        raise _bad(f"{scheme}://***", "has more than a bucket before its first slash", where)
    names = _CONTAINER if scheme == AZURE else _BUCKET
    if not names.fullmatch(bucket) or ".." in bucket:
        raise _bad(text, "names no bucket", _FORM)
    if scheme == SCHEME and bucket.endswith(_DIRECTORY):
        raise _bad(
            text, "is a directory bucket, whose keys come in no order", "Use a general purpose bucket."
        )
    if scheme == AZURE and any("\\" in part or part.endswith(".") for part in prefix.split("/")):
        raise _bad(text, "has a backslash in its prefix, or a dot at the end of a part", _FORM)
    return BucketAddress(bucket, _prefix(prefix, text), scheme)


def _prefix(text: str, whole: str) -> str:
    folder = text.removesuffix("/")
    if not folder:
        return ""
    if any(not char.isprintable() for char in folder):
        raise _bad(whole, "has a control character in its prefix", _FORM)
    if any(part in ("", ".", "..") for part in folder.split("/")):
        raise _bad(whole, "has an empty part, '.' or '..' in its prefix", "Name a folder above or below it.")
    if len(folder.encode("utf-8", "replace")) >= _LONGEST_KEY:
        raise _bad(whole[:200], "has a longer prefix than keys are", _FORM)
    return f"{folder}/"


def _bad(text: str, problem: str, advice: str) -> BadValue:
    return BadValue("root", quote(text), problem, advice)
