"""The address zip-files: files of the workspace in an archive, with a manifest of what it holds and lacks.

Every file keeps its absolute path below `files/`; `manifest.json` is the last entry.
"""

from __future__ import annotations

import json
import posixpath
from datetime import UTC, datetime
from functools import partial

import msgspec
from msgspec.structs import replace

from readroom.contracts.coder import words
from readroom.contracts.coder.words import spelled
from readroom.core import errors
from readroom.core.contracts.base import Sentences
from readroom.core.contracts.native import render as native_render
from readroom.core.quoting import as_value
from readroom.core.values import Cap, Fact, Reply, Result
from readroom.core.values.packing import NotPacked, Packing, PackLimits, PackRequest, PackResult, Wanted

ZIP = "zip-files"

BODY_BYTES = 64 * 1024
"""Longest body of a request."""

PATTERNS = 32
"""Patterns of one request; those after them are reported in the manifest."""

LIMITS = PackLimits(files=10_000, file_bytes=10 * 1024 * 1024, total_bytes=100 * 1024 * 1024)

_HOME = ("$HOME/", "${HOME}/", "~/")

_GLOB = frozenset("*?{[")


class ZipBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of zip-files: absolute paths and globs; `~/` and `$HOME/` mean the workspace."""

    paths: list[str] = []


def request(body: ZipBody, root: str) -> PackRequest:
    """The canonical request."""
    wanted, rejected = [], []
    for number, asked_as in enumerate(body.paths):
        pattern, reason = _pattern(asked_as, root)
        if number >= PATTERNS:
            rejected.append(_missing(asked_as, "requested path pattern limit reached"))
        elif reason:
            rejected.append(_missing(asked_as, reason))
        else:
            wanted.append(Wanted(asked_as, pattern, not _GLOB.isdisjoint(pattern)))
    last = partial(_manifest, root, body.paths, rejected)
    return PackRequest(tuple(wanted), LIMITS, name=partial(_archive_name, root), last=last)


def _pattern(asked_as: str, root: str) -> tuple[str, str]:
    """The cleaned absolute pattern, or why there is none."""
    pattern = asked_as.strip()
    for prefix in _HOME:
        if pattern.startswith(prefix):
            pattern = f"{root.rstrip('/')}/{pattern.removeprefix(prefix)}"
            break
    if not pattern:
        return "", "empty path"
    if not words.absolute(pattern):
        return "", "relative path not allowed"
    return _cleaned(pattern), ""


def _cleaned(pattern: str) -> str:
    # A quoted name is unquoted later; two slashes at the beginning mean one.
    return pattern if pattern.startswith('"') else "/" + posixpath.normpath(pattern).lstrip("/")


def _archive_name(root: str, path: str) -> str:
    return f"files/{spelled(path, root).lstrip('/')}"


# --- the manifest -----------------------------------------------------------------------------


def _manifest(root: str, asked: list[str], rejected: list[Fact], packing: Packing) -> tuple[str, bytes]:
    files: list[Fact] = [
        {
            "requested": file.asked_as,
            "path": spelled(file.path, root),
            "archive_path": _archive_name(root, file.path),
            "size": file.size,
            "mod_time": _moment(file.mtime_ns),
            "bytes_written": file.written,
            "truncated": file.written < file.size,
        }
        for file in packing.files
    ]
    manifest: dict[str, Fact] = {
        "requested": asked,
        "limits": {
            "max_files": LIMITS.files,
            "max_bytes_per_file": LIMITS.file_bytes,
            "max_total_bytes": LIMITS.total_bytes,
        },
        "files": files,
        "errors": [*rejected, *(_left(root, missing) for missing in packing.missing)],
        "truncated": not packing.complete or len(asked) > PATTERNS,
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    return "manifest.json", f"{text}\n".encode("utf-8", "replace")


def _moment(mtime_ns: int) -> str | None:
    """A time in UTC to the nanosecond; None outside the years 1 to 9999."""
    seconds, rest = divmod(mtime_ns, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z".rjust(len("2026-01-01T00:00:00Z"), "0")


def _missing(asked_as: str, reason: str, path: str | None = None) -> Fact:
    shown = {} if path is None else {"path": path}
    return {"requested": asked_as, **shown, "reason": reason}


_REASONS = {
    "files": "file count limit reached",
    "bytes": "total byte limit reached",
    "time": "collection timed out",
    "none": "no matches",
    "link": "not a regular file: symlink",
}

_KINDS = {"folder": "directory", "pipe": "named pipe"}


def _not_regular(call: object, error: errors.NotAFile) -> str:
    return f"not a regular file: {_KINDS.get(error.what, error.what)}"


_PROBLEMS: Sentences = {
    errors.NotAFile: _not_regular,
    errors.NotFound: "does not exist",
    errors.BadPattern: "glob pattern: {error}",
}


def _left(root: str, missing: NotPacked) -> Fact:
    path = None if missing.path is None else spelled(missing.path, root)
    if missing.why == "denied":
        names = "1 name below it is" if missing.count == 1 else f"{missing.count} names below it are"
        return _missing(missing.asked_as, f"{names} denied by policy", path)
    if isinstance(missing.problem, errors.ReadroomError):
        reason = words.words(missing.problem, (_PROBLEMS, words.ANY), path or missing.asked_as)
        return _missing(missing.asked_as, reason, path)
    return _missing(missing.asked_as, _REASONS[missing.why], path)


# --- the reply --------------------------------------------------------------------------------


def packed(result: Result, cap: Cap) -> Reply:
    """The reply that streams an archive."""
    assert isinstance(result, PackResult)

    def facts() -> dict[str, Fact]:
        files: list[Fact] = [
            {"path": as_value(file.path), "size_bytes": file.size, "bytes": file.written}
            for file in result.packing.files
        ]
        return {
            "size_bytes": result.size,
            "files": files,
            "not_packed": len(result.packing.missing),
            "complete": result.packing.complete,
        }

    return replace(native_render.reply("", facts), stream=result.stream)
