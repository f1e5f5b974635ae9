"""One configuration file: its sections as structs, each key once with type, bounds and example.

Errors name the file, the key and what is allowed. `apply` and `serve` know what keys mean together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeAlias,
    TypeVar,
    final,
    get_args,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Meta, UnsetType, defstruct, inspect
from msgspec.structs import fields

from readroom.core.contracts import ROWS, OwnSettings
from readroom.core.errors import BadConfig
from readroom.core.history.settings import (
    HISTORY_BYTES,
    HISTORY_DAYS,
    HISTORY_FILE_BYTES,
    HISTORY_VALUE_BYTES,
    CommandPast,
)
from readroom.core.limits import CONFIG_FILE_BYTES, MIN_REPLY_BYTES, NUMBER_MOST, REPLY_BYTES, Limits
from readroom.core.policy.commands import Demand, VersionControl
from readroom.core.policy.guard import HardLinkMode
from readroom.core.policy.rules.gitignore import UnusablePattern, patterns, require_effect
from readroom.core.values.verbs import function

_PLACE = re.compile(r"`\$\.(\w+)(?:\[(\d+)\])?`\Z")
"""The end of a message of msgspec: the key, and in a list the number of the item."""


class UnusableText(ValueError):
    """An invalid text: the problem, and what to write."""

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.advice = advice


class Text(str):
    """A text that code checks and normalizes."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The text in its normal form. Raises UnusableText."""
        return cls(text)


class AbsolutePath(Text):
    """A path that does not depend on where readroom is started; `~` is the home of the user who starts it."""

    @classmethod
    def read(cls, text: str) -> Self:
        path = os.path.expanduser(text)
        if "\0" in path or not os.path.isabs(path):
            raise UnusableText(f"{text!r} is not an absolute path", "Name one, or one that starts with ~/.")
        return cls(os.path.normpath(path))


class Section(msgspec.Struct, frozen=True):
    """The keys of one section; those that the file does not have are UNSET."""

    def given(self) -> dict[str, Any]:
        """What the file says, lists as tuples."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: _plain(value) for name, value in values.items() if value is not UNSET}

    def applied(self, before: Any) -> Any:
        """The settings of another wing, with those of its section; None where it has no say."""
        return before


S = TypeVar("S", bound=Section)


@final
class ConfigFile:
    """A configuration file. Raises BadConfig for bytes that are not TOML."""

    def __init__(self, where: str, data: bytes) -> None:
        self.where = where
        if len(data) > CONFIG_FILE_BYTES:
            problem = f"it has more than {CONFIG_FILE_BYTES:,} bytes"
            raise self.bad("", problem, "Shorten it; long lists of patterns belong in .readroomignore.")
        try:
            self._document: dict[str, Any] = msgspec.toml.decode(data.decode("utf-8-sig"))
        except ValueError as error:  # of bytes that are not text, of syntax, of numbers without end
            raise self.bad("", f"it is not TOML: {error}", "Correct the syntax.") from None
        except RecursionError:
            raise self.bad("", "it is nested too deeply", "Use sections and keys only.") from None

    def require_known(self, known: Sequence[str], *section: str) -> None:
        """Refuse other keys in a section, or in the file."""
        from difflib import get_close_matches

        for name in self.table(*section):
            if name not in known:
                near = get_close_matches(name, known, n=1)
                guess = f"Did you mean {near[0]!r}? " if near else ""
                advice = f"{guess}The keys are: {', '.join(known)}."
                raise self.bad(".".join((*section, name)), "there is no such key", advice)

    def table(self, *section: str) -> Mapping[str, Any]:
        """A section as it is, empty if missing; without a name, all of them."""
        table = self._document
        for depth, name in enumerate(section, 1):
            table = table.get(name, {})
            if not isinstance(table, dict):
                key = ".".join(section[:depth])
                raise self.bad(key, "must be a section", f"Write [{key}] and its keys below.")
        return table

    def section(self, form: type[S], *section: str) -> S:
        """A section, its values checked. Raises BadConfig."""
        table = self.table(*section)
        self.require_known(form.__struct_fields__, *section)
        try:
            return msgspec.convert(table, form, dec_hook=_read)
        except msgspec.ValidationError as error:
            name, index = _culprit(error)
            hint = get_type_hints(form, include_extras=True)[name]
            key, value = ".".join((*section, name)), table[name]
            if index is not None and isinstance(value[index], str):
                listed = get_args(hint)[0] if UnsetType in get_args(hint) else hint
                key, value, hint = f"{key}[{index}]", value[index], get_args(listed)[0]
            reason = error.__cause__
            if not isinstance(reason, UnusableText):
                reason = _refusal(name, value, inspect.type_info(hint))
            raise self.bad(key, reason.problem, reason.advice) from None

    def bad(self, key: str, problem: str, advice: str) -> BadConfig:
        """The failure of a key."""
        return BadConfig(self.where, key, problem, advice)


def from_disk(path: str) -> bytes:
    """The first bytes of an operator's file, one more than are taken. Raises BadConfig."""
    try:
        with open(path, "rb") as file:
            return file.read(CONFIG_FILE_BYTES + 1)
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else type(error).__name__
        raise BadConfig(path, "", problem, "Name a readable TOML file.") from None


def _read(form: type, value: object) -> Text:
    assert issubclass(form, Text)
    if not isinstance(value, str):
        raise TypeError
    return form.read(value)


def _plain(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(str, value))
    return str(value) if isinstance(value, str) else value


def _culprit(error: msgspec.ValidationError) -> tuple[str, int | None]:
    place = _PLACE.search(str(error))
    assert place is not None
    return place[1], None if place[2] is None else int(place[2])


def _refusal(name: str, value: object, form: inspect.Type) -> UnusableText:
    """The problem of a value with another type or form, and what is allowed."""
    schema: Mapping[str, Any] = {}
    if isinstance(form, inspect.Metadata):
        schema = form.extra_json_schema or {}
        form = form.type
    match form:
        case inspect.UnionType(types=[first, *_]):
            return _refusal(name, value, first)
        case inspect.BoolType():
            return UnusableText("must be true or false", f"Write {name} = true.")
        case inspect.LiteralType(values=known):
            names = " or ".join(f'"{word}"' for word in known)
            return UnusableText(f"{value!r} is not one of the allowed values", f"Use {names}.")
        case inspect.IntType() | inspect.FloatType():
            kind = "whole number" if isinstance(form, inspect.IntType) else "number"
            if isinstance(value, bool) or not isinstance(value, int if "whole" in kind else (int, float)):
                return UnusableText(f"must be a {kind}", f"Write {name} = {schema['examples'][0]}.")
            least = f"from {form.ge}" if form.ge is not None else f"above {form.gt}"
            return UnusableText("is out of range", f"Use a {kind} {least} to {form.le}.")
        case inspect.ListType():
            return UnusableText("must be a list of texts", f'Write {name} = ["...", ...].')
    problem = str(schema.get("title", "must be a text"))
    return UnusableText(problem.format(repr(value)), schema.get("description", f'Write {name} = "...".'))


LEAST_SECONDS = 0.1
"""Shorter limits end calls before they have begun."""

_LEAST = {"reply_bytes": MIN_REPLY_BYTES, "line_chars": 40, "run_kept_bytes": 4096}
"""Least values that still let a reply say something; of the others, one line, match or entry."""

Switch: TypeAlias = bool | UnsetType
IndexBytes: TypeAlias = Annotated[int, Meta(ge=64 * 1024, le=NUMBER_MOST, examples=[67108864])] | UnsetType
"""Below, not one index would be kept."""

HistoryBytes: TypeAlias = (
    Annotated[int, Meta(ge=1024 * 1024, le=NUMBER_MOST, examples=[HISTORY_BYTES])] | UnsetType
)
HistoryDays: TypeAlias = Annotated[int, Meta(ge=1, le=36_500, examples=[HISTORY_DAYS])] | UnsetType
FileBytes: TypeAlias = (
    Annotated[int, Meta(ge=0, le=HISTORY_VALUE_BYTES, examples=[HISTORY_FILE_BYTES])] | UnsetType
)

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


class Pattern(Text):
    """A pattern of .gitignore."""

    no_negation: ClassVar[str | None] = None
    """Why such a pattern cannot be negated; None if it can."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The pattern. Raises UnusableText."""
        parsed = patterns([text])
        if parsed and parsed[0].negated and cls.no_negation:
            raise UnusableText(f"{text!r} is a negation", f"Leave out the '!': {cls.no_negation}.")
        try:
            if not parsed:
                raise UnusablePattern(text)
            require_effect(parsed[0])
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
    roots: list[PathThere] | UnsetType = UNSET


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


Allows: TypeAlias = Callable[[Any, Any], bool]
"""Whether a key may change a value from the first to the second."""


def on(before: object, after: object) -> bool:
    """Whether something is turned on, or stays as it is."""
    return after is True or after == before


class Inside(msgspec.Struct, frozen=True):
    """What a file inside the workspace may do with a key.

    Attributes:
        allows: Whether a change only restricts; None for a key that it cannot set at all.
        only: What it can do instead, as the end of a sentence.
        also: An alternative to the operator's file, as the end of a sentence.
    """

    allows: Allows | None
    only: str
    also: str = ""


class ContractSection(Section, frozen=True):
    """[contracts.NAME], which a contract brings with it.

    Attributes:
        unset: The settings without the section.
        inside: By key, what a file inside the workspace may do.
    """

    unset: ClassVar[OwnSettings]
    inside: ClassVar[Mapping[str, Inside]]

    def settings(self, before: Any, where: str) -> OwnSettings:
        """The settings with what the section says, in the file of that name. Raises BadConfig."""
        raise NotImplementedError


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


class HistorySection(Section, frozen=True):
    """[history]."""

    enabled: Switch = UNSET
    folder: AbsolutePath | UnsetType = UNSET
    most_bytes: HistoryBytes = UNSET
    days: HistoryDays = UNSET
    file_bytes: FileBytes = UNSET
    required: Switch = UNSET
    tool: Switch = UNSET
    review: Switch = UNSET
    commands: CommandPast | UnsetType = UNSET
    undo_in_dashboard: Switch = UNSET
    review_in_dashboard: Switch = UNSET


class SecretsSection(Section, frozen=True):
    """[secrets]."""

    mask: Switch = UNSET


SECTIONS: Mapping[str, type[Section] | str] = {
    "policy": PolicySection,
    "changes": ChangesSection,
    "commands": CommandsSection,
    "index": IndexSection,
    "history": HistorySection,
    "secrets": SecretsSection,
    "ledger": "readroom.server.ledger.settings:LedgerSection",
    "otel": "readroom.server.otel.settings:OtelSection",
    "budget": "readroom.server.budgets:BudgetSection",
    "limits": LimitsSection,
}
"""By their names in a file; a section that another wing brings is named as `module:class`."""


def with_sections() -> tuple[str, ...]:
    """The contracts that bring a section, `contracts.NAME`."""
    return tuple(name for name, row in ROWS.items() if row.section)


def form(section: str) -> type[Section]:
    """The form of a section; that of another wing is imported when it is needed."""
    group, _, name = section.partition(".")
    known = ROWS[name].section if group == "contracts" else SECTIONS[section]
    if isinstance(known, str):
        names: Any = function(known)
        return names  # type: ignore[no-any-return]  # a table of names has no types
    assert known is not None
    return known


def contract_form(name: str) -> type[ContractSection]:
    """The form of the section that a contract brings."""
    found = form(f"contracts.{name}")
    assert issubclass(found, ContractSection)
    return found
