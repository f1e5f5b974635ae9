"""What a request says is a table: each request is in it, and each of its fields, or left on purpose."""

from __future__ import annotations

from msgspec.structs import fields

from readroom.core.contracts.native.calls import SAID
from readroom.core.values import GrepRequest, ListRequest, ReadRequest, Request
from readroom.core.values.changes import CopyRequest, EditFilesRequest, EditRequest, WriteRequest
from readroom.core.values.commands import EndRequest, RunRequest, StartedRequest, StartRequest, WatchRequest
from readroom.core.values.history import HistoryRequest, UndoRequest
from readroom.core.values.many import ReadManyRequest
from readroom.core.values.packing import PackRequest
from readroom.core.values.verbs import BY_REQUEST
from tests.each import each

UNSAID: dict[type[Request], set[str]] = {
    ReadRequest: {"options"},
    GrepRequest: {"before", "after", "skip", "options"},
    ReadManyRequest: {"options", "path"},
    ListRequest: {"files", "skip"},
    EditRequest: {"most_bytes", "diff", "lone_cr", "lenient", "by_cells"},
    EditFilesRequest: {"diff"},
    WriteRequest: {"data", "numbered"},
    PackRequest: {"name", "last", "limits"},
    RunRequest: {"name", "tail"},
    StartRequest: {"name", "variables", "merged"},
    WatchRequest: {"path", "ends_bytes", "reach"},
    EndRequest: {"path", "below_s", "cancels", "ends_bytes", "reach"},
    StartedRequest: {"path", "reach"},
    HistoryRequest: {"token"},
    UndoRequest: {"token", "rights", "granted"},
}
"""Fields that contracts set by themselves, and those that `context` and `content` stand for."""


def test_every_request_is_in_the_table() -> None:
    assert set(SAID) == {*BY_REQUEST, CopyRequest}, "a copy is only made among other changes"


@each("request_type", SAID, ids=lambda kind: kind.__name__)
def test_every_field_is_said_or_left_on_purpose(request_type: type[Request]) -> None:
    names = {field.name for field in fields(request_type)}
    assert names - set(SAID[request_type]) == UNSAID.get(request_type, set())
    assert set(SAID[request_type]) - names <= {"context"}
