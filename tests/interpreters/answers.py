"""Print the answers of the modules that use patterns to generated texts: one line for each."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Iterator

from readroom.core.deadline import Deadline
from readroom.core.outline import Unparsable, build
from readroom.core.outline.grammars.macros import without_macros
from readroom.core.policy.rules.gitignore import PatternList
from readroom.core.policy.rules.gitignore import patterns as ignore_patterns
from readroom.lens.limits import Bounds
from readroom.lens.records.stream import Element, elements

_LINES = {
    "toml": [
        "[a]",
        "[ b ]",
        '["c d".e]',
        "[[f]]  # g",
        "h = 1",
        'i = """',
        '"""',
        "j = [",
        "]",
        "# k",
        "[ 'l' . m ]",
        "[n o",
    ],
    "yaml": [
        "a: 1",
        "b :",
        "  c: d",
        '"e\\"f": g',
        "'h' : i",
        "j k l: m",
        "n:o: p",
        "- q: r",
        "s: |",
        "    t: u",
        "# v",
        "-w: x",
        "---",
    ],
    "json": [
        '{"a": 1,',
        '"b\\"": {',
        '"c" : [1, {"d": 2}],',
        '"e": "f"',
        "}",
        "}",
        "// g",
        '"h": {"i": "j\\\\"},',
        "{}",
    ],
    "markdown": ["# a", "b", "===", "```", "## c ##", "~~~", "  # d", "e `f`", "---", "> # g", "1. h"],
    "python": [
        "class A:",
        "    def b(self, c=(1, (2, 3))):",
        "        return '''",
        "'''",
        "# d",
        "    # e",
        "def f():",
        "    return 1",
        "    x = 1",
        "",
        "   ",
        "(a, b) = 1, 2",
        "@g(1)",
        "    def h(self): pass",
        '    """',
        "        y = call(1, 2, 3)",
    ],
    "c": [
        "int a(int b) NORETURN;",
        "EXPORT int c(void) CONST_F {",
        "}",
        'DEFINE_FLAG(a, "b\\"");',
        "#if 0",
        "#endif",
        "struct d {",
        "    int e;",
        "};",
        "Q_OBJECT",
        "void f(char *g) __attribute_pure__ OTHER_MACRO(1) ;",
        "    call(1, 2, 3);",
        "enum h { I, J(1) = 2 };",
    ],
    "javascript": [
        "function a() {",
        "}",
        "  return `",
        "`",
        "const b = (c) => {",
        "  const d = 1, e = 2;",
        "class F {",
        "  g(h) {",
        "  }",
        "// i",
        "export default function () {",
        "const [j, k] = l;",
        "exports.m = function (n) {",
    ],
}
_JSON = [
    '{"a":',
    "[",
    "]",
    "}",
    '"b\\"c"',
    "1",
    ",",
    ":",
    '"a"',
    "{}",
    "[[1,2],{}]",
    '{"d":[e]}',
    "\\",
    " ",
    '"opts":[1,[2,3],{"a":[]}]',
]
_NAMES = ["a", "b", "*", "**", "?", "[ab]", "/", "!", ".", "*.a", "a*b*", "\\*"]


def _made(rng: random.Random, parts: list[str], between: str = "\n") -> str:
    return between.join(rng.choices(parts, k=rng.randint(1, 25)))


def _outline(rng: random.Random, language: str) -> str:
    try:
        return repr(build(_made(rng, _LINES[language]), language, Deadline(60)))
    except Unparsable as error:
        return repr(error)


def _record(rng: random.Random) -> str:
    document = _made(rng, _JSON, "").encode()
    if rng.random() < 0.7:
        document = json.dumps([[1, [2, 3], {"a": [[], {}]}, _made(rng, _JSON, "")] * 3, "d"]).encode()
    found = elements(io.BytesIO(document), len(document), Bounds(document_bytes=0))
    return repr([(one.key, one.value) if isinstance(one, Element) else repr(one) for one in found])


def _ignored(rng: random.Random) -> str:
    made = PatternList(ignore_patterns(_made(rng, _NAMES, rng.choice(["", "\n"])).split("\n")))
    names = ["".join(rng.choices("aab./", k=rng.randint(1, 8))) for _ in range(20)]
    return repr(
        [found and found.text for name in names if (found := made.deciding(name, folder=False)) or True]
    )


def _macros(rng: random.Random) -> str:
    return repr(without_macros(_made(rng, _LINES["c"]).encode()))


def answers() -> Iterator[str]:
    """Made from the same seed in every Python."""
    asked: list[Callable[[random.Random], str]] = [_record, _ignored, _macros]
    asked += (lambda rng, one=language: _outline(rng, one) for language in _LINES)  # type: ignore[misc]
    for ask in asked:
        rng = random.Random(1)
        for _ in range(80):
            yield ask(rng)


if __name__ == "__main__":
    for line in answers():
        print(line.replace("\n", " "))
