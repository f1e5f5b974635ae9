"""The extras that adapters need, and the sentence for where one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around the imports of a framework.

    Raises:
        ModuleNotFoundError: It is not installed; says the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        sentence = f"{package} is not installed. Install it: pip install 'readroom[{extra}]'"
        raise ModuleNotFoundError(sentence, name=error.name, path=error.path) from None
