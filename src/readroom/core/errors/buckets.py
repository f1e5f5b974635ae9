"""Errors of buckets: rights, bounds, and what cannot be done there."""

from __future__ import annotations

from readroom.core.errors import base
from readroom.core.errors.reading import Changed, NoPermission, StoreFailed, TimedOut


class BucketDenied(NoPermission):
    """The key in use lacks a right, or there is none such."""

    message = "The bucket does not let the key in use {action} {path}: {said}"
    advice = (
        "Ask the user for s3:ListBucket and s3:GetObject, for changes also s3:PutObject and s3:DeleteObject; "
        "without the first, what is missing looks forbidden."
    )
    said: str = "AccessDenied"


class BucketCannot(StoreFailed):
    """A change that a bucket cannot make in one step. Nothing was changed."""

    message = "{path} is in a bucket, which cannot {problem} in one step; nothing was changed"


class ObjectChanged(Changed):
    """An object of a bucket was replaced or deleted while it was read."""

    message = "{path} was replaced or deleted while it was being read"
    advice = "Read it again: what is there now is another state."
    path: base.Name


class TransferLimit(TimedOut):
    """A call has used up the requests or bytes that it may cost."""

    message = "The call reached its bound of {bound}"
    seconds: base.Aside[float] = 0.0
    advice: str = "Ask for less, or send the call that continues."
    _: base.KW_ONLY
    bound: str = ""

    def _fill(self) -> None:
        """Words of its own."""
