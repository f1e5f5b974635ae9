"""Gather the pages of the site: those of docs/, and what they lead to in the repository.

    python -m scripts.website.gather FOLDER

Pages stay readable where they are, with links to files beside them.  Here each link is turned to
where its target stands in the site: a page, or a copy of the file to download.  Listings of the code
are made here (`<!-- site: NAME -->`) and not kept in the repository.  Whatever is listed in no section
below is in no table of contents, and the strict build says so.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.docs.house import SITE

ROOT = Path(__file__).parents[2]

SECTIONS: Mapping[str, tuple[str, str, str]] = {
    "start": (
        "Start",
        "From nothing to a first answer.",
        "why how-to/install tutorials/first-session tutorials/four-ways README",
    ),
    "use": (
        "Use",
        "Recipes by client, by framework and by task.",
        """
        how-to/connect-clients how-to/other-machines how-to/sandboxes how-to/frameworks how-to/pydantic-ai
        how-to/openai-agents how-to/langchain how-to/deepagents how-to/smolagents
        how-to/inspect how-to/library how-to/search how-to/find
        how-to/outlines-and-symbols how-to/documents how-to/archives how-to/data how-to/giant-files
        how-to/edit-safely how-to/history
        """,
    ),
    "operate": (
        "Operate",
        "What may be read, who may call, and what it cost.",
        """
        how-to/policy how-to/several-folders how-to/buckets how-to/review how-to/review-with-git
        how-to/run-commands how-to/mask-secrets how-to/serve-over-http how-to/budgets how-to/ledger
        how-to/otel how-to/audit how-to/dashboard
        """,
    ),
    "contracts": (
        "Contracts",
        "The tools of other systems, served unchanged.",
        """
        how-to/contracts how-to/coder-client contracts/everruns contracts/kilo contracts/opencode
        contracts/text_editor         contracts/rnd contracts/coder contracts/inspect_agents
        """,
    ),
    "reference": (
        "Reference",
        "Made from the code.",
        """
        reference/tools reference/facts reference/errors reference/cli reference/limits reference/modules
        reference/clients
        reference/ledger reference/mcp-conformance reference/names reference/regex-dialects
        """,
    ),
    "measured": (
        "Measured",
        "What it saves and costs, with the run behind each figure.",
        "benchmarks comparison",
    ),
    "project": (
        "Project",
        "How it is made, and how to take part.",
        """
        design/architecture design/languages design/changing design/other-machines design/charts design/site
        design/dismissed project/CHANGELOG
        project/SECURITY project/CONTRIBUTING project/benchmarks/README
        """,
    ),
}
"""By the name of a section's first page: its title, what it is about, and its pages in order."""

ELSEWHERE = ("CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "benchmarks/README.md")
"""Pages of the repository that are not in docs/."""

_LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]*)(#[^)\s]*)?(\))")
_MADE = re.compile(r"<!-- site: (\w+) -->")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")


def gather(folder: Path) -> None:
    """Write all pages into a folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = {path: place for path, place in _pages() if path.exists()}
    copied: dict[Path, str] = {}
    for path, place in pages.items():
        text = _turned(path, place, pages, copied)
        if place == "project/benchmarks/README":
            text += _toctree([page for page in pages.values() if page.startswith("project/benchmarks/runs/")])
        _write(folder / f"{place}.md", text)
    for name, (title, about, inside) in SECTIONS.items():
        there = inside.split()
        _write(folder / f"{name}.md", f"# {title}\n\n{about}\n{_toctree(there, shown=True)}")
    index = folder / "index.md"
    index.write_text(index.read_text(encoding="utf-8") + _toctree(list(SECTIONS)), encoding="utf-8")
    for source, place in copied.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / place)


def _pages() -> Iterator[tuple[Path, str]]:
    for path in sorted((ROOT / "docs").rglob("*.md")):
        yield path, str(path.relative_to(ROOT / "docs").with_suffix(""))
    for name in ELSEWHERE:
        yield ROOT / name, f"project/{name.removesuffix('.md')}"
    for path in sorted((ROOT / "benchmarks" / "runs").glob("*/*.md")):
        yield path, f"project/{path.relative_to(ROOT).with_suffix('')}"


def _turned(path: Path, place: str, pages: Mapping[Path, str], copied: dict[Path, str]) -> str:
    """The page with its links turned to where their targets stand in the site."""

    def turn(found: re.Match[str]) -> str:
        start, target, anchor, end = found.groups(default="")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        source = Path(os.path.normpath(path.parent / target))
        if source.is_dir():
            source /= "README.md"
        if source in pages:
            there = f"{pages[source]}.md"
        elif source.is_relative_to(ROOT / "docs"):
            there = str(source.relative_to(ROOT / "docs"))
        else:
            there = f"files/{source.relative_to(ROOT)}"
        if source not in pages and source.exists():
            copied[source] = there
        return f"{start}{os.path.relpath(there, os.path.dirname(place) or '.')}{anchor}{end}"

    lines, fence = [], ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        made = _MADE.fullmatch(line)
        lines.append(SITE[made[1]]() if made else line if fence else _LINK.sub(turn, line))
    return "\n".join(lines)


def _toctree(pages: Sequence[str], *, shown: bool = False) -> str:
    hidden = "" if shown else ":hidden:\n"
    return (
        "\n\n```{toctree}\n:maxdepth: 1\n"
        + hidden
        + "\n"
        + "\n".join(f"/{page}" for page in pages)
        + "\n```\n"
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]).absolute())
