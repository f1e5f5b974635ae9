"""The ledger names the files that a call changed."""

from __future__ import annotations

from readroom.core.values.changes import (
    DeleteRequest,
    MakeFolderRequest,
    MoveRequest,
    StatRequest,
    TrashRequest,
)
from readroom.core.values.verbs import changes, is_edit
from readroom.server.ledger.recorder import of_request


def test_calls_count_as_changes_and_the_ledger_keeps_their_names() -> None:
    for request in (DeleteRequest("f"), MoveRequest("f", "g"), TrashRequest("f"), MakeFolderRequest("f")):
        assert changes(request)
        assert is_edit(request)
    assert not changes(StatRequest("f"))
    assert (
        of_request(MoveRequest("a b", "c\n"))
        == '{"path":"a b","destination":"\\"c\\\\n\\"","overwrite":false}'
    )
    assert of_request(DeleteRequest("a")) == '{"path":"a","recursive":false,"expected_hash":null}'
