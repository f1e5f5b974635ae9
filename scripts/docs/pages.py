"""Which pages have generated parts, and what these ought to be.

A page is written by hand, except between `<!-- generated: NAME WORDS -->` and `<!-- end -->`, where the block
NAME (given the WORDS) of a module of this folder stands.
No number, name or rule of the code is typed in prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from scripts import prepared
from scripts.docs import audit, blocks, charts, clients, contracts, frameworks, runs

ROOT = Path(__file__).parents[2]

BLOCKS: Mapping[str, Callable[..., str]] = {
    **audit.BLOCKS,
    **blocks.BLOCKS,
    **charts.BLOCKS,
    **clients.BLOCKS,
    **contracts.BLOCKS,
    **frameworks.BLOCKS,
    **runs.BLOCKS,
}

_MARKED = re.compile(r"(<!-- generated: (\S+)([^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> Iterator[Path]:
    """Every page that may hold generated parts."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def generated(text: str) -> str:
    """The page with its generated parts as they ought to be."""

    def block(found: re.Match[str]) -> str:
        start, name, words, end = found.groups()
        return f"{start}{BLOCKS[name](*words.split())}\n{end}"

    return _MARKED.sub(block, text)


def used_blocks(text: str) -> list[str]:
    """Names of the blocks on a page."""
    return [found[2] for found in _MARKED.finditer(text)]


def stale() -> list[Path]:
    """Pages whose generated parts are not what they ought to be, and the file of prepared contracts if so."""
    found = [page for page in pages() if generated(text_of(page)) != text_of(page)]
    whole = Path(prepared.PREPARED)
    return found if whole.exists() and text_of(whole) == prepared.text() else [*found, whole]


def text_of(page: Path) -> str:
    """What a page holds now."""
    return page.read_text(encoding="utf-8")
