"""The kinds of nodes that define something, by language.

Fields, variables and constants are left out: an outline says where to read, and
they would double it.  Names of nodes are those of the grammars' own releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from readroom.outline.grammar import Grammar, Rule
from readroom.outline.tables_c import CPP, C


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


_CLASS = Rule("class", members=True)
_FUNCTION = Rule("function")
_METHOD = Rule("method")
_INTERFACE = Rule("interface", members=True)
_ENUM = Rule("enum", members=True)
_TYPE = Rule("type", body=())

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
    "variable_declarator": Rule("function", "js_assigned", ("js_body",)),
    "assignment_expression": Rule("function", "js_assignment", ("js_body",)),
    "field_definition": Rule("method", "js_field", ("js_body",)),
    "pair": Rule("method", "js_pair", ("js_body",)),
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
        "type_alias_declaration": Rule("type", body=("object_type",)),
        "enum_declaration": _ENUM,
        "internal_module": Rule("namespace", members=True),
        "module": Rule("namespace", members=True),
        "function_signature": _FUNCTION,
        "method_signature": _METHOD,
        "abstract_method_signature": _METHOD,
        "public_field_definition": Rule("method", "js_field", ("js_body",)),
    },
    wraps=JAVASCRIPT.wraps | {"ambient_declaration"},
)
TSX = replace(TYPESCRIPT, function="language_tsx")

GO = Grammar(
    "tree_sitter_go",
    {
        "function_declaration": _FUNCTION,
        "method_declaration": Rule("method", "go_method"),
        "type_spec": Rule("type", body=("type",), members=True, cut="{"),
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
        "struct_item": Rule("struct", cut="{"),
        "enum_item": Rule("enum"),
        "union_item": Rule("union"),
        "trait_item": Rule("trait", members=True),
        "impl_item": Rule("impl", "rust_impl", members=True),
        "mod_item": Rule("module", members=True, needs_body=True),
        "macro_definition": Rule("macro", cut="{"),
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
        "record_declaration": Rule("record", members=True),
        "annotation_type_declaration": _INTERFACE,
        "method_declaration": _METHOD,
        "constructor_declaration": Rule("constructor"),
        "compact_constructor_declaration": Rule("constructor"),
    },
    through=_set("enum_body_declarations"),
    comments=_set("line_comment block_comment"),
    not_signature=_set("annotation marker_annotation line_comment block_comment"),
)

C_SHARP = Grammar(
    "tree_sitter_c_sharp",
    {
        "namespace_declaration": Rule("namespace", "dotted", members=True),
        "class_declaration": _CLASS,
        "struct_declaration": Rule("struct", members=True),
        "interface_declaration": _INTERFACE,
        "enum_declaration": _ENUM,
        "record_declaration": Rule("record", members=True),
        "method_declaration": _METHOD,
        "constructor_declaration": Rule("constructor"),
        "destructor_declaration": Rule("destructor", "cs_destructor"),
        "operator_declaration": Rule("operator", "cs_operator"),
        "indexer_declaration": Rule("property", "cs_indexer", ("accessors", "value")),
        "property_declaration": Rule("property", body=("accessors", "value")),
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
        "module": Rule("module", "ruby_scoped", members=True, cut=_RUBY_END),
        "class": Rule("class", "ruby_scoped", members=True, cut=_RUBY_END),
        "method": Rule("method", cut=_RUBY_END),
        "singleton_method": Rule("method", cut=_RUBY_END),
    },
    through=_set("singleton_class body_statement call argument_list if unless then else begin"),
)

PHP = Grammar(
    "tree_sitter_php",
    {
        "class_declaration": _CLASS,
        "interface_declaration": _INTERFACE,
        "trait_declaration": Rule("trait", members=True),
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
        "class_declaration": Rule("", body=("class_body", "enum_class_body"), members=True),
        "object_declaration": Rule("object", body=("class_body",), members=True),
        "companion_object": Rule("object", "kotlin_companion", ("class_body",), members=True),
        "function_declaration": Rule("function", "kotlin_function", ("function_body",)),
        "secondary_constructor": Rule(
            "constructor", "kotlin_constructor", ("constructor_delegation_call", "block"), cut=" :"
        ),
        "type_alias": Rule("type", "type", ()),
    },
    comments=_set("line_comment block_comment"),
    not_signature=_set("annotation line_comment block_comment"),
)

SWIFT = Grammar(
    "tree_sitter_swift",
    {
        "class_declaration": Rule("", "swift_class", members=True),
        "protocol_declaration": Rule("protocol", members=True),
        "function_declaration": _FUNCTION,
        "protocol_function_declaration": _METHOD,
        "init_declaration": Rule("constructor", "first_word"),
        "deinit_declaration": Rule("destructor", "first_word"),
        "subscript_declaration": Rule("method", "first_word", ("computed_property",)),
        "typealias_declaration": _TYPE,
    },
    comments=_set("comment multiline_comment"),
    not_signature=_set("attribute comment multiline_comment"),
)

SCALA = Grammar(
    "tree_sitter_scala",
    {
        "class_definition": _CLASS,
        "object_definition": Rule("object", members=True),
        "package_object": Rule("object", members=True),
        "trait_definition": Rule("trait", members=True),
        "enum_definition": _ENUM,
        "function_definition": _FUNCTION,
        "function_declaration": _FUNCTION,
        "given_definition": Rule("given"),
        "type_definition": _TYPE,
    },
    through=_set("package_clause template_body extension_definition"),
    comments=_set("comment block_comment"),
    not_signature=_set("annotation comment block_comment"),
)

LUA = Grammar(
    "tree_sitter_lua",
    {
        "function_declaration": Rule("function", "lua_name", ("lua_body",)),
        "assignment_statement": Rule("function", "lua_assigned", ("lua_body",)),
        "field": Rule("function", "lua_field", ("lua_body",)),
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
