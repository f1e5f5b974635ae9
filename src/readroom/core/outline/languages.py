"""Detect the language of a text: by suffix, by file name, or by the first line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from readroom.core.values.listings import Folds


def _by_name(**names: str) -> Mapping[str, str]:
    table = {name: language for language, all_of in names.items() for name in all_of.split()}
    return MappingProxyType(table)


SUFFIXES = _by_name(
    python="py pyi pyw bzl star",
    javascript="js mjs cjs jsx jsm es6",
    typescript="ts mts cts",
    tsx="tsx",
    go="go",
    rust="rs",
    java="java",
    c="c h",
    cpp="cc cpp cxx c++ hpp hh hxx h++ ipp inl ino cu cuh",
    c_sharp="cs csx",
    ruby="rb rake gemspec ru rbw",
    php="php php3 php4 php5 php7 phtml",
    kotlin="kt kts",
    swift="swift",
    scala="scala sc sbt",
    lua="lua",
    bash="sh bash zsh ksh ebuild bats",
    markdown="md markdown mdx mkd mdown rmd qmd",
    json="json jsonc json5 geojson webmanifest har jsonld topojson avsc",
    toml="toml",
    yaml="yaml yml",
    css="css",
    html="html htm xhtml",
    dart="dart",
    elixir="ex exs",
    zig="zig zon",
    haskell="hs",
    vue="vue",
    svelte="svelte",
    dockerfile="dockerfile containerfile",
    makefile="mk mak make",
    protobuf="proto",
    sql="sql ddl",
    terraform="tf tfvars hcl",
)
"""Language by suffix, lower case."""

NAMES = _by_name(
    ruby="rakefile gemfile guardfile podfile vagrantfile fastfile capfile brewfile dangerfile",
    bash=".bashrc .bash_profile .profile .zshrc .zprofile pkgbuild",
    toml="pipfile cargo.lock poetry.lock uv.lock",
    yaml=".clang-format .clang-tidy",
    json=".babelrc .eslintrc .prettierrc composer.lock pipfile.lock flake.lock",
    python="sconstruct sconscript",
    dockerfile="dockerfile containerfile",
    makefile="makefile gnumakefile bsdmakefile makefile.am makefile.in",
)
"""Language by file name, lower case."""

INTERPRETERS = _by_name(
    python="python pypy",
    javascript="node nodejs bun deno",
    bash="sh bash dash ash ksh zsh",
    ruby="ruby jruby",
    php="php",
    lua="lua luajit texlua",
    kotlin="kotlin",
    scala="scala",
    swift="swift",
)
"""Language by the program after `#!`, without its version."""

DATA = frozenset({"json", "toml", "yaml"})
"""Languages whose outline is shown only on request: a window of data already shows what follows."""

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
