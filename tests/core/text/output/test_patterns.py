"""What single lines tell, and that looking through much at once finds no fewer of them."""

from __future__ import annotations

import re2
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.text.output import patterns
from readroom.core.text.output.patterns import CAUSE, FAILURE, SUMMARY, WORD
from tests.core.engine.command.outputs import recorded
from tests.core.engine.grep.noise import KINDS, noise
from tests.each import each

LINES = tuple(
    sorted(
        {
            line.rstrip("\r")[:200]
            for data in (
                *(case.merged for case in recorded().values()),
                *(noise(kind, 2000) for kind in KINDS),
            )
            for line in data.decode("utf-8", "replace").split("\n")
            if not any(char in line for char in "\x1b\r\b")
        }
    )
)


@each(
    "line",
    [
        "E       assert 1 == 2",
        "main.c:5:24: error: 'totl' undeclared",
        "error[E0308]: mismatched types",
        "  3:10  error    'cuont' is not defined  no-undef",
        "thread 'main' (412) panicked at src/main.rs:1:45:",
        "Caused by: java.lang.NumberFormatException: For input string",
        "Segmentation fault (core dumped)",
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "main.c:(.text+0x5): undefined reference to `total'",
        " ! [rejected]        main -> main (fetch first)",
    ],
)
def test_a_cause_is_known(line: str) -> None:
    found = patterns.clue(line)
    assert found is not None
    assert found.weight == CAUSE


@each(
    "line",
    [
        "test_error_handling PASSED",
        "0 errors, 3 warnings",
        "no errors found",
        "src/a.c:3:5: warning: unused variable 'error'",
        "ok 3 - fails on bad input",
        "  ✓ reports a failure",
        "[       OK ] Orders.ErrorIsReported (0 ms)",
        "Failures: 0, Errors: 0",
        "  CC      drivers/error.o",
        "failover to replica-2",
        "import errors",
        "",
    ],
)
def test_what_only_sounds_like_a_failure_tells_little(line: str) -> None:
    found = patterns.clue(line)
    assert found is None or found.weight <= WORD


def test_counts_are_results_and_no_causes() -> None:
    for line in ("3 errors generated.", "1 failed, 20 passed in 0.3s", "Tests: 2 failures, 0 errors"):
        found = patterns.clue(line)
        assert found is not None
        assert found.weight == SUMMARY


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_many_lines_at_once_hide_no_clue(given: list[str]) -> None:
    """No pattern takes in more than one line, so each line is found as if it stood alone."""
    block = "\n".join(given).encode()
    found = [patterns.clue(line) for line in given]
    for number, one in enumerate(found):
        if one is None or one.weight <= WORD:
            continue
        begin = len("\n".join(given[:number]).encode()) + (number > 0)
        end = begin + len(given[number].encode())
        assert any(
            begin <= match.start() and match.end() <= end
            for pattern in patterns.TIERS
            for match in re2.compile(pattern.encode()).finditer(block)
        ), given[number]


def test_the_heaviest_are_looked_for_first() -> None:
    finders = [re2.compile(pattern.encode()) for pattern in patterns.TIERS]
    for line in LINES:
        one = patterns.clue(line)
        if one is not None and one.weight > WORD:
            tier = 0 if one.weight == CAUSE else 1 if one.weight >= FAILURE - 1 else 2
            assert finders[tier].search(line.encode()), line


def test_lines_that_tell_nothing_are_left_out_before_they_are_counted() -> None:
    """The filter for innocent lines takes none that has a clue of weight."""
    innocent, counts = (re2.compile(one.encode()) for one in (patterns.INNOCENT, patterns.COUNTS))
    for line in LINES:
        one = patterns.clue(line)
        if innocent.search(line.encode()) and not counts.search(line.encode()):
            assert one is None or one.weight <= WORD, line
