"""Real fixes as questions: the words of a commit's message ask, the lines that it changed answer.

Taken are commits that say they fix something, in words that say what (five different ones), and that
change at most four files and eighty lines of program text; the lines are those of the state before.
Tests, documentation, generated and vendored files answer nothing.  Which of them are taken is drawn
with a fixed seed; halves are settled by repository before the first run.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORIES = {
    "tuning": ("pallets+click", "BurntSushi+ripgrep", "axios+axios", "sinatra+sinatra", "redis+redis"),
    "check": ("caddyserver+caddy", "honojs+hono", "jqlang+jq", "google+gson", "pytest-dev+pytest"),
    "fresh": (
        *("junegunn+fzf", "rust-lang+mdBook", "jhy+jsoup", "vuejs+vitepress"),
        *("ninja-build+ninja", "encode+httpx", "jekyll+jekyll", "guzzle+guzzle"),
    ),
    "set": (
        *("tornadoweb+tornado", "gin-gonic+gin", "fmtlib+fmt", "sveltejs+svelte", "Homebrew+brew"),
        *("koreader+koreader", "junit-team+junit4", "everruns+everruns", "dart-lang+http"),
    ),
    "shown": (
        *("scrapy+scrapy", "prometheus+prometheus", "libuv+libuv", "vuejs+core", "phoenixframework+phoenix"),
        *("square+okhttp", "apache+commons-lang", "clap-rs+clap", "laravel+framework", "zigtools+zls"),
    ),
}
"""Thirty-seven projects in sixteen languages; the fresh ones were drawn after all weights were set, and pages
were made on `set` and shown on `shown`."""

CASES, _FEWER = 16, 10
"""Of each repository, and of each of those that pages were made and shown on."""

_LOOKED_AT = 3000
_FILES, _LINES, _WORDS, _CHARS, _SEED = 4, 80, 5, 600, 7

_CODE = re.compile(
    r"\.(py|rs|js|mjs|ts|tsx|vue|go|rb|c|h|java|cc|cpp|php|kt|swift|ex|exs|lua|zig|dart|svelte)$"
)
_ASIDE = re.compile(
    r"(^|/)(packages/[^/]*test[^/]*|tests?|__tests__|spec|specs|examples?|docs?|dist|vendor|deps|node_modules|testing|bench(mark)?s?|runtime-tests"
    r"|benchmarks|build|integration)/|(^|/)test_|_test\.|\.test\.|\.spec\.|Test\.(java|kt)|[a-z]Tests?/|\.exs$|conftest|CHANGELOG|\.min\."
    r"|\.d\.ts$",
    re.IGNORECASE,
)
_FIX = re.compile(r"\bfix|\bbug|crash|regression", re.IGNORECASE)
_OTHER = re.compile(
    r"typo|lint|changelog|readme|docs?\b|ci\b|flake|style|test|bump|build|warning|deps|release|version|revert"
    r"|format",
    re.IGNORECASE,
)
_TRAILERS = re.compile(
    r"(?im)^(signed-off-by|co-authored-by|reviewed-by|cc|see|closes?|fixes|refs?|pr-url)\b.*$"
)
_REFERENCES = re.compile(r"https?://\S+|\(?#\d+\)?")
_EMPTY = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "when",
        "not",
        "this",
        "that",
        "from",
        "into",
        "was",
        "are",
        "were",
        "has",
        "have",
        "had",
        "but",
        "its",
        "fix",
        "fixes",
        "fixed",
        "fixing",
        "bug",
        "issue",
        "error",
        "use",
        "used",
        "using",
        "should",
        "can",
        "may",
        "also",
        "only",
        "now",
        "which",
        "does",
        "did",
        "been",
    ]
)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))?")


@dataclass(frozen=True, slots=True)
class Case:
    """One fix: the question, and the lines of each file that it changed, in the state before."""

    repository: str
    half: str
    commit: str
    query: str
    gold: dict[str, list[int]]


def mined(clones: Path, kept: Path) -> list[Case]:
    """The cases, from `kept` if they stand there already; else mined and kept."""
    if kept.exists():
        return [Case(**one) for one in json.loads(kept.read_text(encoding="utf-8"))]
    cases = []
    for half, names in REPOSITORIES.items():
        for name in names:
            cases += _of_repository(clones / name / "repo", name, half)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([asdict(one) for one in cases], indent=1), encoding="utf-8")
    return cases


def _of_repository(clone: Path, name: str, half: str) -> list[Case]:
    fields = "--format=%H%x00%s%x00%b%x01"
    wanted = ("-i", "--extended-regexp", "--grep=fix|bug|crash|regression", f"-{_LOOKED_AT}")
    commits = []
    for record in _git(clone, "log", "--no-merges", fields, *wanted).split("\x01"):
        commit, *message = record.strip().split("\x00")
        if len(message) == 2 and _FIX.search(message[0]) and not _OTHER.search(message[0]):
            commits.append((commit, message[0], message[1]))
    random.Random(_SEED).shuffle(commits)
    found = []
    for commit, subject, body in commits:
        query, gold = _question(f"{subject}\n\n{body}"), changed(clone, commit)
        told = {word.lower() for word in re.findall(r"[A-Za-z]{3,}", query)} - _EMPTY
        if not gold or len(gold) > _FILES or sum(map(len, gold.values())) > _LINES or len(told) < _WORDS:
            continue
        found.append(Case(name, half, commit, query, gold))
        if len(found) == (_FEWER if half in ("set", "shown") else CASES):
            break
    return found


def _question(message: str) -> str:
    message = _REFERENCES.sub("", _TRAILERS.sub("", message))
    lines = (" ".join(line.split()) for line in message.strip().split("\n"))
    return "\n".join(line for line in lines if line)[:_CHARS]


def changed(clone: Path, commit: str) -> dict[str, list[int]]:
    """The lines of program text that a commit changed or stood behind, by file, in the state before."""
    gold: dict[str, set[int]] = {}
    path = None
    for line in _git(clone, "diff", "-U0", "--no-renames", "--no-color", f"{commit}^", commit).split("\n"):
        if line.startswith("--- "):
            path = line[len("--- a/") :] if line.startswith("--- a/") else None
        elif line.startswith("@@") and path and _CODE.search(path) and not _ASIDE.search(path):
            hunk = _HUNK.match(line)
            assert hunk is not None
            first, count = int(hunk[1]), 1 if hunk[2] is None else int(hunk[2])
            gold.setdefault(path, set()).update(range(first, first + count) if count else [max(first, 1)])
    return {path: sorted(lines) for path, lines in gold.items()}


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout
