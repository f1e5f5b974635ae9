"""readroom: the reading room of an AI agent's workspace.

    from readroom import Workspace

    with Workspace("path/to/folder") as workspace:
        print(workspace.read("README.md", limit=20).text)

Names only: each is imported from its module when it is first used, so that
importing the package costs nothing.  All classes of `readroom.core.errors` are among them.

Knows: the names for users, and where each is defined.
Does not know: anything else.
May be touched: a name that is added stays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from readroom.core.release import VERSION

if TYPE_CHECKING:
    from readroom.core.async_workspace import AsyncWorkspace as AsyncWorkspace
    from readroom.core.caller import Caller as Caller
    from readroom.core.deadline import Deadline as Deadline
    from readroom.core.errors import *
    from readroom.core.limits import Limits as Limits
    from readroom.core.methods.keywords import OneChange as OneChange
    from readroom.core.methods.keywords import OneEdit as OneEdit
    from readroom.core.values import Call as Call
    from readroom.core.values import Image as Image
    from readroom.core.values import Pages as Pages
    from readroom.core.values import Reply as Reply
    from readroom.core.workspace import Workspace as Workspace

    __all__: list[str]

__version__ = VERSION

_ELSEWHERE = {
    "AsyncWorkspace": "readroom.core.async_workspace",
    "Call": "readroom.core.values",
    "Caller": "readroom.core.caller",
    "Deadline": "readroom.core.deadline",
    "Image": "readroom.core.values",
    "Limits": "readroom.core.limits",
    "OneChange": "readroom.core.methods.keywords",
    "OneEdit": "readroom.core.methods.keywords",
    "Pages": "readroom.core.values",
    "Reply": "readroom.core.values",
    "Workspace": "readroom.core.workspace",
}
"""Where the public names stand that are not errors; type checkers see them above."""


def _names() -> list[str]:
    from readroom.core import errors

    return sorted([*_ELSEWHERE, *errors.names()])


if not TYPE_CHECKING:  # type checkers would otherwise accept every name

    def __getattr__(name: str) -> object:
        if name == "__all__":
            return _names()
        if name in _ELSEWHERE:
            value: object = getattr(import_module(_ELSEWHERE[name]), name)
        elif name[:1].isupper() and name in _names():
            value = getattr(import_module("readroom.core.errors"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*_names(), "__version__"])
