"""What people write that a grammar does not know, or that reads like something else."""

from __future__ import annotations

import pytest

from readroom.core.deadline import Deadline
from readroom.core.outline import build
from readroom.core.outline.languages import language_of
from readroom.core.values.files import Row, rows
from tests.each import each


def _rows(language: str, text: str) -> dict[str, Row]:
    return {row.name: row for row in rows(build(text, language, Deadline(60)).items)}


def _spans(language: str, text: str) -> dict[str, tuple[int, int]]:
    return {name: (row.item.start, row.item.end) for name, row in _rows(language, text).items()}


def test_a_macro_of_several_lines_ends_with_its_last_one() -> None:
    text = "#define FIRST(a) \\\n    DECLARE_OTHER(a, a)\n#define SECOND(a) \\\n    DECLARE_OTHER(a, 1)\n"
    found = _rows("c", text)
    assert {name: (row.item.start, row.item.end) for name, row in found.items()} == {
        "FIRST": (1, 2),
        "SECOND": (3, 4),
    }
    assert found["FIRST"].item.signature == "#define FIRST(a)"


def test_the_name_of_a_type_stands_behind_a_body_of_any_length() -> None:
    fields = "".join(f"    unsigned long field_{number}; /* one of many fields */\n" for number in range(60))
    found = _rows("c", f"typedef struct {{\n{fields}}} last_of_all;\n")
    assert found["last_of_all"].item.signature == "typedef struct last_of_all"


def test_the_name_of_a_function_is_told_behind_words_of_any_length() -> None:
    marks = "__attribute__((__gnu_inline__, __always_inline__, __artificial__))"
    found = _rows("c", f"extern __inline int {marks} known_to_all_of_them(int a)\n{{\n    return a;\n}}\n")
    assert found["known_to_all_of_them"].item.signature.endswith("… known_to_all_of_them")


def test_a_field_that_an_error_touches_ends_in_its_line() -> None:
    text = "struct s {\n    z_const char *first; /* a macro */\n    int second;\n    int third;\n};\n"
    outline = build(text, "c", Deadline(60))
    assert outline.partial is not None
    assert _spans("c", text)["s.first"] == (2, 2)
    assert all(row.item.certain for row in rows(outline.items) if row.name == "s.first")


def test_statements_that_are_macros_lose_no_namespace() -> None:
    text = (
        'DEFINE_FLAG(int, size, 8, "of (some) nodes");\nDEFINE_FLAG(bool, names, 1,\n  "what for");\n'
        "namespace one {\n\nint two(int a);\n\n}\n"
    )
    assert build(text, "cpp", Deadline(60)).partial is None
    assert _spans("cpp", text) == {"one": (4, 8), "one.two": (6, 6)}


def test_constructors_behind_a_macro_are_no_errors() -> None:
    text = (
        "class rgb {\n  CONSTEXPR rgb() : r(0), g(0) {}\n  CONSTEXPR rgb(int a, int b)\n"
        "      : r(a), g(b) {}\n  NORETURN ~rgb() {\n    end();\n  }\n  int r, g;\n};\n"
    )
    assert build(text, "cpp", Deadline(60)).partial is None
    assert {"rgb.rgb", "rgb.~rgb", "rgb.r"} <= set(_spans("cpp", text))


def test_the_operator_of_a_call_has_its_name_with_blanks_too() -> None:
    assert "A.operator()" in _rows("cpp", "bool A::operator ()(int a) const\n{\n    return a;\n}\n")


def test_a_constructor_of_several_marks_is_one_of_its_class() -> None:
    text = "actual class A\ninternal actual constructor(\n  val data: Int,\n) : B {\n  fun f() {}\n}\n"
    assert _spans("kotlin", text) == {"A": (1, 6), "A.data": (3, 3), "A.f": (5, 5)}


def test_a_definition_ends_before_the_blank_lines_behind_it() -> None:
    text = (
        "trait A {\n  def one(a: Int): Int =\n    two(a)\n\n\n"
        "  def two(a: Int): Int =\n    a\n\n  def three: Int\n}\n"
    )
    assert _spans("scala", text) == {"A": (1, 10), "A.one": (2, 3), "A.two": (6, 7), "A.three": (9, 9)}


def test_types_that_are_made_by_a_macro_are_no_errors() -> None:
    text = (
        "int first(int a);\n__checked LIST_OF(NAME) *second(void);\nMUST_CHECK LIST_OF(NAME) *third(int a);\n"
    )
    outline = build(text, "c", Deadline(60))
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == ["first", "second", "third"]


def test_functions_of_zsh_are_found_around_what_the_grammar_of_shells_does_not_know() -> None:
    text = (
        "# Says what it is about.\n"
        "zone::first() {\n"
        '    local -a names=( ${(f)"$(ls)"} )\n'
        "    for name in $names; {\n"
        "        print ${name:t:r}\n"
        "    }\n"
        "}\n"
        "\n"
        "function second {\n"
        "    print ${(%):-%x} =(cmd) <<< ${(j:,:)names}\n"
        "}\n"
        "cat <<END\n"
        "third() {\n"
        "}\n"
        "END\n"
    )
    outline = build(text, "bash", Deadline(60))
    assert outline.partial is not None
    found = {row.name: (row.item.start, row.item.end) for row in rows(outline.items) if not row.item.minor}
    assert found == {"zone::first": (1, 7), "second": (9, 11)}


def test_a_job_that_zsh_forgets_is_no_error() -> None:
    text = "one() {\n    sleep 1 &!\n}\ntwo() {\n    sleep 1 &|\n}\n"
    outline = build(text, "bash", Deadline(60))
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == ["one", "two"]


def test_functions_in_what_a_call_is_given_have_the_name_that_gets_its_value() -> None:
    text = (
        "local rule = config:register {\n"
        "  name = 'rule',\n"
        "  callback = function(task)\n"
        "    local function check(part) return part end\n"
        "    return check(task)\n"
        "  end,\n"
        "}\n"
        "local proxy = setmetatable({}, {\n"
        "  __index = function(self, key) return key end,\n"
        "})\n"
        "local made = make({ size = 1 })\n"
    )
    found = _rows("lua", text)
    assert set(found) == {
        *("rule", "rule.name", "rule.callback", "rule.callback.check"),
        *("proxy", "proxy.__index", "made"),
    }
    assert [name for name, row in found.items() if not row.item.minor] == [
        *("rule", "rule.callback", "proxy", "proxy.__index"),
    ]
    assert found["proxy"].item.signature == "local proxy = setmetatable"
    assert _spans("lua", text)["rule.callback"] == (3, 6)


@pytest.mark.parametrize("head", ['<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS>', "<!DOCTYPE TS>\n<TS>"])
def test_translations_of_a_program_are_no_typescript(head: str) -> None:
    assert language_of("app_de.ts", head) is None
    assert language_of("app_de.ts", "export const app = 1;") == "typescript"


def test_statements_of_sql_end_where_they_do() -> None:
    text = (
        "create table first (\n"
        "    name text default 'it''s; so'\n"
        ");\n"
        "insert into first values ('a');\n"
        "create function second() returns text as $body$\n"
        "create table inside (a int);\n"
        "$body$ language sql;\n"
        "select second();\n"
        "create function third(text) returns text\n"
        "    as 'library', 'third' language c;\n"
        "select third('a');\n"
        "create trigger fourth after insert on first\n"
        "begin\n"
        "    delete from first;\n"
        "    delete from first;\n"
        "end;\n"
        "select 4;\n"
        "create table fifth (a int)\n"
        "go\n"
        "create table sixth (a int);\n"
        "select 6;\n"
    )
    assert _spans("sql", text) == {
        "first": (1, 3),
        "second": (5, 7),
        "third": (9, 10),
        "fourth": (12, 16),
        "fifth": (18, 19),
        "sixth": (20, 20),
    }


def test_names_of_python_that_are_assigned_together_in_lines_of_their_own_have_all_of_them_as_signature() -> (
    None
):
    text = (
        "class A:\n    def __init__(self):\n"
        "        (\n            self.a,\n            (self.b, self.c),\n        ) = f(\n            1)\n"
    )
    found = _rows("python", text)
    assert [found[name].item.signature for name in ("A.a", "a") if name in found] == [
        "(self.a, (self.b, self.c)) = f("
    ]


def test_what_stands_between_rules_of_a_makefile_belongs_to_none_of_them() -> None:
    text = (
        "ifdef DEBUG\n"
        "FLAGS = -g\n"
        "else\n"
        "FLAGS = -O2 \\\n"
        "    -Wall\n"
        "endif\n"
        "include rules.mk\n"
        "all: one \\\n"
        "    two\n"
        "\techo $@\n"
        "ifdef DEBUG\n"
        "\techo debug\n"
        "endif\n"
        "include more.mk\n"
        "define recipe\n"
        "echo $(1)\n"
        "endef\n"
        "include last.mk\n"
    )
    found = [
        (row.name, row.item.start, row.item.end) for row in rows(build(text, "makefile", Deadline(60)).items)
    ]
    assert found == [("FLAGS", 2, 2), ("FLAGS", 4, 5), ("all", 8, 12), ("recipe", 15, 17)]


def test_what_is_said_of_a_function_of_elixir_belongs_to_it() -> None:
    text = (
        "defmodule Zone do\n"
        "  @limit 10\n"
        '  @doc "Says."\n'
        "  @spec one(integer) :: integer\n"
        "  def one(x), do: x\n"
        "\n"
        "  if @limit > 1 do\n"
        "    defp two(x), do: x\n"
        "  end\n"
        "  @limit 11\n"
        "  def three, do: @limit\n"
        "end\n"
    )
    assert _spans("elixir", text) == {
        "Zone": (1, 12),
        "Zone.one": (3, 5),
        "Zone.two": (8, 8),
        "Zone.three": (11, 11),
    }


def test_functions_of_a_type_that_a_function_of_zig_returns_have_names() -> None:
    text = (
        "pub fn List(comptime T: type) type {\n"
        "    return struct {\n"
        "        items: []T,\n"
        "        pub fn count(self: @This()) usize {\n"
        "            return self.items.len;\n"
        "        }\n"
        "    };\n"
        "}\n"
    )
    assert _spans("zig", text) == {"List": (1, 8), "List.count": (4, 6)}


def test_instances_of_families_of_types_in_haskell_are_listed() -> None:
    text = (
        "module Zone where\ndata instance Shape Int = Round | Square\nnewtype instance Size Int = Size Int\n"
    )
    assert _spans("haskell", text)["Shape"] == (2, 2)
    assert _spans("haskell", text)["Size"] == (3, 3)


def test_tables_of_toml_may_have_brackets_in_quotes() -> None:
    text = '[target."cfg(any(unix, target = [1]))".dependencies]\na = 1\n[ plain . table ] # said\nb = 2\n'
    assert [row.item.name for row in rows(build(text, "toml", Deadline(60)).items)] == [
        'target."cfg(any(unix, target = [1]))".dependencies',
        "plain . table",
    ]


@each(
    ("language", "text", "names"),
    [
        ("c", "GL_API void GL_APIENTRY glClear (int mask);\nint last;\n", ["glClear", "last"]),
        ("c", "U_CAPI int32_t U_EXPORT2\nu_count(int a);\nint last;\n", ["u_count", "last"]),
        ("c", "FT_EXPORT( FT_Fixed )\nFT_Sin( FT_Angle  angle );\nint last;\n", ["FT_Sin", "last"]),
        (
            "c",
            "int BZ_API(first) (int a);\nint *BZ_API(second)(void);\nint last;\n",
            ["first", "second", "last"],
        ),
        ("c", "static zend_always_inline int first(int a)\n{\n\treturn a;\n}\n", ["first"]),
        ("c", "__owur OSSL_STATE SSL_get_state(const SSL *ssl);\nint last;\n", ["SSL_get_state", "last"]),
        (
            "c",
            "typedef struct {\n    PyObject_HEAD\n    int first;\n    int second;\n} Thing;\n",
            ["Thing", "Thing.first", "Thing.second"],
        ),
        ("cpp", "namespace std _GLIBCXX_VISIBILITY(default)\n{\nint first();\n}\n", ["std", "std.first"]),
        (
            "cpp",
            "class A {\n  _GLIBCXX_NODISCARD _GLIBCXX20_CONSTEXPR\n  iterator\n  end() const;\n};\n",
            ["A", "A.end"],
        ),
        ("cpp", "extern template class Held<int>;\nint first();\n", ["first"]),
        (
            "cpp",
            "namespace N\n{\n  class LibPPExport A : public B\n  {\n  public:\n    A ( void );\n  };\n"
            "  LibPPExport int operator == ( const A& left, const A& right );\n}\n",
            ["N", "N.A", "N.A.A", "N.operator =="],
        ),
        (
            "cpp",
            "class Exported A {\n  int one;\n};\nclass URL final {\n  int two;\n};\n",
            ["A", "A.one", "URL", "URL.two"],
        ),
        ("cpp", "class U_API A U_FINAL : public B {\n  int one();\n};\n", ["A", "A.one"]),
        (
            "cpp",
            "AI_FORCE_INLINE Vec<T> operator * (const Vec<T>& v, T f) {\n}\nint last;\n",
            ["operator *", "last"],
        ),
        (
            "cpp",
            "struct Client : Base {\n  virtual Flags  STDMETHODCALLTYPE GetFlags (void);\n};\n",
            ["Client", "Client.GetFlags"],
        ),
        (
            "c",
            "typedef float pair  __attribute__((__vector_size__(8)));\nint last;\n",
            ["pair", "last"],
        ),
        (
            "c",
            "typedef struct __device_builtin__ __align__(8) pair\n{\n  float x, y;\n} pair;\n",
            ["pair", "pair.x", "pair.y"],
        ),
    ],
)
def test_macros_where_projects_put_them_are_no_errors(language: str, text: str, names: list[str]) -> None:
    outline = build(text, language, Deadline(60))
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == names


@each(
    ("language", "text", "names"),
    [
        ("javascript", "module.exports = function (a) {\n  return a\n}\n", ["module.exports"]),
        ("javascript", "module.exports = (a) => {\n  return a\n}\n", ["module.exports"]),
        ("javascript", "module.exports = class {\n  one() {}\n}\n", ["module.exports", "module.exports.one"]),
        ("javascript", "exports = module.exports = function make() {}\n", ["make"]),
        ("javascript", "module.exports = class Server {\n  one() {}\n}\n", ["Server", "Server.one"]),
        ("javascript", "module.exports = { one: function () {}, two() {} }\n", ["one", "two"]),
        ("javascript", "export default function (a) {\n  return a\n}\n", ["default"]),
        ("javascript", "export default class {\n  one() {}\n}\n", ["default", "default.one"]),
        ("typescript", "export default async (a: A): Promise<B> => {\n  return a\n}\n", ["default"]),
        ("tsx", "export default () => {\n  return <a />\n}\n", ["default"]),
        ("javascript", "export default { one() {} }\n", ["one"]),
        (
            "javascript",
            "Found.prototype = new function () {\n  this.one = function () {}\n}\n",
            ["Found", "Found.one"],
        ),
    ],
)
def test_what_a_module_exports_without_a_name_has_the_one_that_others_import(
    language: str, text: str, names: list[str]
) -> None:
    assert [name for name, row in _rows(language, text).items() if not row.item.minor] == names


def test_a_class_that_is_another_by_something_has_its_members() -> None:
    text = (
        "class A<E>(\n  private val d: List<E>\n) : List<E> by d {\n  val x = 1\n"
        "  override fun one(): Int = 1\n}\nclass B : C by make(1) {\n  fun two() {}\n}\n"
    )
    found = _rows("kotlin", text)
    assert [row.name for row in found.values() if not row.item.minor] == ["A", "A.one", "B", "B.two"]
    assert found["A"].item.signature == "class A<E>(private val d: List<E>) : List<E> by d"
    assert {"A.d", "A.x"} < set(found)


def test_a_class_is_found_by_the_name_of_its_own_too() -> None:
    assert set(_rows("javascript", "let short = class Long {}\n")) == {"short", "Long"}


def test_what_implements_a_trait_has_the_name_of_its_type() -> None:
    text = (
        "unsafe impl<T, const N: usize> Array for [T; N] {\n    fn size() -> usize { N }\n}\n"
        "impl<'a, W: Write> Serialize for &'a mut Header<W> {\n    fn end(self) {}\n}\n"
    )
    assert list(_rows("rust", text)) == ["[T; N]", "[T; N].size", "Header", "Header.end"]


def test_a_type_that_is_given_to_a_macro_is_shown_as_it_stands_and_its_end_is_certain_beside_errors() -> None:
    text = "MY_API(void)\nfirst(int a);\n\nMY_API(const char *) second(void);\n\nint third(int a) @;\n"
    items = [row.item for row in rows(build(text, "c", Deadline(60)).items)][:2]
    assert [(item.signature, item.start, item.end, item.certain) for item in items] == [
        ("MY_API(void) first(int a)", 1, 2, True),
        ("MY_API(const char *) second(void)", 4, 4, True),
    ]


def test_a_macro_before_a_condition_is_no_type() -> None:
    text = "void first(int a)\n{\n    CHECKED(a)\n    if (a)\n    {\n        second(a);\n    }\n}\n"
    outline = build(text, "c", Deadline(60))
    assert outline.partial is None
    assert [row.name for row in rows(outline.items)] == ["first"]


def test_keys_of_json_in_one_line_have_their_own_value_as_signature() -> None:
    text = '{"freq": {"a b": 13, "jec": "x, y", "on": true}, "list": [1, 2], "last": null, "n": 1}\n'
    assert [row.item.signature for row in rows(build(text, "json", Deadline(60)).items)][1:] == [
        '"a b": 13',
        '"jec": "x, y"',
        '"on": true',
        '"list": [1, 2], "last": null, "n": 1}',
        '"last": null',
        '"n": 1}',
    ]
    noted = '{\n  "a": 1, // why\n  "b": 2 /* how */\n}\n'
    signatures = [row.item.signature for row in rows(build(noted, "json", Deadline(60)).items)]
    assert signatures == ['"a": 1, // why', '"b": 2 /* how */']
