"""Errors of servers: access, budgets and rates, and malformed requests."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.errors.usage import AbsentError, FailedError, RefusedError, UsageError, _brief


class BadRequest(UsageError):
    """A request that is not what the route takes: its address, its type or its body."""

    code = "bad_request"

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"The request cannot be used: {problem}", advice, facts={"problem": problem})


class RepeatedHeader(UsageError):
    """A header that decides something, sent twice: two readers of it would not read the same."""

    code = "repeated_header"

    def __init__(self, name: str) -> None:
        super().__init__(f"The header {name} is sent twice", "Send it once.", facts={"header": name})


class TokenInAddress(UsageError):
    """A token in the query of an address, where logs, histories and proxies keep it."""

    code = "token_in_address"

    def __init__(self) -> None:
        super().__init__(
            "The address has a token in its query",
            "Send the header Authorization: Bearer TOKEN, and replace that token: addresses end up in logs.",
        )


class WrongMethod(UsageError):
    """A route that does not take the method."""

    code = "wrong_method"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__(
            f"This address does not take {_brief(method)}",
            f"Use {' or '.join(allowed)}.",
            facts={"method": _brief(method), "allowed": list(allowed)},
        )


class BodyTooLarge(UsageError):
    """A request body above the server's limit."""

    code = "body_too_large"

    def __init__(self, most: int) -> None:
        super().__init__(
            f"The request body is larger than {most:,} bytes",
            "Send less at once: edit_file changes a part of a file.",
            facts={"most_bytes": most},
        )


class WrongMediaType(UsageError):
    """A body that is not JSON."""

    code = "wrong_media_type"

    def __init__(self, given: str) -> None:
        super().__init__(
            f"The body has the type {_brief(given)!r}" if given else "The body has no type",
            "Send JSON, with the header Content-Type: application/json.",
            facts={"given": _brief(given)},
        )


class UnknownCoding(UsageError):
    """A body in a transfer coding that this server does not undo."""

    code = "unknown_coding"

    def __init__(self, coding: str) -> None:
        super().__init__(
            f"The body has the transfer coding {_brief(coding)!r}",
            "Send it as it is, with a Content-Length or with Transfer-Encoding: chunked.",
            facts={"coding": _brief(coding)},
        )


class WrongVersion(UsageError):
    """A request of another version of HTTP."""

    code = "wrong_version"

    def __init__(self, version: str) -> None:
        super().__init__(f"The request is HTTP/{version}", "Send HTTP/1.1.", facts={"version": version})


class SlowRequest(FailedError):
    """A request whose body did not come in time."""

    code = "slow_request"

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The request was not complete after {seconds:g} s",
            "Send the whole body at once.",
            facts={"seconds": seconds},
        )


class NoSuchRoute(AbsentError):
    """An address that nothing is served at."""

    code = "no_such_route"

    def __init__(self) -> None:
        super().__init__(
            "Nothing is served at this address",
            "GET /openapi.json lists every address.",
        )


class NoSuchView(AbsentError):
    """Nothing that the dashboard could show; what is hidden looks the same."""

    code = "no_such_view"

    def __init__(self, what: str) -> None:
        super().__init__(
            f"There is no such {what} here, or none that you may see", "Go on from the overview."
        )


class NoSuchWorkspace(AbsentError):
    """A name of no workspace that this token opens."""

    code = "no_such_workspace"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(
            f"There is no workspace {_brief(name)!r}",
            f"The workspaces are: {', '.join(known)}." if known else "This token opens none.",
            facts={"workspace": _brief(name), "known": list(known)},
        )


class NotThisHost(RefusedError):
    """A request for another host: DNS rebinding looks like that."""

    code = "not_this_host"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"The request is for {_brief(host)!r}, which is not a name of this server",
            "Use the address that the server printed. The operator can add names with --allow-host.",
            facts={"host": _brief(host)},
        )


class WrongOrigin(RefusedError):
    """A request from a page of another site."""

    code = "wrong_origin"

    def __init__(self, origin: str) -> None:
        super().__init__(
            f"The request comes from a page of {_brief(origin)!r}",
            "Only pages of this very address can use this server, and programs, which send no Origin header. "
            "The operator can add others with --allow-origin.",
            facts={"origin": _brief(origin)},
        )


class Unauthorized(RefusedError):
    """No token, or none that works. `presented` tells the two apart, as RFC 6750 wants it in the header."""

    code = "unauthorized"

    def __init__(self, problem: str, *, presented: bool = True) -> None:
        self.problem = problem
        self.presented = presented
        super().__init__(
            f"The token of the request does not work here: {problem}"
            if presented
            else "The request has no token",
            "Send the header Authorization: Bearer TOKEN. The operator of the server sees the token of its "
            "folder with `readroom token show DIR`, or makes another with `readroom token create NAME`.",
            facts={"problem": problem},
        )


class NotGranted(RefusedError):
    """A tool that the caller's token does not include."""

    code = "not_granted"

    def __init__(self, tool: str, granted: Sequence[str]) -> None:
        super().__init__(
            f"This token does not include {tool}",
            f"It includes: {', '.join(granted)}." if granted else "It includes no tool of this contract.",
            facts={"tool": tool, "granted": list(granted)},
        )


class TooManyRequests(RefusedError):
    """A rate limit, of a token or of an address."""

    code = "too_many_requests"

    def __init__(self, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(
            "Too many requests",
            f"Try again in {retry_after_s} s.",
            facts={"retry_after_s": retry_after_s},
        )


class Busy(FailedError):
    """As many calls as the server takes at once are running and waiting already."""

    code = "busy"

    def __init__(self) -> None:
        super().__init__(
            "The server has as many calls as it can hold",
            "Send the call again in a second.",
        )


class Closing(FailedError):
    """The server is shutting down."""

    code = "closing"

    def __init__(self) -> None:
        super().__init__("The server is shutting down", "Send the call again when it has been restarted.")


class NoSuchToken(AbsentError):
    """An id of no token."""

    code = "no_such_token"

    def __init__(self, identifier: str, known: Sequence[str]) -> None:
        super().__init__(
            f"There is no token {_brief(identifier)!r}",
            "`readroom token list` shows the ids." if known else "No token has been made.",
            facts={"token": _brief(identifier)},
        )


class NoFolderToken(AbsentError):
    """A folder that has no token of its own."""

    code = "no_folder_token"

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"{_brief(folder)} has no token yet",
            "`readroom serve` makes it when it first serves the folder, unless tokens were made with "
            "`readroom token create`; `readroom token renew` makes it now.",
            facts={"folder": folder},
        )


class BadTokenStore(FailedError):
    """The file of tokens cannot be used."""

    code = "bad_token_store"

    def __init__(self, path: str, problem: str, advice: str = "") -> None:
        super().__init__(
            f"The tokens in {path} cannot be read or written: {problem}",
            advice or "Mend the file or its permissions, or move it away and make new tokens.",
            facts={"path": path, "problem": problem},
        )


# -----------------------------------------------------------------------------
# Errors of budgets, of the ledger and of the shared state.
# -----------------------------------------------------------------------------


class BudgetSpent(RefusedError):
    """The tokens that an operator allows are used up, or too few are left for this call."""

    code = "budget_spent"

    def __init__(self, scope: str, limit: int, used: int, *, changes_left: bool) -> None:
        """`scope` is call, session, token or workspace; `changes_left` when edits are still possible."""
        works = "edit_file and write_file still work, with short replies" if changes_left else "no tool works"
        super().__init__(
            f"The budget of this {scope} is spent: {used:,} of {limit:,} tokens",
            f"For now {works}; work with what you have seen, or ask the user for a larger budget.",
            facts={"scope": scope, "limit": limit, "used": used, "changes_left": changes_left},
        )


class DatabaseFailed(FailedError, OSError):
    """A database that is needed cannot be used."""

    code = "database_failed"
    noun = "database"
    next_step = "Tell the user; calls need it."

    def __init__(self, where: str, problem: str, advice: str = "") -> None:
        super().__init__(
            f"The {self.noun} {where} cannot be used: {problem}",
            advice or self.next_step,
            facts={"where": where, "problem": problem},
        )


class LedgerFailed(DatabaseFailed):
    """The ledger cannot be used."""

    code = "ledger_failed"
    noun = "ledger"


class StateFailed(DatabaseFailed):
    """What several processes share cannot be read or written: nothing is served that it should bound."""

    code = "state_failed"
    noun = "shared state"
    next_step = "Send the call again in some seconds. The operator of the server has to mend its database."


class OneProcess(RefusedError):
    """A call that needs what one process keeps in memory, at a server of several."""

    code = "one_process"

    def __init__(self) -> None:
        super().__init__(
            "Stores in memory are kept by one process, and this server has several",
            "Work in the folder itself, or ask the operator of the server to start it with --workers 1 and "
            "without a shared state.",
        )
