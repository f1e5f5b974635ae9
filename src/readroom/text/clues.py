"""What a line of a failed command's output tells: one table for compilers, test runners and crashes.

A clue has a weight: how sure it is that the reader needs the line, and how near
it is to the cause.  The first rule that fits decides, so what only sounds like a
failure ("0 errors", "test_error PASSED") stands first.  Lines are cleaned of
terminal escapes.  All patterns but that of mere words are also in the syntax of
RE2, which looks through much output for lines that could fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CAUSE = 9
"""What went wrong."""

FAILURE = 7
"""What failed."""

PLACE = 6
"""Where, or the beginning of an explanation."""

REMARK = 5
"""A program complains."""

SUMMARY = 4
"""A result, or what follows from an earlier failure."""

WORD = 2
"""A word that may be chance."""


@dataclass(frozen=True, slots=True)
class Clue:
    """How much a line matters, and how many lines around it explain it."""

    weight: int
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class Rule:
    """Lines that a pattern is found in; without a clue they tell nothing."""

    about: str
    pattern: str
    clue: Clue | None


_COUNTED = "(?:fail(?:ed|ing|ures?)|errors?|exceptions?|problems?|panics?)"

_WORDS = (
    r"(?:errors?|fatal|fail(?:s|ed|ing|ures?)?|exceptions?|panic|denied|refused|invalid|unexpected|undefined"
    r"|unresolved|unable|abort(?:ed|ing)|crash(?:ed)?|mismatch|timed out|timeout|non-zero"
    r"|exit (?:code|status) [1-9][0-9]*)"
)

_INNOCENT = (
    Rule("passed", r"\bPASS(?:ED)?\b|\.\.\. ok$|^\s*[✓✔√] |^\s*ok \d+\b|\[\s+OK \]", None),
    Rule("counts", rf"(?i)(?:^|[^:.\d])\b[1-9]\d*\s+(?:\w+\s+)?{_COUNTED}\b", Clue(SUMMARY)),
    Rule("counts", rf"(?i)\b{_COUNTED}\s*[:=]\s*[1-9]", Clue(SUMMARY)),
    Rule("none", rf"(?i)\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?{_COUNTED}\b", None),
    Rule("none", rf"(?i)\b{_COUNTED}\s*[:=]\s*0\b|\berror-?free\b|\bfail-?(?:safe|fast|over)\b", None),
    Rule("compiler remark", r"^\S+[:(]\d+\S*\s+(?:warning|note|remark|info)\b", None),
    Rule("maven's advice", r"^\[ERROR\]\s+(?:\[Help|To see|Re-run|For more|->|$)|^\[ERROR\]$", None),
)

_CRASHES = (
    Rule("Rust", r"\bpanicked at\b", Clue(CAUSE, 0, 4)),
    Rule("Go", r"^panic: |^fatal error: |^goroutine \d+ \[running\]", Clue(CAUSE, 0, 5)),
    Rule(
        "Python", r"^\s*(?:\+ (?:Exception Group )?)?Traceback \(most recent call last\)", Clue(PLACE, 1, 3)
    ),
    Rule("Java", r"^Exception in thread |^Caused by: ", Clue(CAUSE, 0, 3)),
    Rule("uncaught", r"\b[Uu]ncaught\b|^Unhandled |\bUnhandledPromiseRejection\b", Clue(CAUSE, 1, 5)),
    Rule("PHP", r"^PHP (?:Fatal|Parse) |^(?:Fatal|Parse) error: ", Clue(CAUSE, 0, 4)),
    Rule("Ruby", r"^\S+\.rb:\d+:in .*: ", Clue(CAUSE, 0, 3)),
    Rule("Elixir", r"^\s*\*\* \(\w", Clue(CAUSE, 0, 3)),
    Rule("C++", r"^terminate called|^\s*what\(\): ", Clue(CAUSE, 0, 2)),
    Rule("sanitizers", r"\b\w+Sanitizer\b|\bruntime error: ", Clue(CAUSE, 0, 5)),
    Rule(
        "signals and memory",
        r"(?i)\bsegmentation fault\b|\bcore dumped\b|\bbus error\b|\billegal instruction\b|\bout of memory\b"
        r"|\boom-?kill|\bstack overflow\b|^(?:\S+ ){0,2}killed$|^aborted\b|\bdouble free\b",
        Clue(CAUSE, 2, 1),
    ),
    Rule("assertions", r"(?i)\bassert(?:ion)?\b.*\bfail(?:ed|s|ure)\b", Clue(CAUSE, 2, 3)),
)

_TESTS = (
    Rule("pytest, the reason", r"^E  ?\s*\S", Clue(CAUSE, 3, 1)),
    Rule("pytest, a heading", r"^_{3,} \S.* _{3,}$", Clue(PLACE, 0, 2)),
    Rule(
        "pytest, go, tap, jest",
        r"^\s*FAILED \S+|^ERROR \S+(?:\.py\b|::)|^\s*--- FAIL: |^\s*not ok \d+|^\s*FAIL:?\s+\S",
        Clue(FAILURE, 0, 4),
    ),
    Rule("unittest", r"^(?:FAIL|ERROR): \w+", Clue(FAILURE, 0, 2)),
    Rule("cargo test, one", r"^---- .+ ----$", Clue(FAILURE, 0, 4)),
    Rule("cargo test, a list", r"^test .+ \.\.\. FAILED$", Clue(PLACE)),
    Rule("jest, vitest, mocha", r"^\s*(?:●|✕|✗|✘|×|✖|❌|❯) ?\S", Clue(FAILURE, 0, 8)),
    Rule(
        "expectations",
        r"^\s*(?:-\s*)?(?:[Ee]xpected|[Rr]eceived|[Aa]ctual|left|right)\b.*[:=(]",
        Clue(FAILURE, 1, 1),
    ),
    Rule("go test", r"^\s+\S+_test\.go:\d+: ", Clue(CAUSE, 1, 2)),
    Rule("JUnit", r"<<< (?:FAILURE|ERROR)!", Clue(FAILURE, 0, 3)),
    Rule("ctest", r"\*\*\*(?:Failed|Exception|Timeout|Not Run)|^\s*\d+ - .+ \(\w+\)$", Clue(FAILURE, 0, 4)),
    Rule("Gradle", r"^> Task .+ FAILED$|^\* What went wrong:", Clue(FAILURE, 0, 4)),
    Rule(".NET", r"^\s*Failed \S+ \[|^\s*Error Message:", Clue(FAILURE, 0, 4)),
    Rule("RSpec, PHPUnit", r"^\s*Failure/Error: |^Failed asserting that ", Clue(CAUSE, 1, 5)),
    Rule("RSpec, PHPUnit, mocha", r"^\s*\d+\) \S", Clue(PLACE, 0, 4)),
)

_COMPILERS = (
    Rule(
        "nothing new",
        r"(?i)\bcould not compile\b|\baborting due to\b|\btest failed, to rerun\b",
        Clue(SUMMARY),
    ),
    Rule(
        "gcc, clang, javac, tsc, MSBuild, mypy: the place, then the word",
        r"^\s*(?:\[ERROR\] |e: |ERROR in |psql:)?[^\s:(][^:(]*[:(\[]+\d+(?:[:,]\d+)*[\])]*\s*[:-]?\s*"
        r"(?:fatal |internal compiler |syntax )?(?:error|ERROR)\b",
        Clue(CAUSE, 1, 4),
    ),
    Rule("rustc", r"^error(?:\[\w+\])?: ", Clue(CAUSE, 0, 6)),
    Rule("ruff", r"^[A-Z]{1,4}[0-9]{3,4} (?:\[\*\] )?[A-Z`]", Clue(FAILURE, 0, 5)),
    Rule("kotlinc", r"^e: ", Clue(CAUSE, 0, 2)),
    Rule("rollup, vite", r"^error during build:|^\S+ \(\d+:\d+\): ", Clue(CAUSE, 0, 3)),
    Rule("eslint", r"^\s+\d+:\d+\s+error\s", Clue(CAUSE, 3, 0)),
    Rule("go, linters", r"^(?:vet: )?[^\s:]+\.\w+:\d+(?::\d+)?: ", Clue(FAILURE, 0, 2)),
    Rule(
        "linkers",
        r"\bundefined (?:reference|symbol)|\bunresolved external|\bmultiple definition of\b"
        r"|\bcannot find -l|\bsymbol\(s\) not found\b|\bduplicate symbol",
        Clue(CAUSE, 1, 1),
    ),
    Rule("linkers, at last", r"\bld returned \d|^collect2: ", Clue(SUMMARY)),
    Rule("CMake", r"^CMake Error", Clue(CAUSE, 0, 4)),
)

_EXCEPTIONS = (
    Rule(
        "by name",
        r"^\s{0,8}\|?\s?(?:[\w$]+(?:\.|::|/))*[A-Z][\w$]*(?:Error|Exception|Failure|Exit)\b(?: \[\w+\])?"
        r"\s*(?:[:({]|$)",
        Clue(CAUSE, 4, 3),
    ),
    Rule("JavaScript, Terraform", r"^(?:│ )?Error: ", Clue(CAUSE, 3, 3)),
    Rule("JavaScript, the place", r"^\s*throw (?:new )?\w", Clue(PLACE, 1, 3)),
)

_TOOLS = (
    Rule(
        "shells and systems",
        r"(?i)\b(?:command |module )?not found\b|\bno such file or directory\b|\bpermission denied\b"
        r"|\bno space left\b|\boperation not permitted\b|\bread-only file system\b"
        r"|\bcannot (?:access|find|open|stat)\b|\bconnection refused\b|\bcould not resolve\b"
        r"|\bname resolution\b|\bname or service not known\b|\bnetwork is unreachable\b",
        Clue(FAILURE, 0, 1),
    ),
    Rule("git, what is in the way", r"^ ?! \[(?:remote )?rejected\]|^CONFLICT \(", Clue(CAUSE, 0, 1)),
    Rule("git", r"^(?:fatal|error): ", Clue(FAILURE, 0, 2)),
    Rule("TeX", r"^! \S", Clue(CAUSE, 0, 2)),
    Rule(
        "said plainly",
        r"^(?:\S+: )?(?:[Cc]annot|[Cc]ould not|[Uu]nable to|[Ff]ailed to) ",
        Clue(FAILURE, 0, 1),
    ),
    Rule("make, what is missing", r"\bNo rule to make target\b|\bmissing separator\b", Clue(CAUSE, 1, 0)),
    Rule("make, ninja", r"^\S*make(?:\[\d+\])?: \*\*\*|^ninja: ", Clue(SUMMARY, 1, 0)),
    Rule(
        "npm, by the way",
        r"^npm (?:ERR!|error) (?:code|path|command|errno|A complete|\s*/)|^npm (?:ERR!|error)$",
        Clue(WORD),
    ),
    Rule(
        "npm, pnpm, yarn",
        r"^npm (?:ERR!|error) |\bERR_PNPM_|\bELIFECYCLE\b|^error Command failed",
        Clue(REMARK),
    ),
    Rule("Maven", r"^\[(?:ERROR|FATAL)\]\s+\S", Clue(FAILURE, 0, 2)),
    Rule("builds", r"\bCOMPILATION ERROR\b|\bBUILD FAIL(?:URE|ED)\b", Clue(REMARK, 0, 3)),
    Rule(
        "pip, apt, docker's steps, others",
        r"^(?:#\d+ (?:[\d.]+ )?)?(?:[\w./-]+: )*(?i:error|fatal)\b\s*[:!]|^E: ",
        Clue(FAILURE, 1, 2),
    ),
    Rule("log levels", r"\b(?:ERROR|FATAL|CRITICAL|SEVERE)\b", Clue(REMARK, 0, 1)),
)

_CHANCE = (
    Rule("a name alone", r"(?i)^\S*(?:error|fail|exception)\S*$", None),
    Rule("a word", rf"(?i)(?<![\w/.-]){_WORDS}(?![\w/-]|\.\w)", Clue(WORD)),
)

RULES: tuple[Rule, ...] = (
    *_INNOCENT, *_CRASHES, *_TESTS, *_COMPILERS, *_EXCEPTIONS, *_TOOLS, *_CHANCE,
)  # fmt: skip
"""In the order in which they are asked."""

_COMPILED = tuple((re.compile(rule.pattern), rule.clue) for rule in RULES)

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")


def _of_one_line(pattern: str) -> str:
    """The same for many lines at once: what fits line feeds, too, would swallow the lines between."""

    def piece(found: re.Match[str]) -> str:
        if found[0] == r"\s":
            return r"[^\S\n]"
        return rf"[^\n{found[0][2:]}" if found[0].startswith("[^") else found[0]

    return _PIECE.sub(piece, pattern)


def _any(rules: Iterable[Rule]) -> str:
    return "|".join(f"(?m:{_of_one_line(rule.pattern)})" for rule in rules)


TIERS: tuple[str, ...] = tuple(
    _any(rule for rule in RULES if rule.clue is not None and rule.clue.weight in weights)
    for weights in ((CAUSE,), (FAILURE, PLACE), (REMARK, SUMMARY))
)
"""Patterns of RE2, the heaviest first. In a line with a clue heavier than a word one of them is found."""

INNOCENT = _any(rule for rule in _INNOCENT if rule.clue is None)
"""Found in lines that only sound like a failure, and in some that count failures, too."""

COUNTS = _any(rule for rule in _INNOCENT if rule.clue is not None)
"""Found in lines that count failures."""

WEAK = f"(?i){_WORDS}"
"""Found in lines that hold a word."""


def clue(line: str) -> Clue | None:
    """What a cleaned line tells; None when it is like any other."""
    for pattern, found in _COMPILED:
        if pattern.search(line):
            return found
    return None
