"""The vocabulary of o200k: it takes most of a second to load, and is loaded where tokens are counted."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any


@cache
def o200k() -> Any:
    """What encodes texts as the models do that count by it."""
    with warnings.catch_warnings():
        # It opens its vocabulary in a way that Python 3.11 calls old.
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai

        return bpe_openai.get_encoding("o200k_base")


def tokens_of(text: str) -> int:
    """How many they are."""
    return len(o200k().encode(text))
