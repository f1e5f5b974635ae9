"""find_relevant as a caller sees it: which passages come, in which form, and how pages go on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.engine.find import FIND_FILES_APART, FIND_OUTLINED_CHARS, FIND_PARSED_CHARS
from readroom.core.engine.find.page import FIND_REASONS
from readroom.core.limits.find import FIND_BUDGET_TOKENS
from readroom.core.stores.memory import MemoryStore
from readroom.core.text.tokens import estimate
from readroom.core.values import Reply
from tests.core.text.test_tokens import LIBRARY
from tests.each import each
from tests.laws.driving import Driver, fact
from tests.suites import daily, needs
from tests.vocabulary import tokens_of

STOCK = {
    "shop/cart.py": """\
import decimal
import json


class Cart:
    \"\"\"What a customer wants to buy.\"\"\"

    def __init__(self):
        self.lines = []

    def addItem(self, article, count):
        self.lines.append((article, count))

    def total_price(self):
        return sum(article.price * count for article, count in self.lines)
""",
    "shop/payment.py": """\
import cart


def charge_customer(cart, card):
    \"\"\"Charge the card of a customer; a refused card is retried once.\"\"\"
    for attempt in range(2):
        if card.charge(cart.total_price()):
            return True
    return False
""",
    "tests/test_cart.py": "def test_total_price_of_items():\n    assert Cart().total_price() == 0\n" * 4,
    "docs/cart.md": "# Cart\n\nThe total price of the items of a cart.\n",
    "README.md": "# Shop\n\nSells things.\n",
}


def workspace(files: Mapping[str, str | bytes]) -> Workspace:
    return Workspace(
        MemoryStore({path: data.encode() if isinstance(data, str) else data for path, data in files.items()})
    )


def spans(files: list[dict[str, Any]]) -> set[tuple[str, int, int]]:
    return {(file["path"], one["start"], one["end"]) for file in files for one in file["passages"]}


def test_passages_come_with_line_numbers_signature_and_hash() -> None:
    reply = workspace(STOCK).find("total price")
    lines = reply.text.split("\n")
    assert re.fullmatch(r"\d+ passages in \d+ files \| 5 files searched", lines[0])
    assert re.fullmatch(r"shop/cart\.py \| lines [\d, -]+ of 15 \| sha256:[0-9a-f]{12}", lines[1])
    assert "14\t    def total_price(self):" in lines


def test_a_hash_of_the_heading_is_enough_to_edit(tmp_path: Path) -> None:
    for path, text in STOCK.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    with Workspace(tmp_path) as room:
        found = re.search(
            r"shop/payment\.py .* (sha256:[0-9a-f]{12})", room.find("card refused retried").text
        )
        assert found is not None
        room.edit("shop/payment.py", found[1], [{"old_text": "range(2)", "new_text": "range(3)"}])
    assert "range(3)" in (tmp_path / "shop/payment.py").read_text()


def test_words_are_found_in_every_spelling_of_names() -> None:
    for question in ("adding items", "add_item", "AddItem", "items added"):
        assert "11\t    def addItem(self, article, count):" in workspace(STOCK).find(question).text


def test_tests_and_documentation_come_behind_the_rest_unless_asked_for() -> None:
    files = [
        file["path"] for file in fact(workspace(STOCK).find("total price of items", output="files"), "files")
    ]
    assert files[0] == "shop/cart.py"
    assert {"tests/test_cart.py", "docs/cart.md"} <= set(files[1:])
    asked = [
        file["path"] for file in fact(workspace(STOCK).find("test total price", output="files"), "files")
    ]
    assert asked[0] == "tests/test_cart.py"


SYMBOLS = {
    "many.py": "from deep.place import load_all\n" + "load_all()  # load_all, load all\n" * 50,
    "load_all.md": "# load_all\n\nload_all load_all load_all\n",
    "deep/place.py": "x = 1\n\n\nclass Loader:\n    def load_all(self):\n        return 1\n",
    "deep/other.go": "package deep\n\nfunc (l *Loader) LoadAll() int {\n\treturn 1\n}\n",
}


@pytest.mark.parametrize("symbol", ["load_all", "Loader.load_all", "Loader::load_all", "Loader#load_all()"])
def test_a_symbol_shows_its_definition_first(symbol: str) -> None:
    lines = workspace(SYMBOLS).find(symbol).text.split("\n")
    assert lines[1].startswith("deep/place.py | ")
    assert "5\t    def load_all(self):" in lines[2:7]


def test_a_setting_is_found_where_all_of_its_name_stands() -> None:
    """Its words stand more often elsewhere; of the file that names it nothing else is asked for."""
    scattered = "file = default\nopts = shop\nshop.default(opts, file)\n" * 30
    files = {f"a{number}.py": scattered for number in range(3)}
    files["z.py"] = "x = 1\n" * 40 + 'value = environ.get("SHOP_DEFAULT_OPTS_FILE")\n'
    for question in ("SHOP_DEFAULT_OPTS_FILE", "where is SHOP_DEFAULT_OPTS_FILE read"):
        (first, *_) = fact(workspace(files).find(question, output="files"), "files")
        assert first["path"] == "z.py"


@pytest.mark.parametrize(
    "question",
    [
        "shop/build.py",
        'Traceback (most recent call last):\n  File "/usr/lib/site-packages/shop/build.py", line 7, in run\n'
        "ValueError: door is shut",
        "door.shut: at shop.Door (C:\\work\\shop\\build.py:7)",
    ],
)
def test_a_file_that_the_question_names_comes_first(question: str) -> None:
    """And not one of the same name in another folder, nor those that have more of its words."""
    files = {f"shop/door_{number}.py": "shop = build(door)  # run\n" * 9 for number in range(3)}
    files |= dict.fromkeys(("other/build.py", "shop/build.py"), "x = 1\n" * 20 + "build(shop)\n")
    (first, *_) = fact(workspace(files).find(question, output="files"), "files")
    assert first["path"] == "shop/build.py"


MINOR = {
    "uses.py": "def first():\n    return MAX_TURNS, Door.OPEN, turn_key\n\n\n" * 9,
    "max_turns.md": "# Doors\n\nMAX_TURNS, Door.OPEN and turn_key.\n",
    "lock/place.py": "import enum\n\nKEYS = 7\nMAX_TURNS = 3\n\n\n"
    "class Door(enum.Enum):\n    SHUT = 1\n    OPEN = 2\n\n\n"
    "def unlock():\n    def turn_key():\n        return 1\n\n    return turn_key()\n",
}


@pytest.mark.parametrize(
    ("symbol", "line"),
    [("MAX_TURNS", "4\tMAX_TURNS = 3"), ("Door.OPEN", "9\tOPEN = 2"), ("turn_key", "13\tdef turn_key()")],
)
def test_constants_members_and_inner_functions_are_definitions_of_a_symbol(symbol: str, line: str) -> None:
    room = workspace(MINOR)
    (first, *_) = fact(room.find(symbol), "files")
    assert first["path"] == "lock/place.py"
    number = int(line.partition("\t")[0])
    best = max(first["passages"], key=lambda one: one["score"])
    assert best["start"] <= number <= best["end"]
    shown = room.find(symbol, output="outline").text.split("\n")
    assert shown[1].startswith("lock/place.py | ")
    assert line in shown


def test_a_long_definition_of_a_symbol_goes_on_before_anything_else() -> None:
    """Also in what has no word of it, and in a file that is longer than others may be to be outlined."""
    body = "".join(f"    step_{number}()\n" + "\n" * (number % 9 == 8) for number in range(90))
    filler = "".join(f"value_{number} = 'nothing to see here'\n\n" for number in range(8000))
    assert len(filler) > FIND_PARSED_CHARS
    calls = "load_all()  # load all\n" * 20
    text = f"{calls}\n{filler}\ndef load_all():\n{body}\n\ndef load():\n    load_all()\n"
    first = text[: text.index("def load_all")].count("\n") + 1
    last = text[: text.index("def load()")].count("\n") - 2
    driver = Driver(MemoryStore({"deep.py": text.encode(), "calls.py": calls.encode()}))
    shown = [
        line
        for reply in islice(driver.pages("find_relevant", query="load_all", budget_tokens=2000), 3)
        for file in fact(reply, "files")
        if file["path"] == "deep.py"
        for one in file["passages"]
        for line in range(one["start"], one["end"] + 1)
        if first <= line <= last
    ]
    written = [at for at in range(first, last + 1) if text.split("\n")[at - 1]]
    assert [line for line in shown if line in set(written)] == written
    page = workspace({"deep.py": text, "calls.py": calls}).find("load_all", budget_tokens=900, explain=True)
    assert fact(page, "files")[0]["passages"][0]["symbol"] == "load_all"
    assert "continues with load_all" in page.text


def test_a_passage_inside_of_a_definition_shows_what_encloses_it() -> None:
    body = "".join(f"        step_{number}()\n" + ("\n" if number % 9 == 8 else "") for number in range(90))
    files = {"a.py": f"class Outer:\n    def long(self):\n{body}        rare_needle()\n"}
    lines = workspace(files).find("rare needle", budget_tokens=200).text.split("\n")
    assert lines[2:5] == ["1\tclass Outer:", "2\t    def long(self):", "…"]
    assert any(line.endswith("rare_needle()") for line in lines)


def test_of_equal_passages_the_one_beside_a_better_one_comes_first() -> None:
    functions = {name: f"def {name}():\n    return valve\n" for name in ("aside", "beside")}
    best = "def drain_boiler():\n    return boiler + drain + valve\n"
    gap = "def nothing():\n    return 0\n"
    for order in (["aside", "", "", "", "beside"], ["beside", "", "", "", "aside"]):
        text = "\n\n".join([functions.get(name, gap) for name in order])
        near = "beside" if order[-1] == "beside" else "aside"
        text = text.replace(functions[near], best + "\n\n" + functions[near])
        reply = workspace({"a.py": text}).find("drain boiler valve", explain=True)
        scores = {one["symbol"]: one["score"] for file in fact(reply, "files") for one in file["passages"]}
        (far,) = functions.keys() - {near}
        assert scores["drain_boiler"] > scores[near] > scores[far]


def test_tests_in_the_very_file_that_they_test_come_behind_the_rest_of_it() -> None:
    filler = "fn other() -> u8 {\n    0\n}\n\n" * 12
    text = (
        f"fn seal(lid: Lid) -> Jar {{\n    lid.jar()\n}}\n\n{filler}#[cfg(test)]\nmod tests {{\n"
        + "    #[test]\n    fn seal_jar_lid() {\n        // seal a jar with its lid\n"
        + "        seal(lid, jar);\n    }\n\n"
        + filler
        + "}\n"
    )
    room = workspace({"jar.rs": text})
    assert [best_symbol(room.find(question)) for question in ("seal jar lid", "test of seal jar lid")] == [
        "seal",
        "tests.seal_jar_lid",
    ]


def best_symbol(reply: Reply) -> str:
    passages = [one for file in fact(reply, "files") for one in file["passages"]]
    return str(max(passages, key=lambda one: one["score"])["symbol"])


def test_outputs_show_signatures_or_names_alone() -> None:
    outline = workspace(STOCK).find("total price", output="outline").text.split("\n")
    assert "14\tdef total_price(self)" in outline
    assert not any("return sum" in line for line in outline)
    names = workspace(STOCK).find("total price", output="files").text.split("\n")
    assert names[1] == "shop/cart.py"


def test_explain_says_what_counted() -> None:
    reply = workspace(STOCK).find("total price", explain=True)
    assert re.search(r"price x\d+ and in its name \+\d", reply.text)
    (first, *_) = fact(reply, "files")
    assert all(one["why"] for one in first["passages"])
    assert first["why"]


def many(count: int) -> dict[str, str]:
    return {
        f"pkg/module_{number:03}.py": f"def needle_{number}(thread):\n"
        + "".join(f"    line_{line} = {number}\n" for line in range(number % 30))
        + f"\n\ndef other_{number}():\n    return needle_{number}\n"
        for number in range(count)
    }


@daily(1, "budget", [100, 300, FIND_BUDGET_TOKENS, 10_000])
def test_pages_show_every_passage_once(budget: int) -> None:
    """Over more files than are taken apart at once, following `next` until it is absent."""
    files = many(2 * FIND_FILES_APART + 3)
    driver = Driver(MemoryStore({path: text.encode() for path, text in files.items()}))
    seen: list[tuple[str, int, int]] = []
    for reply in driver.pages("find_relevant", query="needle thread", budget_tokens=budget):
        here = spans(fact(reply, "files"))
        assert here
        assert estimate(reply.text) <= budget or budget == 100
        seen += here
    assert len(seen) == len(set(seen))
    assert {path for path, _, _ in seen} == set(files)
    for path, text in files.items():
        shown = {line for name, first, last in seen if name == path for line in range(first, last + 1)}
        wanted = {at for at, line in enumerate(text.split("\n"), 1) if "needle" in line}
        assert wanted <= shown


def test_of_large_files_those_that_promise_most_are_outlined() -> None:
    """What is beyond the bound is cut by lines, on every page alike, and every line of it is shown once."""
    often = "def needle_thread(needle):\n    return thread(needle)\n\n\n"
    seldom = "x = 1\n\n" * 20 + "def inner(thread):\n    # a needle in a long file\n    return 2\n"
    filler = "\n".join(f"value_{number} = 'nothing to see here'\n" for number in range(2600))
    files = {f"seldom_{at}.py": seldom + filler for at in range(3)} | {"often.py": often + filler}
    assert sum(map(len, files.values())) > FIND_OUTLINED_CHARS > 2 * len(filler)
    driver = Driver(MemoryStore({path: text.encode() for path, text in files.items()}))
    pages = list(driver.pages("find_relevant", query="needle thread", budget_tokens=600))
    shown = {
        (file["path"], line): one["symbol"]
        for reply in pages
        for file in fact(reply, "files")
        for one in file["passages"]
        for line in range(one["start"], one["end"] + 1)
    }
    symbols = {
        path: shown[path, text[: text.index("needle")].count("\n") + 1] for path, text in files.items()
    }
    assert symbols["often.py"] == "needle_thread"
    assert {symbol for path, symbol in symbols.items() if path != "often.py"} == {"inner", None}


def test_pages_of_names_show_every_file_once() -> None:
    files = many(2 * FIND_FILES_APART + 3)
    driver = Driver(MemoryStore({path: text.encode() for path, text in files.items()}))
    pages = driver.pages("find_relevant", query="needle", output="files", budget_tokens=100)
    seen = [file["path"] for reply in pages for file in fact(reply, "files")]
    assert sorted(seen) == sorted(files)


def test_a_page_is_about_as_large_as_its_budget() -> None:
    room = workspace(many(60))
    for budget in (500, 2000, 6000):
        tokens = fact(room.find("needle thread", budget_tokens=budget), "tokens")
        assert 0.8 * budget < tokens <= budget


@daily(1, "package", ["asyncio", "email"])
@pytest.mark.parametrize("budget", [500, 2000])
def test_a_page_of_code_takes_no_more_tokens_than_asked_for_as_a_model_counts_them(
    package: str, budget: int
) -> None:
    """With the o200k vocabulary itself, over packages of the standard library."""
    questions = [
        "how is a cancelled task handled when its loop is closed",
        "parse a header into its parameters",
        "retry after a timeout of a connection",
        "write buffer limits of a transport",
    ]
    with Workspace(LIBRARY / package) as room:
        replies = [room.find(question, budget_tokens=budget) for question in questions]
    assert max(tokens_of(reply.text) for reply in replies) <= 1.02 * budget


@needs("documents")
@each("explain", [False, True])
@each("output", ["passages", "outline", "files"])
@each("budget", [500, 2000])
def test_all_that_is_said_around_passages_is_within_the_budget(
    budget: int, output: Any, explain: bool
) -> None:
    """A long question in the next call, long paths in the cursor, documents that were left out, reasons."""
    files: dict[str, str | bytes] = {
        f"a_long_folder/of_long_names/{path}": text for path, text in many(60).items()
    }
    files |= {f"{number}.docx": b"PK\x03\x04\0" for number in range(3)}
    question = "needle thread " + " ".join(f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    reply = workspace(files).find(question, output=output, budget_tokens=budget, explain=explain)
    assert estimate(reply.text) <= budget
    assert fact(reply, "shown") > 1
    following = fact(reply, "next") is not None
    assert following == ("to include them: the same call with documents=true." in reply.text)
    assert reply.text.count("find_relevant {") == 1


def test_of_many_reasons_those_that_count_most_are_told() -> None:
    question = " ".join(f"word{letter}" for letter in "abcdefghijklmnopqrst")
    reply = workspace({"a.py": f"# {question}\n", "b.py": "# nothing\n"}).find(question, explain=True)
    (file,) = fact(reply, "files")
    for whys in (file["why"], file["passages"][0]["why"]):
        points = [why["points"] for why in whys if "points" in why]
        assert len(whys) == FIND_REASONS + 1
        assert points[:-1] == sorted(points[:-1], reverse=True)
        assert whys[-1]["what"].endswith(" more")


def uneven(count: int) -> dict[str, str]:
    """Good passages, every third of which is far longer than the others."""
    return {
        f"pkg/module_{number:03}.py": f"def needle_{number}(thread):\n"
        + f"    needle = thread  # {number} of {count}\n" * (3 if number % 3 else 36)
        for number in range(count)
    }


@each("output", ["passages", "outline"])
@each("budget", [100, 700, 1000])
def test_pages_end_full_and_nothing_is_lost_for_it(budget: int, output: str) -> None:
    """What does not fit is followed by what does, and what is cut goes on with the next page."""
    files = uneven(FIND_FILES_APART)
    driver = Driver(MemoryStore({path: text.encode() for path, text in files.items()}))
    seen: list[tuple[str, int]] = []
    for reply in driver.pages("find_relevant", query="needle thread", output=output, budget_tokens=budget):
        here = sorted(spans(fact(reply, "files")))
        assert fact(reply, "shown") == len(here)
        shown_tokens = fact(reply, "tokens")
        assert shown_tokens <= budget or budget == 100
        if budget == 1000 and output == "passages" and fact(reply, "next"):
            assert shown_tokens > 0.85 * budget
        seen += [(path, line) for path, first, last in here for line in range(first, last + 1)]
    lines = [(path, at) for path, text in files.items() for at in range(1, text.count("\n") + 1)]
    assert sorted(seen) == sorted(lines)


def test_a_passage_that_is_larger_than_the_budget_says_where_it_goes_on() -> None:
    files = {"a.txt": "\n".join(f"needle word{number} and more words to fill it" for number in range(38))}
    driver = Driver(MemoryStore({path: text.encode() for path, text in files.items()}))
    reply = driver.call("find_relevant", query="needle", budget_tokens=130)
    ((_, first, last),) = spans(fact(reply, "files"))
    assert first == 1 < last < 38
    (rest,) = [item for item in fact(reply, "omitted") if item["what"] == "lines"]
    assert (rest["from"], rest["to"]) == (last + 1, 38)
    assert driver.follow(rest["call"]).text.split("\n")[1].startswith(f"{last + 1}\t")


def test_of_a_passage_that_is_larger_than_the_budget_the_lines_that_answer_are_shown() -> None:
    """Below the signature that encloses them; the next page shows the rest, for which facts have calls."""
    body = "".join(f"    step_{number} = 'words to fill a line with'\n" for number in range(2, 39))
    text = "def prepare(valve):\n" + body.replace("step_30 =", "needle, thread =").replace(
        "_9 =", "_thread ="
    )
    driver = Driver(MemoryStore({"a.py": text.encode()}))
    reply = driver.call("find_relevant", query="needle in the thread", budget_tokens=200)
    ((_, first, last),) = spans(fact(reply, "files"))
    assert 1 < first < 30 <= last < 38
    lines = reply.text.split("\n")
    assert lines[2:4] == ["1\tdef prepare(valve):", "…"]
    assert any(line.startswith("30\t    needle, thread =") for line in lines)
    assert f"Lines 1-{first - 1} and {last + 1}-38 did not fit; they come next." in lines[-1]
    rests = [item for item in fact(reply, "omitted") if item["what"] == "lines"]
    assert [(item["from"], item["to"]) for item in rests] == [(1, first - 1), (last + 1, 38)]
    for item in rests:
        shown = driver.follow(item["call"]).text.split("\n")
        assert shown[1].startswith(f"{item['from']}\t")
        assert any(line.startswith(f"{item['to']}\t") for line in shown)


def test_path_glob_and_type_narrow_what_is_looked_at() -> None:
    room = workspace(STOCK)
    assert {file["path"] for file in fact(room.find("cart", path="shop"), "files")} <= {
        "shop/cart.py",
        "shop/payment.py",
    }
    assert {file["path"] for file in fact(room.find("cart", glob="*.md"), "files")} == {"docs/cart.md"}
    assert {file["path"] for file in fact(room.find("cart", type="md"), "files")} == {"docs/cart.md"}


def test_one_file_alone_is_ranked_by_its_parts() -> None:
    text = "".join(f"def part_{number}():\n    return common\n\n\n" for number in range(200))
    text = text.replace(
        "def part_150():\n    return common", "def part_150():\n    return common, rare_thing"
    )
    (file,) = fact(
        workspace({"a.py": text}).find("common rare thing", path="a.py", budget_tokens=100), "files"
    )
    assert "part_150" in [one["symbol"] for one in file["passages"]]


def test_where_nothing_matches_it_is_said_what_was_looked_at() -> None:
    reply = workspace(STOCK).find("zebra")
    assert fact(reply, "shown") == 0
    assert reply.text.startswith("0 passages in 0 files | 5 files searched\n[No file has any of these words.")


def test_a_passage_of_one_line_is_headed_by_one_line() -> None:
    assert "a.txt | line 1 of 1 | sha256:" in workspace({"a.txt": "zebra\n"}).find("zebra").text


def test_from_the_second_page_on_outlines_are_recommended(tmp_path: Path) -> None:
    """The first page does not pay for the sentence, nor the last, nor a list of files."""
    for number in range(30):
        text = f"def price_{number}(a):\n    total = {number}\n    return total\n\n\n"
        (tmp_path / f"shop{number}.py").write_text(text * 3, encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        asked: dict[str, Any] = {"query": "how is the total price made", "budget_tokens": 300}
        replies = [workspace.call("find_relevant", asked)]
        while following := fact(replies[-1], "next"):
            assert len(replies) < 60
            replies.append(workspace.call("find_relevant", following["arguments"]))
        assert len(replies) > 3
        recommended = ['the next call with output="outline"' in reply.text for reply in replies]
        assert recommended == [False, *[True] * (len(replies) - 2), False]
        sentence = re.search(r"Outlines[^.]*\.", replies[1].text)
        assert sentence is not None
        assert tokens_of(sentence[0]) <= 20
        (outlines,) = [item for item in fact(replies[1], "omitted") if item["what"] == "signatures"]
        following = fact(replies[1], "next")["arguments"]
        assert outlines["call"]["arguments"] == {**following, "output": "outline"}
        shown = workspace.call("find_relevant", outlines["call"]["arguments"])
        assert not shown.is_error
        assert not {row["path"] for reply in replies[:2] for row in fact(reply, "files")} & {
            row["path"] for row in fact(shown, "files")
        }
        files = workspace.call("find_relevant", {**asked, "output": "files", "budget_tokens": 100})
        more = workspace.call("find_relevant", fact(files, "next")["arguments"])
        assert "outline" not in files.text + more.text
