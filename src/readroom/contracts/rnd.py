"""The `read` command with front matter: read(path, offset, limit) -> ok, content, lines_read, total_lines.

Lines are counted from 1; the content is the text as in the file, without numbers.
Limits and path lists are those of the command file.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from readroom.contracts import envelope, rnd_text
from readroom.contracts.base import Contract, Deviation, Tool, Wording
from readroom.contracts.front_matter import FrontMatter, published
from readroom.contracts.rnd_text import READ
from readroom.contracts.setup import Setup
from readroom.manner import Manner
from readroom.model import ReadRequest
from readroom.policy.rules import AllowList, Denials, Layer, Rule

_MAGIC = frozenset("*?[")


class ReadArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of read."""

    path: Annotated[str, Meta(description="Relative to the project root, or absolute inside it")]
    offset: Annotated[int, Meta(ge=1, description="First line, from 1")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines")] | None = None


DEVIATIONS = (
    Deviation(
        "rnd.size.partial",
        "A file above max_bytes is refused, and advice to use offset and limit meets the same refusal",
        "It is refused when it is read whole, and served when offset or limit is given",
    ),
    Deviation(
        "rnd.budget.tokens",
        "Bytes are counted against a context budget",
        "Tokens are counted, and a warning says how many are left of the budget that runs low first",
    ),
    Deviation(
        "rnd.paths.root",
        "Whether `**/` in a pattern means the root too, and `.env` a file in a subfolder, is left open",
        "`**/` matches nothing as well, and a pattern without a slash means names in every folder",
    ),
    Deviation(
        "rnd.paths.case",
        "Whether `.ENV` is denied is left open",
        "Denied patterns match in any case; allowed ones only as they are written",
    ),
    Deviation(
        "rnd.past_the_end",
        "What an offset past the end gives is left open",
        "It fails with the number of lines and the offsets that there are",
    ),
    Deviation(
        "rnd.write_root",
        "Reading respects write_root, a boundary of the sibling command `write` that `read` has no key for",
        "The root of the workspace bounds all reading; a write_root in the front matter is refused, "
        "so that nobody relies on it",
    ),
    Deviation(
        "rnd.denied_by_default",
        "Only the lists of the front matter deny",
        "Credentials, keys and environment files are denied by default, whatever the front matter allows",
    ),
    Deviation(
        "rnd.audit.hook",
        "The hooks that log and warn take the call from a place where it never stands",
        "Every read, refused ones too, is an entry of the ledger, made where calls are answered",
    ),
    Deviation(
        "rnd.names",
        "Names stand in sentences as they are, and can be made to look like more of the sentence",
        "A name that could be read so is quoted in sentences and lines; in fields it is as it is",
    ),
)


def made(setup: Setup) -> Contract:
    """The contract for a workspace with that setup."""
    command = setup.rnd.command or published()

    def to_request(given: ReadArguments) -> ReadRequest:
        whole = given.offset is given.limit is None
        return ReadRequest(
            given.path,
            offset=given.offset or 1,
            limit=min(given.limit or command.max_lines, command.max_lines),
            manner=Manner(
                line_chars=0,
                images=False,
                documents=False,
                unpacks=False,
                header=False,
                outline=False,
                marks=False,
                rests=False,
                most_bytes=command.max_bytes if whole else None,
            ),
        )

    def wording(given: ReadArguments) -> Wording:
        asked = rnd_text.Asked(given.path, given.offset or 1, given.limit, command)
        return Wording(partial(rnd_text.render, asked), partial(rnd_text.render_error, asked))

    tool = Tool(
        name=READ,
        title="Read a file",
        description=(
            f"Read file contents: raw text, at most {command.max_lines:,} lines at once. Files above "
            f"{rnd_text.megabytes(command.max_bytes)[0]} need offset or limit. "
            "warnings say what is not shown and how to go on."
        ),
        arguments=ReadArguments,
        to_request=to_request,
        reports_progress=True,
        wording=wording,
    )
    nowhere = rnd_text.Asked("", 1, None, command)
    return Contract(
        name="rnd",
        title="read command",
        instructions="Read files in parts: each answer says in its warnings where to go on.",
        tools=(tool,),
        reply_bytes=rnd_text.reply_bytes(command),
        measure=rnd_text.MEASURE,
        render=partial(rnd_text.render, nowhere),
        render_error=partial(rnd_text.render_error, nowhere),
        to_call=rnd_text.to_call,
        remark=partial(envelope.remark, field="warnings"),
        deviations=DEVIATIONS,
        layers=_layers(command),
        seconds=command.timeout_seconds,
    )


def _layers(command: FrontMatter) -> tuple[Layer, ...]:
    """Denials first, so that their reason is the one that is told."""
    denied = Denials(Rule(text, command.source, "denied_paths") for text in command.denied_paths)
    allowed = []
    for text in command.allowed_paths:
        allowed.append(text)
        last = text.rstrip("/").rpartition("/")[2]
        if not _MAGIC & set(last):  # the name of a folder means what is in it
            allowed.append(f"{text.rstrip('/') if '/' in text.rstrip('/') else '**/' + text.rstrip('/')}/**")
    return (denied, AllowList(allowed, command.source, below_matches=False))
