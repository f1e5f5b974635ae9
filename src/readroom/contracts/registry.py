"""The contracts by name, imported when first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from readroom.contracts.base import Contract
from readroom.errors import BadValue

_WHERE = {
    "native": "readroom.contracts.native:NATIVE",
}

NAMES = tuple(_WHERE)
"""Every contract there is."""


@cache
def contract(name: str) -> Contract:
    """The contract of that name.

    Raises:
        BadValue: With the names there are.
    """
    where = _WHERE.get(name)
    if where is None:
        raise BadValue("contract", name, "is not a contract", f"The contracts are: {', '.join(NAMES)}.")
    module, attribute = where.split(":")
    found = getattr(import_module(module), attribute)
    assert isinstance(found, Contract)
    return found
