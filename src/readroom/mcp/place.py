"""The place of a workspace on another machine, which is said once, with the first reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

if TYPE_CHECKING:
    from readroom.core.stores.promises import Promises

PLACE_META: Final = "readroom/workspace"
"""Facts about the place, in `_meta` of the first reply."""


class Place(Struct, frozen=True):
    """A workspace on another machine.

    Attributes:
        address: Its address, as the client's settings name it.
        folder: The folder there.
    """

    address: str
    folder: str

    @property
    def sentence(self) -> str:
        """A sentence for the instructions of the server."""
        return f"The workspace is {self.address}: files and commands are those of that machine."

    def line(self, promises: Promises) -> str:
        """A line for a model, at the end of the text of a reply."""
        from readroom.core.stores.promises import OPENING  # known once the workspace is open

        return f"[The workspace is {self.address}; there, {OPENING[promises.opening]}.]"

    def shown_with(self, result: dict[str, Any], promises: Promises, *, in_text: bool) -> dict[str, Any]:
        """A tool result with the facts, and with the line if its text is for models alone."""
        facts = {"address": self.address, "folder": self.folder, "confinement": promises.confinement}
        content = result["content"]
        if in_text and content and content[0]["type"] == "text":
            text, end, last = content[0]["text"].rpartition("\n")
            closed = last.startswith("[")  # the last line says what was left out, and stays the last
            lines = [text, self.line(promises), last] if closed else [text + end + last, self.line(promises)]
            content = [{**content[0], "text": "\n".join(lines)}, *content[1:]]
        return {**result, "content": content, "_meta": {**result["_meta"], PLACE_META: facts}}
