"""readroom: the reading room of an AI agent's workspace.

    from readroom import Workspace

    with Workspace("path/to/folder") as workspace:
        print(workspace.read("README.md", limit=20).text)

Names only: each is imported from its module when it is first used, so that
importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readroom.change_errors import (
        BrokenPlace,
        ConflictError,
        Exists,
        ManyMatches,
        NoMatch,
        NoSpace,
        Overlap,
        Protected,
        ReadOnlyFile,
        ReadOnlyPlace,
        Stale,
        SymbolicLink,
        TooLarge,
        Unencodable,
        Vanished,
    )
    from readroom.deadline import Deadline
    from readroom.errors import (
        AbsentError,
        BadConfig,
        BadCursor,
        BadEncoding,
        BadImage,
        BadPath,
        BadPattern,
        BadRange,
        BadValue,
        Binary,
        Cancelled,
        Changed,
        Denied,
        FailedError,
        HardLinked,
        Internal,
        MissingArgument,
        MissingProgram,
        NoPermission,
        NotAFile,
        NotAFolder,
        NotFound,
        OutsideRoot,
        ReadroomError,
        RefusedError,
        StoreFailed,
        TimedOut,
        UnknownArgument,
        UnknownTool,
        UsageError,
        WrongType,
    )
    from readroom.limits import Limits
    from readroom.model import Call, Image, Reply
    from readroom.toolbox import Workspace

__version__ = "0.1.0"

__all__ = [
    "AbsentError",
    "BadConfig",
    "BadCursor",
    "BadEncoding",
    "BadImage",
    "BadPath",
    "BadPattern",
    "BadRange",
    "BadValue",
    "Binary",
    "BrokenPlace",
    "Call",
    "Cancelled",
    "Changed",
    "ConflictError",
    "Deadline",
    "Denied",
    "Exists",
    "FailedError",
    "HardLinked",
    "Image",
    "Internal",
    "Limits",
    "ManyMatches",
    "MissingArgument",
    "MissingProgram",
    "NoMatch",
    "NoPermission",
    "NoSpace",
    "NotAFile",
    "NotAFolder",
    "NotFound",
    "OutsideRoot",
    "Overlap",
    "Protected",
    "ReadOnlyFile",
    "ReadOnlyPlace",
    "ReadroomError",
    "RefusedError",
    "Reply",
    "Stale",
    "StoreFailed",
    "SymbolicLink",
    "TimedOut",
    "TooLarge",
    "Unencodable",
    "UnknownArgument",
    "UnknownTool",
    "UsageError",
    "Vanished",
    "Workspace",
    "WrongType",
]

_ELSEWHERE = {
    "BrokenPlace": "readroom.change_errors",
    "Call": "readroom.model",
    "ConflictError": "readroom.change_errors",
    "Deadline": "readroom.deadline",
    "Exists": "readroom.change_errors",
    "Image": "readroom.model",
    "Limits": "readroom.limits",
    "ManyMatches": "readroom.change_errors",
    "NoMatch": "readroom.change_errors",
    "NoSpace": "readroom.change_errors",
    "Overlap": "readroom.change_errors",
    "Protected": "readroom.change_errors",
    "ReadOnlyFile": "readroom.change_errors",
    "ReadOnlyPlace": "readroom.change_errors",
    "Reply": "readroom.model",
    "Stale": "readroom.change_errors",
    "SymbolicLink": "readroom.change_errors",
    "TooLarge": "readroom.change_errors",
    "Unencodable": "readroom.change_errors",
    "Vanished": "readroom.change_errors",
    "Workspace": "readroom.toolbox",
}
"""Where the public names stand that are not in `errors`."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_ELSEWHERE.get(name, "readroom.errors")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
