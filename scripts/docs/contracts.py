"""Blocks of the documentation about contracts, made from their records; and pages that are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from readroom.core.contracts import NAMES, ROWS, contract
from readroom.core.contracts.base import Contract
from readroom.core.errors import ReadroomError
from readroom.core.values import Cap
from scripts.docs.blocks import tool_section
from scripts.docs.tables import table
from tests.contracts.failures import EXAMPLES

FOLDER = Path(__file__).parents[2] / "docs" / "contracts"
SOURCE = Path(__file__).parents[2] / "src"

PATH = "docs/a.md"
"""The file that the failures on the pages are about."""


def missing_pages() -> Iterator[tuple[Path, str]]:
    """A page for every contract that has none yet."""
    for name in NAMES:
        path = FOLDER / f"{name}.md"
        if name != "native" and not path.exists():
            yield path, f"# The contract {name}\n\n<!-- generated: contract {name} -->\n<!-- end -->\n"


class Deviation(Struct, frozen=True):
    """Something that the original of a contract does, and what ours does instead.

    `id` is stable: documentation and tests name it.
    """

    id: str
    original: str
    instead: str


def deviations(name: str) -> list[Deviation]:
    """The differences of a contract from its original: `deviations.toml` in its folder."""
    module = SOURCE.joinpath(*ROWS[name].record.partition(":")[0].split("."))
    file = (module if module.is_dir() else module.parent) / "deviations.toml"
    if not file.is_file():
        return []
    texts_by_id = msgspec.toml.decode(file.read_bytes(), type=dict[str, dict[str, str]])
    return [Deviation(one, **texts) for one, texts in texts_by_id.items()]


def differences(name: str) -> str:
    """A row for each deviation."""
    rows = [[f"`{one.id}`", one.original, one.instead] for one in deviations(name)]
    return table(["id", "the original", "here"], rows)


def contract_index() -> str:
    """One row for each contract."""
    rows = [
        [f"`{name}`", contract(name).title, _names(contract(name)), f"[{name}](../{_page(name)})"]
        for name in NAMES
    ]
    return table(["contract", "of", "tools", "page"], rows)


def contract_links() -> str:
    """The pages of the contracts, for the index of the documentation."""
    pages = ", ".join(f"[{name}](contracts/{name}.md)" for name in NAMES if name != "native")
    rows = [
        ["to serve the tools of another system, or to choose among them", "[Contracts](how-to/contracts.md)"],
        ["to know the arguments, answers and differences of one of them", pages],
    ]
    return table(["you want", "read"], rows)


def page(name: str) -> str:
    """All of a contract's page."""
    record = contract(name)
    parts = [
        f"{record.instructions}\n",
        f"A reply has at most {record.reply_bytes:,} bytes"
        + (f", a call takes at most {record.seconds:g} seconds." if record.seconds else "."),
    ]
    parts += [tool_section(tool) for tool in record.offered(commands=True)]
    if deviations(name):
        parts.append(f"## Differences from the original\n\n{differences(name)}")
    parts.append(f"## Failures\n\n{_failures(record)}")
    return "\n\n".join(part.strip("\n") for part in parts)


def _failures(record: Contract) -> str:
    """How each is worded for a call of the first tool."""
    tool = record.tools[0]
    asked = dict.fromkeys(tool.input_schema.get("required", ()), PATH)
    cap = Cap(record.reply_bytes, record.measure)

    def words(error: ReadroomError) -> str:
        text = record.worded(tool.name, asked).render_error(error, cap).text
        return f"`{text.replace('`', '')}`"

    rows = [[f"`{error.code}`", words(error)] for error in EXAMPLES]
    return table(["code", "answer"], rows)


def _names(record: Contract) -> str:
    return ", ".join(f"`{tool.name}`" for tool in record.offered(commands=True))


def _page(name: str) -> str:
    return "reference/tools.md" if name == "native" else f"contracts/{name}.md"


BLOCKS: Mapping[str, Callable[..., str]] = {
    "contract": page,
    "contracts": contract_index,
    "contract_links": contract_links,
    "differences": differences,
}
