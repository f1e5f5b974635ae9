"""The sections of a workspace's configuration as Structs: each key once, with type, bounds and example.

What they mean together is for `apply` to say, and for which server `serve`.
"""

from __future__ import annotations

import os
from typing import Annotated, ClassVar, Literal, Self, TypeAlias

from msgspec import UNSET, Meta, UnsetType, defstruct
from msgspec.structs import fields

from readroom.config.file import AbsolutePath, Section, Text, UnusableText
from readroom.contracts.setup import NEVER
from readroom.ledger.recorder import KEPT
from readroom.limits import MIN_REPLY_BYTES, NUMBER_MOST, REPLY_BYTES, Limits
from readroom.policy.commands import Demand, VersionControl
from readroom.policy.guard import HardLinkMode
from readroom.policy.rules.gitignore import UnusablePattern, patterns

LEAST_SECONDS = 0.1
"""Shorter limits end calls before they have begun."""

_LEAST = {"reply_bytes": MIN_REPLY_BYTES, "line_chars": 40, "run_kept_bytes": 4096}
"""Least values that still let a reply say something; of the others, one line, match or entry."""

Switch: TypeAlias = bool | UnsetType
IndexBytes: TypeAlias = Annotated[int, Meta(ge=64 * 1024, le=NUMBER_MOST, examples=[67108864])] | UnsetType
"""Below, not one index would be kept."""
Tokens: TypeAlias = Annotated[int, Meta(ge=500, le=NUMBER_MOST, examples=[100000])] | UnsetType
"""Below, not even one smallest reply could be given."""


Variable: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\A[^=\0]+\Z",
        title="{} cannot be the name of a variable",
        description="Write names of variables, without values.",
    ),
]
PostgresUrl: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"\Apostgres(ql)?://",
        title="is not a PostgreSQL address",  # not repeated: it may hold a password
        description='Write it as "postgresql://user@host/database".',
    ),
]
KeptArgument: TypeAlias = Annotated[
    str,
    Meta(
        pattern=rf"\A({'|'.join(KEPT)})\Z",
        title="{} is not kept anyway",
        description=f"Names are: {', '.join(sorted(KEPT))}.",
    ),
]
CommandFile: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        title="must be the path of a command file",
        description='Write front_matter = "commands/read.md".',
    ),
]


class Pattern(Text):
    """A pattern of .gitignore."""

    no_negation: ClassVar[str | None] = None
    """Why there is none, where there is none."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The pattern. Raises UnusableText."""
        parsed = patterns([text])
        if parsed and parsed[0].negated and cls.no_negation:
            raise UnusableText(f"{text!r} is a negation", f"Leave out the '!': {cls.no_negation}.")
        try:
            if not parsed:
                raise UnusablePattern(text)
            parsed[0].compiled()
        except UnusablePattern:
            advice = "Patterns have the syntax of .gitignore; a backslash makes a special character plain."
            raise UnusableText(f"{text!r} is not a pattern that can match a name", advice) from None
        return cls(text)


class AllowedPattern(Pattern):
    """A pattern of names that are allowed."""

    no_negation = "deny takes names out again"


class ExceptedPattern(Pattern):
    """A pattern of names that a built-in rule does not mean."""

    no_negation = "exceptions have no exceptions"


class PathThere(Text):
    """A file or folder of this machine."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The path, normal. Raises UnusableText."""
        path = os.path.expanduser(text)
        if "\0" in path or not os.path.isabs(path) or not os.path.exists(path):
            advice = "Name an absolute path that exists, or one that starts with ~/."
            raise UnusableText(f"there is no {text!r}", advice)
        return cls(os.path.normpath(path))


class PolicySection(Section, frozen=True):
    """[policy]."""

    deny: list[Pattern] | UnsetType = UNSET
    allow: list[AllowedPattern] | UnsetType = UNSET
    hardlinks: HardLinkMode | UnsetType = UNSET
    exceptions: list[ExceptedPattern] | UnsetType = UNSET


class ChangesSection(Section, frozen=True):
    """[changes]."""

    read_only: Switch = UNSET
    follow_links: Switch = UNSET
    split_hardlinks: Switch = UNSET
    exceptions: list[ExceptedPattern] | UnsetType = UNSET


class CommandsSection(Section, frozen=True):
    """[commands]."""

    enabled: Switch = UNSET
    confinement: Demand | UnsetType = UNSET
    network: Switch = UNSET
    version_control: VersionControl | UnsetType = UNSET
    read: list[PathThere] | UnsetType = UNSET
    write: list[PathThere] | UnsetType = UNSET
    environment: list[Variable] | UnsetType = UNSET


class IndexSection(Section, frozen=True):
    """[index]."""

    keep: Switch = UNSET
    folder: AbsolutePath | UnsetType = UNSET
    disk_bytes: IndexBytes = UNSET
    from_bytes: IndexBytes = UNSET


class LedgerSection(Section, frozen=True):
    """[ledger]."""

    enabled: Switch = UNSET
    required: Switch = UNSET
    file: AbsolutePath | UnsetType = UNSET
    url: PostgresUrl | UnsetType = UNSET
    synchronous: Literal["normal", "full"] | UnsetType = UNSET
    hide: list[KeptArgument] | UnsetType = UNSET
    keep_days: Annotated[float, Meta(gt=0, le=36_500, examples=[365])] | UnsetType = UNSET


class BudgetSection(Section, frozen=True):
    """[budget]."""

    call: Tokens = UNSET
    session: Tokens = UNSET
    token: Tokens = UNSET
    workspace: Tokens = UNSET
    counter: Literal["estimate", "o200k"] | UnsetType = UNSET


class KiloSection(Section, frozen=True):
    """[contracts.kilo]."""

    max_read_file_line: Annotated[int, Meta(ge=NEVER, le=NUMBER_MOST, examples=[500])] | UnsetType = UNSET
    auto_truncate: Switch = UNSET


class RndSection(Section, frozen=True):
    """[contracts.rnd]."""

    front_matter: CommandFile | UnsetType = UNSET


def _limit(name: str, default: float | None) -> object:
    default = REPLY_BYTES if default is None else default
    least = _LEAST.get(name, 1 if isinstance(default, int) else LEAST_SECONDS)
    return Annotated[type(default), Meta(ge=least, le=NUMBER_MOST, examples=[default])] | UnsetType


LimitsSection: type[Section] = defstruct(  # type: ignore[assignment]  # its base is a Section
    "LimitsSection",
    [(field.name, _limit(field.name, getattr(Limits(), field.name)), UNSET) for field in fields(Limits)],
    bases=(Section,),
    frozen=True,
)
"""[limits]: every field of `limits.Limits`."""

SECTIONS: dict[str, type[Section]] = {
    "policy": PolicySection,
    "changes": ChangesSection,
    "commands": CommandsSection,
    "index": IndexSection,
    "ledger": LedgerSection,
    "budget": BudgetSection,
    "contracts.kilo": KiloSection,
    "contracts.rnd": RndSection,
    "limits": LimitsSection,
}
"""By their names in a file."""
