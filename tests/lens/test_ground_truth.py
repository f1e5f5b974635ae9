"""Records of clients and frameworks against what their models were really sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.lens.audit import Options
from tests.each import each
from tests.lens.ground_truth import (
    NO_COMPACTIONS,
    NO_TRUTH_OF_REPEATS,
    SESSIONS,
    TOLERANCE,
    audited,
    compare,
    id_of,
    of_kind,
    truth_of,
)


@each("session", SESSIONS)
def test_every_call_file_range_and_character_count_is_right(session: str, tmp_path: Path) -> None:
    """Calls, characters, pictures, line ranges, errors and who cut: as sent, or with a reason that is
    written down.
    """
    compared = compare(session, tmp_path)
    assert compared.differences == []
    assert compared.calls == len(truth_of(session)["calls"])


COMPACTED = (
    "claude-code/long", "codex/long", "copilot-cli/long", "gemini-cli/long", "kilo/long", "opencode/long",
    "pi/long", "qwen-code/long",
)  # fmt: skip


@each("session", [one for one in SESSIONS if one not in (*COMPACTED, *NO_COMPACTIONS)])
def test_how_many_requests_carried_a_result_is_right(session: str, tmp_path: Path) -> None:
    """A result is paid once for each request that carries it; where nothing was compacted that can be
    known exactly.
    """
    wanted = {id_of(call): call.get("sent_in_requests") for call in truth_of(session)["calls"]}
    for part in audited(session, tmp_path):
        for call in part.calls:
            expected = next(n for id, n in wanted.items() if call.id == id or call.id.endswith("_" + id))
            assert expected is None or call.sent_in_requests == expected, call.id


@pytest.mark.parametrize("session", ["opencode/long", "qwen-code/long"])
def test_a_result_that_outlives_a_compaction_counts_in_later_requests(session: str, tmp_path: Path) -> None:
    """A result costs in each request that sends it; the two that made the summary may count otherwise."""
    kept = "call_m_fk_4_0"
    wanted = next(call["sent_in_requests"] for call in truth_of(session)["calls"] if id_of(call) == kept)
    (call,) = (call for part in audited(session, tmp_path) for call in part.calls if call.id == kept)
    assert wanted > 3
    assert abs(call.sent_in_requests - wanted) <= 2


@pytest.mark.parametrize("session", COMPACTED)
def test_a_compaction_begins_an_epoch(session: str, tmp_path: Path) -> None:
    """What is read after a compaction belongs to a new epoch, and is told as read again when it was read
    before.
    """
    parts = audited(session, tmp_path)
    main = next(part for part in parts if not part.session.parent)
    assert main.session.compactions == 1
    if session != "gemini-cli/long":  # its compression came after the files were read again
        again = {finding.file for finding in of_kind(parts, "reread")}
        assert again == {"app/main.py", "app/pricing.py"}


@pytest.mark.parametrize(
    "session", [*(one for one in COMPACTED if one != "pi/long"), "cline/long", "otlp/long"]
)
def test_a_sub_agent_is_a_session_of_its_own_with_a_parent(session: str, tmp_path: Path) -> None:
    """What a sub-agent read was never in view of the main conversation."""
    parts = audited(session, tmp_path)
    main, agent = sorted(parts, key=lambda part: bool(part.session.parent))
    assert (main.session.parent, agent.session.parent) == ("", main.session.session)
    files = {call.file.removeprefix("/home/dev/shop/") for call in agent.calls}
    assert files >= {"app/auth.py", "config/prod.yaml"}


@each("session", [one for one in SESSIONS if one not in NO_TRUTH_OF_REPEATS])
def test_lines_shown_again_are_those_of_the_truth(session: str, tmp_path: Path) -> None:
    """Lines a conversation had been shown before, but for one that was changed in between."""
    wanted = {
        id_of(call): sum(
            last - first + 1 for spans in call.get("shown_again", {}).values() for first, last in spans
        )
        for call in truth_of(session)["calls"]
    }
    for part in audited(session, tmp_path):
        for call in part.calls:
            expected = next(n for id, n in wanted.items() if call.id == id or call.id.endswith("_" + id))
            again = sum(
                span.last - span.first + 1 for span in part.lines if span.call == call.call and span.again
            )
            if (session, call.id) != ("opencode/tools", "call_m_fk_16_0"):
                assert abs(again - expected) <= TOLERANCE, call.id


@each("session", [one for one in SESSIONS if not one.startswith("swe-agent")])
def test_secrets_that_went_to_a_model_are_found_by_line(session: str, tmp_path: Path) -> None:
    """Every line with a secret, and no other, in the file where it stands; none of them is quoted."""
    wanted = {
        (secret["file"], secret["line"])
        for call in truth_of(session)["calls"]
        for secret in call.get("secrets", ())
    }
    found = of_kind(audited(session, tmp_path, Options()), "secrets")
    assert {(one.file.rpartition("/home/dev/shop/")[2], one.first) for one in found} == wanted
    assert {one.excerpt for one in found} <= {""}


def test_error_lines_that_a_client_cut_away_are_told_where_it_keeps_the_whole(tmp_path: Path) -> None:
    """The check that failed stands in the middle, which clients cut away and keep."""
    for session in ("gemini-cli/tools", "qwen-code/tools", "cline/long"):
        (lost,) = of_kind(audited(session, tmp_path), "lost-errors")
        assert "check 0811 FAILED: rule_117 gives 0.882, expected 0.883" in lost.excerpt
        assert lost.file == "scripts/check.sh"


def test_usage_is_counted_once_an_answer(tmp_path: Path) -> None:
    """Clients write the same usage with every block of an answer, or in two places."""
    for session, tokens in (
        ("claude-code/tools", 1_287_438),
        ("codex/tools", 358_978),
        ("gemini-cli/tools", 760_227),
        ("qwen-code/tools", 732_824),
        ("opencode/tools", 657_943),
        ("continue/tools", 417_322),
        ("cline/tools", 246_442),
        ("atif/claude-code", 1_287_438),
        ("atif/codex", 358_978),
        ("kilo/tools", 783_755),
        ("copilot-cli/tools", 298_523),
        ("otlp/tools", 298_523),
        ("pi/tools", 486_166),
    ):
        (part,) = audited(session, tmp_path)
        assert part.session.input_tokens == tokens
        assert part.session.turns == 19


def test_a_result_that_later_requests_carried_shorter_says_so(tmp_path: Path) -> None:
    """Gemini CLI masks old results; what was sent first is what is counted."""
    rewritten = {
        id_of(call): call["rewritten"]["chars"]
        for call in truth_of("gemini-cli/tools")["calls"]
        if "rewritten" in call
    }
    (part,) = audited("gemini-cli/tools", tmp_path)
    found = {
        call.id.partition("__")[2]: [call.characters, call.rewritten_characters]
        for call in part.calls
        if call.rewritten_characters is not None
    }
    assert found == rewritten
    whole = {call.id.partition("__")[2]: call.whole_in_requests for call in part.calls}
    for call in truth_of("gemini-cli/tools")["calls"]:
        if "rewritten" in call:
            assert whole[id_of(call)] == call["rewritten"]["in_request"] - call["first_request"]
