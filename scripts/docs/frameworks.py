"""Blocks of the documentation about extras and frameworks, from what arrived at their models in the tests."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scripts.docs.tables import table

ROOT = Path(__file__).parents[2]
ADAPTERS = ROOT / "tests" / "adapters"

PAGES: Mapping[str, tuple[str, str, str, str]] = {
    "pydantic_ai": ("Pydantic AI", "pydantic-ai.md", "pydantic-ai", "WorkspaceToolset(workspace)"),
    "openai_agents": ("OpenAI Agents SDK", "openai-agents.md", "openai-agents", "tools(workspace)"),
    "langchain": ("LangChain, LangGraph", "langchain.md", "langchain", "tools(workspace)"),
    "deepagents": ("deepagents", "deepagents.md", "deepagents", "backend(workspace)"),
    "smolagents": ("smolagents", "smolagents.md", "smolagents", "tools(workspace)"),
    "inspect_ai": ("Inspect", "inspect.md", "inspect", "read_file(), files()"),
}
"""By adapter: its framework, page and extra, and what is handed to an agent."""

RECIPES: Mapping[str, tuple[str, str]] = {
    "agno": ("Agno", "Agent(tools=functions(workspace))"),
    "autogen": ("AutoGen", "[FunctionTool(one, description=one.__doc__) for one in functions(workspace)]"),
    "crewai": ("CrewAI", "[tool(one.__name__)(one) for one in functions(workspace)]"),
    "google_adk": ("Google ADK", "Agent(tools=functions(workspace))"),
    "llama_index": ("LlamaIndex", "[FunctionTool.from_defaults(one) for one in functions(workspace)]"),
}
"""By recipe: its framework, and what makes tools of plain functions there."""

_IMAGES = {"image": "as an image", "none": "no images"}
_ERRORS = {"marked": "text, marked as failed", "text": "text"}


def frameworks() -> str:
    """What arrives at the model, by framework."""
    arrived = _recorded("arrivals.json")
    head = ("framework", "tested", "install", "code", "ten replies", "image", "failure")
    rows = [_row(name, arrived[name]) for name in PAGES]
    return table(head, rows)


def _row(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    title, page, extra, code = PAGES[name]
    same = "in the words of its own tools" if one["same"] is None else f"{one['same']} of 10 byte for byte"
    return (
        f"[{title}]({page})",
        one["version"],
        f"`pip install './readroom[{extra},documents]'`",
        f"`{code}`",
        same,
        _IMAGES[one["image"]],
        _ERRORS[one["error"]],
    )


def recipes() -> str:
    """The frameworks that take plain functions."""
    versions = _recorded("recipes.json")
    rows = [(title, versions[name], f"`{code}`") for name, (title, code) in RECIPES.items()]
    return table(("framework", "tested", "code"), rows)


def _recorded(name: str) -> Any:
    return json.loads((ADAPTERS / name).read_text(encoding="utf-8"))


EXTRAS: Mapping[str, str] = {
    "all": "everything below but frameworks",
    "audit": "[secrets in recorded sessions](audit.md), [masked in replies](mask-secrets.md)",
    "az": "[containers of Azure Blob Storage](buckets.md)",
    "dask": "[audits of many sessions on a cluster](audit.md#many-sessions)",
    "data": "[tables in Parquet, Arrow, Feather and Avro files](data.md)",
    "documents": "[PDF, Office, mail, books and HTML](documents.md), with their pictures",
    "git": "[changes, log, blame and old files](review-with-git.md) of git repositories",
    "grammars": "[outlines](outlines-and-symbols.md) of less common languages",
    "images": "images as a model sees them: upright, and small enough",
    "otel": "[spans and metrics of calls](otel.md) for OpenTelemetry",
    "parquet": "[`readroom ledger export --format parquet`](ledger.md)",
    "postgres": "[one ledger for several machines](ledger.md)",
    "s3": "[buckets of S3](buckets.md)",
    "serve": "[`readroom serve`](serve-over-http.md): the HTTP agent",
    "terminal": "colours on a terminal",
    "tokens": "[exact counts of tokens](budgets.md) for the o200k vocabulary",
    **{extra: f"[{title}]({page})" for title, page, extra, _ in PAGES.values()},
}
"""By extra: what it is for."""


def extras() -> str:
    """What is installed only by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = [
        (f"`{name}`", EXTRAS[name], ", ".join(f"`{one}`" for one in packages))
        for name, packages in sorted(project["optional-dependencies"].items())
    ]
    return table(("extra", "for", "brings"), rows)


COSTS = max((ROOT / "benchmarks" / "runs").glob("*-install/results.json"), default=None)
"""The last recorded run of `scripts/install-matrix`."""


def install_costs() -> str:
    """What the base and each extra take, on the oldest Python and the newest that were tried."""
    if COSTS is None:
        return "No run is recorded yet."
    rows = json.loads(COSTS.read_text(encoding="utf-8"))
    pythons = sorted({row["python"] for row in rows}, key=lambda version: int(version.partition(".")[2]))
    head = ["installed", *(f"Python {one}: {what}" for one in pythons for what in ("packages", "MB"))]
    found = {(row["python"], row["extra"]): row for row in rows}
    shown = [
        [
            f"`readroom[{extra}]`" if extra else "`readroom`",
            *(str(found[one, extra][what]) for one in pythons for what in ("packages", "mb")),
        ]
        for extra in dict.fromkeys(row["extra"] for row in rows)
    ]
    return table(head, shown)


FIRST = max((ROOT / "benchmarks" / "runs").glob("*-first-answers/results.json"), default=None)
"""The last recorded run of `scripts/record_first_answers.py`."""


def first_answers() -> str:
    """Each way from an empty folder, step by step."""
    if FIRST is None:
        return "No run is recorded yet."
    rows = []
    for way in json.loads(FIRST.read_text(encoding="utf-8")):
        for number, step in enumerate(way["steps"]):
            rows.append((way["name"] if not number else "", f"`{step['typed']}`", f"{step['seconds']:.1f}"))
        total = sum(step["seconds"] for step in way["steps"])
        rows.append(("", "**answered**" if way["answered"] else "**not answered**", f"**{total:.1f}**"))
    return table(("way", "typed", "s"), rows)


BLOCKS: Mapping[str, Callable[..., str]] = {
    "extras": extras,
    "first-answers": first_answers,
    "install-costs": install_costs,
    "frameworks": frameworks,
    "framework-recipes": recipes,
}
