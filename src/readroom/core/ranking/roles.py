"""The role of a file as its name suggests it: test, documentation, generated, older version and so on.

Some names suggest a role that only the text can confirm: `index.js` may list exports or be the program.

Files with a role come after the others, unless the question asks for that role.  None is left out: where
all matching files have a role, it does not affect their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType

from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.query import Query


class Role(StrEnum):
    """A reason to rank a file after others."""

    TEST = "test"
    EXAMPLE = "example"
    DOCUMENTATION = "documentation"
    LEGAL = "licence or history"
    DATA = "settings or data"
    BUILD = "build script"
    GENERATED = "generated"
    VENDORED = "vendored"
    LEGACY = "deprecated"
    OLDER = "older version"
    EXPORTS = "list of exports"


def _words(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_PATTERNS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    (
        Role.TEST,
        _words(
            r"(?:^|/)(?:tests?|specs?|__tests__|__mocks__|testdata|testsuites?|test[-_]data|fixtures?"
            r"|e2e|features/(?:step_definitions|support)|[\w.-]+[-_.]tests?)/"
            r"|(?:^|/)(?:test_|tests?\.|conftest)[^/]*\Z|[^/](?:[-_.](?:tests?|spec))\.[^/]*\Z|\.(?:t|feature)\Z"
        ),
    ),
    # `Shop.Tests/`, `ShopTests/`, `commonTest/`, but not `Latest/`.
    (Role.TEST, re.compile(r"[a-z0-9.](?:Tests?|Specs?)/")),
    (Role.TEST, re.compile(r"[a-z0-9](?:Tests?|Spec|IT|TestCase)\.(?:java|kt|scala|cs|swift|php|groovy)\Z")),
    (
        Role.EXAMPLE,
        _words(
            r"(?:^|/)_?(?:(?:[\w.-]+[-_.])?(?:examples?|samples?|demos?|benchmarks?)"
            r"|playground|bench|benches)/"
        ),
    ),
    (Role.VENDORED, _words(r"(?:^|/)(?:vendor|vendored|_vendor|third[-_]party|node_modules|site-packages)/")),
    (
        Role.GENERATED,
        _words(
            r"(?:^|/)(?:dist|build|out|generated|__generated__|gen|locales?|i18n|translations)/"
            r"|[-_.](?:min|bundle|generated|pb|pb2|pb2_grpc)\.[a-z]+\Z|\.(?:map|snap|po|pot|lock)\Z"
            r"|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.ya?ml|go\.sum)\Z"
        ),
    ),
    (Role.LEGACY, _words(r"(?:^|/)_?(?:deprecated|legacy|compat|obsolete|attic)(?:/|\.|\Z)")),
    (
        Role.LEGAL,
        re.compile(
            r"(?:^|/)(?:LICEN[CS]ES/|(?:LICEN[CS]E|NOTICE|COPYING|CHANGELOG|ChangeLog|CHANGES|HISTORY|AUTHORS"
            r"|NEWS|CONTRIBUTORS)(?:[-.][^/]*)?\Z)"
        ),
    ),
    (
        Role.DOCUMENTATION,
        _words(
            r"(?:^|/)(?:docs?|documentation|docs?_src|man|manual|_?tutorials?)/|(?:^|/)readme[^/]*\Z"
            r"|\.(?:md|mdx|markdown|rst|rdoc|adoc|txt|html?|org|pod|tex|pdf|docx?|epub|odt|rtf|man|[1-9])(?:\.in)?\Z"
            # Shell completions repeat the help of every option.
            r"|(?:^|/)complet(?:e|ions?)/(?:\w+/)?(?:_[^/]*|[^/]*\.(?:bash|fish|zsh|elv|nu|ps1)(?:\.in)?)\Z"
        ),
    ),
    (
        Role.DATA,
        _words(
            r"\.(?:jsonl?|json5|ya?ml|toml|cfg|ini|conf|xml|csv|tsv|properties|svg|log|sum|ipynb|plist"
            r"|sublime-syntax|tmlanguage|tmtheme)\Z"
        ),
    ),
    (
        Role.BUILD,
        _words(
            r"(?:^|/)(?:(?:gnu)?makefile|cmakelists\.txt|rakefile|gemfile|(?:gulp|grunt|vagrant|jenkins|docker)file"
            r"|setup\.py|configure\.ac)(?:\.[^/]*)?\Z"
            r"|\.(?:gemspec|podspec|nuspec|csproj|fsproj|vbproj|vcxproj|sln|gradle|cmake|mk)\Z"
            r"|[^/]\.(?:config|conf)\.[cm]?[jt]s\Z|\.gradle\.kts\Z"
        ),
    ),
    (Role.EXPORTS, re.compile(r"(?:^|/)(?:package-info\.java|[^/]*\.d\.[cm]?ts)\Z")),
)

ASIDE = frozenset({Role.TEST, Role.EXAMPLE, Role.DOCUMENTATION, Role.LEGAL, Role.DATA, Role.GENERATED})
"""Roles of text that is no part of the program. On a page it comes after all of that."""

_READ_CHARS = 20_000
"""Characters at the beginning of a text that say whether it confirms what its name suggests."""

_PROSE = re.compile(
    r"\"{3}[\s\S]*?(?:\"{3}|\Z)|'{3}[\s\S]*?(?:'{3}|\Z)|/\*[\s\S]*?(?:\*/|\Z)|^[ \t]*(?://|#(?!include|define)).*",
    re.MULTILINE,
)
_LISTED = re.compile(
    r"(?:pub(?:\([^)]*\))?\s+)?(?:use|mod|extern\s+crate)\b[^{]*(?:\{.*)?|(?:from|import|package)\b.*"
    r"|export\s*(?:\*|\{|type\b\s*[*{]|default\s+\w+\s*;?\Z).*|__(?:all|version|author|path)\w*__\b.*"
    r"|(?:(?:module\.)?exports\b|(?:const|let|var)\b).*\brequire\(.*|module\.exports\s*=\s*[\w{].{0,40}"
    r"|(?:type\s+)?[\"']?[\w$.:*-]+[\"']?(?:\s+as\s+\w+)?(?:\s*,\s*[\w$.:*\"'-]+)*,?|\}?\s*from\b.*|[\W_]+"
    r"|[\"']?[\w$]+[\"']?\s*:\s*require\(.*|[\"']use \w+[\"'];?|if\s+(?:typing\.)?TYPE_CHECKING:"
)
"""A line of a file that lists what others define; names alone on their lines are such a list."""

_TESTED = re.compile(
    r"^[ \t]*(?:(?:async\s+)?def\s+test_|class\s+\w*Tests?\b"
    r"|func\s+(?:Test|Benchmark|Fuzz)[A-Z_]|@(?:Test|pytest)\b"
    r"|#\[(?:\w+::)?test\b|(?:describe|it|test)\(|TEST(?:_[FP])?\(|\[(?:Fact|Test\w*|Theory)\])",
    re.MULTILINE,
)


def _lists_exports(text: str) -> bool:
    lines = [line.strip() for line in _PROSE.sub("", text[:_READ_CHARS]).split("\n")]
    lines = [line for line in lines if line]
    listed = sum(_LISTED.fullmatch(line) is not None for line in lines)
    return listed * 3 >= len(lines) * 2


_NOTED_CHARS = 1000
"""Characters at the beginning of a text in which a generator leaves its note."""

_NOTE = re.compile(
    r"^\W*(?:@generated\b|(?:this (?:file|code) (?:is|was|has been) )?(?:\w+ )?"
    r"(?:auto(?:matically)?[- ]?)?generated (?:by|from|with|using|file|code)\b|.*\bdo not (?:edit|modify)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def _says_generated(text: str) -> bool:
    """Whether the comment that a text begins with says that a program wrote it."""
    head = text[:_NOTED_CHARS]
    return ("enerated" in head or "GENERATED" in head) and _NOTE.search(head) is not None


def _has_tests(text: str) -> bool:
    return _TESTED.search(text, 0, _READ_CHARS) is not None


_CONFIRMED: tuple[tuple[Role, re.Pattern[str], Callable[[str], bool]], ...] = (
    (
        Role.EXPORTS,
        re.compile(r"(?:^|/)(?:__init__\.pyi?|index\.[cm]?[jt]sx?|mod\.rs)\Z"),
        _lists_exports,
    ),
    (Role.TEST, _words(r"(?:^|/)(?:mocks?|testing)/"), _has_tests),
)
"""Roles that a name suggests and the text must confirm: a program may offer a folder `mock` or `testing`."""


def confirmed(place: str, text: CountedText) -> Sequence[Role]:
    """The roles that a file has by its text, most of them only with a certain name."""
    generated = (Role.GENERATED,) if text.is_dense or _says_generated(text.folded) else ()
    named = [role for role, pattern, is_so in _CONFIRMED if pattern.search(place) and is_so(text.folded)]
    return (*generated, *named)


_ASKED: Mapping[Role, tuple[str, ...]] = MappingProxyType(
    {
        Role.TEST: ("test", "spec", "fixtur", "mock", "stub", "fake"),
        Role.EXAMPLE: ("exampl", "sampl", "demo", "benchmark", "bench"),
        Role.DOCUMENTATION: ("doc", "docs", "document", "readm", "guid", "tutori", "manual"),
        Role.LEGAL: ("licens", "licenc", "changelog", "author", "notic", "copyright"),
        Role.DATA: ("config", "configur", "set", "json", "yaml", "toml", "csv", "log", "data"),
        Role.BUILD: ("build", "instal", "packag", "compil", "make", "depend", "docker"),
        Role.GENERATED: ("generat", "locale", "local", "translat", "i18n"),
        Role.VENDORED: ("vendor", "depend"),
        Role.LEGACY: ("deprec", "legaci", "compat"),
    }
)
"""Stems by which a question asks for a role."""

_VERSION = re.compile(r"(?:^|/)v(\d+)(?=/)")


def roles(
    path: str, query: Query, older: Callable[[str], bool], *, shown: Iterable[Role] = ()
) -> tuple[Role, ...]:
    """The roles of a file that the question does not ask for.

    Args:
        path: Relative to the root.
        query: The question.
        older: Whether a path belongs to an older version; of `older_versions`.
        shown: The roles that its text shows; in documents, long lines are paragraphs.
    """
    matching = dict.fromkeys(role for role, pattern in _PATTERNS if pattern.search(path))
    if Role.DOCUMENTATION not in matching:
        matching |= dict.fromkeys(shown)
    if older(path):
        matching[Role.OLDER] = None
    if query.asks_how_to:
        matching.pop(Role.DOCUMENTATION, None)
    return tuple(role for role in matching if not query.asks_for(*_ASKED.get(role, ())))


def may_be_repeated(path: str) -> bool:
    """Whether the name of a file says that its text may be in other files as well, whatever is asked."""
    return any(role in _REPEATED and pattern.search(path) for role, pattern in _PATTERNS)


_REPEATED = frozenset({Role.DOCUMENTATION, Role.LEGAL, Role.GENERATED})


def are_tests(names: Sequence[str], query: Query) -> bool:
    """Whether qualified names, the outermost first, suggest that a definition is a test.

    As Rust has them, `mod tests` in the very file; a question may ask for them.
    """
    inside = any(name in _TEST_MODULES for name in names[:-1])
    of_itself = names[-1:] == ("tests",) or any(name.startswith("test_") for name in names)
    return (inside or of_itself) and not query.asks_for(*_ASKED[Role.TEST])


_TEST_MODULES = frozenset({"test", "tests"})
"""Names of modules with tests. As the last name, `test` is as often a function of the program."""


def older_versions(paths: Iterable[str]) -> Callable[[str], bool]:
    """A predicate for paths in a folder like `v1` that a later version, or its parent, replaces.

    A folder is replaced by the one around it when that has files of the same names: `pkg/v1/main.py` and
    `pkg/main.py`.
    """
    paths = list(paths)
    if not any(map(_VERSION.search, paths)):
        return lambda path: False
    versions: dict[str, set[int]] = {}
    names: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, set()).add(name)
        for match in _VERSION.finditer(path):
            versions.setdefault(path[: match.start()], set()).add(int(match[1]))
    known: dict[str, bool] = {}

    def is_older(path: str) -> bool:
        for match in _VERSION.finditer(path):
            above, own = path[: match.start()], path[: match.end()]
            if own not in known:
                shared = len(names.get(own, set()) & names.get(above, set()))
                known[own] = max(versions[above]) > int(match[1]) or shared >= max(
                    _TWINS, len(names.get(own, ())) // 3
                )
            if known[own]:
                return True
        return False

    return is_older


_TWINS = 2
"""Files of the same name, and a third of all, that make one folder a version of another."""
