"""Secrets in text: where they are, and texts in which they are masked.

An operator who sets `mask` wants keys and passwords to stay in their files.  Each file is then seen through a
view (`view`) with the same bytes at the same places, except for those of a secret, which are replaced by a
sign of its kind.  Everything that reads files, searches and ranks works on the view, so what it says of a
secret is its kind and its length.  What leaves has labels in the place of signs (`labels`).

Knows: the shapes of secrets (`judge`, with the library detect-secrets), views, labels.
Does not know: which file is read, what a reply is for, and who may see it.
May be touched: shapes with a run of the benchmark `secrets`; the view after a security review.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from readroom.core.stores.base import Source


class SecretPolicy(Struct, frozen=True):
    """The operator's rules for secrets.

    Attributes:
        mask: Replies have labels in the place of secrets.
    """

    mask: bool = False


def unmasked(source: Source) -> Source:
    """The file that a view shows, for what its bytes are copied to or parsed by; else itself."""
    own: Any = source
    plain: Source = getattr(own, "unmasked", source)
    return plain
