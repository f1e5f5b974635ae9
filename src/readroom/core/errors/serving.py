"""Errors of servers: access, budgets and rates, and malformed requests."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.errors import base


class BadRequest(base.UsageError):
    """A request that the route does not accept: its address, its type or its body."""

    message = "The request cannot be used: {problem}"
    problem: str
    advice: str


class NotReached(base.FailedError):
    """A workspace on another machine that there is no connection to, or none any more."""

    message = "{address} was not reached: {problem}"
    address: base.Name
    problem: str
    advice: str


class RepeatedHeader(base.UsageError):
    """A header that decides something, sent twice: two programs could read different values."""

    message = "The header {header} is sent twice"
    advice = "Send it once."
    header: str


class TokenInAddress(base.UsageError):
    """A token in the query of an address, where logs, histories and proxies keep it."""

    message = "The address has a token in its query"
    advice = "Send the header Authorization: Bearer TOKEN, and replace that token: addresses end up in logs."


class WrongMethod(base.UsageError):
    """A route that does not accept the method."""

    message = "This address does not accept {method}"
    advice = "Use {listed}."
    method: base.Brief
    allowed: Sequence[str]

    def _fill(self) -> None:
        self.listed = " or ".join(self.allowed)


class BodyTooLarge(base.UsageError):
    """A request body above the server's limit."""

    message = "The request body is larger than {most_bytes:,} bytes"
    advice = "Send less at once: edit_file changes a part of a file."
    most_bytes: int


class WrongMediaType(base.UsageError):
    """A body that is not JSON."""

    message = "The body has {type}"
    advice = "Send JSON, with the header Content-Type: application/json."
    given: base.Brief

    def _fill(self) -> None:
        self.type = f"the type {base.brief(self.given)!r}" if self.given else "no type"


class UnknownCoding(base.UsageError):
    """A body in a transfer coding that this server does not decode."""

    message = "The body has the transfer coding {coding!r}"
    advice = "Send it as it is, with a Content-Length or with Transfer-Encoding: chunked."
    coding: base.Brief


class WrongVersion(base.UsageError):
    """A request of another version of HTTP."""

    message = "The request is HTTP/{version}"
    advice = "Send HTTP/1.1."
    version: str


class SlowRequest(base.FailedError):
    """A request whose body did not arrive in time."""

    message = "The request was not complete after {seconds:g} s"
    advice = "Send the whole body at once."
    seconds: float


class NoSuchRoute(base.AbsentError):
    """An address without a route."""

    message = "Nothing is served at this address"
    advice = "GET /openapi.json lists every address."


class NoSuchView(base.AbsentError):
    """A view of the dashboard that does not exist, or is hidden: both look the same."""

    message = "There is no such {what} here, or none that you may see"
    advice = "Continue from the overview."
    what: base.Aside[str]


class NoSuchWorkspace(base.AbsentError):
    """A name that no workspace has that this token opens."""

    message = "There is no workspace {workspace!r}"
    advice = "The workspaces are: {known}."
    workspace: base.Brief
    known: Sequence[str]

    def _fill(self) -> None:
        if not self.known:
            self.advice = "This token opens none."


class NotThisHost(base.RefusedError):
    """A request for another host: DNS rebinding looks like that."""

    message = "The request is for {host!r}, which is not a name of this server"
    advice = "Use the address that the server printed. The operator can add names with --allow-host."
    host: base.Brief


class WrongOrigin(base.RefusedError):
    """A request from a page of another site."""

    message = "The request comes from a page of {origin!r}"
    advice = (
        "Only pages of this address, and programs (which send no Origin header), can use this server. "
        "The operator can add others with --allow-origin."
    )
    origin: base.Brief


class Unauthorized(base.RefusedError):
    """No token, or none that works. `presented` says which, for the header of RFC 6750."""

    message = "The token of the request does not work here: {problem}"
    advice = (
        "Send the header Authorization: Bearer TOKEN. The operator of the server can show the token of its "
        "folder with `readroom token show DIR`, or create one with `readroom token create NAME`."
    )
    problem: str
    _: base.KW_ONLY
    presented: base.Aside[bool] = True

    def _fill(self) -> None:
        if not self.presented:
            self.message = "The request has no token"


class NotGranted(base.RefusedError):
    """A tool that the caller's token does not include."""

    message = "This token does not include {tool}"
    advice = "It includes: {granted}."
    tool: str
    granted: Sequence[str]

    def _fill(self) -> None:
        if not self.granted:
            self.advice = "It includes no tool of this contract."


class TooManyRequests(base.RefusedError):
    """A rate limit, of a token or of an address."""

    message = "Too many requests"
    advice = "Try again in {retry_after_s} s."
    retry_after_s: int


class Busy(base.FailedError):
    """The server is already running and queueing its maximum number of calls."""

    message = "The server cannot hold more calls"
    advice = "Send the call again in a second."


class Closing(base.FailedError):
    """The server is shutting down."""

    message = "The server is shutting down"
    advice = "Send the call again when it has been restarted."


class NoSuchToken(base.AbsentError):
    """An id that no token has."""

    message = "There is no token {token!r}"
    advice = "`readroom token list` shows the ids."
    token: base.Brief
    known: base.Aside[Sequence[str]]

    def _fill(self) -> None:
        if not self.known:
            self.advice = "No token has been made."


class NoFolderToken(base.AbsentError):
    """A folder that has no token of its own."""

    message = "{shown} has no token yet"
    advice = (
        "`readroom serve` makes it when it first serves the folder, unless tokens were made with "
        "`readroom token create`; `readroom token renew` makes it now."
    )
    folder: str

    def _fill(self) -> None:
        self.shown = base.brief(self.folder)


class BadTokenStore(base.FailedError):
    """The file of tokens cannot be used."""

    message = "The tokens in {path} cannot be read or written: {problem}"
    path: str
    problem: str
    advice: str = "Repair the file or its permissions, or move it away and make new tokens."


# -----------------------------------------------------------------------------
# Errors of budgets, of the ledger and of the shared state.
# -----------------------------------------------------------------------------


class BudgetSpent(base.RefusedError):
    """The tokens that an operator allows are used up, or too few are left for this call."""

    message = "The budget of this {scope} leaves too little: {used:,} of {limit:,} tokens are used"
    advice = "For now {works}; work with what you have seen, or ask the user for a larger budget."
    scope: str  # call, session, token or workspace
    limit: int
    used: int
    _: base.KW_ONLY
    changes_left: bool  # whether edits are still possible

    def _fill(self) -> None:
        self.works = (
            "edit_file and write_file still work, with short replies"
            if self.changes_left
            else "no tool works"
        )


class DatabaseFailed(base.FailedError, OSError):
    """A database that is needed cannot be used."""

    message = "The {noun} {where} cannot be used: {problem}"
    noun = "database"
    where: str
    problem: str
    advice: str = "Tell the user; calls need it."


class LedgerFailed(DatabaseFailed):
    """The ledger cannot be used."""

    noun = "ledger"


class StateFailed(DatabaseFailed):
    """State that several processes share cannot be read or written: nothing it should bound is served."""

    noun = "shared state"
    advice: str = (
        "Send the call again in some seconds. The operator of the server has to repair its database."
    )


class OneProcess(base.RefusedError):
    """A call that needs what one process keeps in memory, at a server of several."""

    message = "Stores in memory are kept by one process, and this server has several"
    advice = (
        "Work in the folder itself, or ask the operator of the server to start it with --workers 1 and "
        "without a shared state."
    )
