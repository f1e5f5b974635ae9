"""Arguments of tools: one struct is the schema and the parser, and bad arguments end there by name."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from readroom.core.contracts.schema import (
    DIGITS,
    EMPTY_TEXT,
    EXPLAINED,
    NEVER_ZERO,
    OFFERED,
    UNLISTED,
    parse,
    schema,
)
from readroom.core.errors import BadValue, MissingArgument, ReadroomError, UnknownArgument, WrongType
from tests.each import each


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One field of every sort that the tools use."""

    path: str
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None
    share: Annotated[float, Meta(gt=0, le=1, extra=NEVER_ZERO)] | None = None
    flag: bool = False
    mode: Literal["a", "b"] = "a"
    glob: str | list[str] | None = None
    include: list[Literal["hidden", "ignored"]] | None = None


def given_to(**arguments: object) -> Sample:
    return parse(Sample, "sample", {"path": "x", **arguments})


def test_defaults_stand_for_what_is_left_out() -> None:
    assert given_to() == Sample(path="x")


def test_null_is_the_same_as_left_out() -> None:
    """Models send null for optional arguments whatever the schema says."""
    assert given_to(limit=None, flag=None, mode=None, glob=None) == Sample(path="x")


@pytest.mark.parametrize("empty", ["", [], {}, [""], [None, ""]])
def test_what_is_empty_is_the_same_as_left_out(empty: object) -> None:
    """Models fill in what they do not use."""
    assert given_to(limit=empty, share=empty, flag=empty, mode=empty, glob=empty, include=empty) == Sample(
        path="x"
    )


def test_zero_is_the_same_as_left_out_where_it_means_nothing() -> None:
    assert given_to(share=0.0) == given_to(share=0) == given_to(share="0") == Sample(path="x")


def test_what_is_required_may_be_empty() -> None:
    assert parse(Sample, "sample", {"path": ""}).path == ""


@each(
    ("arguments", "wanted"),
    [
        ({"limit": "10"}, Sample(path="x", limit=10)),
        ({"limit": 10.0}, Sample(path="x", limit=10)),
        ({"flag": "true"}, Sample(path="x", flag=True)),
        ({"share": 1}, Sample(path="x", share=1.0)),
        ({"glob": "*.py"}, Sample(path="x", glob="*.py")),
        ({"glob": ["*.py"]}, Sample(path="x", glob=["*.py"])),
        ({"include": "hidden"}, Sample(path="x", include=["hidden"])),
        ({"include": '["hidden","ignored"]'}, Sample(path="x", include=["hidden", "ignored"])),
    ],
)
def test_harmless_slips_of_models_are_taken_as_meant(arguments: dict[str, Any], wanted: Sample) -> None:
    assert given_to(**arguments) == wanted


class Numbered(msgspec.Struct, frozen=True, kw_only=True):
    """Texts in which a number alone makes sense, and one in which it does not."""

    query: Annotated[str, Meta(extra=DIGITS)]
    pages: Annotated[str, Meta(extra=DIGITS)] | None = None
    symbol: str | None = None


def test_a_whole_number_is_its_digits_where_a_text_may_be_one() -> None:
    """`pages: 3` is what models send of a document, and 404 is what they search for."""
    found = parse(Numbered, "sample", {"query": 404, "pages": 3.0})
    assert found == Numbered(query="404", pages="3")
    for arguments in ({"query": True}, {"query": 1.5}, {"query": "x", "symbol": 3}):
        with pytest.raises(WrongType):
            parse(Numbered, "sample", arguments)


@pytest.mark.parametrize("arguments", [None, [], "path", 3, ["path"]])
def test_arguments_that_are_no_object_are_refused(arguments: object) -> None:
    with pytest.raises(WrongType, match="must be an object"):
        parse(Sample, "sample", arguments)


def test_an_unknown_argument_is_named_with_the_nearest_known() -> None:
    with pytest.raises(
        UnknownArgument, match=r"sample takes no argument 'limt'\. Did you mean 'limit'\?"
    ) as caught:
        given_to(limt=3)
    assert caught.value.facts["near"] == "limit"
    assert caught.value.facts["known"] == ["path", "limit", "share", "flag", "mode", "glob", "include"]


def test_the_one_unknown_argument_is_meant_by_the_one_that_is_lacking() -> None:
    """`filename` for `path`: no spelling says so, the call does."""
    with pytest.raises(UnknownArgument, match="Did you mean 'path'"):
        parse(Sample, "sample", {"filename": "x"})
    for arguments in ({"filename": "x", "zzz": 1}, {"path": "x", "zzz": 1}):
        with pytest.raises(UnknownArgument) as caught:
            parse(Sample, "sample", arguments)
        assert caught.value.facts["near"] is None


def test_an_unknown_argument_that_resembles_nothing_gets_the_list() -> None:
    with pytest.raises(UnknownArgument, match=r"takes no argument 'zzz'\. It takes: path, limit"):
        given_to(zzz=3)


@pytest.mark.parametrize("arguments", [{}, {"path": None}])
def test_a_missing_argument_is_named(arguments: dict[str, object]) -> None:
    with pytest.raises(MissingArgument, match="sample needs the argument 'path'"):
        parse(Sample, "sample", arguments)


def test_a_missing_argument_is_explained_where_its_name_does_not_say_its_value() -> None:
    class Explained(msgspec.Struct, frozen=True, kw_only=True):
        key: Annotated[str, Meta(description='"new" makes one', extra=EXPLAINED)]

    with pytest.raises(MissingArgument) as refused:
        parse(Explained, "sample", {})
    assert str(refused.value).endswith("""Call sample again with 'key': "new" makes one.""")
    assert schema(Explained)["properties"] == {"key": {"type": "string", "description": '"new" makes one'}}


@each(
    ("arguments", "words"),
    [
        ({"limit": "ten"}, "'limit' must be a whole number >= 1, not text ('ten')"),
        ({"limit": 1.5}, "'limit' must be a whole number >= 1, not a number (1.5)"),
        ({"limit": [1]}, "'limit' must be a whole number >= 1, not a list"),
        ({"path": 3}, "'path' must be text, not a whole number (3)"),
        ({"flag": "maybe"}, "'flag' must be true or false, not text ('maybe')"),
        ({"mode": 1}, "'mode' must be one of 'a', 'b', not a whole number (1)"),
        ({"glob": {"a": 1}}, "'glob' must be text or a list of text, not an object"),
        (
            {"include": 3},
            "'include' must be a list with any of 'hidden', 'ignored', not a whole number (3)",
        ),
    ],
)
def test_a_wrong_type_is_named_with_what_is_expected(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(WrongType) as caught:
        given_to(**arguments)
    assert words in str(caught.value)


def test_the_refusal_of_a_wrong_type_says_whether_the_argument_may_be_left_out() -> None:
    for arguments, advice in (
        ({"path": 3}, "Send 'path' as text."),
        ({"path": "a", "limit": "x"}, "Send 'limit' as a whole number >= 1, or leave it out."),
    ):
        with pytest.raises(WrongType) as caught:
            parse(Sample, "sample", arguments)
        assert caught.value.advice == advice


@each(
    ("arguments", "words"),
    [
        ({"limit": 0}, "limit=0 is not allowed. 'limit' must be a whole number >= 1."),
        ({"limit": -5}, "limit=-5 is not allowed"),
        ({"limit": 10**400}, "0…' is too large"),
        ({"share": 2}, "'share' must be a number > 0 and <= 1."),
        ({"share": float("nan")}, "share=nan is not allowed"),
        ({"mode": "c"}, "mode='c' is not allowed. 'mode' must be one of 'a', 'b'."),
        ({"include": ["secret"]}, "include=['secret'] is not allowed"),
        ({"include": "secret"}, "include=['secret'] is not allowed"),
        ({"include": "[" * 100_000}, "is not allowed. 'include' must be a list with any of"),
        ({"path": "\ud800"}, "surrogate"),
        ({"glob": ["ok", "\udfff"]}, "surrogate"),
        ({"limit": "\ud800"}, "surrogate"),
        ({"glob": {"\ud800": [1]}}, "surrogate"),
    ],
)
def test_a_value_outside_the_allowed_ones_is_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValue) as caught:
        given_to(**arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_number_that_json_does_not_have_is_shown_as_text(value: float) -> None:
    """JSON's 1e999 is one for most readers."""
    with pytest.raises(ReadroomError) as caught:
        given_to(share=value)
    assert json.loads(json.dumps(caught.value.facts, allow_nan=False))["value"] == str(value)


@each("name", ["path", "limit", "include", "mode", "nonsense"])
@each("depth", [500, 5_000])
def test_a_value_nested_as_deep_as_nobody_means_is_refused(name: str, depth: int) -> None:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    with pytest.raises(ReadroomError) as caught:
        given_to(**{name: value})
    assert len(str(caught.value)) < 300


def test_a_long_wrong_value_is_not_repeated_whole() -> None:
    with pytest.raises(ReadroomError) as caught:
        given_to(mode="c" * 10_000)
    assert len(str(caught.value)) < 300


class Spelled(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments with an older spelling beside the one that is offered."""

    names: Annotated[list[str], Meta(extra=OFFERED)] = []
    name: Annotated[str, Meta(extra=UNLISTED), Meta(extra=EMPTY_TEXT)] | None = None


def test_an_older_spelling_is_taken_and_not_offered() -> None:
    assert schema(Spelled)["required"] == ["names"]
    assert list(schema(Spelled)["properties"]) == ["names"]
    assert parse(Spelled, "tool", {"name": ""}) == Spelled(name="")
    assert parse(Spelled, "tool", {"names": ["a"]}) == Spelled(names=["a"])
    with pytest.raises(UnknownArgument) as refused:
        parse(Spelled, "tool", {"other": "a"})
    assert str(refused.value).endswith("It takes: names.")


def test_the_schema_shows_no_null_no_titles_and_no_other_names() -> None:
    assert schema(Sample) == {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "description": "Lines"},
            "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "flag": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "glob": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "include": {"type": "array", "items": {"type": "string", "enum": ["hidden", "ignored"]}},
        },
        "required": ["path"],
    }


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from(["path", "limit", "share", "flag", "mode", "glob", "include", "other"])


@given(st.dictionaries(_names, _json, max_size=5) | _json)
def test_whatever_is_sent_is_a_struct_or_one_of_our_errors(arguments: object) -> None:
    """Law: arguments outside the schema never reach the engine, and never crash."""
    try:
        found = parse(Sample, "sample", arguments)
    except ReadroomError as error:
        str(error).encode()
    else:
        assert found == msgspec.convert(msgspec.to_builtins(found), Sample)


@given(st.dictionaries(_names, _json, max_size=5))
def test_what_the_schema_admits_is_accepted(arguments: dict[str, Any]) -> None:
    # Names that the schema does not have are refused, empty or not.
    sent = {name: value for name, value in arguments.items() if value is not None and name != "other"}
    valid = jsonschema.Draft202012Validator(schema(Sample)).is_valid(sent)
    if valid and all(value == value for value in sent.values()):
        parse(Sample, "sample", sent)
