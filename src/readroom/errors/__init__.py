"""The one tree of failures.

Each class has a stable `code`, a sentence that says what happened, advice that
says what to do, typed facts for programs, and, where one exists, `next`: the
request that will work.  Engines raise them where they know; `toolbox` catches
them once; a contract words them for its callers.

    ReadroomError
    ├── UsageError                 the call itself is wrong
    │   ├── UnknownTool
    │   ├── UnknownArgument
    │   ├── MissingArgument
    │   ├── WrongType
    │   ├── BadValue
    │   ├── BadRange
    │   ├── BadPattern
    │   ├── BadCursor
    │   ├── Ambiguous
    │   ├── BadPath
    │   ├── NotAbsolute
    │   ├── SameFile
    │   ├── BadConfig
    │   ├── BadRequest
    │   ├── RepeatedHeader
    │   ├── TokenInAddress
    │   ├── WrongMethod
    │   ├── BodyTooLarge
    │   └── WrongMediaType
    ├── RefusedError               policy says no
    │   ├── Denied
    │   ├── OutsideRoot
    │   ├── HardLinked
    │   ├── Protected
    │   ├── SymbolicLink
    │   ├── HoldsDenied
    │   ├── CommandsOff
    │   ├── BudgetSpent
    │   ├── NotConfined
    │   ├── NotThisHost
    │   ├── WrongOrigin
    │   ├── Unauthorized
    │   ├── NotGranted
    │   └── TooManyRequests
    ├── AbsentError                there is nothing at that name
    │   ├── NotFound
    │   ├── UnknownSymbol
    │   ├── OutputGone
    │   ├── NoSuchRoute
    │   ├── NoSuchWorkspace
    │   ├── NoSuchToken
    │   └── NoFolderToken
    └── FailedError                it is there and allowed, and cannot be served
        ├── NotAFile
        ├── NotAFolder
        ├── Binary
        ├── BrokenData
        ├── BadImage
        ├── BadDocument            a document, or a part of one, that cannot be extracted
        │   └── EncryptedDocument
        ├── BadEncoding
        ├── NoOutline
        ├── NoPermission
        ├── Changed
        ├── TooMuch
        ├── TimedOut
        ├── Cancelled
        ├── Closed
        ├── MissingProgram
        ├── StoreFailed
        ├── Internal
        ├── ConflictError          the file is not what the call takes it for
        │   ├── Stale
        │   ├── Exists
        │   ├── Vanished
        │   ├── NoMatch
        │   ├── ManyMatches
        │   ├── WrongCount
        │   ├── FolderNotEmpty
        │   ├── Taken
        │   ├── EditsFailed
        │   └── Overlap
        ├── Unencodable
        ├── BrokenPlace
        ├── TooLarge
        ├── PartlyDeleted
        ├── ReadOnlyFile
        ├── ReadOnlyPlace
        ├── NoSpace
        ├── NoFolder
        ├── LedgerFailed
        ├── NotStarted
        ├── SlowRequest
        ├── Busy
        ├── Closing
        └── BadTokenStore
"""

from __future__ import annotations

from readroom.errors.base import AbsentError, FailedError, ReadroomError, RefusedError, UsageError
from readroom.errors.changes import (
    BrokenPlace,
    ConflictError,
    EditsFailed,
    Exists,
    ManyMatches,
    NoMatch,
    NoSpace,
    Overlap,
    Protected,
    ReadOnlyFile,
    ReadOnlyPlace,
    SameFile,
    Stale,
    SymbolicLink,
    TooLarge,
    Unencodable,
    Vanished,
    WrongCount,
)
from readroom.errors.commands import CommandsOff, NoFolder, NotConfined, NotStarted, OutputGone
from readroom.errors.documents import BadDocument, EncryptedDocument
from readroom.errors.failed import (
    BadEncoding,
    BadImage,
    Binary,
    BrokenData,
    Cancelled,
    Changed,
    Closed,
    Internal,
    MissingProgram,
    NoPermission,
    NotAFile,
    NotAFolder,
    StoreFailed,
    TimedOut,
    TooMuch,
)
from readroom.errors.keeping import BudgetSpent, LedgerFailed
from readroom.errors.names import FolderNotEmpty, HoldsDenied, PartlyDeleted, Taken
from readroom.errors.refused import Denied, HardLinked, NotFound, OutsideRoot
from readroom.errors.serving import (
    BadRequest,
    BadTokenStore,
    BodyTooLarge,
    Busy,
    Closing,
    NoFolderToken,
    NoSuchRoute,
    NoSuchToken,
    NoSuchWorkspace,
    NotGranted,
    NotThisHost,
    RepeatedHeader,
    SlowRequest,
    TokenInAddress,
    TooManyRequests,
    Unauthorized,
    WrongMediaType,
    WrongMethod,
    WrongOrigin,
)
from readroom.errors.symbols import Ambiguous, NoOutline, UnknownSymbol
from readroom.errors.usage import (
    BadConfig,
    BadCursor,
    BadPath,
    BadPattern,
    BadRange,
    BadValue,
    MissingArgument,
    NotAbsolute,
    UnknownArgument,
    UnknownTool,
    WrongType,
)

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
    "Cancelled",
    "Changed",
    "Closed",
    "Closing",
    "CommandsOff",
    "ConflictError",
    "Denied",
    "EditsFailed",
    "EncryptedDocument",
    "Exists",
    "FailedError",
    "FolderNotEmpty",
    "HardLinked",
    "HoldsDenied",
    "Internal",
    "LedgerFailed",
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
    "WrongCount",
    "WrongMediaType",
    "WrongMethod",
    "WrongOrigin",
    "WrongType",
]
