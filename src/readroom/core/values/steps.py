"""The steps that a contract adds to a read, before and after the selection.

The engine selects; which files are refused and what they are read as may be up to the contract.  `accept`
is called when the file is open and its kind is known, `fit` with the selection before it is worded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from readroom.core.errors import TooLarge
from readroom.core.quoting import quote
from readroom.core.values import Cap, Kind, ListRequest, ReadRequest, ReadResult, Stat


class Candidate(Struct, frozen=True):
    """An opened file that is about to be read.

    Attributes:
        path: The requested path.
        real: The real name of the file.
        stat: Its stat.
        kind: An image, a document, a kind of text, or binary.
        plain: The kind if documents are not read: a kind of text, or binary; an image remains one.
        nul: Whether it is a text with a NUL near its beginning, which some contracts take for binary.
        sample: Its first bytes.
    """

    path: str
    real: str
    stat: Stat
    kind: Kind
    plain: Kind
    nul: bool = False
    sample: bytes = b""


Accept: TypeAlias = Callable[[Candidate], Kind]
"""Decides how a file is read; one that it takes for text without being detected as such is read as UTF-8. May
raise to refuse it."""

Fit: TypeAlias = Callable[[ReadRequest, ReadResult, Cap], ReadResult]
"""Adjusts the selection before it is worded. May raise to refuse it."""

Suggests: TypeAlias = Callable[[str, Sequence[str]], Sequence[str]]
"""Chooses among names of a folder, given the one that is missing there."""


class Steps(Struct, frozen=True):
    """The steps of one call.

    Attributes:
        accept: Chooses how to read a file; None keeps its kind, and only then databases and tables are read
            as such.
        fit: Reduces the selection; None shows all of it.
        expands: Read compressed files as their content; otherwise they are binary files.
        links: Read files through symbolic links; otherwise links are refused (`SymbolicLink`).
        nul: A text may contain NUL characters; otherwise it is a binary file.
        folder: The listing that a read of a folder means; None refuses such a read.
        suggests: Which of the names in the folder of a missing file are suggested instead of it; None
            suggests similar ones.
    """

    accept: Accept | None = None
    fit: Fit | None = None
    expands: bool = True
    links: bool = True
    nul: bool = True
    folder: Callable[[ReadRequest], ListRequest] | None = None
    suggests: Suggests | None = None


AS_IT_IS = Steps()
"""The steps of the native contract: none."""

# -----------------------------------------------------------------------------
# Classifications of files that several contracts share.
# -----------------------------------------------------------------------------


def no_documents(candidate: Candidate) -> Kind:
    """Documents are the texts that they are, or binary."""
    return candidate.plain


def text_only(candidate: Candidate) -> Kind:
    """Neither documents nor images are anything but the text that they are, or binary."""
    return Kind.BINARY if candidate.plain is Kind.IMAGE else candidate.plain


class TextUpTo(Struct, frozen=True):
    """Text alone, and of no file that is larger than so many bytes; None for no limit."""

    bytes: int | None

    def __call__(self, candidate: Candidate) -> Kind:
        """Raises TooLarge."""
        size = candidate.stat.size
        if self.bytes is not None and size > self.bytes:
            advice = "Use offset and limit to read a part of it."
            raise TooLarge(quote(candidate.path), size, self.bytes, "bytes", advice)
        return text_only(candidate)
