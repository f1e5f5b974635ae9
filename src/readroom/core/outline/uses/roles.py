"""The roles of names in syntax trees, one table for each language.

A row says `kind.field`: a node of that kind with the name in that field.  Instead of a field, `*` is any
child and `!field` any child but that one; `field?` counts only where the node has a body or stands alone.
Node names are those of the grammars' releases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct, field
from msgspec.structs import replace


def _fields(table: str) -> dict[str, tuple[str, ...]]:
    """The fields for each kind of a table."""
    found: dict[str, tuple[str, ...]] = {}
    for row in table.split():
        kind, _, name = row.partition(".")
        found[kind] = (*found.get(kind, ()), name)
    return found


_TABLE = dict[str, tuple[str, ...]]


class Roles(Struct, frozen=True):
    """The roles of names in one language.

    Attributes:
        calls: Nodes that call what the name in this field names; without any, what stands before a
            parenthesis is called, and what the outline lists is defined.
        members: Nodes that stand for the name in this field: `c` of `a.b.c`.
        binds: Nodes that define the name in this field.
        patterns: Nodes that define each name in them, where they are bound themselves.
        imports: Nodes that import all names in them; with a pattern, only if it matches at their beginning.
        assigns: Nodes that define a member of an own object in this field, as `self.name = 1` does.
        own: Matches such an object.
        given: Matches what follows a bound name if it is given by another file, as in `name = require("x")`.
        tokens: Nodes with code that is not parsed further, as the arguments of macros.
    """

    calls: _TABLE = field(default_factory=dict)
    members: _TABLE = field(default_factory=dict)
    binds: _TABLE = field(default_factory=dict)
    patterns: _TABLE = field(default_factory=dict)
    imports: Mapping[str, re.Pattern[bytes] | None] = field(default_factory=dict)
    assigns: _TABLE = field(default_factory=dict)
    own: re.Pattern[bytes] | None = None
    given: re.Pattern[bytes] | None = None
    tokens: frozenset[str] = frozenset()


_PYTHON = Roles(
    calls=_fields("call.function decorator.*"),
    members=_fields("attribute.attribute parenthesized_expression.*"),
    binds=_fields(
        "function_definition.name class_definition.name parameters.* lambda_parameters.* "
        "default_parameter.name typed_default_parameter.name typed_parameter.!type assignment.left "
        "named_expression.name for_statement.left for_in_clause.left as_pattern_target.* "
        "type_alias_statement.left class_definition.type_parameters function_definition.type_parameters "
        "keyword_pattern.!value splat_pattern.*"
    ),
    patterns=_fields(
        "pattern_list.* tuple_pattern.* list_pattern.* list_splat_pattern.* dictionary_splat_pattern.* "
        "parenthesized_expression.* tuple.* list.* type.* type_parameter.* list_splat.*"
    ),
    imports={"import_statement": None, "import_from_statement": None, "future_import_statement": None},
    assigns=_fields("assignment.left"),
    own=re.compile(rb"(?:self|cls)\s*\.\s*\Z"),
)

_SCRIPT_IMPORTS: Mapping[str, re.Pattern[bytes] | None] = {
    "import_statement": None,
    "export_statement": re.compile(rb"export\s+(?:type\s+)?(?:\*[^\n;{}]*|\{[^{}]*\})\s*from\b"),
}

_SCRIPT = Roles(
    calls=_fields(
        "call_expression.function new_expression.constructor decorator.* jsx_opening_element.name "
        "jsx_self_closing_element.name"
    ),
    members=_fields(
        "member_expression.property nested_identifier.property non_null_expression.* "
        "instantiation_expression.function parenthesized_expression.*"
    ),
    binds=_fields(
        "function_declaration.name generator_function_declaration.name function_expression.name "
        "generator_function.name class_declaration.name class.name method_definition.name "
        "field_definition.property variable_declarator.name formal_parameters.* arrow_function.parameter "
        "catch_clause.parameter for_in_statement.left pair.key labeled_statement.label "
        # TypeScript
        "required_parameter.pattern optional_parameter.pattern public_field_definition.name "
        "interface_declaration.name type_alias_declaration.name enum_declaration.name enum_assignment.name "
        "enum_body.name property_signature.name method_signature.name abstract_method_signature.name "
        "abstract_class_declaration.name function_signature.name internal_module.name module.name "
        "type_parameter.name mapped_type_clause.name namespace_export.* infer_type.* index_signature.name"
    ),
    patterns=_fields(
        "object_pattern.* array_pattern.* rest_pattern.* assignment_pattern.left "
        "object_assignment_pattern.left pair_pattern.value"
    ),
    imports=_SCRIPT_IMPORTS,
    assigns=_fields("assignment_expression.left"),
    own=re.compile(rb"(?:this|(?:module\.)?exports|[\w$.]+\.prototype)\s*\.\s*#?\Z"),
    given=re.compile(rb"[^=(;]{0,80}=\s*(?:await\s+)?(?:require|import)\s*\("),
)

_TYPED_SCRIPT = replace(_SCRIPT, own=None)
"""TypeScript: a class declares its members, and `this.name = 1` uses one."""

_GO = Roles(
    calls=_fields("call_expression.function"),
    members=_fields(
        "selector_expression.field generic_type.type type_instantiation_expression.type "
        "parenthesized_expression.*"
    ),
    binds=_fields(
        "function_declaration.name method_declaration.name type_spec.name type_alias.name method_elem.name "
        "field_declaration.name const_spec.name var_spec.name parameter_declaration.name "
        "variadic_parameter_declaration.name type_parameter_declaration.name short_var_declaration.left "
        "range_clause.left receive_statement.left type_switch_statement.alias labeled_statement.label"
    ),
    patterns=_fields("expression_list.*"),
    imports={"import_declaration": None},
)

_DECLARATORS = (
    "pointer_declarator.declarator function_declarator.declarator array_declarator.declarator "
    "init_declarator.declarator parenthesized_declarator.* reference_declarator.* attributed_declarator.* "
    "bitfield_clause.* structured_binding_declarator.* variadic_declarator.* destructor_name.* "
    "qualified_identifier.name template_function.name template_type.name"
)

_C = Roles(
    calls=_fields("call_expression.function new_expression.type"),
    members=_fields(
        "field_expression.field qualified_identifier.name template_function.name template_method.name "
        "template_type.name dependent_name.* parenthesized_expression.*"
    ),
    binds=_fields(
        "preproc_def.name preproc_function_def.name preproc_params.* function_definition.declarator "
        "declaration.declarator field_declaration.declarator parameter_declaration.declarator "
        "optional_parameter_declaration.declarator variadic_parameter_declaration.declarator "
        "type_definition.declarator enumerator.name struct_specifier.name? union_specifier.name? "
        "enum_specifier.name? class_specifier.name? alias_declaration.name namespace_definition.name "
        "namespace_alias_definition.name nested_namespace_specifier.* concept_definition.name "
        "type_parameter_declaration.* optional_type_parameter_declaration.name "
        "variadic_type_parameter_declaration.* labeled_statement.label for_range_loop.declarator "
        "condition_clause.declarator"
    ),
    patterns=_fields(_DECLARATORS),
    imports={"preproc_include": None, "using_declaration": None},
)

_RUST = Roles(
    calls=_fields("call_expression.function macro_invocation.macro"),
    members=_fields("field_expression.field scoped_identifier.name generic_function.function"),
    binds=_fields(
        "function_item.name function_signature_item.name struct_item.name enum_item.name union_item.name "
        "trait_item.name type_item.name const_item.name static_item.name mod_item.name macro_definition.name "
        "enum_variant.name field_declaration.name let_declaration.pattern parameter.pattern "
        "closure_parameters.* for_expression.pattern type_parameter.name lifetime_parameter.name "
        "associated_type.name const_parameter.name let_condition.pattern field_pattern.pattern "
        "captured_pattern.* token_binding_pattern.name"
    ),
    patterns=_fields(
        "tuple_pattern.* tuple_struct_pattern.!type struct_pattern.!type ref_pattern.* mut_pattern.* "
        "reference_pattern.* slice_pattern.* or_pattern.* field_pattern.*"
    ),
    imports={"use_declaration": None, "extern_crate_declaration": None},
    tokens=frozenset({"token_tree"}),
)

_JAVA = Roles(
    calls=_fields("method_invocation.name object_creation_expression.type"),
    members=_fields("generic_type.* scoped_type_identifier.*"),
    binds=_fields(
        "class_declaration.name interface_declaration.name enum_declaration.name record_declaration.name "
        "annotation_type_declaration.name method_declaration.name constructor_declaration.name "
        "compact_constructor_declaration.name variable_declarator.name formal_parameter.name "
        "catch_formal_parameter.name enhanced_for_statement.name enum_constant.name inferred_parameters.* "
        "lambda_expression.parameters resource.name type_parameter.* instanceof_expression.name "
        "annotation_type_element_declaration.name type_pattern.* record_pattern_component.* "
        "labeled_statement.* module_declaration.name"
    ),
    imports={"import_declaration": None},
)

_CSHARP = Roles(
    calls=_fields("invocation_expression.function object_creation_expression.type"),
    members=_fields(
        "member_access_expression.name generic_name.!type_arguments qualified_name.name "
        "member_binding_expression.name conditional_access_expression.!condition alias_qualified_name.name"
    ),
    binds=_fields(
        "class_declaration.name interface_declaration.name struct_declaration.name record_declaration.name "
        "enum_declaration.name delegate_declaration.name method_declaration.name "
        "constructor_declaration.name "
        "destructor_declaration.name property_declaration.name event_declaration.name "
        "namespace_declaration.name file_scoped_namespace_declaration.name variable_declarator.name "
        "parameter.name implicit_parameter.* enum_member_declaration.name local_function_statement.name "
        "foreach_statement.left declaration_expression.name declaration_pattern.name type_parameter.name "
        "catch_declaration.name var_pattern.name recursive_pattern.name single_variable_designation.*"
    ),
    patterns=_fields("parenthesized_variable_designation.*"),
    imports={"using_directive": None, "extern_alias_directive": None},
)

_PHP = Roles(
    calls=_fields(
        "function_call_expression.function member_call_expression.name nullsafe_member_call_expression.name "
        "scoped_call_expression.name object_creation_expression.* attribute.*"
    ),
    members=_fields("qualified_name.!prefix variable_name.*"),
    binds=_fields(
        "function_definition.name method_declaration.name class_declaration.name interface_declaration.name "
        "trait_declaration.name enum_declaration.name enum_case.name const_element.* property_element.name "
        "simple_parameter.name variadic_parameter.name property_promotion_parameter.name "
        "assignment_expression.left catch_clause.name static_variable_declaration.name "
        "namespace_definition.name"
    ),
    patterns=_fields("variable_name.* list_literal.* by_ref.* namespace_name.*"),
    imports={"namespace_use_declaration": None},
)

_RUBY = Roles(
    calls=_fields("call.method"),
    binds=_fields(
        "method.name singleton_method.name class.name module.name assignment.left method_parameters.* "
        "lambda_parameters.* block_parameters.* optional_parameter.name keyword_parameter.name "
        "splat_parameter.name hash_splat_parameter.name block_parameter.name alias.name "
        "exception_variable.* for.pattern operator_assignment.left"
    ),
    patterns=_fields(
        "left_assignment_list.* scope_resolution.name destructured_parameter.* "
        "destructured_left_assignment.* rest_assignment.* setter.name"
    ),
)

_LUA = Roles(
    calls=_fields("function_call.name"),
    members=_fields("dot_index_expression.field method_index_expression.method"),
    binds=_fields(
        "function_declaration.name variable_declaration.* parameters.* for_generic_clause.* "
        "for_numeric_clause.name label_statement.*"
    ),
    patterns=_fields(
        "variable_list.* assignment_statement.* dot_index_expression.field method_index_expression.method"
    ),
    given=re.compile(rb"[^=(;]{0,80}=\s*require\b"),
)

_BASH = Roles(
    calls=_fields("command_name.*"),
    binds=_fields("function_definition.name variable_assignment.name for_statement.variable"),
)


def _importing(*kinds: str) -> Roles:
    """The roles of a language of which only the imports have a kind."""
    return Roles(imports=dict.fromkeys(kinds))


ROLES: Mapping[str, Roles] = MappingProxyType(
    {
        "python": _PYTHON,
        **dict.fromkeys(("javascript", "vue", "svelte"), _SCRIPT),
        **dict.fromkeys(("typescript", "tsx"), _TYPED_SCRIPT),
        "go": _GO,
        "rust": _RUST,
        "java": _JAVA,
        **dict.fromkeys(("c", "cpp"), _C),
        "c_sharp": _CSHARP,
        "ruby": _RUBY,
        "php": _PHP,
        "kotlin": _importing("import", "import_header"),
        "swift": _importing("import_declaration"),
        "scala": _importing("import_declaration"),
        "haskell": _importing("import"),
        "dart": _importing("import_or_export", "library_import", "import_specification"),
        "css": _importing("import_statement"),
        "lua": _LUA,
        "bash": _BASH,
        **dict.fromkeys(("elixir", "zig"), Roles()),
    }
)
"""By language; each that has a grammar is here."""
