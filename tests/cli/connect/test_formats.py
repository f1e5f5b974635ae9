"""One member of settings with comments: put in and taken out, and every other character stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.cli.connect.formats import BadJson, Json
from tests.each import each

ENTRY = {"command": "/usr/bin/readroom", "args": ["mcp", "/home/me/a b"]}
JSON = Json()
PATH = ("mcpServers", "readroom")

TEXTS = {
    "nothing": "",
    "empty object": "{}",
    "other settings": '{\n  "theme": "dark"\n}\n',
    "another server": '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    "one line": '{"mcpServers": {"other": {"command": "x"}}, "theme": 1}',
    "comments": (
        "// mine\n{\n  // servers\n"
        '  "mcpServers": {\n    "other": {"command": "x"} // keep\n    /* last */\n  },\n}\n'
    ),
    "a comment alone": '{\n  "mcpServers": {\n    // none yet\n  }\n}',
    "trailing commas": '{\n\t"mcpServers": {\n\t\t"other": {"args": [1, 2,],},\n\t},\n}\n',
    "windows": '{\r\n    "mcpServers": {\r\n        "other": {}\r\n    }\r\n}\r\n',
    "ours is there": '{\n  "mcpServers": {\n    "readroom": {"a": 1}, // ours\n    "other": {}\n  }\n}\n',
    "ours is the last": '{\n  "mcpServers": {\n    "other": {},\n    "readroom": {"a": 1}\n  }\n}\n',
    "words like ours": '{"a": "\\"mcpServers\\": {", "// b": "/* c */", "mcpServers": {}}',
}


@each("name", TEXTS)
def test_a_member_is_put_in_and_nothing_else_is_changed(name: str) -> None:
    before = TEXTS[name]
    after = JSON.with_entry(before, PATH, ENTRY)
    was = JSON.loads(before) if before else {}
    is_now = JSON.loads(after)
    assert is_now["mcpServers"].pop("readroom") == ENTRY
    was.get("mcpServers", {}).pop("readroom", None)
    was.setdefault("mcpServers", {})
    assert is_now == was
    assert list(is_now) == list(was)
    for kept in ("// mine", "// servers", "// keep", "/* last */", "// none yet", "// ours"):
        assert (kept in after) == (kept in before)
    assert JSON.with_entry(after, PATH, ENTRY) == after
    assert ("\r\n" in after) == ("\r\n" in before)


@each("name", [name for name in TEXTS if "ours is" not in name and name != "nothing"])
def test_what_was_put_in_can_be_taken_out_again(name: str) -> None:
    before = TEXTS[name]
    after = JSON.without_entry(JSON.with_entry(before, PATH, ENTRY), PATH)
    expected = JSON.loads(before)
    expected.setdefault("mcpServers", {})
    assert JSON.loads(after) == expected


def test_the_member_stands_where_a_person_would_put_it() -> None:
    assert JSON.with_entry(TEXTS["another server"], PATH, {"command": "r"}) == (
        '{\n  "mcpServers": {\n    "other": {"command": "x"},\n'
        '    "readroom": {\n      "command": "r"\n    }\n  }\n}\n'
    )
    assert JSON.with_entry(TEXTS["nothing"], PATH, {"a": 1}) == (
        '{\n  "mcpServers": {\n    "readroom": {\n      "a": 1\n    }\n  }\n}\n'
    )


@each(
    ("text", "problem"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3: expecting ',' delimiter"),
        ('{\n  "a": \n}', "line 3: expecting value"),
        ('{"a": 1', "line 1: expecting ',' delimiter"),
        ("{a: 1}", "line 1: expecting property name enclosed in double quotes"),
        ("{1: 1}", "line 1: expecting property name enclosed in double quotes"),
        ("[1]", "line 1: it is not an object"),
        ('{"mcpServers": [1]}', "line 1: mcpServers is not an object"),
        ('{"mcpServers": {}, \n"mcpServers": {}}', 'line 2: "mcpServers" is there twice'),
        ("{} {}", "line 1: extra data"),
        ('{"a": "\n"}', "line 1: invalid control character at"),
        ('{"a": ' + "[" * 500_000, "line 1: it is nested too deeply"),
    ],
)
def test_a_broken_text_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(BadJson) as refused:
        JSON.with_entry(text, PATH, ENTRY)
    assert str(refused.value) == problem


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), _json, max_size=4), st.sampled_from([None, 2, "\t"]), _json)
def test_any_settings_keep_their_other_members(settings: dict[str, Any], indent: Any, value: Any) -> None:
    settings.pop("mcpServers", None)
    text = json.dumps(settings, indent=indent)
    after = JSON.with_entry(text, PATH, value)
    assert json.loads(after) == {**settings, "mcpServers": {"readroom": value}}
    assert json.loads(JSON.without_entry(after, PATH)) == {**settings, "mcpServers": {}}


@given(st.text(alphabet='{}[]:,"a1 \n/*', max_size=40))
def test_no_text_does_anything_but_work_or_be_refused(text: str) -> None:
    try:
        after = JSON.with_entry(text, PATH, ENTRY)
    except BadJson:
        return
    assert JSON.loads(after)["mcpServers"]["readroom"] == ENTRY


@pytest.mark.parametrize("value", ['["readroom", 1]', '"readroom"', "[]", "null", "{}"])
def test_nothing_is_taken_out_of_what_has_no_such_member(value: str) -> None:
    text = f'{{"mcpServers": {value}}}'
    assert JSON.without_entry(text, PATH) == text
