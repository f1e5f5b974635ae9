"""The table of verbs is whole: every request has one row, and what a row names is there and takes it."""

from __future__ import annotations

import inspect
from typing import get_args

from readroom.core.values import Request, Result
from readroom.core.values.verbs import BY_REQUEST, BY_RESULT, VERBS, Verb, changes, function, is_edit
from tests.each import each


def _members(union: object) -> set[object]:
    """The types of a union, those of unions in it included."""
    inner = get_args(union)
    return {union} if not inner else {one for part in inner for one in _members(part)}


def test_every_request_has_one_row_and_rows_of_one_result_show_the_same() -> None:
    assert set(BY_REQUEST) == _members(Request)
    assert set(BY_RESULT) == _members(Result)
    assert len(BY_REQUEST) == len(VERBS)
    assert [verb for verb in VERBS if verb.shown != BY_RESULT[verb.result].shown] == []


@each("verb", VERBS, ids=lambda verb: verb.request.__name__)
def test_what_a_row_names_takes_what_it_gets(verb: Verb) -> None:
    performs = inspect.signature(function(verb.perform), eval_str=False)
    assert list(performs.parameters)[:2] == ["services", "job"]
    taken = str(performs.parameters["job"].annotation).removeprefix("Job[").removesuffix("]")
    assert taken.rpartition(".")[2] == verb.request.__name__
    assert str(performs.return_annotation).rpartition(".")[2] == verb.result.__name__
    named = [(verb.degraded, 2), (verb.shown, 1)]
    for name, count in named:
        if name is not None:
            assert len(inspect.signature(function(name)).parameters) == count


def test_what_changes_and_what_edits_is_said_once() -> None:
    edits = {verb.request.__name__ for verb in VERBS if verb.traces == "edit"}
    assert edits == {
        *("EditRequest", "EditFilesRequest", "ChangesRequest", "WriteRequest"),
        *("DeleteRequest", "MakeFolderRequest", "MoveRequest", "TrashRequest"),
        *("UndoRequest", "ForgetRequest"),
    }
    from readroom.core.values.changes import EditRequest
    from readroom.core.values.commands import RunRequest

    assert not changes(EditRequest("a", None, (), dry_run=True))
    assert is_edit(EditRequest("a", None, (), dry_run=True))
    assert changes(RunRequest("true"))
    assert not is_edit(RunRequest("true"))
