"""The inline part of a command's output: the line that says why, within the bound, and true counts."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.caller import ANONYMOUS
from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.policy.commands import CommandPolicy
from readroom.core.stores.local import LocalStore
from readroom.core.stores.outputs import OwnOutputs
from readroom.core.text.encodings import visible
from readroom.core.text.output import folded
from readroom.core.values import Cap, Reply
from readroom.core.values.commands import RUN_CONCISE_BYTES, RUN_SILENT_BYTES, SHOWN_BYTES, Verbosity
from readroom.core.workspace import Workspace
from tests.core.engine.command.outputs import CAP, Recorded, Shown, keeping, recorded, shown
from tests.core.engine.grep.noise import KINDS, noise
from tests.each import each
from tests.suites import daily

NAMES = tuple(recorded())
BRIEF: tuple[Verbosity, ...] = ("concise", "silent")
LEVELS: tuple[Verbosity, ...] = ("silent", "concise", "normal", "verbose", "full")


@pytest.fixture(scope="module")
def outputs() -> Iterator[OwnOutputs]:
    with keeping() as outputs:
        yield outputs


def shows_the_failure(found: Shown, case: Recorded) -> None:
    assert [line for line in case.lines if not found.holds(line)] == [], "\n".join(found.texts)


# --- recorded outputs ----------------------------------------------------------------------------


@each("name", NAMES)
def test_the_failing_line_is_shown(outputs: OwnOutputs, name: str) -> None:
    case = recorded()[name]
    for streams in ((case.stdout, case.stderr), (case.merged, b""), (b"", case.merged)):
        found = shown(outputs, *streams)
        shows_the_failure(found, case)
        assert found.size <= RUN_CONCISE_BYTES


@daily(19, "name", NAMES)
def test_the_failing_line_is_shown_among_noise(outputs: OwnOutputs, name: str) -> None:
    """100 kB before and after it, in either stream, and in the stream that it is not in."""
    case = recorded()[name]
    choice = random.Random(name)
    around = [noise(kind) for kind in choice.sample(KINDS, 3)]
    streams = [
        (around[0] + case.merged + around[0], b""),
        (b"", around[1] + case.merged + around[1]),
        (around[2] + case.stdout + around[2], around[2] + case.stderr + around[2]),
        (around[0], case.merged),
        (case.merged, around[1]),
    ]
    # Not all of each recording, but all of them with some recordings.
    for stdout, stderr in choice.sample(streams, 3):
        for output in BRIEF if case.silent else BRIEF[:1]:
            found = shown(outputs, stdout, stderr, output=output)
            shows_the_failure(found, case)
            assert found.size <= SHOWN_BYTES[output]


@each("name", [name for name, case in recorded().items() if case.silent])
def test_the_failing_line_is_all_that_is_needed(outputs: OwnOutputs, name: str) -> None:
    """Of nearly every failure 200 bytes tell what it is."""
    case = recorded()[name]
    found = shown(outputs, case.stdout, case.stderr, output="silent")
    shows_the_failure(found, case)
    assert found.size <= RUN_SILENT_BYTES


def test_of_most_failures_200_bytes_are_enough() -> None:
    assert sum(case.silent for case in recorded().values()) * 2 > len(NAMES) - 10


def test_windows_line_ends_and_colours_hide_no_failure(outputs: OwnOutputs) -> None:
    for case in recorded().values():
        lines = case.merged.replace(b"\r\n", b"\n").split(b"\n")
        drawn = b"\n".join(b"\x1b[2m" + line + b"\x1b[0m\r" for line in lines)
        shows_the_failure(shown(outputs, noise("log") + drawn + noise("log")), case)


def test_a_message_behind_progress_is_found(outputs: OwnOutputs) -> None:
    progress = b"\rCompiling 1 of 9\x1b[K\rCompiling 9 of 9\x1b[K\r\x1b[K"
    data = noise("progress") + progress + b"error[E0308]: mismatched types\n" + noise("progress")
    assert shown(outputs, data).holds("error[E0308]: mismatched types")


def test_a_failure_that_was_redrawn_is_shown_as_it_was_last(outputs: OwnOutputs) -> None:
    drawn = b"".join(b"\x1b[1A\x1b[Kerror: try %d of 9 failed\n" % number for number in range(1, 10))
    found = shown(outputs, noise("log") + drawn + noise("log"))
    assert [text for text in found.texts if text.startswith("error")] == ["error: try 9 of 9 failed"]


def test_what_is_said_once_stands_before_what_is_said_always(outputs: OwnOutputs) -> None:
    once = b"deploy.sh: line 3: kubectll: command not found\n"
    found = shown(outputs, noise("retries") + once + noise("retries"), output="silent")
    assert found.holds("deploy.sh: line 3")


# --- commands that succeeded ---------------------------------------------------------------------


def test_a_successful_command_shows_its_beginning_and_its_end(outputs: OwnOutputs) -> None:
    lines = [f"src/{number}.py: error handling" for number in range(1, 5001)]
    found = shown(outputs, "\n".join(lines).encode(), failed=False)
    numbers = [row.number for row in found.rows]
    assert numbers[0] == 1
    assert numbers[-1] == 5000
    assert len(found.out.gaps) == 1
    head = found.out.gaps[0][0] - 1
    assert 5 < head < len(numbers) - head


@pytest.mark.parametrize("chars", [3_000, 100_000])
def test_how_much_of_a_long_line_is_left_out_is_counted(outputs: OwnOutputs, chars: int) -> None:
    lines = (b"x" * chars + b"\n") * 2 + b"end\n" * 5
    for written in (lines, b"\x1b[31m" + lines):
        rows = shown(outputs, written, failed=False).out.lines
        assert {len(row.text) + row.left for row in rows} == {chars, 3}


@pytest.mark.parametrize(("level", "most"), [("silent", 200), ("concise", 2_048), ("full", CAP.size)])
def test_lines_are_cut_only_where_they_have_to_be(outputs: OwnOutputs, level: Verbosity, most: int) -> None:
    whole = shown(outputs, b"x" * (most * 9 // 10 - 64) + b"\nend\n", failed=False, output=level)
    assert [row.left for row in whole.rows] == [0, 0]
    for piece in ("x", "é", "\t"):
        found = shown(outputs, (piece * most * 2).encode(), failed=True, output=level)
        assert found.rows[0].left
        assert most * 0.8 < found.size <= most


def test_two_streams_share_the_room_by_what_they_need(outputs: OwnOutputs) -> None:
    long = noise("log")
    found = shown(outputs, long, b"done\n", failed=False)
    assert [row.text for row in found.err.lines] == ["done"]
    assert found.size > RUN_CONCISE_BYTES * 0.9
    both = shown(outputs, long, long, failed=False)
    assert len(both.out.lines) > 5
    assert len(both.err.lines) > 5


# --- laws ----------------------------------------------------------------------------------------

pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b"\n",
            b"\r\n",
            b"\r",
            b"error: no\n",
            b"\x1b[31mE   x\x1b[0m\n",
            b"\x1b[2A\x1b[K",
            b"\b\b",
            b"\xff\xfe",
            b"\xe2\x80\xae\xe2\x80\x8b",
            b"caf\xc3",
            b"\0",
            b"x" * 5000,
            b"Traceback (most recent call last):\n",
        ]
    ),
)
streams = st.lists(pieces, max_size=30).map(b"".join)


@settings(max_examples=40)
@given(streams, streams, st.sampled_from(LEVELS), st.booleans(), st.sampled_from([MIN_REPLY_BYTES, CAP.size]))
def test_any_output_fits_and_is_shown_truly(
    stdout: bytes, stderr: bytes, output: Verbosity, failed: bool, size: int
) -> None:
    cap = Cap(size, CAP.measure)
    with keeping() as outputs:
        found = shown(outputs, stdout, stderr, output=output, failed=failed, cap=cap)
    assert found.size <= min(SHOWN_BYTES.get(output, size), size)
    assert len(found.reply.text.encode()) <= CAP.size
    for one, data in zip(found.result.outputs, (stdout, stderr), strict=True):
        assert one.size_bytes == one.kept_bytes == len(data)
        numbers = [row.number for row in one.lines]
        assert numbers == sorted(set(numbers))
        assert all(1 <= number <= one.total_lines for number in numbers)
        left = sum(last - first + 1 for first, last in one.gaps)
        if not one.binary:
            assert len(numbers) + len(one.redrawn - set(numbers)) + left == one.total_lines
        assert all(row.text.isprintable() or "\t" in row.text for row in one.lines if row.text.isascii())


lines = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)


@settings(max_examples=30)
@given(st.lists(lines, max_size=200), st.booleans(), st.sampled_from(LEVELS))
def test_shown_lines_are_lines_of_the_output(given: list[str], failed: bool, output: Verbosity) -> None:
    with keeping() as outputs:
        found = shown(outputs, "\n".join(["a", *given]).encode(), output=output, failed=failed)
    expected = dict(folded(enumerate(["a", *given], 1)))
    for row in found.rows:
        assert visible(expected[row.number]).startswith(row.text)
        assert row.left == 0 or row.left == len(expected[row.number]) - len(row.text)


@each("piece", ["x", "\x1b[31m", "\r", "\n", "ab\b", "\u202e"])
def test_endless_outputs_are_cut_and_said(outputs: OwnOutputs, piece: str) -> None:
    found = shown(outputs, piece.encode() * 1_000_000)
    assert found.size <= RUN_CONCISE_BYTES
    assert len(found.reply.text.encode()) <= CAP.size


def test_hidden_characters_are_reported(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes("fine\nif admin:\u202e # check\n".encode())
    reply = workspace.call("run_command", {"command": "cat out"})
    assert "Warning: bidi control at 2:10 (U+202E RIGHT-TO-LEFT OVERRIDE, in stdout)." in reply.text


def test_an_escape_that_never_ends_hides_nothing(outputs: OwnOutputs) -> None:
    found = shown(outputs, b"\x1b]0;title error: hidden\nerror: the cause\n")
    assert found.texts == ["]0;title error: hidden", "error: the cause"]


# --- bounds --------------------------------------------------------------------------------------


def ticking(step: float) -> Callable[[], float]:
    ticks = itertools.count()
    return lambda: next(ticks) * step


def test_when_time_is_up_the_ends_are_still_shown(outputs: OwnOutputs) -> None:
    """A command's result is never lost because looking for its errors takes long."""
    data = noise("levels", 8_000_000)
    found = shown(outputs, data, deadline=Deadline(10_000, clock=ticking(0.5)))
    assert found.out.lines[0].number == 1 or found.out.lines[-1].number == found.out.total_lines
    assert found.rows


def test_a_caller_who_goes_away_ends_the_search(outputs: OwnOutputs) -> None:
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(Cancelled):
        shown(outputs, noise("log"), deadline=deadline)


# --- what a reply says, and what following it shows ----------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    settings = Settings(commands=CommandPolicy(enabled=True, confinement="none"))
    with Workspace(LocalStore(str(tmp_path)), settings=settings) as workspace:
        yield workspace


def follow(workspace: Workspace, call: dict[str, object]) -> Reply:
    reply = workspace.call(str(call["tool"]), call["arguments"])
    assert not reply.is_error, reply.text
    return reply


def numbered(text: str) -> dict[int, str]:
    rows = (line.partition("\t") for line in text.split("\n"))
    return {int(number): line for number, tab, line in rows if tab and number.isdigit()}


def test_what_is_left_out_is_counted_and_can_be_read(workspace: Workspace, tmp_path: Path) -> None:
    """The counts are exact, and the calls that a reply names show every missing line as it was written."""
    case = recorded()["cargo-test"]
    written = noise("build", 20_000) + case.merged + noise("log", 20_000)
    (tmp_path / "out").write_bytes(written)
    reply = workspace.call("run_command", {"command": "cat out; exit 1"})
    expected = dict(enumerate(written.decode().removesuffix("\n").split("\n"), 1))
    seen = numbered(reply.text)
    assert f"stdout: {len(expected) - len(seen):,} lines not shown." in reply.text
    assert reply.text.startswith("exit 1 |")
    facts: dict[str, list[dict[str, dict[str, object]]]] = reply.facts  # type: ignore[assignment]
    for omission in facts["omitted"]:
        call = omission["call"]
        while call is not None:
            page = follow(workspace, call)
            seen |= numbered(page.text)
            call = page.facts["next"]  # type: ignore[assignment]
            wanted = int(str(omission["to"]))
            if wanted in seen:
                break
    assert seen == expected


def test_the_next_call_of_the_text_shows_the_first_missing_line(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(noise("log"))
    reply = workspace.call("run_command", {"command": "cat out >&2; exit 3"})
    following: dict[str, object] = reply.facts["next"]  # type: ignore[assignment]
    assert "stderr" in str(following["arguments"])
    first = min(numbered(follow(workspace, following).text))
    assert first not in numbered(reply.text)
    assert first - 1 in {0, *numbered(reply.text)}


def test_only_the_inline_part_is_cleaned(workspace: Workspace, tmp_path: Path) -> None:
    """A kept output is byte for byte what the command wrote."""
    raw = b"\x1b[31merror:\x1b[0m red\n10%\r50%\r100%\ntwo\n\x1b[1A\x1b[Knew\n\xff\xfe broken\n"
    (tmp_path / "out").write_bytes(raw)
    reply = workspace.call("run_command", {"command": "cat out; exit 1", "output": "full"})
    body = numbered(reply.text)
    assert body[1] == "error: red"
    assert body[2] == "100%"
    assert 3 not in body
    assert body[4] == "new"
    call_id = reply.facts["call_id"]
    assert workspace.engine.commands is not None
    room = workspace.engine.commands.of(ANONYMOUS.owner)
    with room.guard.open(room.parse(f"/.outputs/{call_id}.stdout") or Path()) as source:  # type: ignore[arg-type]
        assert source.read_at(0, source.size) == raw
