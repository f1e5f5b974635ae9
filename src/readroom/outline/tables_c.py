"""C and C++: names hide in declarators, and the preprocessor holds everything."""

from __future__ import annotations

from readroom.outline.grammar import Grammar, Rule

_HOLDERS = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"}
    | {"linkage_specification", "declaration_list", "declaration", "field_declaration", "type_definition"}
)

_RULES = {
    "function_definition": Rule(
        "function",
        "c_declared",
        ("body", "default_method_clause", "delete_method_clause"),
        cut=r"(?<=\))\s*:(?!:)",
    ),
    "declaration": Rule("function", "c_prototype", ()),
    "type_definition": Rule("type", "c_typedef", (), cut="{"),
    "struct_specifier": Rule("struct", members=True, needs_body=True),
    "union_specifier": Rule("union", members=True, needs_body=True),
    "enum_specifier": Rule("enum", needs_body=True),
    "preproc_function_def": Rule("macro", body=("value",)),
}

C = Grammar("tree_sitter_c", _RULES, through=_HOLDERS)

CPP = Grammar(
    "tree_sitter_cpp",
    {
        **_RULES,
        "class_specifier": Rule("class", "cpp_scoped", members=True, needs_body=True),
        "struct_specifier": Rule("struct", "cpp_scoped", members=True, needs_body=True),
        "field_declaration": Rule("method", "c_prototype", ()),
        "namespace_definition": Rule("namespace", "cpp_namespace", members=True),
        "concept_definition": Rule("concept", body=(), cut=" ="),
        "alias_declaration": Rule("type", body=()),
    },
    wraps=frozenset({"template_declaration"}),
    through=_HOLDERS,
    not_signature=frozenset({"attribute_declaration", "comment"}),
)
