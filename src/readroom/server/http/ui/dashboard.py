"""The dashboard as an ASGI application behind the gate: sign-in, static files, and pages rendered in threads.

It answers GET, and POST to sign in or out, to verify the ledger, and to undo or decide about what waits where
the operator allows that; the gate admits no POST from a page of another origin.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from importlib.resources import files
from typing import Any, Final, final
from urllib.parse import parse_qsl, quote

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from readroom.core import errors
from readroom.core.context import stylesheet
from readroom.core.log import log
from readroom.core.rows import Audit
from readroom.core.workspace import Workspace
from readroom.mcp.access import Access
from readroom.server.http.access_log import Exchange
from readroom.server.http.errors import again_later, status_of
from readroom.server.http.gate import ACCESS, EXCHANGE, MOVED, OPENS, PAGE_ADDRESS
from readroom.server.http.routes import whole_body
from readroom.server.http.ui.books import Books
from readroom.server.http.ui.page import Link, Page, as_csv, rendered
from readroom.server.http.ui.view import View
from readroom.server.http.visitors import UI_PATH, SignIn
from readroom.server.ledger.recorder import recorder_of

UI_WORKERS = 4
"""Pages made at once. They wait for the database more than they compute; calls have threads of their own."""

UI_SUM_S = 0.5
"""How long a page waits for rows to be summed that came before anybody looked."""


def _function(named: str) -> Callable[..., Any]:
    """A function of a module here, as `module:function`."""
    module, _, name = named.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
    return found


class Place(Struct, frozen=True):
    """One page. Adding one takes its module and a row of `PAGES`.

    Attributes:
        function: Its module here, and its name there; it gets a `View`.
        menu: Its name in the menu, if it is there.
        chosen: The parameters of its address that an export of one of its tables keeps, besides filters.
        filtered: Whether the filters of a page go along to it.
    """

    function: str
    menu: str = ""
    chosen: tuple[str, ...] = ()
    filtered: bool = True

    def page(self, view: View) -> Page:
        """The page, made for a visitor."""
        made: Page = _function(self.function)(view)
        made.tables = [replace(table, export=view.export(table.name)) for table in made.tables]
        return made


PAGES: Final[Mapping[str, Place]] = {
    "": Place("overview:overview", "Overview", ("by",)),
    "sessions": Place("overview:sessions", "Sessions", ("q",)),
    "calls": Place("conversations:calls", "Calls"),
    "files": Place("overview:files", "Files"),
    "search": Place("search:search", "Search", ("q",), filtered=False),
    "map": Place("folder:folder_map", "Map", ("path", "area")),
    "refused": Place("refused:refused", "Refused"),
    "history": Place("history:history", "History", ("path", "session", "agent"), filtered=False),
    "review": Place("review:review", "Review", filtered=False),
    "money": Place("money:money", "Money", filtered=False),
    "findings": Place("findings:findings", "Findings", ("kind",)),
    "ledger": Place("chain:ledger", "Ledger", filtered=False),
    "session": Place("conversations:session", chosen=("id", "before")),
    "call": Place("conversations:call"),
    "file": Place("files:file", chosen=("path", "session", "line")),
    "change": Place("change:change"),
    "undo": Place("undoing:undo"),
    "waiting": Place("reviewing:waiting"),
}
"""All pages, by address."""

_FORMS: Final[Mapping[str, str]] = {"undo": "undoing:undone", "waiting": "reviewing:decided"}
"""The functions that take the forms of pages, as `Place.function`; each gets a `View` and the fields."""

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

_POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:"),
        *("connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    )
)

_HEADERS = {
    "Content-Security-Policy": _POLICY,
    # Not no-referrer: browsers would then send forms with origin null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}

_BACK = re.compile(rf"{UI_PATH}(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?(?:\?[!-~]*)?")
"""Addresses where a sign-in may lead."""


@final
class Dashboard:
    """The pages of one server."""

    def __init__(self, sign_in: SignIn, audit: Audit | None = None, whole: Sequence[Workspace] = ()) -> None:
        """Take the sign-in, the audit to show, and the workspaces as they are for tokens
        without a policy of their own.
        """
        self._sign_in = sign_in
        self._audit = audit
        self._whole = whole
        self._executor = ThreadPoolExecutor(UI_WORKERS, thread_name_prefix="readroom-ui")
        self._books = Books(self._executor)
        self._static = dict(_static())

    def close(self) -> None:
        """End the threads, and close the ledgers."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._books.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; every failure is a page."""
        request = Request(scope, receive)
        exchange: Exchange = scope[EXCHANGE]
        path = scope["path"].removeprefix("/")
        exchange.route = f"{UI_PATH}/{path if path in _ROUTES else 'static'}"
        try:
            response = await self._answer(request, path)
        except errors.ReadroomError as error:
            response = self._failed(request, error)
        except Exception as error:
            log().exception("a page of the dashboard failed")
            response = self._failed(request, errors.Internal(type(error).__name__))
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request, path: str) -> Response:
        if MOVED in request.scope:
            return RedirectResponse(request.scope[MOVED], 303)
        if path.startswith("static/"):
            return self._file(request, path.removeprefix("static/"))
        if path in ("sign-in", "sign-out"):
            return await self._door(request, path)
        if ACCESS not in request.scope:
            query = request.scope["query_string"].decode("latin-1")
            back = request.scope[PAGE_ADDRESS].here(request.scope["path"], query)
            return RedirectResponse(f"{UI_PATH}/sign-in?next={quote(back, safe='')}", 303)
        if path == "verify":
            return await self._verify(request)
        if path not in PAGES:
            raise errors.NoSuchView("page")
        if path in _FORMS and request.method == "POST":
            return await self._form(request, path)
        if request.method not in ("GET", "HEAD"):
            raise errors.WrongMethod(request.method, ["GET", "HEAD"])
        return await self._in_thread(partial(self._page, request, path))

    def _file(self, request: Request, name: str) -> Response:
        found = self._static.get(name)
        if found is None:
            raise errors.NoSuchView("file")
        data, tag, kind = found
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=kind, headers=headers)

    # -------------------------------------------------------------------------
    # Sign-in and sign-out.
    # -------------------------------------------------------------------------

    async def _door(self, request: Request, path: str) -> Response:
        back = request.query_params.get("next", "")
        back = back if _BACK.fullmatch(back) else UI_PATH
        secure = request.headers.get("origin", "").startswith("https://")
        if path == "sign-out":
            if request.method != "POST":
                raise errors.WrongMethod(request.method, ["POST"])
            response: Response = RedirectResponse(f"{UI_PATH}/sign-in", 303)
            cookies = request.headers.get("cookie", "").encode("latin-1", "replace")
            response.headers["Set-Cookie"] = await self._sign_in.end(cookies, secure=secure)
            return response
        if request.method != "POST":
            return _html(Page("Sign in", template="sign_in.html", own={"back": back, "problem": ""}), {})
        form = dict(parse_qsl((await whole_body(request.receive)).decode("utf-8", "replace")))
        exchange: Exchange = request.scope[EXCHANGE]
        try:
            await self._sign_in.check(form.get("token", "").strip(), exchange)
        except errors.Unauthorized as error:
            exchange.code = error.code
            page = Page(
                "Sign in", template="sign_in.html", own={"back": back, "problem": error.problem}, status=401
            )
            return _html(page, {})
        response = RedirectResponse(back, 303)
        token = form.get("token", "").strip()
        response.headers["Set-Cookie"] = await self._sign_in.begin(token, secure=secure)
        return response

    # -------------------------------------------------------------------------
    # Pages.
    # -------------------------------------------------------------------------

    async def _verify(self, request: Request) -> Response:
        if request.method != "POST":
            raise errors.WrongMethod(request.method, ["POST"])
        access: Access = request.scope[ACCESS]
        await self._in_thread(partial(self._begin_verifying, access))
        return RedirectResponse(f"{request.scope[PAGE_ADDRESS].base}/ledger", 303)

    def _begin_verifying(self, access: Access) -> Response:
        self._books.verify(access.workspace)
        return Response()

    async def _form(self, request: Request, path: str) -> Response:
        from readroom.server.http.ui.undoing import same_origin

        same_origin(request)
        form = dict(parse_qsl((await whole_body(request.receive)).decode("utf-8", "replace")))

        def work() -> Response:
            view = self._view(request, path)
            outcome: Page | str = _function(_FORMS[path])(view, form)
            if isinstance(outcome, str):
                return RedirectResponse(outcome, 303)
            return _html(outcome, self._frame(request, view, path))

        return await self._in_thread(work)

    async def _in_thread(self, work: Callable[[], Response]) -> Response:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _page(self, request: Request, path: str) -> Response:
        view = self._view(request, path)
        page = PAGES[path].page(view)
        if request.query_params.get("format") == "csv":
            return _csv(page, request.query_params.get("table", ""))
        if view.unsummed:
            page.notes = [*page.notes, f"{view.unsummed:,} rows are not summed yet; reload the page."]
        return _html(page, self._frame(request, view, path))

    def _view(self, request: Request, page: str) -> View:
        from readroom.server.http.ui.queries import Questions

        access: Access = request.scope[ACCESS]
        book = self._books.of(access.workspace)
        unsummed = book.sum_up(UI_SUM_S)
        query = request.scope["query_string"].decode("latin-1")
        wanted = dict(parse_qsl(query, errors="replace"))
        recorder = recorder_of(access.workspace.gatekeeper.journal)
        assert recorder is not None
        return View(
            access, request.scope[PAGE_ADDRESS].base, wanted, Questions(book), recorder.workspace,
            unsummed=unsummed, audit=self._audit, page=page, chosen=PAGES[page].chosen,
            books=self._books, whole=access.workspace in self._whole,
        )  # fmt: skip

    def _frame(self, request: Request, view: View | None, path: str) -> dict[str, object]:
        address = request.scope[PAGE_ADDRESS]
        access: Access = request.scope[ACCESS]
        absent = {"findings", "money"} if self._audit is None else set()
        absent |= {"review"} if access.workspace.reviews is None else set()
        menu = []
        for at, place in PAGES.items():
            if place.menu and at not in absent:
                href = view.link(at) if view is not None and place.filtered else f"{address.base}/{at}"
                menu.append(Link(place.menu, href, at == path))
        workspaces = [Link(name, address.of(name), name == address.name) for name in request.scope[OPENS]]
        signed_in = bool(access.caller.token)
        return {"menu": menu, "workspaces": workspaces, "address": address, "signed_in": signed_in}

    def _failed(self, request: Request, error: errors.ReadroomError) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.code = error.code
        status = int(status_of(type(error)))
        own = {"code": error.code, "message": error.message, "advice": error.advice}
        page = Page("Error", template="error.html", own=own, status=status)
        frame: dict[str, object] = {}
        if ACCESS in request.scope:
            frame = self._frame(request, None, "-")
        response = _html(page, frame)
        if isinstance(error, errors.TooManyRequests):
            response.headers["Retry-After"] = str(error.retry_after_s)
        return again_later(response)


_ROUTES = frozenset((*PAGES, "verify", "sign-in", "sign-out"))


def _html(page: Page, frame: Mapping[str, object]) -> Response:
    data = rendered(page, {"menu": (), "workspaces": (), "address": None, "signed_in": False, **frame})
    return Response(data, page.status, media_type="text/html")


def _csv(page: Page, name: str) -> Response:
    found = next((one for one in page.tables if one.name == name), None)
    if found is None:
        raise errors.NoSuchView("table")
    headers = {"Content-Disposition": f'attachment; filename="{found.name}.csv"'}
    return Response(as_csv(found), media_type="text/csv; charset=utf-8", headers=headers)


def _static() -> Sequence[tuple[str, tuple[bytes, str, str]]]:
    """The files of `static` that browsers get, read once."""
    here = files("readroom.server.http.ui").joinpath("static").iterdir()
    found = {one.name: one.read_bytes() for one in here if one.is_file()}
    found["context.css"] = stylesheet().encode()
    kinds = {name: _TYPES.get(f".{name.rpartition('.')[2]}") for name in found}
    return [(name, (data, _tag(data), kind)) for name, data in found.items() if (kind := kinds[name])]


def _tag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()[:32]}"'
