"""Arguments of tools: from one struct, both the JSON schema and the parser.

The fields of a `msgspec` struct are the only place where a tool's parameters are defined. Unknown, missing
and invalid arguments are reported by name, so that nothing outside the schema reaches the engine.

Models fill in what they do not use: an optional argument that is empty is one that was left out.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_args, get_origin

import msgspec

from readroom.core.errors import BadValue, MissingArgument, UnknownArgument, WrongType
from readroom.core.limits import VALUE_CHARS
from readroom.core.values import Fact

S = TypeVar("S", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)

EXPLAINED = {"explained": True}
"""The `extra` of an argument whose description is also said when the argument is missing."""

DIGITS = {"digits": True}
"""The `extra` of a text for which a whole number means its digits: models send page 3 as 3."""

NEVER_ZERO = {"never_zero": True}
"""The `extra` of an optional number for which 0 means nothing; documents of some contracts refuse 0."""

EMPTY_TEXT = {"empty_text": True}
"""The `extra` of an optional text that means something if it is empty."""

UNLISTED = {"unlisted": True}
"""The `extra` of an argument that is taken and not offered: an older spelling of another one."""

OFFERED = {"offered": True}
"""The `extra` of an optional argument that the schema calls required: its contract words its absence."""

_MAX_INTEGER = 2**53 - 1
"""Up to here every JSON reader keeps whole numbers exact."""

_JSON_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


@cache
def _fields(arguments: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    # Reading the annotations costs a third of the read of a small file; they never change.
    return {field.encode_name: field for field in msgspec.structs.fields(arguments)}


class _Form(NamedTuple):
    """How the values of one field are read; `ignored` are values that mean the same as none."""

    name: str
    wanted: object
    required: bool
    items: type[msgspec.Struct] | None
    variants: dict[str, type[msgspec.Struct]]
    ignored: tuple[object, ...]


@cache
def _forms(arguments: type[msgspec.Struct]) -> dict[str, _Form]:
    return {
        name: _Form(
            field.name,
            field.type,
            field.required,
            _items(field.type),
            _variants(field.type),
            () if field.required else _ignored(field.type),
        )
        for name, field in _fields(arguments).items()
    }


def _ignored(wanted: object) -> tuple[object, ...]:
    """The values of an optional field that count as left out: empty ones, and 0 if it means nothing."""
    empty: tuple[object, ...] = ([], {}) if _marked(wanted, EMPTY_TEXT) is not None else ("", [], {})
    return empty if _marked(wanted, NEVER_ZERO) is None else (*empty, 0, "0")


def _is_ignored(value: object, form: _Form) -> bool:
    """Whether a value counts as left out; so does a list of nothing but such values."""
    if isinstance(value, list):
        return all(item is None or item == "" for item in value)
    return value in form.ignored and value is not False


@cache
def _required(arguments: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(name for name, form in _forms(arguments).items() if form.required)


@cache
def properties(arguments: type[msgspec.Struct]) -> dict[str, dict[str, Any]]:
    """JSON Schema of each field by its name, without `null` and without titles.

    An optional argument is left out, not sent as null: saying so in a schema costs
    tokens in every conversation.  Null is accepted all the same.
    """
    schemas: dict[str, dict[str, Any]] = {}
    for field in _fields(arguments).values():
        items = _items(field.type)
        if items is not None:
            schemas[field.encode_name] = {"type": "array", "items": schema(items)}
            continue
        variants = _variants(field.type)
        if variants:
            schemas[field.encode_name] = {"anyOf": [_tagged(tag, struct) for tag, struct in variants.items()]}
            continue
        plain = msgspec.json.schema(field.type)
        branches = plain.get("anyOf")
        if branches is not None:
            branches = [branch for branch in branches if branch != {"type": "null"}]
            plain = branches[0] if len(branches) == 1 else {"anyOf": branches}
        schemas[field.encode_name] = _typed(plain)
    return schemas


def _items(wanted: object) -> type[msgspec.Struct] | None:
    """The struct of a list of structs: the one form of nested arguments."""
    wanted = getattr(wanted, "__origin__", wanted) if hasattr(wanted, "__metadata__") else wanted
    of = get_args(wanted) if get_origin(wanted) is list else ()
    return of[0] if of and isinstance(of[0], type) and issubclass(of[0], msgspec.Struct) else None


def _variants(wanted: object) -> dict[str, type[msgspec.Struct]]:
    """The structs of a union of tagged structs by their tags; none for anything else."""
    of = get_args(wanted)
    if not of or not all(isinstance(struct, type) and issubclass(struct, msgspec.Struct) for struct in of):
        return {}
    return (
        {str(struct.__struct_config__.tag): struct for struct in of} if get_origin(wanted) is not list else {}
    )


def _tagged(tag: str, struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The schema of one struct of a union, with the field that distinguishes it."""
    plain, field = schema(struct), struct.__struct_config__.tag_field
    return {
        **plain,
        "properties": {field: {"type": "string", "enum": [tag]}, **plain["properties"]},
        "required": [field, *plain["required"]],
    }


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with the type of its enums, which Gemini demands: its CLI leaves out tools without."""
    if "items" in schema:
        schema = {**schema, "items": _typed(schema["items"])}
    return {"type": "string", **schema} if "enum" in schema else schema


@cache
def schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a tool's input, as `tools/list` shows it.

    It does not forbid other names: clients that check it say only that, and `parse` says which there are.
    """
    fields = {
        name: field for name, field in _fields(arguments).items() if _marked(field.type, UNLISTED) is None
    }
    required = [
        name for name, field in fields.items() if field.required or _marked(field.type, OFFERED) is not None
    ]
    every = properties(arguments)
    return {"type": "object", "properties": {name: every[name] for name in fields}, "required": required}


def parse(arguments: type[S], tool: str, sent: object, within: str = "") -> S:
    """The struct for a caller's arguments; `within` is the place of nested ones, "" at the top.

    Raises:
        WrongType: Not an object, or a value of another type.
        UnknownArgument: A name the tool does not take.
        MissingArgument: A required name is absent or null.
        BadValue: The right type, outside the allowed values.
    """
    if not isinstance(sent, Mapping):
        raise WrongType(tool, within.rstrip(".") or "arguments", "an object", _kind(sent))
    fields, required = _forms(arguments), _required(arguments)
    unknown = [str(name) for name in sent if name not in fields]
    if unknown:
        lacking = [name for name, field in fields.items() if field.required and sent.get(name) is None]
        # Of one that is lacking and one that is not known, the one is meant by the other.
        only = lacking[0] if len(unknown) == len(lacking) == 1 else None
        offered = schema(arguments)["properties"]
        near = _near(unknown[0][:VALUE_CHARS], offered) or only
        raise UnknownArgument(tool, within + unknown[0], near, list(offered))
    values: dict[str, object] = {}
    # Most arguments are left out, and every call comes here.
    for name in filter(sent.__contains__, fields) if required <= sent.keys() else fields:
        field, value = fields[name], sent.get(name)
        if value is None:
            if field.required:
                raise MissingArgument(tool, within + name, _explained(field.wanted))
            continue
        # Most values cannot count as left out, and need no check.
        if (
            field.ignored
            and (not value or value == "0" or isinstance(value, list))
            and _is_ignored(value, field)
        ):
            continue
        items = field.items
        # In a list of structs, the field that holds it is named.
        if not _encodable(value) and not (items and isinstance(value, list)):
            raise BadValue(
                within + name,
                _without_halves(value),
                "contains half of a surrogate pair",
                f"Send {name!r} as valid Unicode{_OF_NAMES if 'path' in name else ''}.",
            )
        if field.variants:
            values[field.name] = _convert_variant(field.variants, arguments, tool, name, value)
        elif items is None:
            values[field.name] = _convert(arguments, tool, name, field.wanted, value, within)
        else:
            values[field.name] = _convert_items(items, arguments, tool, name, value, within)
    return arguments(**values)


def into(request: type[R], arguments: msgspec.Struct, **others: object) -> R:
    """A request from arguments of the same names, and `others`."""
    shared = _shared(request, type(arguments))
    return request(**{name: getattr(arguments, name) for name in shared} | others)


@cache
def _shared(request: type[msgspec.Struct], arguments: type[msgspec.Struct]) -> Sequence[str]:
    names = {field.name for field in msgspec.structs.fields(request)}
    return [field.name for field in msgspec.structs.fields(arguments) if field.name in names]


def _wrong_type(
    arguments: type[msgspec.Struct], tool: str, name: str, value: object, within: str = ""
) -> WrongType:
    """The refusal of a value that is not what the schema says."""
    schema = properties(arguments)[name]
    optional = not _fields(arguments)[name].required
    return WrongType(tool, within + name, in_words(schema), _kind(value), optional=optional)


def _explained(wanted: object) -> str:
    """The description of an argument whose value does not follow from its name: `EXPLAINED` marks it."""
    marked = _marked(wanted, EXPLAINED)
    return "" if marked is None else marked.description or ""


def _marked(wanted: object, mark: Mapping[str, bool]) -> msgspec.Meta | None:
    """The annotation with that mark, of a type or of a member of a union."""
    for hint in (wanted, *get_args(wanted)):
        for meta in getattr(hint, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.extra == mark:
                return meta
    return None


def _convert_items(
    items: type[msgspec.Struct],
    arguments: type[msgspec.Struct],
    tool: str,
    name: str,
    value: object,
    within: str,
) -> list[msgspec.Struct]:
    """A list of structs; models also send one of them without the list, and the list as JSON text."""
    if isinstance(value, str):
        value = _from_text(value)
    if isinstance(value, Mapping):
        value = [value]
    if not isinstance(value, list):
        raise _wrong_type(arguments, tool, name, value, within)
    return [parse(items, tool, item, f"{within}{name}[{number}].") for number, item in enumerate(value)]


def _convert_variant(
    variants: Mapping[str, type[msgspec.Struct]],
    arguments: type[msgspec.Struct],
    tool: str,
    name: str,
    value: object,
) -> msgspec.Struct:
    """One of several structs, chosen by its tag; models also send it as JSON text."""
    if isinstance(value, str):
        value = _from_text(value)
    if not isinstance(value, Mapping):
        raise _wrong_type(arguments, tool, name, value)
    field = str(next(iter(variants.values())).__struct_config__.tag_field)
    if value.get(field) is None:
        raise MissingArgument(tool, f"{name}.{field}")
    struct = variants.get(value[field]) if isinstance(value[field], str) else None
    if struct is None:
        known = ", ".join(repr(tag) for tag in variants)
        raise BadValue(f"{name}.{field}", _shown(value[field]), "is not allowed", f"Use one of {known}.")
    return parse(struct, tool, {key: inner for key, inner in value.items() if key != field}, f"{name}.")


def _from_text(text: str) -> object:
    """The value of a text that is JSON, else the text."""
    with contextlib.suppress(msgspec.DecodeError, RecursionError):  # the latter of a text of "[" alone
        return msgspec.json.decode(text)
    return text


def _convert(
    arguments: type[msgspec.Struct], tool: str, name: str, wanted: object, value: object, within: str
) -> object:
    try:
        # Not strict: models send "10" for 10 and "true" for true.
        converted: object = msgspec.convert(value, type=wanted, strict=False)
        if isinstance(converted, int) and abs(converted) > _MAX_INTEGER and not _has_bound(wanted):
            raise BadValue(
                within + name, _shown(str(converted)), "is too large", f"No file has so much; lower {name!r}."
            )
        return converted
    except msgspec.ValidationError:
        if _is_whole(value) and _marked(wanted, DIGITS) is not None:
            return f"{value:.0f}" if isinstance(value, float) else str(value)
        schema = properties(arguments)[name]
        if schema.get("type") == "array" and isinstance(value, str):
            meant = _from_text(value)
            items = meant if isinstance(meant, list) else [value]
            return _convert(arguments, tool, name, wanted, items, within)
        if _same_type(schema, value) or _is_digits(schema, value):
            unit = " seconds" if name.endswith("_s") else ""
            advice = f"{name!r} must be {in_words(schema)}{unit}."
            raise BadValue(within + name, _shown(value), "is not allowed", advice) from None
        raise _wrong_type(arguments, tool, name, value, within) from None


def _is_digits(schema: Mapping[str, Any], value: object) -> bool:
    """Whether a text stands for a number of the type that is wanted, which then is not allowed itself."""
    return schema.get("type") == "integer" and isinstance(value, str) and bool(_DIGITS.fullmatch(value))


_DIGITS = re.compile(r"-?[0-9]{1,20}")


def _is_whole(value: object) -> bool:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return whole and not isinstance(value, bool)


def _has_bound(wanted: object) -> bool:
    """Whether the field says itself how large its number may be."""
    return any(isinstance(meta, msgspec.Meta) and meta.le is not None for meta in get_args(wanted)[1:])


def _encodable(value: object) -> bool:
    """Whether every text in it can be sent on; a lone surrogate breaks JSON and UTF-8 alike."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            if not item.isascii() and re.search(_SURROGATE, item):
                return False
        elif isinstance(item, Mapping):
            left += [*item, *item.values()]
        elif isinstance(item, list):
            left += item
    return True


_OF_NAMES = "; odd bytes of a name are written as in listings"


def _without_halves(value: object) -> str:
    """The beginning of a value, with halves of pairs escaped."""
    text = value if isinstance(value, str) else str(value)
    return text.encode("utf-8", "backslashreplace").decode()[:VALUE_CHARS]


_SURROGATE = "[\ud800-\udfff]"


def in_words(schema: Mapping[str, Any]) -> str:
    """What a value of this schema must be, as words in a sentence."""
    if "anyOf" in schema:
        branches = schema["anyOf"]
        if len(branches) > 1 and all("properties" in branch for branch in branches):
            first, *others = (branch["properties"] for branch in branches)
            shared = [name for name in first if all(name in other for other in others)]
            return f"an object with {', '.join(shared)}"
        return " or ".join(map(in_words, branches))
    if "enum" in schema:
        return f"one of {_quoted(schema)}"
    words = _JSON_NAMES[schema["type"]]
    if schema["type"] == "object" and "properties" in schema:
        return f"an object with {', '.join(schema['properties'])}"
    if schema["type"] == "array":
        words += f" {_items_in_words(schema['items'])}"
    bounds = [f"{sign} {schema[key]}" for key, sign in _BOUNDS if key in schema]
    return f"{words} {' and '.join(bounds)}" if bounds else words


def _items_in_words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"with any of {_quoted(schema)}"
    if "properties" in schema:
        return f"of objects with {', '.join(schema['properties'])}"
    return f"of {in_words(schema)}"


def _quoted(schema: Mapping[str, Any]) -> str:
    return ", ".join(repr(value) for value in schema["enum"])


_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))


def _same_type(schema: Mapping[str, Any], value: object) -> bool:
    if "anyOf" in schema:
        return any(_same_type(branch, value) for branch in schema["anyOf"])
    kind = "string" if "enum" in schema else schema["type"]
    return kind == _json_type(value) or (kind == "number" and _json_type(value) == "integer")


def _json_type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((int, "integer"), (float, "number"), (str, "string"), (Mapping, "object")):
        if isinstance(value, kind):
            return name
    return "null" if value is None else "array"


def _kind(value: object) -> str:
    name = _JSON_NAMES[_json_type(value)]
    return f"{name} ({_shown(value)!r})" if isinstance(value, (str, int, float)) else name


def _shown(value: object) -> Fact:
    try:
        text = str(value)
    except RecursionError:  # lists in lists, a thousand deep
        return _JSON_NAMES[_json_type(value)]
    if isinstance(value, (int, float)) or (isinstance(value, list) and len(text) <= VALUE_CHARS):
        return value
    return text if len(text) <= VALUE_CHARS else f"{text[:VALUE_CHARS]}…"


def _near(name: str, known: Mapping[str, object]) -> str | None:
    from difflib import get_close_matches  # on the error path only

    close = get_close_matches(name.lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else None
