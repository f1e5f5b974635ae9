"""The store of a root, from what an argument or the operator's file says."""

from __future__ import annotations

import os

from readroom.core.config.environment import own_file, variables
from readroom.core.config.local_roots import require_local
from readroom.core.config.settings import NOTES_FOLDER
from readroom.core.errors import BadValue
from readroom.core.stores.base import Store
from readroom.core.stores.bucket.address import AZURE_VARIABLES, is_bucket, parsed


def open_store(root: str | os.PathLike[str] | Store) -> Store:
    """The store of a root: a local folder by its path, a bucket by its address, or a store as it is."""
    if isinstance(root, str) and is_bucket(root):
        from readroom.core.stores.bucket.store import BucketStore

        return BucketStore(parsed(root), variables=variables(*AZURE_VARIABLES))
    if isinstance(root, (str, os.PathLike)):
        from readroom.core.stores.local import LocalStore

        if not os.fspath(root):
            raise BadValue("root", "", "names no folder", "Name one; . is the current folder.")
        require_local(os.fspath(root))
        return LocalStore(root, notes=own_file(NOTES_FOLDER))
    return root
