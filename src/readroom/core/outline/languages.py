"""Detect the language of a text: by suffix, by file name, or by the first line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from readroom.core.values.listings import Folds


class Language(Struct, frozen=True):
    """A language whose texts have an outline.

    Attributes:
        name: Its name in replies.
        grammar: The module in `grammars`, and the name in it; empty if its outline is made by lines, with a
            function of `markup`, `blocks` or `html`.
        suffixes: Suffixes of its files, in lower case.
        names: Names of its files, in lower case.
        programs: Programs after `#!`, without their version.
        is_data: Whether its outline is shown only on request: a window of data already shows what follows.
    """

    name: str
    grammar: str = ""
    suffixes: str = ""
    names: str = ""
    programs: str = ""
    is_data: bool = False


# fmt: off
LANGUAGES = (
    Language("python", "python:GRAMMAR", suffixes="py pyi pyw bzl star",
             names="sconstruct sconscript", programs="python pypy"),
    Language("javascript", "javascript:JAVASCRIPT",
             suffixes="js mjs cjs jsx jsm es6", programs="node nodejs bun deno"),
    Language("typescript", "javascript:TYPESCRIPT", suffixes="ts mts cts"),
    Language("tsx", "javascript:TSX", suffixes="tsx"),
    Language("go", "go:GRAMMAR", suffixes="go"),
    Language("rust", "rust:GRAMMAR", suffixes="rs"),
    Language("java", "java:GRAMMAR", suffixes="java"),
    Language("c", "c:C", suffixes="c h"),
    Language("cpp", "c:CPP", suffixes="cc cpp cxx c++ hpp hh hxx h++ ipp inl ino cu cuh"),
    Language("c_sharp", "csharp:GRAMMAR", suffixes="cs csx"),
    Language("ruby", "ruby:GRAMMAR", suffixes="rb rake gemspec ru rbw",
             names="rakefile gemfile guardfile podfile vagrantfile fastfile capfile brewfile dangerfile",
             programs="ruby jruby"),
    Language("php", "php:GRAMMAR", suffixes="php php3 php4 php5 php7 phtml", programs="php"),
    Language("kotlin", "kotlin:GRAMMAR", suffixes="kt kts", programs="kotlin"),
    Language("swift", "swift:GRAMMAR", suffixes="swift", programs="swift"),
    Language("scala", "scala:GRAMMAR", suffixes="scala sc sbt", programs="scala"),
    Language("lua", "lua:GRAMMAR", suffixes="lua", programs="lua luajit texlua"),
    Language("bash", "bash:GRAMMAR", suffixes="sh bash zsh ksh ebuild bats",
             names=".bashrc .bash_profile .profile .zshrc .zprofile pkgbuild",
             programs="sh bash dash ash ksh zsh"),
    Language("markdown", suffixes="md markdown mdx mkd mdown rmd qmd"),
    Language("json", suffixes="json jsonc json5 geojson webmanifest har jsonld topojson avsc",
             names=".babelrc .eslintrc .prettierrc composer.lock pipfile.lock flake.lock", is_data=True),
    Language("toml", suffixes="toml", names="pipfile cargo.lock poetry.lock uv.lock", is_data=True),
    Language("yaml", suffixes="yaml yml", names=".clang-format .clang-tidy", is_data=True),
    Language("css", "css:GRAMMAR", suffixes="css"),
    Language("html", suffixes="html htm xhtml"),
    Language("dart", "dart:GRAMMAR", suffixes="dart"),
    Language("elixir", "elixir:GRAMMAR", suffixes="ex exs"),
    Language("zig", "zig:GRAMMAR", suffixes="zig zon"),
    Language("haskell", "haskell:GRAMMAR", suffixes="hs"),
    Language("vue", "components:GRAMMAR", suffixes="vue"),
    Language("svelte", "components:GRAMMAR", suffixes="svelte"),
    Language("dockerfile", suffixes="dockerfile containerfile", names="dockerfile containerfile"),
    Language("makefile", suffixes="mk mak make",
             names="makefile gnumakefile bsdmakefile makefile.am makefile.in"),
    Language("protobuf", suffixes="proto"),
    Language("sql", suffixes="sql ddl"),
    Language("terraform", suffixes="tf tfvars hcl"),
)
# fmt: on
"""All of them: a new one is a row here and its module in `grammars`."""


def _each(words: Callable[[Language], str]) -> Mapping[str, str]:
    return MappingProxyType({word: row.name for row in LANGUAGES for word in words(row).split()})


SUFFIXES = _each(lambda row: row.suffixes)
NAMES = _each(lambda row: row.names)
INTERPRETERS = _each(lambda row: row.programs)

DATA = frozenset(row.name for row in LANGUAGES if row.is_data)

_HEADERS = Folds(lesser=frozenset({"macro"}), runs=True)
_KEYS = Folds(nested=True)
FOLDS: Mapping[str, Folds] = MappingProxyType(
    {"c": _HEADERS, "cpp": _HEADERS, **dict.fromkeys(sorted(DATA), _KEYS)}
)
"""What an outline folds if it is still too long without minor items: headers have hundreds of macros and
functions, data have nested keys."""

_VARIANTS = ("dockerfile.", "containerfile.")
"""Beginnings of file names that have a variant as their suffix."""

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z+-]+)")
_XML = re.compile(r"\ufeff?\s*<(?:\?xml|!DOCTYPE)\b")
_CPP_HEADER = re.compile(
    r"^\s*(?:class\s+\w|namespace\b|template\s*<|using\s+\w|public:|private:|protected:)", re.MULTILINE
)


def language_of(path: str, head: str) -> str | None:
    """The language of a text with this path and beginning; None if it is unknown."""
    name = path.rpartition("/")[2].lower()
    language = NAMES.get(name) or NAMES.get(name.partition(".")[0] if name.startswith(_VARIANTS) else "")
    if language is None and "." in name:
        language = SUFFIXES.get(name.rpartition(".")[2])
    if language in (None, "bash") and head.startswith("#!"):
        # Programs in other languages have the suffix `.sh` too.
        program = _SHEBANG.match(head)
        language = INTERPRETERS.get(program[1].lower(), language) if program else language
    if language == "typescript" and _XML.match(head):
        return None  # Qt Linguist translations, which share the suffix
    if language == "c" and name.endswith(".h") and _CPP_HEADER.search(head):
        return "cpp"
    return language
