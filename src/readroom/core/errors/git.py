"""Errors of git repositories."""

from __future__ import annotations

from readroom.core.errors import base
from readroom.core.errors.usage import HardLinked
from readroom.core.quoting import quote


class NoRepository(base.AbsentError):
    """No folder at or above a path has a git repository."""

    message = "No git repository of this workspace holds {place}"
    advice = "One above the root of the workspace is not used: ask the user to serve the folder with .git."
    path: base.Name

    def _fill(self) -> None:
        self.place = "its root" if self.path == "." else quote(self.path)


class RepositoryRefused(base.RefusedError):
    """A repository that would lead elsewhere, or cannot be read by itself."""

    message = "The git repository of {path} is not opened: {reason}"
    path: base.Name
    reason: str
    advice: str = "Ask the user; the files themselves can be read."


class NoSuchRevision(base.AbsentError):
    """A name that is no commit of a repository."""

    message = "The git repository of {path} has no revision {revision}{why}"
    path: base.Name
    revision: base.Brief
    why: base.Aside[str] = ""
    advice: str = "Use HEAD, HEAD~2, a branch, a tag or the id of a commit."


class RepositoryFailed(base.FailedError):
    """A repository that is broken, or that takes too much to be read."""

    message = "The git repository of {path} cannot be read: {problem}"
    path: base.Name
    problem: str
    advice: str = "Ask the user to run git fsck in it; the files themselves can be read."


class DeniedContent(HardLinked):
    """A file of a revision whose bytes also have a denied name, there, in HEAD or on the other side."""

    code = "denied_content"
    message = "{path} has the content of a file whose name is denied"
    advice: str = "Continue without this file, or ask the user for it."
