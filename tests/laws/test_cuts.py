"""Bodies that are not parsed change no outline: each definition that a parse of everything finds is in the
outline, at the same lines, or the outline says that it is uncertain.
"""

from __future__ import annotations

import random
from pathlib import Path

from readroom.core.deadline import Deadline
from readroom.core.outline import build
from readroom.core.outline.languages import language_of
from readroom.core.values.files import Outline, rows
from tests.core.outline.outlining import SAMPLES, text_of
from tests.each import each

_C = [
    "/* a",
    "*/",
    "/* b */",
    "// c",
    "// d */ e",
    'f = "/*";',
    'g = "}";',
    'h = "{";',
    "i = '\"';",
    'j = "\\"";',
    "k = 'l';",
]
_C += [
    "if (m) {",
    "}",
    "  }",
    "n(1, 2, 3);",
    "n(1, 2, 3); more(4, 5, 6);",
    "// don't",
    "o = p / q;",
    'r = "s \\',
    "}",
]
_DIRECTIVES = ["#if 0", "#else", "#endif", "#define T {", "#define U }"]
_BACKTICKS = [
    "v = `",
    "`;",
    "w = `x`;",
    "// y ` z",
    "aa = `${bb}` + '`';",
    'cc = "`";',
    "dd = /`/;",
    "ee = `}`;",
    "ff = '}';",
]
_TRIPLE = ['gg = """', '"""', '// """ hh', 'ii = """jj"""', 'kk = "\\"\\"\\""']
_SPANNING = ['ll = "mm', 'nn";', '// "', 'oo = "pp";', 'qq = "rr" + "ss";']

_PYTHON = ["    '''", '    """', '    """one"""', "    # ''' a", "    x = \"'''\"", '    y = \'"""\'']
_PYTHON += ["    z = (", "    )", "    v = ')'", "    call(1, 2, 3)", "    call(1, 2, 3); more(4, 5)"]
_PYTHON += ["'''", '"""', '    w = """', '    u = "(" # )', "    t = 's \\"]

_LANGUAGES: dict[str, tuple[str, str, list[str]]] = {
    "c": ("int NAME(int a)\n{", "}", _C + _DIRECTIVES),
    "cpp": ("int NAME(int a) {", "}", [*_C, *_DIRECTIVES, 'tt = R"(', ')";']),
    "go": ("func NAME(a int) {", "}", _C + _BACKTICKS),
    "java": ("  int NAME(int a) {", "  }", _C + _TRIPLE),
    "javascript": ("function NAME(a) {", "}", _C + _BACKTICKS),
    "typescript": ("export function NAME(a: number): number {", "}", _C + _BACKTICKS),
    "kotlin": ("fun NAME(a: Int): Int {", "}", _C + _TRIPLE),
    "swift": ("func NAME(a: Int) -> Int {", "}", _C + _TRIPLE + _DIRECTIVES),
    "rust": ("fn NAME(a: u8) -> u8 {", "}", [*_C, *_SPANNING, 'uu = r"\\";', "let v: &'static str = 1;"]),
    "php": ("function NAME($a)\n{", "}", [*_C, *_SPANNING, "$w = <<<X", "X;", "$x = 'it\\'s';", "# '"]),
    "python": (
        "def NAME(a):",
        "",
        _PYTHON,
    ),
}


def _text(rng: random.Random, language: str) -> str:
    head, end, lines = _LANGUAGES[language]
    parts = []
    for name in ("one", "two", "three", "four")[: rng.randint(2, 4)]:
        chosen = rng.choices(lines, k=rng.randint(0, 3))
        body = [rng.choice(["  ", ""]) * (language != "python") + line for line in chosen]
        body += ["  n(1, 2, 3); more(4, 5, 6);" if end else "    call(1, 2, 3)"] * rng.randint(0, 2)
        rng.shuffle(body)
        parts.append("\n".join([head.replace("NAME", name), *body, end, ""]))
    around = {"php": "<?php\n{}", "java": "class A {{\n{}\n}}\n"}.get(language, "{}")
    return around.format("\n".join(parts))


def _whole(text: str, language: str) -> Outline:
    """Its outline where bodies are so small a share of a text that all of it is parsed."""
    padding = f"{'#' if language == 'python' else '//'} padding padding padding padding\n" * (len(text) // 3)
    return build(f"{padding}\n{text}", language, Deadline(60))


def _places(outline: Outline, above: int = 0) -> set[tuple[str, int, int]]:
    return {(row.name, row.item.start - above, row.item.end - above) for row in rows(outline.items)}


@each("language", _LANGUAGES)
def test_no_quote_hides_a_definition_or_makes_one(language: str) -> None:
    rng = random.Random(language)
    parsed = 0
    for _ in range(1_000):
        text = _text(rng, language)
        whole = _whole(text, language)
        if whole.partial is None:
            parsed += 1
            outline = build(text, language, Deadline(60))
            assert outline.partial or _places(outline) == _places(whole, len(text) // 3 + 1), text
    assert parsed > 10


_STRAY = """{0} a() {{
  x = 1; // a stray ` in a comment, balanced later on in this text
  s = `
}}

{0} fake() {{
  z =
`
  q = s; // again `
  return x;
}}

{0} b() {{
  return 2;
}}
"""
_IN_STRINGS = """{0} a() {{
  if (x) {{
    s = "}}"; more(1, 2, 3);
}}
{0} b() {{
  s = "{{"; more(1, 2, 3);
  }}
  more(1, 2, 3);
}}
"""
_NOT_COMPILED = "int a(int p) {\n  call(1, 2, 3);\n#if 0\n}\nint fake(int q) {\n  call(1, 2);\n#endif\n}\n"
_CRAFTED = [
    ("javascript", _STRAY.format("function")),
    ("typescript", _STRAY.format("function")),
    ("go", _STRAY.format("func")),
    ("javascript", _IN_STRINGS.format("function")),
    ("kotlin", _IN_STRINGS.format("fun").replace("if (x)", "run")),
    ("c", _NOT_COMPILED),
    ("rust", 'fn a() {\n  let x = 1; // "\n  let s = "\n}\nfn fake() {\n"; let q = 2; // "\n  call();\n}\n'),
    ("javascript", 'function a() {\n  s = "*/"; /*\n}\nfunction f() {\n  z = "/*" */\n  call(1, 2, 3);\n}\n'),
]


@each(("language", "text"), _CRAFTED)
def test_balanced_counts_of_quotes_prove_nothing(language: str, text: str) -> None:
    whole, outline = _whole(text, language), build(text, language, Deadline(60))
    assert outline.partial or _places(outline) == _places(whole, len(text) // 3 + 1)
    assert outline.partial or whole.partial is None


@each("path", SAMPLES, ids=lambda path: path.name)
def test_real_code_has_the_definitions_of_a_full_parse(path: Path) -> None:
    text = text_of(path)
    language = language_of(str(path), text)
    if language not in _LANGUAGES or text.startswith(("#!", "\ufeff")):
        return
    whole, outline = _whole(text, language), build(text, language, Deadline(60))
    assert outline.partial or _places(outline) == _places(whole, len(text) // 3 + 1)
