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

from readroom.release import VERSION

if TYPE_CHECKING:
    from readroom.caller import Caller
    from readroom.deadline import Deadline
    from readroom.errors import (
        AbsentError,
        Ambiguous,
        BadConfig,
        BadCursor,
        BadDocument,
        BadEncoding,
        BadImage,
        BadPath,
        BadPattern,
        BadRange,
        BadRequest,
        BadTokenStore,
        BadValue,
        Binary,
        BodyTooLarge,
        BrokenData,
        BrokenPlace,
        BudgetSpent,
        Busy,
        Cancelled,
        Changed,
        Closed,
        Closing,
        CommandsOff,
        ConflictError,
        Denied,
        EditsFailed,
        EncryptedDocument,
        Exists,
        FailedError,
        FolderNotEmpty,
        HardLinked,
        HoldsDenied,
        Internal,
        LedgerFailed,
        ManyMatches,
        MissingArgument,
        MissingProgram,
        NoFolder,
        NoFolderToken,
        NoMatch,
        NoOutline,
        NoPermission,
        NoSpace,
        NoSuchRoute,
        NoSuchToken,
        NoSuchWorkspace,
        NotAbsolute,
        NotAFile,
        NotAFolder,
        NotConfined,
        NotFound,
        NotGranted,
        NotStarted,
        NotThisHost,
        OutputGone,
        OutsideRoot,
        Overlap,
        PartlyDeleted,
        Protected,
        ReadOnlyFile,
        ReadOnlyPlace,
        ReadroomError,
        RefusedError,
        RepeatedHeader,
        SameFile,
        SlowRequest,
        Stale,
        StoreFailed,
        SymbolicLink,
        Taken,
        TimedOut,
        TokenInAddress,
        TooLarge,
        TooManyRequests,
        TooMuch,
        Unauthorized,
        Unencodable,
        UnknownArgument,
        UnknownSymbol,
        UnknownTool,
        UsageError,
        Vanished,
        WrongCount,
        WrongMediaType,
        WrongMethod,
        WrongOrigin,
        WrongType,
    )
    from readroom.limits import Limits
    from readroom.model import Call, Image, Reply
    from readroom.toolbox import Workspace


__version__ = VERSION

__all__ = [
    "AbsentError",
    "Ambiguous",
    "BadConfig",
    "BadCursor",
    "BadDocument",
    "BadEncoding",
    "BadImage",
    "BadPath",
    "BadPattern",
    "BadRange",
    "BadRequest",
    "BadTokenStore",
    "BadValue",
    "Binary",
    "BodyTooLarge",
    "BrokenData",
    "BrokenPlace",
    "BudgetSpent",
    "Busy",
    "Call",
    "Caller",
    "Cancelled",
    "Changed",
    "Closed",
    "Closing",
    "CommandsOff",
    "ConflictError",
    "Deadline",
    "Denied",
    "EditsFailed",
    "EncryptedDocument",
    "Exists",
    "FailedError",
    "FolderNotEmpty",
    "HardLinked",
    "HoldsDenied",
    "Image",
    "Internal",
    "LedgerFailed",
    "Limits",
    "ManyMatches",
    "MissingArgument",
    "MissingProgram",
    "NoFolder",
    "NoFolderToken",
    "NoMatch",
    "NoOutline",
    "NoPermission",
    "NoSpace",
    "NoSuchRoute",
    "NoSuchToken",
    "NoSuchWorkspace",
    "NotAFile",
    "NotAFolder",
    "NotAbsolute",
    "NotConfined",
    "NotFound",
    "NotGranted",
    "NotStarted",
    "NotThisHost",
    "OutputGone",
    "OutsideRoot",
    "Overlap",
    "PartlyDeleted",
    "Protected",
    "ReadOnlyFile",
    "ReadOnlyPlace",
    "ReadroomError",
    "RefusedError",
    "RepeatedHeader",
    "Reply",
    "SameFile",
    "SlowRequest",
    "Stale",
    "StoreFailed",
    "SymbolicLink",
    "Taken",
    "TimedOut",
    "TokenInAddress",
    "TooLarge",
    "TooManyRequests",
    "TooMuch",
    "Unauthorized",
    "Unencodable",
    "UnknownArgument",
    "UnknownSymbol",
    "UnknownTool",
    "UsageError",
    "Vanished",
    "Workspace",
    "WrongCount",
    "WrongMediaType",
    "WrongMethod",
    "WrongOrigin",
    "WrongType",
]

_ELSEWHERE = {
    "Call": "readroom.model",
    "Caller": "readroom.caller",
    "Deadline": "readroom.deadline",
    "Image": "readroom.model",
    "Limits": "readroom.limits",
    "Reply": "readroom.model",
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
