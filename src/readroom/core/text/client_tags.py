"""Tags in which a client speaks to its model, found in content with their places.

A client wraps its own words in tags (`system-reminder`, `environment_context`), and its model has learnt
that they come from the client.  A file can hold the same tags.  They are reported next to the text, like
hidden characters, and never removed from it.

Only names that nothing else uses are in the table: `task`, `file`, `rules`, `context`, `instructions`, `env`,
`user_info` and `attachments` are tags of clients, too, and ordinary XML.  Names of lines of usage
(`run <command-name>`) count where they are closed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct

CODE = "client_tag"
"""The code of the warnings."""

LOOKED_AT = "2026-11-26"
"""The day on which the sources of `TABLE` were read last."""


class Speaker(Struct, frozen=True):
    """A client, where its tags are published, and the tags.

    Attributes:
        name: As a warning names it.
        source: A repository with a path or a thread in it, or what records of its sessions hold.
        tags: Names in lower case; `-`, `_` and a blank are the same to a model, and so here.
        closed: Names that count only in a closing tag.
    """

    name: str
    source: str
    tags: tuple[str, ...]
    closed: tuple[str, ...] = ()


TABLE: tuple[Speaker, ...] = (
    Speaker(
        "Claude Code",
        "records of sessions of 2.1; anomalyco/opencode #30799 about a file that holds one",
        (
            "system-reminder", "local-command-stdout", "local-command-stderr", "local-command-caveat",
            "bash-stdout", "bash-stderr", "user-prompt-submit-hook", "task-notification", "teammate-message",
            "ide_selection", "ide_opened_file", "ide_diagnostics", "new-diagnostics", "persisted-output",
        ),
        ("command-name", "command-message", "command-args", "bash-input"),
    ),
    Speaker("opencode", "anomalyco/opencode packages/opencode/src/session/prompt.ts", ("system-reminder",)),
    Speaker("Kilo Code", "Kilo-Org/kilocode src/core/environment/getEnvironmentDetails.ts",
            ("environment_details", "explicit_instructions", "system-reminder")),
    Speaker("Qwen Code", "QwenLM/qwen-code packages/core/src/core/prompts.ts",
            ("system-reminder", "state_snapshot")),
    Speaker(
        "Codex",
        "openai/codex codex-rs/protocol/src/protocol.rs and codex-rs/core/src/context",
        (
            "environment_context", "user_instructions", "permissions instructions", "apps_instructions",
            "skills_instructions", "plugins_instructions", "collaboration_mode", "multi_agent_mode",
            "personality_spec", "model_switch", "turn_aborted", "subagent_notification", "user_shell_command",
            "codex_internal_context", "goal_context", "realtime_conversation", "recommended_plugins",
        ),
    ),
    Speaker(
        "Gemini CLI",
        "google-gemini/gemini-cli packages/core/src/utils/environmentContext.ts and prompts/snippets.ts",
        ("session_context", "hook_context", "state_snapshot", "loaded_context", "activated_skill"),
    ),
    Speaker("Cline", "cline/cline src/core/prompts/responses.ts and src/core/task/index.ts",
            ("environment_details", "explicit_instructions")),
    Speaker("Roo Code", "RooCodeInc/Roo-Code src/core/environment/getEnvironmentDetails.ts",
            ("environment_details",)),
    Speaker(
        "Cursor",
        "its published prompts and exported conversations",
        (
            "user_query", "system_reminder", "system_notification", "open_and_recently_viewed_files",
            "always_applied_workspace_rules", "agent_requestable_workspace_rules", "agent_transcripts",
        ),
    ),
    Speaker(
        "GitHub Copilot",
        "microsoft/vscode-copilot-chat src/extension/prompts/node/agent/agentPrompt.tsx",
        ("reminderinstructions", "editorcontext", "agentpersistence", "importantreminders",
         "system_notification"),
    ),
    Speaker(
        "chat templates",
        "templates of Qwen, Llama 3 and Gemma, as inference servers apply them",
        ("|im_start|", "|im_end|", "|start_header_id|", "|end_header_id|", "|eot_id|", "start_of_turn",
         "end_of_turn"),
    ),
)  # fmt: skip
"""Who obeys which tags."""


class Tag(Struct, frozen=True):
    """A tag in a line: its first column, from 1, its name as it stands, and the clients that obey it."""

    column: int
    name: str
    clients: tuple[str, ...]


def _key(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")


def _by_name(closed: bool) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for speaker in TABLE:
        for name in speaker.closed if closed else speaker.tags:
            names = found.setdefault(_key(name), [])
            if speaker.name not in names:
                names.append(speaker.name)
    return MappingProxyType({name: tuple(names) for name, names in found.items()})


_OPENED = _by_name(closed=False)
_CLOSED = _by_name(closed=True)

_SHORTEST = min(len(name) for name in (*_OPENED, *_CLOSED) if not name.startswith("|"))

_LOOK_ALIKES = "\uff1c\ufe64"
"""Brackets that a model may take for `<`: text after them is compared in its plain form."""

# The names of nearly all tags of HTML and XML are shorter: a few steps for each bracket. Letters in both
# cases are twice as fast as a pattern that ignores them.
_TAG = re.compile(
    rf"<(?=[ \t/A-Za-z|])[ \t]*(/?)[ \t]*([A-Za-z][A-Za-z_-]{{{_SHORTEST - 1},40}}"
    r"|\|[A-Za-z_]+\|)(?![\w-])([ \t]+instructions\b)?"
)

_LONGEST = 60
"""Characters after a look-alike that are compared."""


def has_any(text: str) -> bool:
    """Whether there is such a tag in a text; takes 20 us for 20 kB of source code."""
    return next(found_in(text), None) is not None


def found_in(line: str) -> Iterator[Tag]:
    """The tags in a line, in order."""
    if "<" in line:
        for match in _TAG.finditer(line):
            if tag := _tag(match, match.start()):
                yield tag
    if not line.isascii():
        yield from _alike(line)


def _alike(line: str) -> Iterator[Tag]:
    for bracket in re.finditer(f"[{_LOOK_ALIKES}]", line):
        start = bracket.start()
        plain = unicodedata.normalize("NFKC", line[start : start + _LONGEST])
        if (match := _TAG.match(plain)) and (tag := _tag(match, start)):
            yield tag


def _tag(match: re.Match[str], start: int) -> Tag | None:
    closing, name, second = match.groups()
    names = (f"{name} {second.strip()}", name) if second else (name,)
    for whole in names:
        key = _key(whole)
        if clients := _OPENED.get(key) or (_CLOSED.get(key) if closing else None):
            return Tag(start + 1, whole.strip("|"), clients)
    return None


def said(tag: Tag, more: int = 0) -> str:
    """The words of a warning: the name without its brackets, which would make it a tag again."""
    others = f"; {more} more on this line" if more else ""
    return f"{tag.name}, a tag of {' and '.join(tag.clients[:2])}: content, not the client's words{others}"
