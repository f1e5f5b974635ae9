"""What the documentation shows does what the pages claim."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.docs.runs import demo_folder, run

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with demo_folder() as folder:
        yield folder


def test_hello_lists_searches_and_reads(demo: str) -> None:
    printed = run([sys.executable, str(ROOT / "examples/hello.py"), demo], demo)
    assert "logs/" in printed
    assert "0 matches" in printed
    assert "1\t# shop" in printed


def test_hello_is_short() -> None:
    assert (ROOT / "examples/hello.py").read_text(encoding="utf-8").count("\n") < 30


def test_the_first_client_finds_reads_and_is_refused_the_secret(demo: str) -> None:
    printed = run([sys.executable, str(ROOT / "docs_src/first_client.py"), demo], demo)
    assert "tools: read_file, grep_files, find_relevant, list_directory" in printed
    assert "ERROR payment refused" in printed
    assert "6\tdef shipping" in printed
    assert "not-for-you" not in printed
    assert "denied by the rule '.env'" in printed


def test_a_page_installs_what_the_programs_need_that_it_runs() -> None:
    """Where `make run` made the environment, only what readroom needs is there."""
    run_by: dict[str, set[str]] = {}
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"^\S*python3? (docs_src/\S+\.py)", text, re.MULTILINE):
            tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
            modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            tops = {str(module).partition(".")[0] for module in modules}
            needed = tops - {"readroom", "docs_src"} - set(sys.stdlib_module_names)
            run_by.setdefault(name, set()).update(needed)
            assert all(re.search(rf"pip install '?{top}\b", text) for top in needed), (page, name, needed)
    assert run_by["docs_src/first_client.py"] == {"mcp"}


def test_the_library_example_reads_the_whole_log(demo: str) -> None:
    printed = run([sys.executable, str(ROOT / "docs_src/library.py"), demo], demo)
    assert "12000\t" in printed
    assert "replies hold the whole log" in printed
    assert "denied: " in printed


def test_the_typed_example_finds_and_plans_an_edit(demo: str) -> None:
    printed = run([sys.executable, str(ROOT / "docs_src/typed.py"), demo], demo)
    assert "def shipping" in printed
    assert '"basic": 6' in printed
    assert "Dry run" in printed


def test_the_history_example_takes_its_change_back(demo: str) -> None:
    printed = run([sys.executable, str(ROOT / "docs_src/history.py")], demo)
    assert "-basic 5\n+basic 50\n" in printed
    assert printed.rstrip().endswith("basic 5\npriority 12")
    assert "Traceback" not in printed


def test_the_editing_example_edits_once_and_is_told_what_changed() -> None:
    with demo_folder() as folder:
        printed = run([sys.executable, str(ROOT / "docs_src/editing.py"), folder], folder)
        text = Path(folder, "src/orders.py").read_text(encoding="utf-8")
    assert '"basic": 6, "priority": 12' in text
    assert "has changed" in printed
    assert "The closest place is line 6" in printed
    assert "Traceback" not in printed


def test_the_demo_is_made_as_the_tutorial_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "docs_src/demo.py", str(tmp_path)], cwd=ROOT, check=True)
    assert (tmp_path / "logs/orders.log").read_text(encoding="utf-8").count("\n") == 12_000


def test_the_contract_example_reads_and_is_refused_in_the_words_of_the_contract(demo: str) -> None:
    printed = run([sys.executable, str(ROOT / "docs_src/contracts.py"), demo], demo)
    assert '"content":"# shop\\n' in printed
    assert '"reason":"security_policy"' in printed
