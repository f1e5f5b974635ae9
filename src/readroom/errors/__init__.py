"""The one tree of failures.

Each class has a stable `code`, a sentence that says what happened, advice that
says what to do, typed facts for programs, and, where one exists, `next`: the
request that will work.  Engines raise them where they know; the workspace catches
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
    │   ├── WrongMediaType
    │   ├── UnknownCoding
    │   └── WrongVersion
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
    │   ├── OneProcess
    │   └── TooManyRequests
    ├── AbsentError                there is nothing at that name
    │   ├── NotFound
    │   ├── UnknownSymbol
    │   ├── OutputGone
    │   ├── NoSuchRoute
    │   ├── NoSuchView
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
        ├── DatabaseFailed
        │   ├── LedgerFailed
        │   └── StateFailed
        ├── NotStarted
        ├── SlowRequest
        ├── Busy
        ├── Closing
        └── BadTokenStore

Knows: every failure, its code, facts and next step.
Does not know: where it is raised, and how a contract words it.
May be touched: freely; a code that clients know keeps its name.
"""

from __future__ import annotations

# Each name is exported where its class is defined, and in the tree above; type checkers follow the stars.
from readroom.errors.changes import *
from readroom.errors.commands import *
from readroom.errors.reading import *
from readroom.errors.serving import *
from readroom.errors.usage import *
from readroom.errors.usage import ReadroomError


def of_code(code: object) -> type[ReadroomError]:
    """The class of failures with that code, as replies name them; ReadroomError for an unknown one."""
    pending: list[type[ReadroomError]] = [ReadroomError]
    while pending:
        kind = pending.pop()
        if kind.code == code:
            return kind
        pending += reversed(kind.__subclasses__())
    return ReadroomError


def names() -> list[str]:
    """The names of all classes of the tree, in order."""
    kinds = (kind for kind in globals().values() if isinstance(kind, type))
    return sorted(kind.__name__ for kind in kinds if issubclass(kind, ReadroomError))
