"""Changes that wait for review over HTTP: /v1/review, for programs of people.

Whoever may decide has a token that was made for it: the right is never part of "all tools", or an agent could
accept its own changes.  Any other caller sees the set of its own conversation, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from readroom.core.deadline import Deadline
from readroom.core.errors import BadRequest, Busy, NotGranted, ReadroomError, WrongMediaType
from readroom.core.errors.review import NoReview, NoSuchReview
from readroom.core.paths import WorkPath
from readroom.core.review import REVIEW, Reviews, Waiting, deciding, holder_of, showing
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import performed
from readroom.server.http.errors import JSON, ok
from readroom.server.http.gate import CLIENT_SCOPE, EXCHANGE, within
from readroom.server.http.review import PATH
from readroom.server.http.routes import SHOWN, as_json, route, whole_body


def routes(calls: Calls) -> list[Route]:
    """The addresses."""
    face = _Review(calls)
    return [
        route(PATH, SHOWN, face.list),
        route(f"{PATH}/{{id}}", SHOWN, face.show),
        route(f"{PATH}/{{id}}/accept", ["POST"], face.accept),
        route(f"{PATH}/{{id}}/reject", ["POST"], face.reject),
    ]


@final
class _Review:
    """The endpoints."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self, request: Request) -> Response:
        return await self._answer(request, lambda access: {"sets": [*map(showing.about, _seen(access))]})

    async def show(self, request: Request) -> Response:
        name = request.path_params["id"]
        return await self._answer(
            request, lambda access: showing.shown(access.workspace.engine.services, _named(access, name))
        )

    async def accept(self, request: Request) -> Response:
        asked = await _paths(request)
        name = request.path_params["id"]

        def decide(access: Access) -> dict[str, Any]:
            _require_right(access)
            one, services = _named(access, name), access.workspace.engine.services
            deciding.require_here(one)
            caller = access.caller
            who = deciding.Decider(caller.agent or f"token {caller.token}", caller.face, caller.token)
            return showing.decided(deciding.accept(services, one.waiting, _parsed(access, asked), who))

        return await self._answer(request, decide)

    async def reject(self, request: Request) -> Response:
        asked = await _paths(request)
        name = request.path_params["id"]

        def decide(access: Access) -> dict[str, Any]:
            _require_right(access)
            one, services = _named(access, name), access.workspace.engine.services
            return showing.decided(deciding.reject(services, one.waiting, _parsed(access, asked)))

        return await self._answer(request, decide)

    async def _answer(self, request: Request, work: Callable[[Access], dict[str, Any]]) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        access = within(request.scope, "native")
        exchange.reached = True

        def act() -> dict[str, Any] | ReadroomError:
            try:
                return work(access)
            except ReadroomError as error:
                return error

        outcome = await performed(
            self._calls,
            access.caller.token,
            Deadline(access.seconds),
            request.scope[CLIENT_SCOPE],
            act,
            Busy,
        )
        if isinstance(outcome, ReadroomError):
            raise outcome
        return ok(outcome)


def _reviews(access: Access) -> Reviews:
    reviews = access.workspace.reviews
    if reviews is None:
        raise NoReview
    return reviews


def _may_decide(access: Access) -> bool:
    return access.granted is not None and REVIEW in access.granted


def _require_right(access: Access) -> None:
    if not _may_decide(access):
        raise NotGranted(REVIEW, sorted(access.granted or ()))


def _seen(access: Access) -> Sequence[Waiting]:
    """All sets for those who decide, its own for any other caller."""
    reviews = _reviews(access)
    if _may_decide(access):
        return reviews.all()
    own = reviews.of(holder_of(access.caller)).folder
    return [one for one in reviews.all() if one.waiting.folder == own]


def _named(access: Access, asked: str) -> Waiting:
    one = _reviews(access).named(asked)
    if all(one.waiting.folder != other.waiting.folder for other in _seen(access)):
        raise NoSuchReview(asked)
    return one


def _parsed(access: Access, asked: Sequence[str]) -> list[WorkPath]:
    guard = access.workspace.guard
    return [guard.spelled(guard.parse(path)) for path in asked]


async def _paths(request: Request) -> Sequence[str]:
    """The names to decide about; none for the whole set. Raises BadRequest."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise WrongMediaType(media_type)
    body = as_json(await whole_body(request.receive))
    advice = 'Send {} for the whole set, or {"paths": ["a.txt"]}.'
    if not isinstance(body, dict) or body.keys() - {"paths"}:
        raise BadRequest("its body is not an object with paths alone", advice)
    paths = body.get("paths", [])
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise BadRequest("its paths are not a list of names", advice)
    if "paths" in body and not paths:
        raise BadRequest("its list of paths is empty", advice)
    return paths
