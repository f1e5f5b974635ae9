"""Every case of conformance holds, in every store that can express it."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.contracts import NAMES
from scripts.docs.contracts import deviations
from tests.contracts import cases, expecting
from tests.contracts.cases import SYSTEMS, Answer, Case, StoreName
from tests.each import each

PLAYED = list(cases.playable())


@each(("case", "store"), PLAYED, ids=[f"{case.contract}-{case.id}-{store}" for case, store in PLAYED])
def test_case_holds(case: Case, store: StoreName, tmp_path: Path) -> None:
    with cases.played_in(case, store, tmp_path) as room:
        cases.play(room)


WAITING = [
    case for case, store in PLAYED if store == "local" and not case.needs_folder and not case.needs_no_root
]


@each("case", WAITING, ids=[f"{case.contract}-{case.id}" for case in WAITING])
def test_case_holds_where_changes_wait_and_the_folder_stays_as_it_was(case: Case, tmp_path: Path) -> None:
    with cases.played_while_waiting(case, tmp_path) as room:
        cases.play(room)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_case_is_written_in_the_vocabulary(name: str) -> None:
    known = {*expecting.MEANINGS, "files", "files_absent"}
    assert {key for case in cases.cases(name) for key in case.data["expect"]} <= known
    ids = [case.id for case in cases.cases(name)]
    assert len(ids) == len(set(ids))


def test_a_case_decided_against_names_a_deviation_of_the_record() -> None:
    for name, explained in cases.declined().items():
        assert set(explained) <= {case.id for case in cases.cases(name)}
        if name in NAMES:
            assert set(explained.values()) <= {one.id for one in deviations(name)}


@each(
    ("expect", "found"),
    [
        ({"json": {"a.0.b": 1}}, Answer('{"a":[{"b":1,"c":2}]}')),
        ({"json": {"a": {"b": [{"c": 1}]}}}, Answer('{"a":{"b":[{"c":1,"d":2}],"e":3}}')),
        ({"starts_with": {"a": "x"}, "len_bytes": {"a": 3}}, Answer('{"a":"x€"}'.replace("€", "é"))),
        ({"text_contains": ["b"], "text_not_contains": ["z"], "line_count": 2}, Answer("a\nb")),
        ({"absent": ["b"], "present": ["a"], "truncated": True}, Answer('{"a":1,"truncated":true}')),
        ({"status": 200, "headers": {"X-A": "1"}}, Answer(status=200, headers={"x-a": "1"})),
        ({"body": "é", "body_contains": ["é"]}, Answer(body="é".encode())),
        ({"allowed": False}, Answer(value=False)),
    ],
)
def test_an_answer_as_expected_passes(expect: dict[str, object], found: Answer) -> None:
    cases.check(found, expect)


@each(
    ("expect", "found"),
    [
        ({"json": {"a": 1}}, Answer('{"a":true}')),
        ({"json": {"a": [1]}}, Answer('{"a":[1,2]}')),
        ({"json_exact": {"a": 1}}, Answer('{"a":1,"b":2}')),
        ({"error": "no"}, Answer("no")),
        ({"text": "a"}, Answer("a\n")),
        ({"max_len_bytes": {"a": 2}}, Answer('{"a":"xyz"}')),
        ({"absent": ["a"]}, Answer('{"a":null}')),
        ({"status": 400}, Answer(status=200)),
        ({"headers": {"X-A": "1"}}, Answer()),
    ],
)
def test_another_answer_fails(expect: dict[str, object], found: Answer) -> None:
    with pytest.raises(AssertionError):
        cases.check(found, expect)


@pytest.mark.parametrize("store", ["memory", "local"])
def test_files_of_a_case_are_as_it_says(store: StoreName, tmp_path: Path) -> None:
    files = {
        "d/repeat": {"repeat": ["ab\n", 3]},
        "bytes": {"base64": "AAE="},
        "folder": {"dir": True},
        "link": {"symlink": "d/repeat"},
    }
    expect = {
        "text_contains": ["3\tab"],
        "files": {"bytes": {"base64": "AAE="}, "link": {"symlink": "d/repeat"}},
        "files_absent": ["nothing"],
    }
    call = {"path": "/workspace/link"}
    case = Case("native", {"files": files, "op": "read_file", "call": call, "expect": expect})
    with cases.played_in(case, store, tmp_path) as room:
        assert cases.play(room).facts["path"] == "link"
