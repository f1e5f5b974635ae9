"""The steps that a contract adds to a read, before and after the selection.

The engine selects; which files are refused and what they are read as may be up to the contract.  `accept`
is called when the file is open and its kind is known, `fit` with the selection before it is worded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from readroom.errors import TooLarge
from readroom.quoting import quote
from readroom.values import Cap, Kind, ReadRequest, ReadResult, Stat


class Candidate(Struct, frozen=True):
    """An opened file that is about to be read.

    Attributes:
        path: As it was asked for.
        real: The name it was found under.
        stat: Of the file.
        kind: What it is: an image, a document, a kind of text, or binary.
        plain: What it is where documents are not read: a kind of text, or binary; an image is one.
    """

    path: str
    real: str
    stat: Stat
    kind: Kind
    plain: Kind


Accept: TypeAlias = Callable[[Candidate], Kind]
"""Decides how a file is read. May raise to refuse it."""

Fit: TypeAlias = Callable[[ReadRequest, ReadResult, Cap], ReadResult]
"""Adjusts the selection before it is worded. May raise to refuse it."""


class Steps(Struct, frozen=True):
    """The steps of one call.

    Attributes:
        accept: None takes every file for what it is; databases and tables are read as such only then.
        fit: None shows all that was selected.
        expands: Compressed files are read as their content; else they are binary files.
        links: Files are read through symbolic links; else links are refused (`SymbolicLink`).
        nul: A text may hold NUL characters; else it is a binary file.
    """

    accept: Accept | None = None
    fit: Fit | None = None
    expands: bool = True
    links: bool = True
    nul: bool = True


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
