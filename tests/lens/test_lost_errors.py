"""Code that was cut is not a lost failure, even if it speaks of errors."""

from __future__ import annotations

from readroom.core.text.tokens import estimate
from readroom.lens.findings.content import Cuts
from readroom.lens.limits import BOUNDS
from readroom.lens.records.events import Answered, Called, Event, Opened, Returned, Whole
from readroom.lens.sessions import Audited, sessions
from tests.each import each

CODE = {
    "go": "func Frame{0}(b []byte) (out int, err error) {{\n\tif err != nil {{ panic(err) }}\n\tt.Error(e)",
    "py": "    raise ValueError('failed to parse {0}')\nexcept Exception as error{0}:\n    expected: int = 3",
    "rs": "Err(e) => return Err(Error::Fatal({0})),\n    left = assert_eq!(right, {0});\nerror: Some<{0}>,",
    "ts": "throw new Error(`unexpected token {0}`);\n  reject(e{0}); // Error: no\n  expected(x{0}).toBe(1)",
    "java": "catch (IOException failed{0}) {{ log.error('fatal: refused'); }}\n  Exception in{0} = null;",
    "c": "fatal error: expected {0}\n  if (err{0} < 0) abort(); /* error: EINVAL */\nerrno{0} = EACCES;",
    "rb": "rescue StandardError => error{0}\n  Failure/Error: {0}\n1) fails {0}\nE   AssertionError {0}",
    "sh": "echo 'ERROR: {0} failed' >&2; exit 1\n--- FAIL: {0}\nFAILED tests/a.py::{0}\nnot ok {0}",
    "log": "2026-01-01 ERROR {0} refused\nTraceback (most recent call last)\npanic: {0}\nerror[E0308]: {0}",
}
"""Lines of code, and of logs, in many languages."""

READS = [
    "cat {f}", "sed -n '1,900p' {f}", "cat {f}; wc -l {f}", "cat *", "for f in *; do cat $f; done",
    "git show HEAD:{f}", "git -C . diff", "find . -name '*.x' | xargs cat", "find . -exec cat {{}} +",
    "awk '1' {f}", "rg -n . {f}", "bash -lc 'cat {f}'", "cd src && cat {f} | head -900",
    "(cd src; tail -n 900 {f})", "LC_ALL=C sort {f}", "if true; then cat {f}; fi", "cat <(cat {f})",
    "git log -p -- {f}", "git --no-pager show {f}", "cat {f} 2>&1", "sudo cat {f}",
    "nl -ba {f} | sed -n 1,9p",
]  # fmt: skip
RUNS = [
    "make", "go test ./...", "cd src && npm test", "sh check.sh", "cat a && pytest -q", "bash -c 'make test'",
    "./run", "git commit -m x", "find . -exec ./check {} +", "for t in *; do ./$t; done",
    "timeout 9 cargo test | tail -50",
]  # fmt: skip


def _kinds(tool: str, arguments: dict[str, object], lost: str, code: int | None) -> list[str]:
    """The findings about a result from the middle of which something was cut."""
    whole = "begin\n" + lost + "\nend\n"
    cut = f"begin\n…{len(lost)} chars truncated…\nend\n"
    events: list[Event] = [
        Opened("s", "Codex"), Answered("s", "a"), Called("s", "c", tool, arguments), Whole("s", "c", whole),
        Returned("s", "c", cut, exit_code=code), Answered("s", "b"),
    ]  # fmt: skip
    (part,) = sessions(events, "r", _Estimate(), lambda _session: [Cuts(lambda _path: "", BOUNDS)], BOUNDS)
    assert isinstance(part, Audited)
    return [finding.kind for finding in part.findings]


class _Estimate:
    exact = False

    def count(self, text: str) -> int:
        return estimate(text)


def _lost(language: str) -> str:
    return "\n".join(CODE[language].format(number) for number in range(60))


@each("language", CODE)
def test_code_that_was_cut_away_is_no_failure(language: str) -> None:
    for read in READS:
        command = read.format(f=f"src/a.{language}")
        assert "lost-errors" not in _kinds("exec_command", {"cmd": command}, _lost(language), None), command
        assert "lost-errors" not in _kinds("exec_command", {"cmd": command}, _lost(language), 0), command
        if language in ("go", "py", "ts", "java"):
            assert "lost-errors" not in _kinds("exec_command", {"cmd": command}, _lost(language), 1), command
    for tool in ("read_file", "grep", "list_directory"):
        assert "lost-errors" not in _kinds(tool, {"path": f"a.{language}"}, _lost(language), None), tool


@each("command", RUNS)
def test_a_failure_that_a_run_cut_away_is_told(command: str) -> None:
    for form in (
        "--- FAIL: TestX",
        "panic: boom",
        "error[E0308]: mismatched",
        "not ok 977 - index",
        "E   assert 1 == 2",
    ):
        assert _kinds("exec_command", {"cmd": command}, f"fine\n{form}\nfine", None) == ["lost-errors"], form
    assert _kinds("exec_command", {"cmd": command}, "step 4 was refused", 1) == ["lost-errors"]
    assert _kinds("exec_command", {"cmd": command}, "step 4 was refused", 0) == ["lost"]
    assert _kinds("exec_command", {"cmd": command}, CODE["go"].format(1).partition("\n")[0], 0) == ["lost"]
