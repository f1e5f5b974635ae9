"""The pure parts of ranking: words, parts, roles, scores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.deadline import Deadline
from readroom.core.outline import build
from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.names import NameHints
from readroom.core.ranking.order import BestFirst
from readroom.core.ranking.parts import PART_LINES, cut
from readroom.core.ranking.query import MAX_TERMS, parse, term_of
from readroom.core.ranking.roles import Role, confirmed, older_versions, roles
from readroom.core.ranking.score import Scale, count, glance
from readroom.core.ranking.words import fold, folded_and_lowered, lower, stem, sub_words
from tests.each import each


@each(
    ("text", "words"),
    [
        ("parseHTTPHeaders", ["parse", "http", "headers"]),
        ("parseURLs of IDs, APIsFirst", ["parse", "url", "of", "id", "api", "first"]),
        ("oﬃce ﬁle œuvre", ["office", "file", "oeuvre"]),
        ("parse_http_headers2", ["parse", "http", "headers", "2"]),
        ("XMLHttpRequest", ["xml", "http", "request"]),
        ("Größe naïve", ["grosse", "naive"]),
        ("数据库", ["数据", "据库"]),
        ("ключ-значение", ["ключ", "значение"]),
        ("", []),
    ],
)
def test_names_and_sentences_fall_into_the_same_words(text: str, words: list[str]) -> None:
    assert sub_words(text) == words


@given(st.text())
def test_folding_and_lowering_keep_every_place(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert len(lower(fold(text))) == len(text)


@given(text=st.text(max_size=40), before=st.integers(min_value=480, max_value=520))
def test_a_text_is_folded_and_lowered_alike_wherever_its_letters_stand(text: str, before: int) -> None:
    """It is done in pieces, and no border shows, not in a word whose last letter is another either."""
    whole = "x" * before + text + "ΟΔΟΣ İstanbul"
    assert folded_and_lowered(whole) == (fold(whole), lower(fold(whole)))


def test_forms_of_a_word_have_one_stem() -> None:
    assert stem("caching") == stem("cached") == stem("caches")
    assert stem("соединения") == stem("соединение")


@pytest.mark.parametrize(
    ("text", "word", "places"),
    [
        ("set offset reset setUp SETUP", "set", [0, 17]),
        ("getHTTPServer httpServer HTTPS", "http", [3, 14]),
        ("queries Query subquery myQuery", "query", [0, 8, 25]),
        ("数据库连接", "数据", [0]),
    ],
)
def test_words_are_counted_where_they_begin(text: str, word: str, places: list[int]) -> None:
    assert list(CountedText(text).places(term_of(word), 99)) == places


_CODE = st.lists(
    st.sampled_from(
        [
            "def f():",
            "    return 1",
            "class A:",
            "    def m(self):",
            "        pass",
            "",
            "x = 1",
            "# c",
            "  ",
            "}",
        ]
    ),
    max_size=200,
)


@given(_CODE)
def test_parts_hold_every_line_once_and_in_order(lines: list[str]) -> None:
    items = build("\n".join(lines), "python", Deadline()).items
    parts = cut(lines, items)
    covered = [line for part in parts for line in range(part.first, part.last + 1)]
    assert covered == list(range(1, len(lines) + 1))
    for part in parts:
        written = [at for at in range(part.first, part.last + 1) if lines[at - 1].strip()]
        assert not written or written[-1] - written[0] < 2 * PART_LINES
        assert part.last - part.first < 3 * PART_LINES


@pytest.mark.parametrize(
    "line",
    ["def area(self):", "int area(int side) {", "area = 3", "x" * 500 + ";function area(", "const area = 1"],
)
def test_a_line_that_defines_a_name_is_told(line: str) -> None:
    assert CountedText(f"one\n{line}\nthree").defines("area")


@pytest.mark.parametrize("line", ["area(3)", "return area(3)", "x" * 500 + " area(3)", "subarea = 3"])
def test_a_line_that_only_has_a_name_is_told(line: str) -> None:
    assert not CountedText(f"one\n{line}\nthree").defines("area")


@pytest.mark.parametrize("text", ["area," * 200_000, ("area," * 20_000 + "\n") * 10, "x" * 10**6 + " area"])
def test_lines_without_an_end_are_looked_at_from_near(text: str) -> None:
    """Each name from the beginning of its line takes the square of it: hours here."""
    assert not CountedText(text).defines("area")


@each(
    ("path", "role"),
    [
        ("tests/test_a.py", Role.TEST),
        ("src/a_test.go", Role.TEST),
        ("web/a.spec.ts", Role.TEST),
        ("src/FooTest.java", Role.TEST),
        ("src/Shop.Tests/Cart.cs", Role.TEST),
        ("ShopTests/Cart.swift", Role.TEST),
        ("core/src/commonTest/kotlin/Cart.kt", Role.TEST),
        ("t/cart.t", Role.TEST),
        ("features/cart.feature", Role.TEST),
        ("features/step_definitions/cart.rb", Role.TEST),
        ("_tutorials/cart.html", Role.DOCUMENTATION),
        ("docs/a.md", Role.DOCUMENTATION),
        ("man/shop.1.in", Role.DOCUMENTATION),
        ("completions/_shop", Role.DOCUMENTATION),
        ("assets/completions/shop.fish", Role.DOCUMENTATION),
        ("assets/Shop.sublime-syntax", Role.DATA),
        ("package-lock.json", Role.GENERATED),
        ("Cargo.lock", Role.GENERATED),
        ("Makefile", Role.BUILD),
        ("web/vite.config.ts", Role.BUILD),
        ("shop.gemspec", Role.BUILD),
        ("vendor/x/a.go", Role.VENDORED),
        ("dist/app.js", Role.GENERATED),
        ("app.min.js", Role.GENERATED),
        ("LICENSE", Role.LEGAL),
        ("examples/a.py", Role.EXAMPLE),
        ("src/Shop.Benchmarks/Run.cs", Role.EXAMPLE),
        ("benches/run.rs", Role.EXAMPLE),
        ("index.d.cts", Role.EXPORTS),
    ],
)
def test_names_tell_what_files_are_for(path: str, role: Role) -> None:
    assert role in roles(path, parse("connection pool"), older_versions([path]))


@each(
    "path",
    [
        "src/contest.py",
        "latest.py",
        "src/changeset.ex",
        "attestation/a.go",
        "docker.py",
        "Latest/a.cs",
        "src/completion/fish.rs",
        "src/clock.py",
        "src/features/cart.py",
    ],
)
def test_names_that_only_look_like_it_have_no_role(path: str) -> None:
    assert roles(path, parse("connection pool"), older_versions([path])) == ()


_LISTS = {
    "pkg/__init__.py": '"""A shop.\n'
    "\n"
    "With a cart.\n"
    '"""\n'
    "\n"
    "from .cart import Cart\n"
    "from .pool import (\n"
    "    Pool,\n"
    ")\n"
    "\n"
    "__all__ = [\n"
    '    "Cart",\n'
    '    "Pool",\n'
    "]\n"
    '__version__ = "1.0"\n',
    "src/index.js": "'use strict';\n"
    "// all\n"
    "module.exports = {\n"
    "  cart: require('./cart'),\n"
    "  pool: require('./pool')\n"
    "};\n"
    "exports.all = require('./all');\n",
    "src/index.ts": "export * from './cart';\n"
    "export {\n"
    "  Pool,\n"
    "  type Size as PoolSize,\n"
    "} from './pool';\n"
    "export type { A } from './a';\n",
    "src/shop/mod.rs": "//! A shop.\n"
    "\n"
    "mod cart;\n"
    "pub mod pool;\n"
    "\n"
    "#[cfg(test)]\n"
    "mod tests;\n"
    "\n"
    "pub use self::cart::{\n"
    "    Cart,\n"
    "    Item,\n"
    "};\n"
    "pub(crate) use pool::Pool;\n",
}
_PROGRAMS = {
    "pkg/__init__.py": "import os\n"
    "\n"
    "\n"
    "class Pool:\n"
    "    def __init__(self, size):\n"
    "        self.size = size\n"
    "        self.free = []\n"
    "\n"
    "    def take(self):\n"
    "        return self.free.pop() if self.free else os.open('x', 0)\n",
    "src/index.js": "var net = require('net');\n"
    "\n"
    "function Pool(size) {\n"
    "  this.size = size;\n"
    "  this.free = [];\n"
    "}\n"
    "\n"
    "Pool.prototype.take = function () {\n"
    "  return this.free.pop() || net.connect();\n"
    "};\n"
    "\n"
    "module.exports = Pool;\n",
    "src/index.ts": "import { connect } from './net';\n"
    "\n"
    "export function take(pool: Pool): Socket {\n"
    "  if (pool.free.length) {\n"
    "    return pool.free.pop()!;\n"
    "  }\n"
    "  return connect(pool.size);\n"
    "}\n",
    "src/shop/mod.rs": "use std::io;\n"
    "\n"
    "pub struct Pool {\n"
    "    size: usize,\n"
    "}\n"
    "\n"
    "impl Pool {\n"
    "    pub fn take(&self) -> io::Result<()> {\n"
    "        if self.size == 0 {\n"
    "            return Err(io::Error::last_os_error());\n"
    "        }\n"
    "        Ok(())\n"
    "    }\n"
    "}\n",
    "pkg/mock/server.go": "package mock\n"
    "\n"
    "// Server answers.\n"
    "type Server struct{}\n"
    "\n"
    "func (s *Server) Run() error {\n"
    "\treturn nil\n"
    "}\n",
    "numpy/testing/utils.py": "def assert_equal(a, b):\n    if a != b:\n        raise AssertionError\n",
    "lib/mocks/index.js": "function mock(a) {\n  if (!a) {\n    return null;\n  }\n  return a.b;\n}\n",
}
_TESTS = {
    "pkg/mock/server_helpers.go": "package mock\n\nfunc TestRun(t *testing.T) {\n}\n",
    "pkg/testing/pool.py": "import pytest\n\n\ndef test_pool():\n    assert 1\n",
    "src/mocks/pool.ts": "describe('pool', () => {\n  it('takes', () => {});\n});\n",
}


@pytest.mark.parametrize(("path", "text"), _LISTS.items())
def test_a_list_of_exports_is_known_by_its_text(path: str, text: str) -> None:
    assert confirmed(path, CountedText(text)) == (Role.EXPORTS,)


@each(("path", "text"), _PROGRAMS.items())
def test_a_program_has_no_role_whatever_its_name(path: str, text: str) -> None:
    shown = confirmed(path, CountedText(text))
    assert roles(path, parse("connection pool"), older_versions([path]), shown=shown) == ()


@pytest.mark.parametrize(("path", "text"), _TESTS.items())
def test_tests_in_a_folder_of_a_program_are_tests_unless_they_are_asked_for(path: str, text: str) -> None:
    shown = confirmed(path, CountedText(text))
    assert roles(path, parse("connection pool"), older_versions([path]), shown=shown) == (Role.TEST,)
    assert roles(path, parse("mock of the pool"), older_versions([path]), shown=shown) == ()


@pytest.mark.parametrize("path", ["tests/a.py", "src/__mocks__/a.js", "fixtures/a.json", "pool_test.go"])
def test_a_question_for_mocks_asks_for_tests(path: str) -> None:
    assert Role.TEST not in roles(path, parse("mock server"), older_versions([path]))


def test_a_guide_below_documentation_is_no_example() -> None:
    found = roles("docs/_tutorials/a.md", parse("connection pool"), older_versions([]))
    assert found == (Role.DOCUMENTATION,)


@pytest.mark.parametrize(
    ("question", "is_asked"),
    [("How do I open a connection pool", True), ("how to pool", True), ("how does it pool", False)],
)
def test_guides_are_asked_how_to_do_something(question: str, is_asked: bool) -> None:
    assert (roles("guide/pool.md", parse(question), older_versions([])) == ()) == is_asked


def test_older_versions_are_told_by_what_stands_beside_them() -> None:
    is_older = older_versions(
        ["api/v1/a.py", "api/v2/a.py", "pkg/v1/x.py", "pkg/v1/y.py", "pkg/x.py", "pkg/y.py"]
    )
    assert is_older("api/v1/a.py")
    assert not is_older("api/v2/a.py")
    assert is_older("pkg/v1/x.py")


def test_what_questions_are_made_of_is_not_looked_for() -> None:
    words = [term.word for term in parse("how is it decided what happens when a pool comes again").terms]
    assert words == ["pool"]


def test_of_long_questions_the_title_and_the_longest_words_are_looked_for() -> None:
    text = "\n".join(f"word{letter}{other}" * 2 for letter in "abcdefghij" for other in "klmnop")
    query = parse("connection lost\n" + text)
    assert len(query.terms) == MAX_TERMS
    assert {"connection", "lost"} <= {term.word for term in query.terms}
    assert query.left_out > 0


def test_of_a_pasted_log_neither_numbers_nor_what_all_lines_have_are_looked_for() -> None:
    beats = [f"2026-11-22T12:{at // 60:02}:{at % 60:02} INFO heartbeat node=abc{at}" for at in range(300)]
    beats += [f"{letter}{other}cd" for letter in "abcdefgh" for other in "klmnop"]
    beats[150] = "2026-11-22T12:02:30 ERROR cannot handle snapshot of version twelve"
    words = {term.word for term in parse("\n".join(beats)).terms}
    assert {"error", "handle", "snapshot", "version", "twelve"} <= words
    assert not words & {"heartbeat", "info", "2026", "node"}


def test_of_a_log_of_any_length_the_lines_unlike_others_are_read() -> None:
    beats = [f"2026-11-22T12:00:00 INFO served id=abcde{at:x}f path=/v{at}" for at in range(40_000)]
    query = parse("\n".join([*beats, "2026-11-22T13:00:00 ERROR throttle backlog exceeded"]))
    assert {"error", "throttle", "backlog", "exceeded"} <= {term.word for term in query.terms}


@pytest.mark.parametrize(
    "text", ["x" * 900_000, "a" * 900_000 + "x", "x." * 450_000, "x y\n" * 30_000, "é-" * 450_000]
)
def test_a_question_without_an_end_is_read_from_near(text: str) -> None:
    """Whatever looks for numbers in it must not take the square of a run: hours here."""
    assert parse(text).terms


_FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "src/door.py", "tests/door.py", "c/key.md"]),
    st.text("dorkey _\n", max_size=80),
    min_size=1,
)


@given(_FILES, st.sampled_from(["door", "key door", "open_door", "dor key doors"]))
def test_scores_do_not_depend_on_the_order_of_files(files: dict[str, str], question: str) -> None:
    query = parse(question)

    def ranked(names: list[str]) -> list[tuple[str, float]]:
        texts = {path: CountedText(files[path]) for path in names}
        looks = [glance(query, NameHints(query), path, path, texts[path]) for path in names]
        glimpses = [glimpse for glimpse in looks if glimpse is not None]
        scale = Scale(query, glimpses, len(files), sum(map(len, files.values())))
        best = BestFirst(scale, glimpses, lambda glimpse: count(query, glimpse, texts[glimpse.path]))
        return [(file.path, file.score) for file in best.first(len(files))]

    assert ranked(sorted(files)) == ranked(sorted(files, reverse=True))


@pytest.mark.parametrize(
    ("language", "text", "starts"),
    [
        ("haskell", "import A\n\n-- | Opens it.\nopen :: Int -> Int\nopen x = x\n", [1, 3]),
        ("ruby", "class A\n  def a\n    1\n  end\n\n  sig { void }\n  def b\n    2\n  end\nend\n" * 9, [1]),
        ("python", "import a\n\n# about f\n@deco\ndef f():\n    pass\n", [1, 3]),
    ],
)
def test_what_stands_directly_above_a_definition_belongs_to_it(
    language: str, text: str, starts: list[int]
) -> None:
    """And what only closes something to the part above, so that no part is a mere `end`."""
    lines = text.split("\n")[:-1]
    parts = cut(lines, build(text, language, Deadline()).items)
    assert [part.first for part in parts][: len(starts)] == starts
    for part in parts:
        own = [line.strip() for line in lines[part.first - 1 : part.last] if line.strip()]
        assert own[0] != "end"
        assert not own[-1].startswith(("#", "sig", "--"))
