"""Names and bodies that do not stand in a field of their own.

A namer gets a node and returns its owner's names and its own; None when the node
defines nothing that an outline shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node

Named: TypeAlias = "tuple[tuple[str, ...], str] | None"

_MOST_DECLARATORS = 32
"""Pointers, arrays and parentheses around a declared name; nobody writes more, machines do."""

_MOST_NAME = 1000
"""Bytes of a text that is looked through for a name."""

_JS_FUNCTIONS = frozenset(
    {"arrow_function", "function_expression", "function", "generator_function", "class"}
)
_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_SPACE = re.compile(r"\s+")


def text_of(source: bytes, node: Node | None) -> str:
    """The beginning of its text on one line; empty without a node."""
    if node is None:
        return ""
    # Not `node.text`, which collects the text anew when a function has fed it to the parser.
    start = node.start_byte
    text = source[start : min(node.end_byte, start + _MOST_NAME)].decode("utf-8", "replace")
    return text if text.isidentifier() else _SPACE.sub(" ", text).strip()


def name_in(source: bytes, node: Node, rule_name: str) -> Named:
    """Owner and name of what `node` defines, by the name of a field or of a namer."""
    namer = NAMERS.get(rule_name)
    if namer is not None:
        return namer(source, node)
    name = text_of(source, node.child_by_field_name(rule_name)).strip("'\"")
    return ((), name) if name else None


def _split(name: str, separator: str = ".") -> Named:
    parts = [part.strip() for part in name.split(separator)]
    return (tuple(filter(None, parts[:-1])), parts[-1]) if parts[-1] else None


def without_arguments(name: str) -> str:
    """A type without its generic arguments, nested ones included."""
    before = ""
    while before != name:
        before, name = name, _TYPE_ARGUMENTS.sub("", name)
    return name.strip()


def _field(source: bytes, node: Node, name: str) -> str:
    return text_of(source, node.child_by_field_name(name))


# --- JavaScript --------------------------------------------------------------------------------


def _js_function(node: Node) -> Node | None:
    """The function or class that a node assigns, also one that is handed to a call at once."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None or value.type in _JS_FUNCTIONS:
        return value
    if value.type == "call_expression":
        arguments = value.child_by_field_name("arguments")
        handed_over = [] if arguments is None else arguments.named_children[:2]
        return next((one for one in handed_over if one.type in _JS_FUNCTIONS), None)
    return None


def _js_assigned(source: bytes, node: Node) -> Named:
    return None if _js_function(node) is None else name_in(source, node, "name")


def _js_assignment(source: bytes, node: Node) -> Named:
    left = _field(source, node, "left")
    if _js_function(node) is None or not re.fullmatch(r"[\w$.#]+", left) or left == "module.exports":
        return None
    for start in ("module.exports.", "exports.", "window.", "globalThis.", "this."):
        left = left.removeprefix(start)
    return _split(left.replace(".prototype.", "."))


def _js_field(source: bytes, node: Node) -> Named:
    if _js_function(node) is None:
        return None
    return name_in(source, node, "property") or name_in(source, node, "name")


def _js_pair(source: bytes, node: Node) -> Named:
    value = node.child_by_field_name("value")
    return name_in(source, node, "key") if value is not None and value.type in _JS_FUNCTIONS else None


def _js_body(node: Node) -> Node | None:
    function = _js_function(node)
    return None if function is None else function.child_by_field_name("body")


# --- C -----------------------------------------------------------------------------------------


def _inside(node: Node) -> Node | None:
    """What a declarator declares by itself: the next one inside."""
    inner = node.child_by_field_name("declarator")
    if inner is None and node.type in ("parenthesized_declarator", "reference_declarator"):
        return node.named_children[-1] if node.named_children else None
    return inner


def _declarator(node: Node) -> Node | None:
    """The name inside pointers, arrays, functions and parentheses."""
    declarator = node.child_by_field_name("declarator")
    for _ in range(_MOST_DECLARATORS):
        inner = None if declarator is None else _inside(declarator)
        if inner is None:
            return declarator
        declarator = inner
    return None


def _c_declared(source: bytes, node: Node) -> Named:
    name = without_arguments(text_of(source, _declarator(node)))
    return _split(name, "::") if name else None


def _c_prototype(source: bytes, node: Node) -> Named:
    """A declared function; a declared pointer to one is a variable."""
    declarator = node.child_by_field_name("declarator")
    for _ in range(_MOST_DECLARATORS):
        if declarator is None or declarator.type == "parenthesized_declarator":
            return None
        if declarator.type == "function_declarator":
            inner = declarator.child_by_field_name("declarator")
            plain = inner is not None and inner.type != "parenthesized_declarator"
            return _c_declared(source, node) if plain else None
        declarator = _inside(declarator)
    return None


def _c_typedef(source: bytes, node: Node) -> Named:
    name = text_of(source, _declarator(node))
    return ((), name) if re.fullmatch(r"\w+", name) else None


def _cpp_scoped(source: bytes, node: Node) -> Named:
    name = without_arguments(_field(source, node, "name"))
    return _split(name, "::") if name else None


def _cpp_namespace(source: bytes, node: Node) -> Named:
    name = _field(source, node, "name")
    return _split(name, "::") if name else ((), "(anonymous)")


# --- others ------------------------------------------------------------------------------------


def _go_method(source: bytes, node: Node) -> Named:
    receiver = without_arguments(_field(source, node, "receiver")).strip("() ")
    owner = receiver.rpartition(" ")[2].lstrip("*")
    name = _field(source, node, "name")
    return ((owner,) if owner else (), name) if name else None


def _rust_impl(source: bytes, node: Node) -> Named:
    name = without_arguments(_field(source, node, "type")).rpartition("::")[2].lstrip("&").strip()
    return ((), name) if name else None


def _kotlin_function(source: bytes, node: Node) -> Named:
    """An extension function belongs to the type before its name."""
    name = node.child_by_field_name("name")
    if name is None:
        return None
    before = [one for one in node.named_children if one.end_byte <= name.start_byte]
    has_owner = bool(before) and before[-1].type in ("user_type", "nullable_type")
    owner = without_arguments(text_of(source, before[-1])).rstrip("?") if has_owner else ""
    return ((owner,) if owner else (), text_of(source, name))


def _swift_class(source: bytes, node: Node) -> Named:
    name = without_arguments(_field(source, node, "name"))
    return _split(name) if name else None


_FIRST_WORDS = frozenset({"init", "deinit", "subscript"})


def _first_word(source: bytes, node: Node) -> Named:
    return next((((), one.type) for one in node.children if one.type in _FIRST_WORDS), None)


def _lua_function(node: Node) -> Node | None:
    """The function that an assignment, a field of a table or a declaration holds."""
    if node.type == "function_declaration":
        return node
    value = node.child_by_field_name("value")
    if value is None:
        listed = next((one for one in node.named_children if one.type == "expression_list"), None)
        value = listed.named_children[0] if listed is not None and listed.named_children else None
    return value if value is not None and value.type == "function_definition" else None


def _lua_body(node: Node) -> Node | None:
    """A body may be empty and is not a node then; what ends the signature is behind the parameters."""
    function = _lua_function(node)
    parameters = None if function is None else function.child_by_field_name("parameters")
    return None if parameters is None else parameters.next_sibling


def _lua_assigned(source: bytes, node: Node) -> Named:
    if _lua_function(node) is None or not node.named_children:
        return None
    return _split(text_of(source, node.named_children[0]).replace(":", "."))


NAMERS: Mapping[str, Callable[[bytes, Node], Named]] = MappingProxyType(
    {
        "js_assigned": _js_assigned,
        "js_assignment": _js_assignment,
        "js_field": _js_field,
        "js_pair": _js_pair,
        "c_declared": _c_declared,
        "c_prototype": _c_prototype,
        "c_typedef": _c_typedef,
        "cpp_scoped": _cpp_scoped,
        "cpp_namespace": _cpp_namespace,
        "dotted": lambda source, node: _split(_field(source, node, "name")),
        "go_method": _go_method,
        "rust_impl": _rust_impl,
        "cs_destructor": lambda source, node: ((), f"~{_field(source, node, 'name')}"),
        "cs_operator": lambda source, node: ((), f"operator {_field(source, node, 'operator')}".strip()),
        "cs_indexer": lambda source, node: ((), "this"),
        "ruby_scoped": lambda source, node: _split(_field(source, node, "name"), "::"),
        "kotlin_function": _kotlin_function,
        "kotlin_companion": lambda source, node: ((), _field(source, node, "name") or "Companion"),
        "kotlin_constructor": lambda source, node: ((), "constructor"),
        "swift_class": _swift_class,
        "first_word": _first_word,
        "lua_name": lambda source, node: _split(_field(source, node, "name").replace(":", ".")),
        "lua_assigned": _lua_assigned,
        "lua_field": lambda source, node: (
            None if _lua_function(node) is None else name_in(source, node, "name")
        ),
    }
)
"""By the names that the tables use."""

BODIES: Mapping[str, Callable[[Node], Node | None]] = MappingProxyType(
    {"js_body": _js_body, "lua_body": _lua_body}
)
"""Bodies that are not a field of the node that defines."""
