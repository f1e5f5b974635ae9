"""Links and pictures inside text: how they are written, the same in every kind of document."""

from __future__ import annotations

from readroom.limits_documents import LINK_CHARS

_SCHEMES = ("http://", "https://", "mailto:", "ftp://")


def shown(text: str, target: str) -> str:
    """The words of a link, with its target where that is short and says more than the words."""
    words = text.strip()
    bare = target.removeprefix("mailto:")
    known = {words, f"http://{words}", f"https://{words}", f"http://{words}/", f"https://{words}/"}
    if not words or bare in known or not target.startswith(_SCHEMES) or len(target) > LINK_CHARS:
        return text
    return f"[{words}]({target})"


def picture(description: str) -> str:
    """Where a picture is, with its description when it has one."""
    words = " ".join(description.split())
    return f"[picture: {words}]" if words else "[picture]"
