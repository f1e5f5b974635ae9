"""JavaScript and TypeScript: functions and classes by the names they are assigned to, objects and members."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.outline import syntax

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = syntax.words("arrow_function function_expression function generator_function")
_CLASSES = syntax.words("class")
_CASTS = syntax.words("as_expression satisfies_expression parenthesized_expression type_assertion")
_OBJECT = syntax.words("object")
_CALLS = syntax.words("call_expression new_expression")
_TELLING = _FUNCTIONS | _CLASSES | _OBJECT | _CALLS
"""Values that make the name they are assigned to more than a variable."""

_MAX_CASTS = 8

# -----------------------------------------------------------------------------
# Values that are assigned to names.
# -----------------------------------------------------------------------------


def _value(node: Node) -> Node | None:
    """The assigned value, without casts and parentheses around it."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    for _ in range(_MAX_CASTS):
        kind = "" if value is None else value.type
        if value is None or kind not in _CASTS or not value.named_children:
            break
        value = value.named_children[-1 if kind == "type_assertion" else 0]
    return value


def _given(node: Node, kinds: frozenset[str]) -> Node | None:
    """The value, if it is of one of these kinds; also if it is an argument of a call, or called at once."""
    return _given_by(_value(node), kinds)


def _given_by(value: Node | None, kinds: frozenset[str]) -> Node | None:
    kind = "" if value is None else value.type
    if value is None or kind in kinds:
        return value
    if kind in _CALLS:
        arguments = value.child_by_field_name("arguments")
        handed = [] if arguments is None else arguments.named_children[:2]
        called = _called(value)
        if called is not None and called.type == "parenthesized_expression":
            handed = [*called.named_children[:1], *handed]  # a function that is called at once
        elif called is not None and called.type in _FUNCTIONS:
            handed = [called, *handed]
        return next((one for one in handed if one.type in kinds), None)
    return None


def _called(value: Node) -> Node | None:
    """The callee of a call, or of `new`, as in `new function () {}`."""
    return value.child_by_field_name("constructor" if value.type == "new_expression" else "function")


def _is_called(node: Node) -> bool:
    """Whether the value is the result of a function that is called at once: its body is then a module."""
    value = _value(node)
    called = None if value is None or value.type not in _CALLS else _called(value)
    return (
        called is not None
        and (called.type == "parenthesized_expression" or called.type in _FUNCTIONS)
        and _function_body(node) is not None
    )


def _function_body(node: Node) -> Node | None:
    function = _given(node, _FUNCTIONS)
    return None if function is None else function.child_by_field_name("body")


def _class_body(node: Node) -> Node | None:
    found = _given(node, _CLASSES)
    return None if found is None else found.child_by_field_name("body")


def _object(node: Node) -> Node | None:
    return _given(node, _OBJECT)


# -----------------------------------------------------------------------------
# Names.
# -----------------------------------------------------------------------------

_PLAIN = re.compile(r"[\w$#]+")
_DOTTED = re.compile(r"[\w$.#]+")
_EXPORTS = (("module",), "exports")
_HOLDERS = ("module.exports.", "exports.", "window.", "globalThis.", "this.")


def _declared(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "name")
    return ((), name) if _PLAIN.fullmatch(name) else None


def _assigned(source: bytes, node: Node) -> syntax.Named:
    left = syntax.field_text(source, node, "left").replace(" ", "")
    if not _DOTTED.fullmatch(left):
        return None
    for start in _HOLDERS:
        left = left.removeprefix(start)
    return syntax.split_name(left.removesuffix(".prototype").replace(".prototype.", "."))


def _assigned_data(source: bytes, node: Node) -> syntax.Named:
    """The assigned name; None for data that a module exports as a whole, whose members have names."""
    name = _assigned(source, node)
    return None if name == _EXPORTS else name


def _assigned_value(source: bytes, node: Node) -> syntax.Named:
    """The name of an assigned member, which is a property; None for a plain name, which is a reassignment."""
    return _assigned_data(source, node) if "." in syntax.field_text(source, node, "left") else None


def _with_own(namer: Callable[[bytes, Node], syntax.Named]) -> syntax.Namer:
    """A namer that adds the own name of a function or class, as in `x = function name() {}`."""

    def named(source: bytes, node: Node) -> Sequence[syntax.Named]:
        name, value = namer(source, node), _given(node, _FUNCTIONS | _CLASSES)
        own = "" if value is None else syntax.field_text(source, value, "name")
        if name is None or not own or own == name[1]:
            return [name]
        return [((), own), name] if name == _EXPORTS else [name, ((), own)]

    return named


def _default(source: bytes, node: Node) -> syntax.Named:
    return (), "default"


def _field(source: bytes, node: Node) -> syntax.Named:
    return syntax.named_by(source, node, "property") or syntax.named_by(source, node, "name")


def _constructor(source: bytes, node: Node) -> syntax.Named:
    return (), "new"


def _pair(source: bytes, node: Node) -> syntax.Named:
    name = syntax.field_text(source, node, "key").strip("'\"`[]")
    return ((), name) if name else None


# -----------------------------------------------------------------------------
# Rules.
# -----------------------------------------------------------------------------


class _Rules(Struct, frozen=True):
    """The rule for each kind of value."""

    function: syntax.NodeRule
    type: syntax.NodeRule
    api: syntax.NodeRule
    value: syntax.NodeRule

    def of(self, node: Node) -> syntax.NodeRule:
        value = _value(node)
        if value is None or value.type not in _TELLING:
            return self.value
        if _given_by(value, _FUNCTIONS) is not None:
            is_module = value.type in _CALLS and _is_called(node)
            return replace(self.function, kind="module", members=True) if is_module else self.function
        if _given_by(value, _CLASSES) is not None:
            return self.type
        return self.value if _given_by(value, _OBJECT) is None else self.api

    def named(self, namer: Callable[[bytes, Node], syntax.Named]) -> _Rules:
        function, kind = (replace(rule, name=_with_own(namer)) for rule in (self.function, self.type))
        return replace(self, function=function, type=kind, api=replace(self.api, name=namer))


_ASSIGNED = syntax.NodeRule("function", _with_own(_declared), _function_body)
_ASSIGNED_CLASS = syntax.NodeRule("class", _with_own(_declared), _class_body, members=True)
_ASSIGNED_OBJECT = syntax.NodeRule("object", _declared, _object, members=True, cut="{")
_ASSIGNED_VALUE = syntax.NodeRule("variable", _declared, (), cut=r"\n", minor=True)


_FIELD_METHOD = syntax.NodeRule("method", _field, _function_body)
_VALUE = syntax.NodeRule("field", _field, (), cut=r" =|\n", minor=True)
_DATA = syntax.NodeRule("property", _pair, _object, members=True, cut="{", minor=True)

_DECLARATOR = _Rules(_ASSIGNED, _ASSIGNED_CLASS, _ASSIGNED_OBJECT, _ASSIGNED_VALUE)
_ASSIGNMENT = replace(
    _DECLARATOR.named(_assigned),
    api=replace(_ASSIGNED_OBJECT, name=_assigned_data),
    value=syntax.NodeRule("property", _assigned_value, (), cut=r"\n", minor=True),
)
_CLASS_FIELD = replace(_DECLARATOR.named(_field), function=_FIELD_METHOD, value=_VALUE, api=_VALUE)
_PAIR = replace(
    _DECLARATOR.named(_pair),
    function=replace(_FIELD_METHOD, name=_with_own(_pair)),
    api=_DATA,
    value=syntax.NodeRule("property", _pair, (), cut=r"\n", minor=True),
)


_CALLED = syntax.words("parenthesized_expression unary_expression")


def _exported(node: Node) -> syntax.NodeRule | None:
    """The rule for a default export without a name."""
    parent = node.parent
    if parent is None or parent.type != "export_statement" or node.child_by_field_name("name") is not None:
        return None
    return replace(syntax.CLASS if node.type in _CLASSES else syntax.FUNCTION, name=_default)


def _named_function(node: Node) -> syntax.NodeRule | None:
    """The rule for a function expression with a name; one that is called at once is an unnamed module."""
    if node.child_by_field_name("name") is None:
        return _exported(node)
    parent = node.parent
    at_once = parent is not None and (
        parent.type in _CALLED or parent.child_by_field_name("function") == node
    )
    return None if at_once else syntax.FUNCTION


_RULES: dict[str, syntax.NodeRule | syntax.Chooser] = {
    "function_expression": _named_function,
    "arrow_function": _exported,
    "generator_function": _exported,
    "class": _exported,
    "class_declaration": syntax.CLASS,
    "function_declaration": syntax.FUNCTION,
    "generator_function_declaration": syntax.FUNCTION,
    "method_definition": syntax.METHOD,
    "variable_declarator": _DECLARATOR.of,
    "assignment_expression": _ASSIGNMENT.of,
    "field_definition": _CLASS_FIELD.of,
    "pair": _PAIR.of,
    "shorthand_property_identifier": syntax.NodeRule("property", syntax.itself, (), minor=True),
}

_METHOD = re.compile(
    rb"\n[ \t]*+(?=[\w$*])(?:(?:async|get|set|static)[ \t]++|\*[ \t]*+)*"
    rb"(?!(?:if|for|while|switch|catch|with|function)\b)([\w$]++)[ \t]*+\([^;{}()]{0,200}+\)[ \t]*+\{"
)
"""The name of a definition without a keyword: a method of an object. It begins a line."""


def _methods(source: bytes) -> Iterator[int]:
    """The offsets of such names."""
    return (found.start(1) for found in _METHOD.finditer(source))


_AT_ONCE = rb"(?![^\n]*(?:(?<![\w$])\([ \t]*(?:async[ \t]*)?(?:function\b|\()|\bnew[ \t]+function\b))"
"""Excludes functions that are called at once: they are modules, and their declarations are listed."""

_NO_METHOD = (
    rb"(?!(?:if|for|while|switch|catch|with|return|do|else|case|default|class|interface|enum|namespace|module|"
    rb"declare|abstract|type)\b)"
)
_BODIES = syntax.Bodies(
    re.compile(
        rb"[ \t]*+(?:export[ \t]+)?(?:default[ \t]+)?"
        rb"(?:(?:async|get|set|static|public|private|protected|override)[ \t]+){0,4}"
        + _NO_METHOD
        + rb"(?:[*#]?[\w$]++[ \t]*(?:<[^(){}]*>)?\([^{}]*\)[ \t]*(?::[^{}]*)?|"
        + _AT_ONCE
        + rb"(?:[^\n]*\bfunction\b[^{}]*\)[ \t]*(?::[^{}]*)?|[^\n]*=>[ \t]*))\Z"
    ),
    words=(b"function", b"class", b"=>"),
    inner=_METHOD,
    quotes=(b"/*", b"*/", b"`"),
)

JAVASCRIPT = syntax.Grammar(
    "tree_sitter_javascript",
    syntax.table(_RULES),
    wraps=syntax.words("export_statement lexical_declaration variable_declaration expression_statement"),
    through=syntax.words(
        "if_statement else_clause try_statement catch_clause statement_block return_statement "
        "call_expression arguments parenthesized_expression unary_expression sequence_expression "
        "assignment_expression function_expression arrow_function object pair new_expression "
        "for_statement for_in_statement while_statement switch_statement switch_body switch_case "
        "labeled_statement variable_declarator class class_body await_expression ternary_expression "
        "binary_expression array member_expression"
    ),
    scopes=syntax.words("function_expression arrow_function"),
    plain=syntax.words(
        "expression_statement return_statement call_expression arguments parenthesized_expression "
        "unary_expression new_expression array "
        "await_expression ternary_expression binary_expression member_expression sequence_expression"
    ),
    plain_unless=re.compile(rb"[{=]"),
    attached=syntax.words("decorator"),
    not_signature=syntax.words("decorator comment"),
    inner_nodes=syntax.words(
        "class_declaration function_declaration generator_function_declaration variable_declarator "
        "assignment_expression pair method_definition function_expression"
    ),
    inner_named=syntax.words("function_expression"),
    inner_words=(b"function", b"class", b"=>"),
    bodies=_BODIES,
    inner_names=_methods,
    other="tsx",
    other_if=re.compile(rb"@flow|\bimport type\b|\)\s*:\s*[\w<?{]|\?:|[(,]\s*\w+\s*:\s*[\w?{]"),
)

_IMPORTED = re.compile(rb"\bimport\(\s*(?:\"[^\"\n]*\"|'[^'\n]*')\s*\)")


def _without_imported(source: bytes) -> bytes:
    """The text with a name in place of each `import("...")`.

    The grammar does not expect it among the type arguments of a base class, as in declarations that a
    compiler generates from JavaScript, and loses the class.
    """
    return _IMPORTED.sub(lambda found: b"i" * len(found[0]), source) if b"import(" in source else source


_ACCESS = syntax.words("accessibility_modifier readonly override_modifier")


def _own_parameters(node: Node) -> Sequence[Node]:
    """The parameters of a constructor that are also properties of the instance."""
    parameters = node.child_by_field_name("parameters")
    if parameters is None:
        return ()
    return [one for one in parameters.named_children if any(word.type in _ACCESS for word in one.children)]


def _parameter(source: bytes, node: Node) -> syntax.Named:
    return syntax.named_by(source, node, "pattern")


_PARAMETER = syntax.NodeRule("field", _parameter, (), cut=r" =|\n", minor=True)

TYPESCRIPT = replace(
    JAVASCRIPT,
    module="tree_sitter_typescript",
    function="language_typescript",
    rules=syntax.table(
        {
            **_RULES,
            "method_definition": replace(syntax.METHOD, aside=_own_parameters, maker="constructor"),
            "required_parameter": _PARAMETER,
            "optional_parameter": _PARAMETER,
            "abstract_class_declaration": syntax.CLASS,
            "interface_declaration": syntax.INTERFACE,
            "type_alias_declaration": syntax.NodeRule("type", body=("object_type",), members=True),
            "enum_declaration": syntax.ENUM,
            "enum_assignment": syntax.ENUM_MEMBER,
            "property_identifier": syntax.NodeRule("enum member", syntax.itself, (), minor=True),
            "internal_module": syntax.NodeRule("namespace", members=True),
            "module": syntax.NodeRule("namespace", members=True),
            "function_signature": syntax.FUNCTION,
            "method_signature": syntax.METHOD,
            "abstract_method_signature": syntax.METHOD,
            "construct_signature": syntax.NodeRule("constructor", _constructor, ()),
            "public_field_definition": _CLASS_FIELD.of,
            "property_signature": syntax.PROPERTY,
        }
    ),
    wraps=JAVASCRIPT.wraps | {"ambient_declaration"},
    prepare=_without_imported,
    other="tsx",
    other_if=re.compile(rb"</\w|/>"),
)
TSX = replace(TYPESCRIPT, function="language_tsx", other="typescript", other_if=re.compile(rb"<\w+>"))
