"""Files and changes as they may be shown and made; what that needs is loaded where an operator masks."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.secrets import SecretPolicy, unmasked
from readroom.core.stores.base import Change, Source


def masks(policy: SecretPolicy) -> bool:
    """Whether secrets are masked. Raises MissingProgram if they are to be, and cannot be found."""
    if policy.mask:
        from readroom.core.secrets.judge import require

        require()
    return policy.mask


def view(source: Source) -> Source:
    """The view of an opened file, which is taken over."""
    from readroom.core.secrets.view import MaskedSource

    return MaskedSource(source)


def view_of(data: bytes) -> bytes:
    """The view of the bytes of a whole text."""
    from readroom.core.secrets.view import masked

    return masked(data)


def as_made(made: Sequence[Change]) -> Sequence[Change]:
    """Changes that were planned on views, with the secrets of the files. Raises MaskedPlace, TooLarge."""
    from readroom.core.secrets.changes import as_made as real

    return [real(change) for change in made]


def starred(source: Source) -> Source:
    """A view whose bytes go where no label can stand: its secrets are asterisks. Other files as they are."""
    plain = unmasked(source)
    if plain is source:
        return source
    from readroom.core.secrets.view import MaskedSource

    return MaskedSource(plain, stars=True)
