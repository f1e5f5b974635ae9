"""Write the generated parts of the documentation, or say which are stale.

    python -m scripts.docs            write them
    python -m scripts.docs --check    change nothing; exit with 1 when something is stale

A page is written by hand, except between `<!-- generated: NAME WORDS -->` and
`<!-- end -->`, where the block NAME (given the WORDS) of a module `docs_*` stands;
charts in `docs/charts` are drawn from committed runs.  No number, name or rule of the code is typed in prose.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from scripts import (
    docs_audit,
    docs_blocks,
    docs_charts,
    docs_clients,
    docs_contracts,
    docs_frameworks,
    docs_house,
    docs_runs,
    manpage,
    prepared,
)

ROOT = Path(__file__).parents[1]

BLOCKS: Mapping[str, Callable[..., str]] = {
    **docs_audit.BLOCKS,
    **docs_blocks.BLOCKS,
    **docs_charts.BLOCKS,
    **docs_clients.BLOCKS,
    **docs_contracts.BLOCKS,
    **docs_frameworks.BLOCKS,
    **docs_house.BLOCKS,
    **docs_runs.BLOCKS,
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
    found = [page for page in pages() if generated(page.read_text(encoding="utf-8")) != _text(page)]
    whole = Path(prepared.PREPARED)
    return found if whole.exists() and _text(whole) == prepared.text() else [*found, whole]


def _text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    missing = dict(docs_contracts.missing_pages())
    if "--check" not in arguments:
        for page, text in missing.items():
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
    drawn = docs_charts.stale()
    if not manpage.PAGE.exists() or _text(manpage.PAGE) != manpage.text():
        drawn[manpage.PAGE] = manpage.text()
    if "--check" not in arguments:
        for chart, text in drawn.items():
            print(f"writing {chart.name}")
            chart.parent.mkdir(exist_ok=True)
            chart.write_text(text, encoding="utf-8")
        drawn = {}
    found = [*(missing if "--check" in arguments else ()), *drawn, *stale()]
    for page in found:
        print(f"stale: {page.relative_to(ROOT)}" if "--check" in arguments else f"writing {page.name}")
        if "--check" not in arguments:
            whole = page == Path(prepared.PREPARED)
            page.write_text(prepared.text() if whole else generated(_text(page)), encoding="utf-8")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
