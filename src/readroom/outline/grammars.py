"""The kinds of nodes that define something, by language.

Fields, variables and constants are left out: an outline says where to read, and
they would double it.  Names of nodes are those of the grammars' own releases.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from readroom.extras import OF_GRAMMARS, install, problem

if TYPE_CHECKING:
    from tree_sitter import Language

# -----------------------------------------------------------------------------
# What a table says about one language, and how its grammar is loaded.
# -----------------------------------------------------------------------------


class NodeRule(Struct, frozen=True):
    """What a kind of node defines.

    `name` is the field that holds the name, or the name of a function of
    `names.NAMERS`.  `body` are fields or kinds of children, of which the first
    found ends the signature; with `members` it is looked into.  `needs_body`:
    without one it only mentions the name.  `cut` is a regular expression that
    ends the signature, too; of "{" the body may hold more of the signature.  An
    empty `kind` is the word that declares it.
    """

    kind: str
    name: str = "name"
    body: tuple[str, ...] = ("body",)
    members: bool = False
    needs_body: bool = False
    cut: str = ""


class Grammar(Struct, frozen=True):
    """One language: where its grammar is, and what its kinds of nodes mean.

    `wraps` hold one definition and count as part of it; `through` hold some and
    are looked into; `comments` stand above what they describe; `attached` belong
    to the next definition; `not_signature` precede a signature within its node,
    also inside `modifiers`.
    """

    module: str
    rules: Mapping[str, NodeRule]
    function: str = "language"
    wraps: frozenset[str] = frozenset()
    through: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    attached: frozenset[str] = frozenset()
    not_signature: frozenset[str] = frozenset()
    modifiers: frozenset[str] = frozenset({"modifiers"})


_LANGUAGES: dict[tuple[str, str], Language] = {}
_LOCK = threading.Lock()


class MissingGrammar(Exception):
    """A grammar that is in an extra, and not installed."""


def load(grammar: Grammar) -> Language:
    """The compiled grammar, imported when first used.

    Raises:
        MissingGrammar: It is not installed.
    """
    key = (grammar.module, grammar.function)
    with _LOCK:
        language = _LANGUAGES.get(key)
        if language is None:
            from tree_sitter import Language

            try:
                module = import_module(grammar.module)
            except ModuleNotFoundError:
                package = problem(grammar.module.replace("_", "-"))
                raise MissingGrammar(f"{package}: {install(OF_GRAMMARS)}") from None
            language = Language(getattr(module, grammar.function)())
            _LANGUAGES[key] = language
        return language


# -----------------------------------------------------------------------------
# C and C++: names hide in declarators, and the preprocessor holds everything.
# -----------------------------------------------------------------------------

_HOLDERS = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"}
    | {"linkage_specification", "declaration_list", "declaration", "field_declaration", "type_definition"}
)

_RULES = {
    "function_definition": NodeRule(
        "function",
        "c_declared",
        ("body", "default_method_clause", "delete_method_clause"),
        cut=r"(?<=\))\s*:(?!:)",
    ),
    "declaration": NodeRule("function", "c_prototype", ()),
    "type_definition": NodeRule("type", "c_typedef", (), cut="{"),
    "struct_specifier": NodeRule("struct", members=True, needs_body=True),
    "union_specifier": NodeRule("union", members=True, needs_body=True),
    "enum_specifier": NodeRule("enum", needs_body=True),
    "preproc_function_def": NodeRule("macro", body=("value",)),
}

C = Grammar("tree_sitter_c", _RULES, through=_HOLDERS)

CPP = Grammar(
    "tree_sitter_cpp",
    {
        **_RULES,
        "class_specifier": NodeRule("class", "cpp_scoped", members=True, needs_body=True),
        "struct_specifier": NodeRule("struct", "cpp_scoped", members=True, needs_body=True),
        "field_declaration": NodeRule("method", "c_prototype", ()),
        "namespace_definition": NodeRule("namespace", "cpp_namespace", members=True),
        "concept_definition": NodeRule("concept", body=(), cut=" ="),
        "alias_declaration": NodeRule("type", body=()),
    },
    wraps=frozenset({"template_declaration"}),
    through=_HOLDERS,
    not_signature=frozenset({"attribute_declaration", "comment"}),
)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_CLASS = NodeRule("class", members=True)
_FUNCTION = NodeRule("function")
_METHOD = NodeRule("method")
_INTERFACE = NodeRule("interface", members=True)
_ENUM = NodeRule("enum", members=True)
_TYPE = NodeRule("type", body=())

PYTHON = Grammar(
    "tree_sitter_python",
    {"class_definition": _CLASS, "function_definition": _FUNCTION, "type_alias_statement": _TYPE},
    wraps=_set("decorated_definition"),
    through=_set(
        "if_statement elif_clause else_clause try_statement except_clause except_group_clause "
        "finally_clause with_statement block for_statement while_statement"
    ),
    not_signature=_set("decorator comment"),
)

_JS_RULES = {
    "class_declaration": _CLASS,
    "function_declaration": _FUNCTION,
    "generator_function_declaration": _FUNCTION,
    "method_definition": _METHOD,
    "variable_declarator": NodeRule("function", "js_assigned", ("js_body",)),
    "assignment_expression": NodeRule("function", "js_assignment", ("js_body",)),
    "field_definition": NodeRule("method", "js_field", ("js_body",)),
    "pair": NodeRule("method", "js_pair", ("js_body",)),
}

JAVASCRIPT = Grammar(
    "tree_sitter_javascript",
    _JS_RULES,
    wraps=_set("export_statement lexical_declaration variable_declaration expression_statement"),
    through=_set(
        "if_statement else_clause try_statement catch_clause statement_block return_statement "
        "call_expression arguments parenthesized_expression unary_expression sequence_expression "
        "assignment_expression function_expression arrow_function object pair"
    ),
    attached=_set("decorator"),
    not_signature=_set("decorator comment"),
)

TYPESCRIPT = replace(
    JAVASCRIPT,
    module="tree_sitter_typescript",
    function="language_typescript",
    rules={
        **_JS_RULES,
        "abstract_class_declaration": _CLASS,
        "interface_declaration": _INTERFACE,
        "type_alias_declaration": NodeRule("type", body=("object_type",)),
        "enum_declaration": _ENUM,
        "internal_module": NodeRule("namespace", members=True),
        "module": NodeRule("namespace", members=True),
        "function_signature": _FUNCTION,
        "method_signature": _METHOD,
        "abstract_method_signature": _METHOD,
        "public_field_definition": NodeRule("method", "js_field", ("js_body",)),
    },
    wraps=JAVASCRIPT.wraps | {"ambient_declaration"},
)
TSX = replace(TYPESCRIPT, function="language_tsx")

GO = Grammar(
    "tree_sitter_go",
    {
        "function_declaration": _FUNCTION,
        "method_declaration": NodeRule("method", "go_method"),
        "type_spec": NodeRule("type", body=("type",), members=True, cut="{"),
        "type_alias": _TYPE,
        "method_elem": _METHOD,
    },
    wraps=_set("type_declaration"),
)

RUST = Grammar(
    "tree_sitter_rust",
    {
        "function_item": _FUNCTION,
        "function_signature_item": _FUNCTION,
        "struct_item": NodeRule("struct", cut="{"),
        "enum_item": NodeRule("enum"),
        "union_item": NodeRule("union"),
        "trait_item": NodeRule("trait", members=True),
        "impl_item": NodeRule("impl", "rust_impl", members=True),
        "mod_item": NodeRule("module", members=True, needs_body=True),
        "macro_definition": NodeRule("macro", cut="{"),
        "type_item": _TYPE,
    },
    through=_set("foreign_mod_item declaration_list"),
    comments=_set("line_comment block_comment"),
    attached=_set("attribute_item"),
)

JAVA = Grammar(
    "tree_sitter_java",
    {
        "class_declaration": _CLASS,
        "interface_declaration": _INTERFACE,
        "enum_declaration": _ENUM,
        "record_declaration": NodeRule("record", members=True),
        "annotation_type_declaration": _INTERFACE,
        "method_declaration": _METHOD,
        "constructor_declaration": NodeRule("constructor"),
        "compact_constructor_declaration": NodeRule("constructor"),
    },
    through=_set("enum_body_declarations"),
    comments=_set("line_comment block_comment"),
    not_signature=_set("annotation marker_annotation line_comment block_comment"),
)

C_SHARP = Grammar(
    "tree_sitter_c_sharp",
    {
        "namespace_declaration": NodeRule("namespace", "dotted", members=True),
        "class_declaration": _CLASS,
        "struct_declaration": NodeRule("struct", members=True),
        "interface_declaration": _INTERFACE,
        "enum_declaration": _ENUM,
        "record_declaration": NodeRule("record", members=True),
        "method_declaration": _METHOD,
        "constructor_declaration": NodeRule("constructor"),
        "destructor_declaration": NodeRule("destructor", "cs_destructor"),
        "operator_declaration": NodeRule("operator", "cs_operator"),
        "indexer_declaration": NodeRule("property", "cs_indexer", ("accessors", "value")),
        "property_declaration": NodeRule("property", body=("accessors", "value")),
        "delegate_declaration": _TYPE,
        "local_function_statement": _FUNCTION,
    },
    through=_set(
        "global_statement file_scoped_namespace_declaration preproc_if preproc_else preproc_elif "
        "declaration_list"
    ),
    not_signature=_set("attribute_list comment"),
)

_RUBY_END = r";|\s+end\Z"

RUBY = Grammar(
    "tree_sitter_ruby",
    {
        "module": NodeRule("module", "ruby_scoped", members=True, cut=_RUBY_END),
        "class": NodeRule("class", "ruby_scoped", members=True, cut=_RUBY_END),
        "method": NodeRule("method", cut=_RUBY_END),
        "singleton_method": NodeRule("method", cut=_RUBY_END),
    },
    through=_set("singleton_class body_statement call argument_list if unless then else begin"),
)

PHP = Grammar(
    "tree_sitter_php",
    {
        "class_declaration": _CLASS,
        "interface_declaration": _INTERFACE,
        "trait_declaration": NodeRule("trait", members=True),
        "enum_declaration": _ENUM,
        "function_definition": _FUNCTION,
        "method_declaration": _METHOD,
    },
    "language_php",
    through=_set("namespace_definition compound_statement if_statement else_clause colon_block"),
    not_signature=_set("attribute_list comment"),
)

KOTLIN = Grammar(
    "tree_sitter_kotlin",
    {
        "class_declaration": NodeRule("", body=("class_body", "enum_class_body"), members=True),
        "object_declaration": NodeRule("object", body=("class_body",), members=True),
        "companion_object": NodeRule("object", "kotlin_companion", ("class_body",), members=True),
        "function_declaration": NodeRule("function", "kotlin_function", ("function_body",)),
        "secondary_constructor": NodeRule(
            "constructor", "kotlin_constructor", ("constructor_delegation_call", "block"), cut=" :"
        ),
        "type_alias": NodeRule("type", "type", ()),
    },
    comments=_set("line_comment block_comment"),
    not_signature=_set("annotation line_comment block_comment"),
)

SWIFT = Grammar(
    "tree_sitter_swift",
    {
        "class_declaration": NodeRule("", "swift_class", members=True),
        "protocol_declaration": NodeRule("protocol", members=True),
        "function_declaration": _FUNCTION,
        "protocol_function_declaration": _METHOD,
        "init_declaration": NodeRule("constructor", "first_word"),
        "deinit_declaration": NodeRule("destructor", "first_word"),
        "subscript_declaration": NodeRule("method", "first_word", ("computed_property",)),
        "typealias_declaration": _TYPE,
    },
    comments=_set("comment multiline_comment"),
    not_signature=_set("attribute comment multiline_comment"),
)

SCALA = Grammar(
    "tree_sitter_scala",
    {
        "class_definition": _CLASS,
        "object_definition": NodeRule("object", members=True),
        "package_object": NodeRule("object", members=True),
        "trait_definition": NodeRule("trait", members=True),
        "enum_definition": _ENUM,
        "function_definition": _FUNCTION,
        "function_declaration": _FUNCTION,
        "given_definition": NodeRule("given"),
        "type_definition": _TYPE,
    },
    through=_set("package_clause template_body extension_definition"),
    comments=_set("comment block_comment"),
    not_signature=_set("annotation comment block_comment"),
)

LUA = Grammar(
    "tree_sitter_lua",
    {
        "function_declaration": NodeRule("function", "lua_name", ("lua_body",)),
        "assignment_statement": NodeRule("function", "lua_assigned", ("lua_body",)),
        "field": NodeRule("function", "lua_field", ("lua_body",)),
    },
    wraps=_set("variable_declaration"),
    through=_set(
        "assignment_statement expression_list table_constructor field if_statement else_statement "
        "elseif_statement do_statement block"
    ),
)

BASH = Grammar(
    "tree_sitter_bash",
    {"function_definition": _FUNCTION},
    through=_set("if_statement else_clause elif_clause case_statement case_item compound_statement list"),
)

GRAMMARS: Mapping[str, Grammar] = MappingProxyType(
    {
        "python": PYTHON,
        "javascript": JAVASCRIPT,
        "typescript": TYPESCRIPT,
        "tsx": TSX,
        "go": GO,
        "rust": RUST,
        "java": JAVA,
        "c": C,
        "cpp": CPP,
        "c_sharp": C_SHARP,
        "ruby": RUBY,
        "php": PHP,
        "kotlin": KOTLIN,
        "swift": SWIFT,
        "scala": SCALA,
        "lua": LUA,
        "bash": BASH,
    }
)
"""By the names of `languages`."""
