"""Look at a workspace elsewhere before a client is to use it: what is there, and whether it is a folder."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from readroom.cli.exits import ExitCode
from readroom.cli.remote import frames
from readroom.cli.remote.address import Address
from readroom.cli.remote.near import Far, Near
from readroom.core.errors import NotFound, StoreFailed
from readroom.core.release import VERSION
from readroom.core.stores.promises import OPENING, Keeper


class Seen(Struct, frozen=True):
    """The findings.

    Attributes:
        far: Versions there, the system and the processor.
        opening: What keeps paths and links inside the folder there.
        seconds: How long it took.
    """

    far: Far
    opening: Keeper
    seconds: float

    @property
    def other_version(self) -> str:
        """A sentence about another version there; empty for the same."""
        if self.far.version == VERSION:
            return ""
        return f"readroom there is {self.far.version}, and this is {VERSION}: what differs is theirs."


def told(address: Address) -> list[dict[str, Any]]:
    """What `doctor` says there, in its JSON; nothing if it says something else. Raises NotReached."""
    out = _asked(address, ["doctor", "--json", address.folder])[1][frames.OUTPUT]
    try:
        return list(json.loads(out))
    except (ValueError, TypeError):
        return []


def look(address: Address) -> Seen:
    """Look at it, with nobody there to answer questions of ssh.

    Raises:
        NotReached: There is no connection, or no readroom there.
        NotFound, StoreFailed: The folder cannot be used there.
    """
    began = time.monotonic()
    far, pieces = _asked(address, ["explain", "--json", "--root", address.folder, "."])
    if pieces[frames.EXIT] == str(ExitCode.NOT_FOUND.value).encode():
        raise NotFound(str(address), advice="Give the address of a folder.")
    try:
        facts = json.loads(pieces[frames.OUTPUT])["_meta"]["readroom/facts"]
        return Seen(far, _opening(facts), time.monotonic() - began)
    except (ValueError, KeyError, TypeError):
        said = pieces[frames.ERRORS].decode("utf-8", "replace").strip().removeprefix("readroom: ")
        raise StoreFailed(str(address), said or "it is not said why", "Mend that there.") from None


def _opening(facts: Mapping[str, Any]) -> Keeper:
    """Who keeps paths inside there; earlier versions said it in one word."""
    word = facts["promises"]["opening"] if "promises" in facts else _EARLIER[facts["confinement"]]
    return word if word in OPENING else "none"


_EARLIER: Mapping[str, Keeper] = {"kernel": "kernel", "walk": "readroom"}


def _asked(address: Address, words: Sequence[str]) -> tuple[Far, Mapping[bytes, bytearray]]:
    """The output of a command there, by the kind of its frames."""
    near = Near(address, asks=False)
    pieces = {frames.OUTPUT: bytearray(), frames.ERRORS: bytearray(), frames.EXIT: bytearray()}
    try:
        near.ask(words, ["", "", f"at={address}"])
        near.send(frames.INPUT_END)
        for kind, data in near.answer():
            pieces[kind] += data
    finally:
        near.close()
    return near.far, pieces
