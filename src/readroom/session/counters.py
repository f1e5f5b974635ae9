"""What counts tokens: an estimate that needs nothing, or an exact count that needs a package."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Final, TypeAlias

from readroom.errors import MissingProgram
from readroom.extras import install

Counter: TypeAlias = Callable[[str], int]
"""The tokens of a text."""

COUNTERS: Final = ("estimate", "o200k")
"""Names of the counters: an estimate of o200k, and that vocabulary itself."""


def counter(name: str) -> Counter:
    """The counter of that name.

    Raises:
        MissingProgram: It needs a package that is not installed.
    """
    if name == "estimate":
        from readroom.text.tokens import estimate

        return estimate
    try:
        with warnings.catch_warnings():
            # It opens its vocabulary in a way that Python 3.11 calls old.
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai

            encoding = bpe_openai.get_encoding("o200k_base")
    except ImportError:
        raise MissingProgram("bpe-openai", install("tokens")) from None

    def count(text: str) -> int:
        return len(encoding.encode(text.encode("utf-8", "replace").decode()))

    return count
