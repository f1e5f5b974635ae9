"""Habits that cost: what each is, a sentence of advice, and what ends it in any client.

Knows: for each kind of finding that is a habit, the settings of clients. Names of settings are facts about
others, each from that client's own documentation or its measured behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from readroom.core.rows import FindingKind


class Habit(msgspec.Struct, frozen=True):
    """A costly way of an agent, in words for people; how it ends; and the setting or the tool for that.

    `settings` has the client's own by its name; `tool` is for every client.
    """

    name: str
    advice: str
    tool: str
    settings: Mapping[str, str] = {}


HABITS: Mapping[FindingKind, Habit] = {
    "oversized": Habit(
        "Whole files read for a few lines",
        "Let the agent look at an outline first, and then read the lines it needs.",
        "readroom: read_file with view=outline, symbol, or offset and limit",
        {"Claude Code": "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS caps a read"},
    ),
    "unused": Habit(
        "Output that was never used",
        "Ask for less: a count, a range, or the end of a log; send the rest into a file.",
        "readroom: run_command with output=concise keeps the whole, and shows what failed",
        {
            "Claude Code": "BASH_MAX_OUTPUT_LENGTH and MAX_MCP_OUTPUT_TOKENS cap a result",
            "Codex": "tool_output_token_limit in config.toml caps a result",
            "Gemini CLI": "tools.truncateToolOutputThreshold in settings.json caps a result",
            "Qwen Code": "tools.truncateToolOutputThreshold in settings.json caps a result",
        },
    ),
    "floods": Habit(
        "Searches that returned too much",
        "Search for names of files or for counts first, then within one folder.",
        "rg -l and rg --max-count in a shell; readroom: grep_files with output=files and limit",
        {"Claude Code": "Grep with output_mode=files_with_matches and head_limit"},
    ),
    "repeated": Habit(
        "Lines shown again that the model still had",
        "Say in the instructions that a file which did not change is not read again.",
        "readroom: read_file with known_hash answers an unchanged file in one line",
        {
            "Claude Code": "CLAUDE.md is read in every session",
            "Codex": "AGENTS.md is read in every session",
            "opencode": "AGENTS.md is read in every session",
            "Kilo CLI": "AGENTS.md is read in every session",
            "pi": "AGENTS.md is read in every session",
            "GitHub Copilot CLI": "AGENTS.md is read in every session",
            "Gemini CLI": "GEMINI.md is read in every session",
            "Qwen Code": "QWEN.md is read in every session",
        },
    ),
    "reread": Habit(
        "Files read again after a compaction",
        "Begin a new conversation for a new task, and compact at the end of a step, not within one.",
        "any client: one task for each conversation; a plan in a file outlives a compaction",
        {
            "Claude Code": "/compact with words about what to keep",
            "Codex": "model_auto_compact_token_limit in config.toml",
            "Gemini CLI": "model.compressionThreshold in settings.json",
            "opencode": "compaction.auto in opencode.json",
        },
    ),
    "failed-edits": Habit(
        "Edits that failed, and their retries",
        "Let the agent read the lines right before it changes them, and quote them exactly.",
        "readroom: edit_file names the places where a text almost matches, so the second try succeeds",
    ),
}  # fmt: skip
"""The habits, by kind of finding. Truncated text cost nothing and has its own part of the screen."""


def setting(kind: FindingKind, clients: list[str]) -> str:
    """The end of a habit: the setting of the first of these clients that has one, or the tool for any."""
    habit = HABITS[kind]
    own = next((f"{client}: {habit.settings[client]}" for client in clients if client in habit.settings), "")
    return f"{own}; {habit.tool}" if own else habit.tool
