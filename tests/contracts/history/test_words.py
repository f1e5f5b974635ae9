"""Words and facts of the history: any names, within any cap, and pages that continue each other."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core.contracts import contract
from readroom.core.contracts.history import CONTRACT, FORGET, LIST, SHOW, UNDO, words
from readroom.core.contracts.history.calls import to_call
from readroom.core.errors import UsageError
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.text.edits.diff import between
from readroom.core.values import Cap
from readroom.core.values.history import (
    NOTHING,
    Action,
    Author,
    ChangedName,
    Conflict,
    DiffRequest,
    DiffResult,
    EntryState,
    ForgetRequest,
    ForgetResult,
    HistoryRequest,
    HistoryResult,
    KeptChange,
    NameDiff,
    Undone,
    UndoRequest,
    UndoResult,
)
from scripts.docs.facts import FACTS
from tests.each import each

RECORD = contract(CONTRACT)
NAMES = st.one_of(
    st.sampled_from(
        ["a.py", "docs/b.md", "a -> b", "a\nchange 9", "\x1b[31mred", "\u202egnp.exe", "[end]", "+3 x"]
    ),
    st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=300),
)
FILE = EntryState("file", 10, 0o644, 10**18, "sha256:" + "0" * 64, None, True)


@st.composite
def changed_names(draw: st.DrawFn) -> ChangedName:
    actions: list[Action] = ["created", "changed", "deleted", "moved"]
    action = draw(st.sampled_from(actions))
    counts = st.one_of(st.none(), st.integers(0, 10**6))
    return ChangedName(
        draw(NAMES),
        action,
        NOTHING if action == "created" else FILE,
        NOTHING if action == "deleted" else FILE,
        draw(NAMES) if action == "moved" else None,
        draw(counts),
        draw(counts),
        draw(st.one_of(st.none(), st.integers(1, 99))),
    )


@st.composite
def kept(draw: st.DrawFn) -> KeptChange:
    names = tuple(draw(st.lists(changed_names(), max_size=8)))
    hidden = draw(st.integers(0, 2))
    text = st.one_of(st.just(""), NAMES)
    by = Author(draw(text), draw(text), draw(text), "mcp", "native", draw(text))
    count = len(names) + hidden + draw(st.integers(0, 3))
    at_ns = draw(st.sampled_from([0, 10**18, 2**62, -(2**62)]))
    return KeptChange(
        1, at_ns, by, names, count, hidden, draw(st.sampled_from([None, 3])), others=draw(st.booleans())
    )


def caps() -> st.SearchStrategy[Cap]:
    return st.sampled_from([MIN_REPLY_BYTES, 8_000, RECORD.reply_bytes]).map(
        lambda size: Cap(size, RECORD.measure)
    )


@given(st.lists(kept(), max_size=30), caps(), st.booleans())
def test_a_list_fits_and_its_pages_show_every_change_once(
    every: list[KeptChange], cap: Cap, more: bool
) -> None:
    changes = [replace(one, id=len(every) - at + 100) for at, one in enumerate(every)]
    request, left, seen = HistoryRequest(agent="x"), changes, []
    while True:
        result = HistoryResult(left, 100 if more and left else None)
        reply = words.render_list(request, result, cap)
        assert len(reply.text.encode()) <= cap.size
        facts = reply.facts
        json.dumps(facts)
        shown = [change["change"] for change in facts["changes"]]  # type: ignore[index, union-attr, call-overload]
        seen += shown
        if len(shown) == len(left):
            break
        assert shown
        assert facts["cursor"] == shown[-1]
        assert f'"cursor":{shown[-1]}' in reply.text or "facts" in reply.text
        left = left[len(shown) :]
    assert seen == [change.id for change in changes]


@given(kept(), caps())
def test_no_name_makes_a_line_or_moves_the_cursor(change: KeptChange, cap: Cap) -> None:
    reply = words.render_list(HistoryRequest(), HistoryResult([change]), cap)
    lines = reply.text.split("\n")
    rows = max(1, min(len(change.names), 5) + (change.count - change.hidden > min(len(change.names), 5)))
    assert len(lines) == 1 + rows + 1
    for line in lines:
        assert line.isprintable()
    if change.others:
        for secret in (change.by.agent, change.by.session, change.by.token):
            assert len(secret) < 4 or secret not in lines[1].split("  ")[:4]


@given(kept(), st.text(max_size=400), st.text(max_size=400), caps())
def test_a_diff_and_an_undo_fit(change: KeptChange, before: str, after: str, cap: Cap) -> None:
    diff = between(before, after, cap.size // 2)
    files = [NameDiff(name, diff, "", before.encode("utf-8", "replace")) for name in change.names]
    undone = [Undone(name.path, "changed back", "edit", name.to, diff) for name in change.names]
    conflicts = [Conflict(name.path, "it is another file", diff, diff, 1, 2) for name in change.names]
    for reply in (
        words.render_diff(DiffRequest(1), DiffResult(change, files), cap),
        words.render_undo(UndoRequest(1), UndoResult(undone, [1], 2), cap),
        words.render_undo(UndoRequest(1), UndoResult(undone, [1], None, conflicts, dry_run=True), cap),
    ):
        assert len(reply.text.encode("utf-8", "replace")) <= cap.size
        json.dumps(reply.facts)
        assert reply.text.endswith("]")


@given(
    st.one_of(
        st.builds(
            HistoryRequest,
            path=st.one_of(st.none(), NAMES),
            session=st.one_of(st.none(), NAMES),
            agent=st.one_of(st.none(), NAMES),
            since_ns=st.one_of(st.none(), st.integers(0, 4 * 10**9).map(lambda s: s * 10**9)),
            cursor=st.one_of(st.none(), st.integers(1, 2**63 - 1)),
            maximum=st.integers(1, 200),
        ),
        st.builds(DiffRequest, st.integers(1, 2**63 - 1), st.one_of(st.none(), NAMES)),
        st.builds(
            UndoRequest, st.integers(1, 99), path=st.one_of(st.none(), NAMES), parts=st.booleans(),
            dry_run=st.booleans(), up_to=st.one_of(st.none(), st.integers(1, 99)),
        ),
        st.builds(UndoRequest, session=NAMES),
        st.builds(ForgetRequest, NAMES),
        st.just(ForgetRequest(all=True)),
    )
)  # fmt: skip
def test_a_call_that_is_named_means_its_request(request: HistoryRequest | DiffRequest | UndoRequest) -> None:
    call = to_call(request)
    assert call is not None
    sent = json.loads(json.dumps(call.arguments))
    bound = RECORD.bind(call.tool, sent)
    assert to_call(bound.request) == call


@each(
    ("tool", "arguments", "advice"),
    [
        ("undo_changes", {}, "Give a change"),
        ("undo_changes", {"change": 1, "session": "s"}, "Give one of them"),
        ("forget_changes", {}, "Give a path, or all"),
        ("forget_changes", {"path": "a", "all": True}, "Give a path, or all"),
        ("list_changes", {"since": "soon"}, "Use 30m"),
        ("list_changes", {"since": "1900-01-01"}, "Give a later time"),
        ("show_change", {"change": 0}, ">= 1"),
        ("show_change", {"change": 2**63}, "<= 9"),
    ],
)
def test_what_chooses_nothing_is_refused_with_what_to_give(
    tool: str, arguments: dict[str, object], advice: str
) -> None:
    with pytest.raises(UsageError, match=advice):
        RECORD.bind(tool, arguments)


def test_every_fact_that_is_sent_is_in_the_reference() -> None:
    change = KeptChange(1, 10**18, Author(), (ChangedName("a", "changed", FILE, FILE),), 1)
    diff, cap = between("a\n", "b\n", 100), Cap(4096, RECORD.measure)
    sent = {
        LIST: words.facts_of_list(HistoryRequest(), HistoryResult([change])),
        SHOW: words.facts_of_diff(DiffResult(change, [NameDiff(change.names[0], diff)])),
        UNDO: words.facts_of_undo(UndoRequest(1), UndoResult([], [1])),
        FORGET: words.render_forget(ForgetRequest("a"), ForgetResult(1, 1, 9), cap).facts,
    }
    listed = set(sent[LIST]["changes"][0])  # type: ignore[index, arg-type]
    for call, facts in sent.items():
        own = set(facts) - (listed if call == SHOW else set()) | (
            {"change", "files"} if call == SHOW else set()
        )
        assert own | {"tokens", "counter", "budget"} == set(FACTS[call]), call
    said = FACTS[LIST]["changes"]
    assert [name for name in listed if name not in said] == []
