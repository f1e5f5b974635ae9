"""The base classes of all errors, and how a class words its sentences from its fields.

    class NotAbsolute(UsageError):
        message = "The path {path} is not absolute"
        advice = "The workspace is {root}; give the path below it."
        path: Name
        root: Name

Annotations are the fields: arguments of the constructor, attributes, words of the
templates and, in their order, facts.  The code is the name of the class, unless it says
another.  A class that needs more computes it in `_fill`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, dataclass_transform

from readroom.core.limits import SHOWN_PATH_CHARS
from readroom.core.quoting import as_value, quote
from readroom.core.values import Fact, Request

if TYPE_CHECKING:
    from dataclasses import KW_ONLY as KW_ONLY
else:
    KW_ONLY = None

_T = TypeVar("_T")

Name = str
"""A field with a name that strangers chose: quoted in sentences, a value among the facts."""

Brief = str
"""A field that a caller sent; it may be a whole document by mistake, and is not sent back whole."""

Aside = Annotated[_T, "no fact"]
"""A field that is not among the facts."""


def brief(text: str) -> str:
    """As much of it as is sent back."""
    return text if len(text) <= SHOWN_PATH_CHARS else f"{text[:SHOWN_PATH_CHARS]}..."


def keyword(*, default: Any, alias: str, kw_only: bool) -> Any:
    """The default of a field that has another name among the arguments."""
    return default


@dataclass_transform(field_specifiers=(keyword,))
class _Worded(Exception):
    """See the module. Only templates of classes are filled: what an instance has itself is shown as it is."""

    code: ClassVar[str]
    message: str
    advice: str
    facts: dict[str, Fact]
    detail = ""
    _kinds: ClassVar[dict[str, str]] = {}
    """Each field and the word with which its annotation begins."""

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls):
            cls.code = re.sub("(?<=[a-z])(?=[A-Z])|(?<=A)(?=[A-Z])", "_", cls.__name__).lower()
        kinds = cls.__annotations__.items()
        own = {name: re.split(r"[\[ ]", kind)[0].rpartition(".")[2] for name, kind in kinds}
        cls._kinds = cls._kinds | {name: kind for name, kind in own.items() if name not in ("_", "next")}

    def __init__(self, *values: Any, next_request: Request | None = None, **named: Any) -> None:
        kinds = self._kinds or ({} if hasattr(self, "message") else _SENTENCES)
        if len(values) > len(kinds) or not named.keys() <= kinds.keys() | {"facts"}:
            raise TypeError(f"{type(self).__name__} takes {', '.join(kinds)}")
        own = vars(self)
        own.update(zip(kinds, values, strict=False), next=next_request, **named)
        if "facts" not in own:
            self.facts = {}
            for name, kind in kinds.items():
                if kind != "Aside" and name not in _SENTENCES:
                    value = getattr(self, name)
                    show = _AS_FACTS.get(kind)
                    self.facts[name] = show(value) if show and value is not None else value
        self._fill()
        for sentence in _SENTENCES:
            if sentence not in own:
                text = getattr(self, sentence)
                own[sentence] = text if sentence in kinds else text.format_map(_Words(self))
        super().__init__(self.message)

    def _fill(self) -> None:
        """Set words of templates, and whatever a template cannot say."""

    def __str__(self) -> str:
        return f"{self.message}. {self.advice}"


_SENTENCES = {"message": "str", "advice": "str"}
"""The fields of a class that has no template."""

_AS_FACTS: dict[str, Callable[[Any], Fact]] = {
    "Name": as_value,
    "Brief": brief,
    "Sequence": list,
}
_AS_WORDS: dict[str, Callable[[Any], str]] = {"Name": quote, "Brief": brief, "Sequence": ", ".join}


class _Words(dict[str, Any]):
    """The fields of an error as its sentences show them."""

    def __init__(self, error: _Worded) -> None:
        self._error = error

    def __missing__(self, name: str) -> Any:
        value, kind = getattr(self._error, name), self._error._kinds.get(name, "")
        return _AS_WORDS[kind](value) if kind in _AS_WORDS else value


class ReadroomError(_Worded):
    """A refusal or failure with a code, facts and a next step.

    Attributes:
        message: What happened: one sentence, without the final full stop.
        advice: What to do about it, one or two sentences.
        facts: Values a program can act on, JSON-ready.
        next: The request that works instead, when there is one.
        detail: Lines to show below the sentences, such as a diff; may be empty.
    """

    code = "error"
    next: Request | None = keyword(default=None, alias="next_request", kw_only=True)

    if TYPE_CHECKING:  # a class without a template takes its sentences

        def __init__(self, message: str, advice: str) -> None: ...


class UsageError(ReadroomError, ValueError):
    """The call itself is wrong; the same call can never succeed."""

    code = "usage"

    if TYPE_CHECKING:

        def __init__(self, message: str, advice: str, *, facts: dict[str, Fact] = ...) -> None: ...


class RefusedError(ReadroomError, PermissionError):
    """Policy or confinement refuses; nothing about the content is said."""

    code = "refused"

    if TYPE_CHECKING:

        def __init__(self, message: str, advice: str) -> None: ...


class AbsentError(ReadroomError, FileNotFoundError):
    """Nothing is at that name."""

    code = "absent"

    if TYPE_CHECKING:

        def __init__(self, message: str, advice: str) -> None: ...


class FailedError(ReadroomError):
    """The thing is there and allowed, and cannot be served as asked."""

    code = "failed"

    if TYPE_CHECKING:

        def __init__(self, message: str, advice: str) -> None: ...


class ConflictError(FailedError):
    """The file is not what the call takes it for."""

    code = "conflict"

    if TYPE_CHECKING:

        def __init__(self, message: str, advice: str) -> None: ...


# -----------------------------------------------------------------------------
# The same error about another name, where a folder is one of several.
# -----------------------------------------------------------------------------

_PATHS = ("path", "other", "folder", "target", "meant", "where", "source")
"""Fields that name a file of the workspace, or, the last two, perhaps a file of its policy."""

_POLICY_FILES = ("readroom.toml", ".readroomignore", ".kilocodeignore")


def renamed(
    error: ReadroomError, name: Callable[[str], str], following: Request | None = None
) -> ReadroomError:
    """The error with other names for its files; `following` is its next step under these names."""
    own = vars(error)
    fields = {field: own[field] for field in type(error)._kinds if field in own}
    for field in _PATHS:
        value = fields.get(field)
        if isinstance(value, str):
            fields[field] = policy_named(value, name) if field in ("where", "source") else name(value)
    kind: Any = type(error)
    again: ReadroomError = kind(**fields, next_request=following)
    again.__traceback__ = error.__traceback__
    return again


def policy_named(source: str, name: Callable[[str], str]) -> str:
    """The source of a rule, with another name if that is a file in its root."""
    return name(source) if source.partition(":")[0] in _POLICY_FILES else source
