"""The section [index] of a configuration file, and where the user's cache folder is.

The file in the workspace may only say that nothing is kept: where files are
written is for the operator to say.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from readroom.config_commands import Bad
from readroom.session.index_files import IndexPolicy

INDEX_KEYS = ("keep", "folder", "disk_bytes", "from_bytes")

_LEAST_BYTES = 64 * 1024
"""Below, not one index would be kept."""

_MOST = 2**40


def own_folder(environ: Mapping[str, str], platform: str) -> str | None:
    """The folder of readroom in the user's cache folder; None when there is no telling where that is."""
    given = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(given):  # relative ones are to be ignored, by the specification
        return os.path.join(os.path.normpath(given), "readroom")
    home = environ.get("HOME", "")
    if not os.path.isabs(home):
        return None
    cache = "Library/Caches" if platform == "darwin" else ".cache"
    return os.path.join(os.path.normpath(home), cache, "readroom")


def lies_within(folder: str, root: str) -> bool:
    """Whether a folder, which need not exist yet, is a root or lies below it, links followed."""
    real, above = os.path.realpath(folder), os.path.realpath(root)
    return real == above or real.startswith(above.rstrip("/") + "/")


def read_index(
    section: Mapping[str, object], before: IndexPolicy, bad: Bad, *, untrusted: str
) -> IndexPolicy:
    """The policy with what the section says.

    Args:
        section: Keys of INDEX_KEYS.
        before: What held without it.
        bad: Makes failures.
        untrusted: The name of a file that may only turn it off; empty for the operator's.

    Raises:
        BadConfig: A value cannot be used, or the file may not say so.
    """
    found = before
    for name, value in section.items():
        key = f"index.{name}"
        if untrusted and (name, value) != ("keep", False):
            raise bad(
                key,
                "a file inside the workspace can only turn it off",
                "Put it into the file that readroom is started with (--config).",
            )
        found = _applied(key, name, value, found, bad)
    return found


def _applied(key: str, name: str, value: object, before: IndexPolicy, bad: Bad) -> IndexPolicy:
    if name == "keep":
        if not isinstance(value, bool):
            raise bad(key, "must be true or false", "Write keep = false.")
        return replace(before, keep=value)
    if name == "folder":
        path = os.path.expanduser(value) if isinstance(value, str) else ""
        if "\0" in path or not os.path.isabs(path):
            raise bad(key, f"{value!r} is no absolute path", "Name one, or one that starts with ~/.")
        return replace(before, folder=os.path.normpath(path))
    if not isinstance(value, int) or isinstance(value, bool) or not _LEAST_BYTES <= value <= _MOST:
        raise bad(
            key, f"must be a number of bytes from {_LEAST_BYTES} to {_MOST}", f"Write {name} = 67108864."
        )
    return replace(before, disk_bytes=value) if name == "disk_bytes" else replace(before, from_bytes=value)
