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


def is_lost(text: str, target: str) -> bool:
    """Whether the target of a link is not shown, and leads out of the document."""
    words = text.strip()
    bare = target.removeprefix("mailto:")
    if not bare or target.startswith("#") or bare in words or shown(text, target) != text:
        return False
    return words not in (bare, bare.removeprefix("https://"), bare.removeprefix("http://")) and not any(
        words == bare.removeprefix(scheme).rstrip("/") for scheme in _SCHEMES
    )


def picture(description: str) -> str:
    """Where a picture is, with its description when it has one."""
    words = " ".join(description.split())
    return f"[picture: {words}]" if words else "[picture]"
