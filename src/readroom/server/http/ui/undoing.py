"""An undo in the dashboard: a page that shows what it would do and asks, and the form that does it.

It is there only where the operator allows it, for tokens that may write.  What was shown is what is done: the
form carries a digest of the plan, and a plan that is another one by then is shown and asked about again.
The form must come from a page of this very address.  The gate lets in pages of other origins that the
operator named for programs; a browser sends them the cookie too if only the port differs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace
from starlette.requests import Request

from readroom.core.contracts.history import CONTRACT, UNDO
from readroom.core.contracts.history.rights import granted_calls, rights
from readroom.core.deadline import Deadline
from readroom.core.errors import AbsentError, NoSuchView, ReadroomError, UsageError, WrongOrigin
from readroom.core.limits import SERVE_CALL_S
from readroom.core.values.changes import Diff
from readroom.core.values.history import Conflict, Undone, UndoRequest, UndoResult
from readroom.server.http.ui.change import UI_CHANGE_FILES, UI_SIDE_ROWS, recorded, sides
from readroom.server.http.ui.history import may_undo, performed
from readroom.server.http.ui.page import Link, Page
from readroom.server.http.ui.view import View
from readroom.server.ledger.sums import LOOKED_AT

_FIELDS: Final = ("change", "session", "path")
"""The choice of changes, in the address and in the form."""


def same_origin(request: Request) -> None:
    """Raises WrongOrigin for a form of any page but one of this address."""
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    site = request.headers.get("sec-fetch-site", "same-origin")  # older browsers send none
    if urlsplit(origin).netloc.lower() != host.lower() or site != "same-origin":
        raise WrongOrigin(origin)


def undo(view: View) -> Page:
    """The effects of an undo, and the question. Raises NoSuchView where it is not allowed."""
    if not may_undo(view):
        raise NoSuchView("page")
    return _question(view, _chosen(view.wanted), "")


def undone(view: View, form: Mapping[str, str]) -> Page | str:
    """The address of the change that the undo is, or the question again. Raises ReadroomError."""
    if not may_undo(view):
        raise NoSuchView("page")
    chosen = {**_chosen(form), "up_to": _number(form, "up_to")}
    plan = _planned(view, _to_request(view, chosen))
    if _digest(plan) != form.get("plan"):
        return _question(view, chosen, "Something changed since you looked, so look again.")
    access = view.access
    given = {name: value for name, value in chosen.items() if value is not None}
    reply = access.workspace.call(
        UNDO,
        given,
        contract_name=CONTRACT,
        deadline=Deadline().within(SERVE_CALL_S),
        caller=replace(access.caller, face=LOOKED_AT),
        granted=granted_calls(access.granted),
    )
    if reply.is_error:
        error: Mapping[str, object] = reply.facts["error"]  # type: ignore[assignment]  # as every failure has
        return _question(view, chosen, str(error["message"]))
    number = reply.facts["change"]
    return view.bare("change", number=number) if number else view.bare("history")


def _chosen(given: Mapping[str, str]) -> dict[str, int | str | bool | None]:
    session, path = given.get("session") or None, given.get("path") or None
    return {
        "change": _number(given, "change"),
        "session": session,
        "path": path,
        "parts": given.get("parts") == "1" or None,
    }


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < len(str(2**63)) else None


def _to_request(view: View, chosen: Mapping[str, object]) -> UndoRequest:
    if sum(chosen[name] is not None for name in ("change", "session")) > 1 or not any(chosen.values()):
        raise NoSuchView("page")
    known = {name: value for name, value in chosen.items() if value is not None}
    return UndoRequest(**known, dry_run=True, rights=rights(view.access.granted))  # type: ignore[arg-type]


def _planned(view: View, request: UndoRequest) -> UndoResult:
    return performed(view, request, UndoResult)


def _digest(plan: UndoResult) -> str:
    """Names everything that a plan shows."""
    return hashlib.sha256(msgspec.msgpack.encode(plan)).hexdigest()


# -----------------------------------------------------------------------------
# The page with the question.
# -----------------------------------------------------------------------------


def _question(view: View, chosen: Mapping[str, object], note: str) -> Page:
    request = _to_request(view, chosen)
    back = _back(view, request)
    page = Page("Undo", crumbs=[Link("History", view.bare("history"))], template="undo.html")
    page.notes = [note] if note else []
    try:
        plan = _planned(view, request)
    except (AbsentError, UsageError) as error:
        raise NoSuchView("change") from error
    except ReadroomError as error:
        page.own = {**_NOTHING, "refusal": f"{error.message}.", "back": back}
        return page
    recorded(view, UNDO, request)
    asks = bool(plan.undone) and (request.parts or not plan.conflicts)
    fits = sum(conflict.fits for conflict in plan.conflicts)
    page.own = {
        **_NOTHING,
        "asks": asks,
        "question": _asked(plan),
        "refusal": _REFUSED if plan.conflicts else "There is nothing to undo.",
        "fields": list(_fields(chosen, plan)) if asks else (),
        "parts": view.bare("undo", **_addressed(chosen), parts=1) if fits and not request.parts else "",
        "files": list(_files(view, plan)),
        "back": back,
    }
    return page


_NOTHING: Final[Mapping[str, object]] = {
    "asks": False, "question": "", "refusal": "", "fields": (), "parts": "", "files": (),
}  # fmt: skip

_REFUSED = "Files were changed since, and undoing would lose that. Nothing was changed. Both sides are below."


def _asked(plan: UndoResult) -> str:
    changes, files = len(plan.changes), len(plan.undone)
    which = f"change {plan.changes[0]}" if changes == 1 else f"{changes:,} changes"
    stay = f" {len(plan.conflicts):,} of them stay in whole or in part." if plan.conflicts else ""
    return f"Undo {which}, in {files:,} file{'' if files == 1 else 's'}?{stay} An undo can be undone."


def _fields(chosen: Mapping[str, object], plan: UndoResult) -> Iterator[tuple[str, object]]:
    yield from _addressed(chosen).items()
    if chosen["parts"]:
        yield "parts", 1
    yield "up_to", max(plan.changes)
    yield "plan", _digest(plan)


def _addressed(chosen: Mapping[str, object]) -> dict[str, object]:
    """The choice of changes, without how they are undone."""
    return {name: chosen[name] for name in _FIELDS if chosen[name] is not None}


def _back(view: View, request: UndoRequest) -> str:
    if request.change is not None:
        return view.bare("change", number=request.change)
    return view.bare("history", session=request.session or "", path=request.path)


def _files(view: View, plan: UndoResult) -> Iterator[dict[str, object]]:
    """The files of a plan, those in the way first."""
    rows_left = UI_SIDE_ROWS
    every: list[Conflict | Undone] = [*plan.conflicts, *plan.undone]
    for one in every[:UI_CHANGE_FILES]:
        tables = []
        for title, diff in _diffs(one):
            rows = list(islice(sides(diff), rows_left))
            rows_left -= len(rows)
            if rows:
                tables.append((title, rows))
        to = one.to if isinstance(one, Undone) else None
        yield {
            "action": _ACTIONS[one.action] if isinstance(one, Undone) else "changed since",
            "path": view.file_cell(one.path).text,
            "to": None if to is None else view.file_cell(to).text,
            "remarks": list(_remarks(one)),
            "tables": tables,
        }


_ACTIONS: Final = {
    "restored": "restore",
    "changed back": "change back",
    "deleted": "delete",
    "moved back": "move",
    "nothing": "already as it was:",
}


def _diffs(one: Conflict | Undone) -> Iterator[tuple[str, Diff | None]]:
    if isinstance(one, Undone):
        yield "", one.diff
    else:
        yield "The change", one.ours
        yield "Changes since then", one.theirs


def _remarks(one: Conflict | Undone) -> Iterator[str]:
    if isinstance(one, Conflict):
        yield f"{one.reason[0].upper()}{one.reason[1:]}."
    if one.left:
        yield f"{one.fits:,} of {one.fits + one.left:,} places still fit."
