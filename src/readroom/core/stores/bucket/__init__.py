"""A bucket as a root: objects are files, and what their keys have before a slash are folders.

    store      the store
    address    s3://bucket/prefix, from arguments or the operator's configuration
    client     requests: few at once, counted, bounded; failures as errors of ours
    names      keys that are paths, and keys that are not
    source     an object by ranges, all of one state
    ahead      objects that a search asks for before it uses them
    folder     names page by page, in the order of names
    place      one object changed on a condition
    single     folders that are one object, and moves

The ETag is the version.  There are no links, modes or real folders: `a` and `a/b` may both be objects, and
then `a` is listed as a folder and read as a file.  Files of the bucket that rules come from (`RULES`) are
looked at again after `BELIEVED_S`.

Knows: one bucket and a folder in it.
Does not know: policies, and where addresses come from.
May be touched: with the cases that all stores share, and a security review.
"""

from __future__ import annotations
