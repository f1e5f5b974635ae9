"""Patterns that recognize telling lines in the output of compilers, test runners and crashes.

A clue has a weight: how sure it is that the reader needs the line, and how close it is to the cause.  The
first matching rule decides, so lines that only sound like a failure ("0 errors", "test_error PASSED") come
first.  Terminal escapes are removed from lines.  All patterns except the one of plain words are also valid in
RE2, which scans large outputs for candidate lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

CAUSE = 9
"""What went wrong."""

FAILURE = 7
"""What failed."""

PLACE = 6
"""The place, or the beginning of an explanation."""

REMARK = 5
"""A warning of a program."""

SUMMARY = 4
"""A result, or the consequence of an earlier failure."""

WORD = 2
"""A word that may occur by chance."""


class LogPattern(Struct, frozen=True):
    """How much a line matters, and how many lines around it explain it."""

    weight: int
    before: int = 0
    after: int = 0


class LogRule(Struct, frozen=True):
    """Lines that match a pattern, and their clue; without a clue they tell nothing."""

    about: str
    pattern: str
    clue: LogPattern | None


_COUNTED = "(?:fail(?:ed|ing|ures?)|errors?|exceptions?|problems?|panics?)"

_WORDS = (
    r"(?:errors?|fatal|fail(?:s|ed|ing|ures?)?|exceptions?|panic|denied|refused|invalid|unexpected|undefined"
    r"|unresolved|unable|abort(?:ed|ing)|crash(?:ed)?|mismatch|timed out|timeout|non-zero"
    r"|exit (?:code|status) [1-9][0-9]*)"
)

_INNOCENT = (
    LogRule("passed", r"\bPASS(?:ED)?\b|\.\.\. ok$|^\s*[✓✔√] |^\s*ok \d+\b|\[\s+OK \]", None),
    LogRule("counts", rf"(?i)(?:^|[^:.\d])\b[1-9]\d*\s+(?:\w+\s+)?{_COUNTED}\b", LogPattern(SUMMARY)),
    LogRule("counts", rf"(?i)\b{_COUNTED}\s*[:=]\s*[1-9]", LogPattern(SUMMARY)),
    LogRule("none", rf"(?i)\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?{_COUNTED}\b", None),
    LogRule("none", rf"(?i)\b{_COUNTED}\s*[:=]\s*0\b|\berror-?free\b|\bfail-?(?:safe|fast|over)\b", None),
    LogRule("compiler remark", r"^\S+[:(]\d+\S*\s+(?:warning|note|remark|info)\b", None),
    LogRule("maven's advice", r"^\[ERROR\]\s+(?:\[Help|To see|Re-run|For more|->|$)|^\[ERROR\]$", None),
)

_CRASHES = (
    LogRule("Rust", r"\bpanicked at\b", LogPattern(CAUSE, 0, 4)),
    LogRule("Go", r"^panic: |^fatal error: |^goroutine \d+ \[running\]", LogPattern(CAUSE, 0, 5)),
    LogRule(
        "Python",
        r"^\s*(?:\+ (?:Exception Group )?)?Traceback \(most recent call last\)",
        LogPattern(PLACE, 1, 3),
    ),
    LogRule("Java", r"^Exception in thread |^Caused by: ", LogPattern(CAUSE, 0, 3)),
    LogRule(
        "uncaught", r"\b[Uu]ncaught\b|^Unhandled |\bUnhandledPromiseRejection\b", LogPattern(CAUSE, 1, 5)
    ),
    LogRule("PHP", r"^PHP (?:Fatal|Parse) |^(?:Fatal|Parse) error: ", LogPattern(CAUSE, 0, 4)),
    LogRule("Ruby", r"^\S+\.rb:\d+:in .*: ", LogPattern(CAUSE, 0, 3)),
    LogRule("Elixir", r"^\s*\*\* \(\w", LogPattern(CAUSE, 0, 3)),
    LogRule("C++", r"^terminate called|^\s*what\(\): ", LogPattern(CAUSE, 0, 2)),
    LogRule("sanitizers", r"\b\w+Sanitizer\b|\bruntime error: ", LogPattern(CAUSE, 0, 5)),
    LogRule(
        "signals and memory",
        r"(?i)\bsegmentation fault\b|\bcore dumped\b|\bbus error\b|\billegal instruction\b|\bout of memory\b"
        r"|\boom-?kill|\bstack overflow\b|^(?:\S+ ){0,2}killed$|^aborted\b|\bdouble free\b",
        LogPattern(CAUSE, 2, 1),
    ),
    LogRule("assertions", r"(?i)\bassert(?:ion)?\b.*\bfail(?:ed|s|ure)\b", LogPattern(CAUSE, 2, 3)),
)

_TESTS = (
    LogRule("pytest, the reason", r"^E  ?\s*\S", LogPattern(CAUSE, 3, 1)),
    LogRule("pytest, a heading", r"^_{3,} \S.* _{3,}$", LogPattern(PLACE, 0, 2)),
    LogRule(
        "pytest, go, tap, jest",
        r"^\s*FAILED \S+|^ERROR \S+(?:\.py\b|::)|^\s*--- FAIL: |^\s*not ok \d+|^\s*FAIL:?\s+\S",
        LogPattern(FAILURE, 0, 4),
    ),
    LogRule("unittest", r"^(?:FAIL|ERROR): \w+", LogPattern(FAILURE, 0, 2)),
    LogRule("cargo test, one", r"^---- .+ ----$", LogPattern(FAILURE, 0, 4)),
    LogRule("cargo test, a list", r"^test .+ \.\.\. FAILED$", LogPattern(PLACE)),
    LogRule("jest, vitest, mocha", r"^\s*(?:●|✕|✗|✘|×|✖|❌|❯) ?\S", LogPattern(FAILURE, 0, 8)),
    LogRule(
        "expectations",
        r"^\s*(?:-\s*)?(?:[Ee]xpected|[Rr]eceived|[Aa]ctual|left|right)\b.*[:=(]",
        LogPattern(FAILURE, 1, 1),
    ),
    LogRule("go test", r"^\s+\S+_test\.go:\d+: ", LogPattern(CAUSE, 1, 2)),
    LogRule("JUnit", r"<<< (?:FAILURE|ERROR)!", LogPattern(FAILURE, 0, 3)),
    LogRule(
        "ctest",
        r"\*\*\*(?:Failed|Exception|Timeout|Not Run)|^\s*\d+ - .+ \(\w+\)$",
        LogPattern(FAILURE, 0, 4),
    ),
    LogRule("Gradle", r"^> Task .+ FAILED$|^\* What went wrong:", LogPattern(FAILURE, 0, 4)),
    LogRule(".NET", r"^\s*Failed \S+ \[|^\s*Error Message:", LogPattern(FAILURE, 0, 4)),
    LogRule("RSpec, PHPUnit", r"^\s*Failure/Error: |^Failed asserting that ", LogPattern(CAUSE, 1, 5)),
    LogRule("RSpec, PHPUnit, mocha", r"^\s*\d+\) \S", LogPattern(PLACE, 0, 4)),
)

_COMPILERS = (
    LogRule(
        "nothing new",
        r"(?i)\bcould not compile\b|\baborting due to\b|\btest failed, to rerun\b",
        LogPattern(SUMMARY),
    ),
    LogRule(
        "gcc, clang, javac, tsc, MSBuild, mypy: the place, then the word",
        r"^\s*(?:\[ERROR\] |e: |ERROR in |psql:)?[^\s:(][^:(]*[:(\[]+\d+(?:[:,]\d+)*[\])]*\s*[:-]?\s*"
        r"(?:fatal |internal compiler |syntax )?(?:error|ERROR)\b",
        LogPattern(CAUSE, 1, 4),
    ),
    LogRule("rustc", r"^error(?:\[\w+\])?: ", LogPattern(CAUSE, 0, 6)),
    LogRule("ruff", r"^[A-Z]{1,4}[0-9]{3,4} (?:\[\*\] )?[A-Z`]", LogPattern(FAILURE, 0, 5)),
    LogRule("kotlinc", r"^e: ", LogPattern(CAUSE, 0, 2)),
    LogRule("rollup, vite", r"^error during build:|^\S+ \(\d+:\d+\): ", LogPattern(CAUSE, 0, 3)),
    LogRule("eslint", r"^\s+\d+:\d+\s+error\s", LogPattern(CAUSE, 3, 0)),
    LogRule("go, linters", r"^(?:vet: )?[^\s:]+\.\w+:\d+(?::\d+)?: ", LogPattern(FAILURE, 0, 2)),
    LogRule(
        "linkers",
        r"\bundefined (?:reference|symbol)|\bunresolved external|\bmultiple definition of\b"
        r"|\bcannot find -l|\bsymbol\(s\) not found\b|\bduplicate symbol",
        LogPattern(CAUSE, 1, 1),
    ),
    LogRule("linkers, at last", r"\bld returned \d|^collect2: ", LogPattern(SUMMARY)),
    LogRule("CMake", r"^CMake Error", LogPattern(CAUSE, 0, 4)),
)

_EXCEPTIONS = (
    LogRule(
        "by name",
        r"^\s{0,8}\|?\s?(?:[\w$]+(?:\.|::|/))*[A-Z][\w$]*(?:Error|Exception|Failure|Exit)\b(?: \[\w+\])?"
        r"\s*(?:[:({]|$)",
        LogPattern(CAUSE, 4, 3),
    ),
    LogRule("JavaScript, Terraform", r"^(?:│ )?Error: ", LogPattern(CAUSE, 3, 3)),
    LogRule("JavaScript, the place", r"^\s*throw (?:new )?\w", LogPattern(PLACE, 1, 3)),
)

_TOOLS = (
    LogRule(
        "shells and systems",
        r"(?i)\b(?:command |module )?not found\b|\bno such file or directory\b|\bpermission denied\b"
        r"|\bno space left\b|\boperation not permitted\b|\bread-only file system\b"
        r"|\bcannot (?:access|find|open|stat)\b|\bconnection refused\b|\bcould not resolve\b"
        r"|\bname resolution\b|\bname or service not known\b|\bnetwork is unreachable\b",
        LogPattern(FAILURE, 0, 1),
    ),
    LogRule(
        "git, what is in the way", r"^ ?! \[(?:remote )?rejected\]|^CONFLICT \(", LogPattern(CAUSE, 0, 1)
    ),
    LogRule("git", r"^(?:fatal|error): ", LogPattern(FAILURE, 0, 2)),
    LogRule("TeX", r"^! \S", LogPattern(CAUSE, 0, 2)),
    LogRule(
        "said plainly",
        r"^(?:\S+: )?(?:[Cc]annot|[Cc]ould not|[Uu]nable to|[Ff]ailed to) ",
        LogPattern(FAILURE, 0, 1),
    ),
    LogRule(
        "make, what is missing", r"\bNo rule to make target\b|\bmissing separator\b", LogPattern(CAUSE, 1, 0)
    ),
    LogRule("make, ninja", r"^\S*make(?:\[\d+\])?: \*\*\*|^ninja: ", LogPattern(SUMMARY, 1, 0)),
    LogRule(
        "npm, by the way",
        r"^npm (?:ERR!|error) (?:code|path|command|errno|A complete|\s*/)|^npm (?:ERR!|error)$",
        LogPattern(WORD),
    ),
    LogRule(
        "npm, pnpm, yarn",
        r"^npm (?:ERR!|error) |\bERR_PNPM_|\bELIFECYCLE\b|^error Command failed",
        LogPattern(REMARK),
    ),
    LogRule("Maven", r"^\[(?:ERROR|FATAL)\]\s+\S", LogPattern(FAILURE, 0, 2)),
    LogRule("builds", r"\bCOMPILATION ERROR\b|\bBUILD FAIL(?:URE|ED)\b", LogPattern(REMARK, 0, 3)),
    LogRule(
        "pip, apt, docker's steps, others",
        r"^(?:#\d+ (?:[\d.]+ )?)?(?:[\w./-]+: )*(?i:error|fatal)\b\s*[:!]|^E: ",
        LogPattern(FAILURE, 1, 2),
    ),
    LogRule("log levels", r"\b(?:ERROR|FATAL|CRITICAL|SEVERE)\b", LogPattern(REMARK, 0, 1)),
)

_CHANCE = (
    LogRule("a name alone", r"(?i)^\S*(?:error|fail|exception)\S*$", None),
    LogRule("a word", rf"(?i)(?<![\w/.-]){_WORDS}(?![\w/-]|\.\w)", LogPattern(WORD)),
)

RULES: tuple[LogRule, ...] = (
    *_INNOCENT, *_CRASHES, *_TESTS, *_COMPILERS, *_EXCEPTIONS, *_TOOLS, *_CHANCE,
)  # fmt: skip
"""The rules, in the order in which they are tried."""

_COMPILED = tuple((re.compile(rule.pattern), rule.clue) for rule in RULES)

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")


def _of_one_line(pattern: str) -> str:
    """The same for many lines at once: what also matches line feeds would swallow the lines between."""

    def piece(match: re.Match[str]) -> str:
        if match[0] == r"\s":
            return r"[^\S\n]"
        return rf"[^\n{match[0][2:]}" if match[0].startswith("[^") else match[0]

    return _PIECE.sub(piece, pattern)


def _any(rules: Iterable[LogRule]) -> str:
    return "|".join(f"(?m:{_of_one_line(rule.pattern)})" for rule in rules)


TIERS: tuple[str, ...] = tuple(
    _any(rule for rule in RULES if rule.clue is not None and rule.clue.weight in weights)
    for weights in ((CAUSE,), (FAILURE, PLACE), (REMARK, SUMMARY))
)
"""RE2 patterns, the heaviest first; every line with a clue heavier than a word matches one of them."""

INNOCENT = _any(rule for rule in _INNOCENT if rule.clue is None)
"""Matches lines that only sound like a failure, and some that count failures, too."""

COUNTS = _any(rule for rule in _INNOCENT if rule.clue is not None)
"""Matches lines that count failures."""

WEAK = f"(?i){_WORDS}"
"""Matches lines with a word."""


def clue(line: str) -> LogPattern | None:
    """What a cleaned line tells; None if nothing."""
    for pattern, meaning in _COMPILED:
        if pattern.search(line):
            return meaning
    return None
