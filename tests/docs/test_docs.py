"""The documentation is true: generated parts are fresh, nothing lacks a page, links lead somewhere."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from readroom.cli.commands import COMMANDS
from readroom.core import errors
from readroom.core.config.file import CommandsSection
from readroom.core.contracts import NAMES, contract
from readroom.core.contracts.native import NATIVE
from readroom.core.errors import commands
from scripts import manpage
from scripts.docs import blocks, charts, contracts, frameworks, house, pages
from scripts.docs.facts import FACTS
from scripts.website import gather
from tests.each import each

ROOT = Path(__file__).parents[2]
PAGES = list(pages.pages())

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_the_check_finds_a_stale_page() -> None:
    fresh = text("docs/reference/errors.md")
    assert pages.generated(fresh.replace("| `denied` |", "| `denid` |")) == fresh


def test_charts_are_what_the_runs_say() -> None:
    """`make docs` draws them."""
    assert charts.stale() == {}


def test_the_manual_page_is_what_the_parser_says() -> None:
    """`make docs` writes it."""
    assert manpage.PAGE.read_text(encoding="utf-8") == manpage.text()
    assert [name for name in COMMANDS if f".SS readroom {name}\n" not in manpage.text()] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not here to format it")
def test_the_manual_page_is_formatted_without_a_warning() -> None:
    words = ["groff", "-man", "-ww", "-z", "-Kutf8", str(manpage.PAGE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_chart_is_on_a_page() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in charts.CHARTS if f"charts/{name}.svg)" not in shown] == []


def test_every_page_is_in_a_section_of_the_site() -> None:
    listed = {name for _, _, names in gather.SECTIONS.values() for name in names.split()}
    names = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in PAGES[1:]} - {"index"}
    project = {f"project/{name.removesuffix('.md')}" for name in gather.ELSEWHERE}
    assert names | project == listed


def test_every_block_is_on_a_page() -> None:
    used = set().union(*(pages.used_blocks(page.read_text(encoding="utf-8")) for page in PAGES))
    assert used == set(pages.BLOCKS)


@every_page
def test_markers_come_in_pairs(page: Path) -> None:
    found = page.read_text(encoding="utf-8")
    assert found.count("<!-- generated:") == found.count("<!-- end -->") == len(pages.used_blocks(found))


@every_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


@every_page
def test_columns_of_tables_have_names(page: Path) -> None:
    """Without one, somebody who hears the page does not know what a cell is about."""
    heads = re.findall(r"^(\|.*\|)\n\|[ :|-]+\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [head for head in heads if re.search(r"\|\s*\|", head)] == []


@every_page
def test_prose_has_one_sentence_per_line(page: Path) -> None:
    written = re.sub(r"<!-- generated.*?<!-- end -->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    prose = re.sub(r"```.*?```", "", written, flags=re.DOTALL)
    lines = [line for line in prose.split("\n") if not re.match(r"[|#-]|\d+\.", line)]
    assert [line for line in lines if re.search(r"[a-z`)]\. [A-Z]", line)] == []


def test_every_page_is_in_the_index() -> None:
    index = text("docs/README.md")
    names = [page.relative_to(ROOT / "docs") for page in PAGES if page.parent != ROOT]
    assert [str(name) for name in names if str(name) != "README.md" and str(name) not in index] == []


@pytest.mark.parametrize("name", [name for name in NAMES if name != "native"])
def test_the_page_of_a_contract_has_its_tools_arguments_and_deviations(name: str) -> None:
    page, record = text(f"docs/contracts/{name}.md"), contract(name)
    for tool in record.offered(commands=True):
        section = page.split(f"## {tool.name}\n")[1].split("\n## ")[0]
        given = tool.input_schema.get("properties", {})
        assert [argument for argument in given if f"| `{argument}` |" not in section] == []
    assert [one.id for one in contracts.deviations(name) if f"| `{one.id}` |" not in page] == []
    for kind in blocks.error_classes():
        assert f"| `{kind.code}` |" in page


def test_every_tool_and_argument_has_an_entry() -> None:
    page = text("docs/reference/tools.md")
    for tool in NATIVE.offered(commands=True):
        section = page.split(f"## {tool.name}\n")[1].split("\n## ")[0]
        assert [name for name in tool.input_schema["properties"] if f"| `{name}` |" not in section] == []


def test_the_readme_names_every_tool() -> None:
    page = text("README.md")
    assert [t.name for t in NATIVE.offered(commands=True) if f"`{t.name}`" not in page] == []


FIRST = ("README.md", "docs/index.md", "docs/how-to/install.md")

_NEEDS_AN_INDEX = re.compile(
    r"(?:pip install|uv add|uvx|pipx run|uv tool install)(?: --?[a-z]+)* '?readroom\b(?!.* @ )"
)


def test_no_first_step_needs_a_package_that_no_index_has() -> None:
    """In the lines that a newcomer pastes a clone or an address comes first."""
    for page in (*FIRST, *(f"docs/how-to/{name}" for _, name, *_ in frameworks.PAGES.values())):
        steps = [
            line
            for block in re.findall(r"```console\n(.*?)```", text(page), re.S)
            for line in block.split("\n")
        ]
        steps += re.findall(r"`((?:uvx|pipx|pip) [^`]+)`", text(page)) if page != FIRST[2] else []
        assert [step for step in steps if _NEEDS_AN_INDEX.search(step)] == [], page
    for page in FIRST:
        assert "not on a package index yet" in text(page)
        assert text(page).index("git clone ADDRESS readroom") < text(page).index("git+ADDRESS")


def test_what_the_readme_makes_the_makefile_makes() -> None:
    """Its first lines are run as they stand by whoever has the clone."""
    made = re.findall(r"^make (?:-C \S+ )?(\w+)", text("README.md"), re.M)
    assert {"install", "run", "test"} <= set(made)
    assert [name for name in made if not re.search(rf"^{name}:", text("Makefile"), re.M)] == []


@pytest.mark.parametrize("name", ["pydantic_ai", "openai_agents", "langchain", "deepagents", "smolagents"])
def test_where_images_and_pdf_are_promised_the_install_line_brings_them(name: str) -> None:
    _, page, extra, _ = frameworks.PAGES[name]
    assert f"pip install './readroom[{extra},documents]'" in text(f"docs/how-to/{page}")
    brought = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]["documents"]
    assert {"pillow", "pypdfium2"} <= {re.split(r"[>=<]", one)[0] for one in brought}


def test_the_page_of_commands_names_every_key_and_every_error_of_theirs() -> None:
    page = text("docs/how-to/run-commands.md")
    assert [key for key in CommandsSection.__struct_fields__ if f"`{key}" not in page] == []
    classes = [kind for _, kind in inspect.getmembers(commands, inspect.isclass)]
    kinds = [kind for kind in classes if issubclass(kind, errors.ReadroomError)]
    codes = [kind.code for kind in kinds if kind.__module__ == commands.__name__]
    assert "not_confined" in codes
    assert [code for code in codes if f"`{code}`" not in page] == []


def test_every_fact_has_an_entry() -> None:
    page = text("docs/reference/facts.md")
    for tool, facts in FACTS.items():
        section = page.split(f"## {tool}\n")[1].split("\n## ")[0]
        assert [name for name in facts if f"| `{name}` |" not in section] == []


def test_every_error_has_an_entry() -> None:
    page = text("docs/reference/errors.md")
    pending = [errors.ReadroomError]
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__module__.startswith("readroom."):
            assert f"| `{kind.code}` | `{kind.__name__}` |" in page


def test_every_command_has_an_entry() -> None:
    page = text("docs/reference/cli.md")
    assert [name for name in COMMANDS if f"## readroom {name}\n" not in page] == []


def test_the_site_lists_every_limit_with_its_reason() -> None:
    rows = list(house.limits())
    assert len(rows) > 400
    assert [name for name, _, reason, _ in rows if not reason.strip()] == []
    assert ("LEDGER_WAIT_S", "10.0") in {(name, value) for name, value, *_ in rows}


def test_the_site_lists_every_module() -> None:
    listed = house.rooms()
    modules = (ROOT / "src" / "readroom").glob("*/**/*.py")
    assert [path for path in modules if house.first_line(path) not in listed] == []


@each("path", sorted((ROOT / "docs_src").glob("*.py")), ids=lambda path: path.name)
def test_every_example_is_shown_or_makes_the_demo(path: Path) -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert f"docs_src/{path.name}" in shown or path.name == "__init__.py"


def test_no_page_names_this_machine() -> None:
    for page in PAGES:
        assert str(Path.home()) not in page.read_text(encoding="utf-8") or str(Path.home()) == "/"
        assert str(ROOT) not in page.read_text(encoding="utf-8")


@pytest.mark.long
def test_generated_parts_are_fresh() -> None:
    """`make docs` writes them; the program names those that are not."""
    words = [sys.executable, "-m", "scripts.docs", "--check"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_changelog_keeps_the_order_of_its_sections() -> None:
    order = ["Security", "Removed", "Deprecated", "Added", "Changed", "Fixed"]
    for release in re.split(r"^## ", text("CHANGELOG.md"), flags=re.MULTILINE)[1:]:
        found = re.findall(r"^### (\w+)$", release, flags=re.MULTILINE)
        assert found == [section for section in order if section in found]
