"""One failure of every class of the tree, as the code raises it, and some of hostile names and values."""

from __future__ import annotations

from collections.abc import Iterator

from readroom.core import errors
from readroom.core.errors import ReadroomError, review
from readroom.core.values import EntryKind, GrepRequest, ListRequest, ReadRequest
from readroom.core.values.changes import Diff
from readroom.core.values.files import Item, Row
from readroom.core.values.history import Conflict

PATH = "docs/a.md"
READ = ReadRequest(PATH, offset=3, limit=10)
ROW = Row(Item("def", "load", "def load():", 3, 5, 3), 0, ("load",))

EXAMPLES: tuple[ReadroomError, ...] = (
    errors.AbsentError("Nothing is there", "Look elsewhere."),
    errors.AcrossRoots(PATH, "B/b.md"),
    errors.Ambiguous(ReadRequest(PATH, symbol="load"), [ROW, ROW], next_request=READ),
    errors.BadConfig("readroom.toml", "policy.deny", "is not a list", "Send a list."),
    errors.BadCursor("was not given for these arguments", next_request=GrepRequest("x")),
    errors.BadDocument("a.pdf", "pdf", "it ends early", "Ask the user for another copy.", part=2),
    errors.BadEncoding(PATH, "utf-8", "it does not fit", "Leave it out.", line=3, next_request=READ),
    errors.BadImage("a.png", "image/png", 10, "it ends early"),
    errors.BadPath("a\0b", "contains a NUL character"),
    errors.BadPattern("pattern", "(", "missing )", "Close it.", at=1),
    errors.BadRange("Line 100 is past the end", "The last line is 3.", total_lines=3, next_request=READ),
    errors.BadRequest("its body is not JSON", "Send one JSON object."),
    errors.BadTokenStore("tokens.sqlite3", "it is not a database"),
    errors.BadValue("offset", -1, "is not a line number", "Lines count from 1.", next_request=READ),
    errors.Binary("a.bin", "application/octet-stream", 10, "Tell the user."),
    errors.BodyTooLarge(10),
    errors.BrokenData("a.gz", "gzip", 10, "it ends early"),
    errors.BrokenPlace(PATH, 3, "utf-8"),
    errors.BudgetSpent("session", 10, 9, changes_left=True),
    errors.Busy(),
    errors.Cancelled(),
    errors.Changed(PATH, next_request=READ),
    errors.Closed(),
    errors.Closing(),
    errors.CommandsOff("the operator has not allowed them"),
    review.BelongsTogether(PATH, "docs"),
    review.CommandsWait(),
    review.NoReview(),
    review.NoSuchReview("1a2b"),
    review.NotWaiting(PATH),
    review.ReviewConflict(1, (PATH,), detail=f"{PATH}: it was changed since"),
    review.ReviewFull("10,001 names would wait, more than 10,000"),
    review.ReviewUnusable(".", "it is damaged"),
    errors.ConflictError("It is another", "Read it again."),
    errors.Denied(".env", ".env", "built-in", "may hold secrets"),
    errors.EditsFailed([(PATH, errors.NotFound(PATH)), ("b", errors.NoMatch("b", 0, "No line is like it."))]),
    errors.EncryptedDocument("a.pdf", "pdf", "it needs a password", "Ask the user."),
    errors.Exists(PATH),
    errors.FailedError("It cannot be done", "Do something else."),
    errors.FolderNotEmpty("docs", 3),
    errors.HardLinked(PATH, 2, "its other name is denied"),
    errors.HoldsDenied("docs", 2),
    errors.HistoryOff("the operator has turned it off"),
    errors.HistoryFailed("history", "the disk is full"),
    errors.HistoryRequired("the disk is full"),
    errors.NoSuchChange(7),
    errors.NothingToUndo(),
    errors.NotKept(PATH),
    errors.ChangedSince([Conflict(PATH, "it was changed since", Diff(), Diff(), 1, 1)]),
    errors.Internal("KeyError"),
    errors.LedgerFailed("ledger", "the disk is full"),
    errors.DatabaseFailed("database", "the disk is full"),
    errors.StateFailed("state", "the disk is full"),
    errors.OneProcess(),
    errors.BadPatch("line", "cannot be read: line 3 has no mark", "Begin it with a blank.", line=3),
    errors.HunkAmbiguous(PATH, 2, [3, 9], 2),
    errors.HunkMissing(PATH, 1, "No line is like it.", expected="x", place="3 | x", first=3, last=3),
    errors.NotPatched(PATH, "a symbolic link"),
    errors.ManyMatches(PATH, 1, [3, 9], 2, next_request=READ),
    errors.LargerMatch(PATH, 3),
    errors.MissingArgument("read", "path"),
    errors.MissingProgram("rg", "Install ripgrep."),
    errors.NoFolder("memory"),
    errors.NoMatch(PATH, 1, "No line is like it.", place="3 | x", first=3, last=3, next_request=READ),
    errors.NoOutline(PATH, "it has no definitions", next_request=READ),
    errors.NoPermission(PATH),
    errors.NoSuchCommand("k3v9p", ["a2b3c"]),
    errors.NoSpace(PATH, "the disk is full"),
    errors.NoSuchRoute(),
    errors.NoSuchToken("x", ["y"]),
    errors.NoFolderToken("/srv/docs"),
    errors.NotReached("ssh://host/srv", "it does not answer", "Check the network."),
    errors.RepeatedHeader("Origin"),
    errors.TokenInAddress(),
    errors.NoSuchWorkspace("x", ["y"]),
    errors.NoSuchView("file"),
    errors.NotAFile("docs", "folder"),
    errors.NotAbsolute(PATH, "/workspace"),
    errors.NotAFolder(PATH, "file"),
    errors.NotConfined("bwrap", "it is missing", "Install it."),
    errors.NotFound("docs/b.md"),
    errors.NotGranted("write_file", ["read_file"]),
    errors.NotStarted("/bin/sh", "it is missing"),
    errors.NotThisHost("evil.example"),
    errors.OutputGone(".outputs/1.stdout", "it was removed", ".outputs"),
    errors.OutsideRoot("../x", "'..' leads above the root"),
    errors.Overlap(PATH, 1, 2, 3),
    errors.PartlyDeleted("docs", 3, "the disk failed"),
    errors.Protected("readroom.toml", "it is the configuration"),
    errors.ReadOnlyFile(PATH, 0o444),
    errors.ReadOnlyPlace(PATH),
    errors.ReadroomError("Something failed", "Tell the user."),
    errors.RefusedError("It is refused", "Ask the user."),
    errors.SameFile(PATH, "b"),
    errors.Inside(PATH, "b"),
    errors.HashNeeded(PATH, "sha256:" + "0" * 64),
    errors.WrongEntries(PATH, 2, 3),
    errors.UncertainSymbol(PATH, "A.f", 3, 9, "it is not certain where it ends"),
    errors.AlreadyAppended(PATH, "sha256:" + "0" * 64, "sha256:" + "1" * 64, changed=None),
    errors.SlowRequest(10.0),
    errors.Stale(PATH, "sha256:" + 64 * "0", "sha256:" + 64 * "1", changed="-a\n+b", next_request=READ),
    errors.StoreFailed(PATH, "Input/output error"),
    errors.SymbolicLink("link", PATH),
    errors.Taken(PATH, EntryKind.FILE, replaceable=True),
    errors.TimedOut(15.0),
    errors.TooMuch(32_768, "bytes", fitting=3, next_request=READ),
    errors.TooLarge(PATH, 1_200_000, 1_000_000, "bytes", "Read a part of it."),
    errors.TooManyLinks(PATH),
    errors.TooManyCommands(10, " in this conversation"),
    errors.TooManyRequests(3),
    errors.Unauthorized("it is not known"),
    errors.Unencodable(PATH, "new_text", "€", 1, "latin-1", "Leave it out."),
    errors.UnknownArgument("read", "pth", "path", ["path"]),
    errors.UnknownSymbol(ReadRequest(PATH, symbol="laod"), [ROW], next_request=READ),
    errors.UnknownTool("raed", ["read"]),
    errors.UsageError("The call is wrong", "Send another."),
    errors.Vanished(PATH, "sha256:" + 64 * "0"),
    errors.WrongCount(PATH, 1, 3, 2),
    errors.WrongMediaType("text/plain"),
    errors.UnknownCoding("gzip, chunked"),
    errors.WrongVersion("2.0"),
    errors.WrongMethod("GET", ["POST"]),
    errors.WrongOrigin("https://evil.example"),
    errors.WrongType("read", "offset", "an integer", "a string"),
)  # fmt: skip

HOSTILE: tuple[ReadroomError, ...] = (
    errors.NotFound('"quo\tted\n\x1b[31m\u202e.md', ["docs/ä\u200b.md"]),
    errors.NotFound("\udcff" * 2000),
    errors.Denied("x" * 4000, "x*", "readroom.toml", "r" * 4000),
    errors.UnknownTool("t" * 100_000, []),
    errors.BadValue("limit", {"a": ["\ud800"]}, "is not a number", "Send one."),
    errors.NotFound("a", ["b"], next_request=ListRequest("b")),
    errors.Changed("a", next_request=GrepRequest("needle")),
    errors.Exists("a" * 4000),
)
"""Names and values as an attacker or a confused model sends them."""


def classes() -> Iterator[type[ReadroomError]]:
    """Every class of the tree."""
    pending: list[type[ReadroomError]] = [ReadroomError]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__module__.startswith("readroom."):
            yield kind
