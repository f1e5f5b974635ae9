"""The place of a workspace on another machine, which is said once, with the first reply."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

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

    def line(self, confinement: str) -> str:
        """A line for a model, at the end of the text of a reply."""
        from readroom.core.stores.base import CONFINED  # known once the workspace is open

        held = CONFINED.get(confinement)
        return f"[The workspace is {self.address}{f'; there, {held}' if held else ''}.]"

    def shown_with(self, result: dict[str, Any], confinement: str, *, in_text: bool) -> dict[str, Any]:
        """A tool result with the facts, and with the line if its text is for models alone."""
        facts = {"address": self.address, "folder": self.folder, "confinement": confinement}
        content = result["content"]
        if in_text and content and content[0]["type"] == "text":
            text, end, last = content[0]["text"].rpartition("\n")
            closed = last.startswith("[")  # the last line says what was left out, and stays the last
            lines = (
                [text, self.line(confinement), last]
                if closed
                else [text + end + last, self.line(confinement)]
            )
            content = [{**content[0], "text": "\n".join(lines)}, *content[1:]]
        return {**result, "content": content, "_meta": {**result["_meta"], PLACE_META: facts}}
