"""A name that is missing, with names that are there."""

from __future__ import annotations

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.services import Services
from readroom.errors import NotFound
from readroom.paths import OUTPUTS, WorkPath, parent
from readroom.values import FindRequest, GrepRequest, ListRequest, Request
from readroom.values.verbs import BY_REQUEST, Suggestion


def with_near_names(error: NotFound, services: Services, request: Request, deadline: Deadline) -> NotFound:
    """The same failure with names that would have worked, if it is about the path that was asked for.

    Args:
        error: The failure.
        services: What may be seen, and where outputs of the caller's commands are kept.
        request: What was asked for.
        deadline: Ends the search for names.
    """
    if error.path != request.path or error.facts.get("near"):
        return error
    kept = WorkPath(f"/{request.path}")
    commands = services.commands
    if commands is not None and request.path.startswith(f"{OUTPUTS[1:]}/") and commands.holds(kept):
        return NotFound(request.path, [kept])
    verb = BY_REQUEST[type(request)]
    near = services.guard.near(request.path, verb.near, deadline)
    following = _next(verb.suggestion, request, near[0]) if near else None
    return NotFound(request.path, near, next_request=following)


def _next(suggestion: Suggestion, request: Request, name: WorkPath) -> Request | None:
    match suggestion:
        case "again":
            assert isinstance(request, (FindRequest, GrepRequest, ListRequest))
            return replace(request, path=name, cursor=None)
        case "list":
            # Not the command once more: whoever sent it decides.
            return ListRequest(name)
        case "above":
            # Nor what changes something: it is shown where the first name is.
            return ListRequest(parent(name))
    return None
