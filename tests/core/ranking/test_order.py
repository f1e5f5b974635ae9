"""Files come out in the order of their exact scores, however few of them were examined."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.ranking.counting import CountedText
from readroom.core.ranking.names import NameHints
from readroom.core.ranking.order import BestFirst
from readroom.core.ranking.query import Query, parse
from readroom.core.ranking.roles import older_versions
from readroom.core.ranking.score import Counted, Glimpse, Scale, count, glance, rank
from readroom.core.values.find import millionths

NAMES = st.sampled_from(
    [
        "a.py",
        "b.py",
        "door.py",
        "src/door.py",
        "tests/door.py",
        "key/a.md",
        "v1/door.py",
        "v2/door.py",
        "LICENSE",
    ]
)
WORDS = st.sampled_from(
    ["door", "doors", "Key", "keyDoor", "open_door", "adoor", "turn", "\n", "def open_door():"]
)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)
QUESTIONS = st.sampled_from(["door", "key door", "open_door", "turn the key of a door", "doors.open_door"])


def looked_at(query: Query, files: dict[str, str]) -> tuple[Scale, list[Glimpse], dict[str, CountedText]]:
    texts = {path: CountedText(text) for path, text in files.items()}
    looks = [glance(query, NameHints(query), path, path, text) for path, text in texts.items()]
    glimpses = [glimpse for glimpse in looks if glimpse is not None]
    return Scale(query, glimpses, len(files), sum(map(len, files.values()))), glimpses, texts


@given(st.dictionaries(NAMES, TEXTS, min_size=1), QUESTIONS)
def test_the_order_is_that_of_the_exact_scores(files: dict[str, str], question: str) -> None:
    query = parse(question)
    scale, glimpses, texts = looked_at(query, files)
    older = older_versions(glimpse.place for glimpse in glimpses)
    exact = [rank(scale, count(query, each, texts[each.path]), older) for each in glimpses]
    best = BestFirst(scale, glimpses, lambda glimpse: count(query, glimpse, texts[glimpse.path]))
    assert list(best.first(len(files))) == sorted(
        exact, key=lambda file: (-millionths(file.score), file.path)
    )


def test_scores_that_a_cursor_cannot_tell_apart_come_by_path() -> None:
    """Of two files whose scores differ by less than it can name, a page that ends between them hides none."""
    rng = random.Random(1)
    words = ["door", "key", "lock", "wall", "roof", "cat"]
    files = {
        f"{rng.choice('abcdefgh')}{number:05}.txt": " ".join(rng.choices(words, k=rng.randint(3, 60)))
        for number in range(1500)
    }
    query = parse("door key")
    scale, glimpses, texts = looked_at(query, files)
    best = BestFirst(scale, glimpses, lambda glimpse: count(query, glimpse, texts[glimpse.path]))
    ranked = best.first(len(files))
    places = [(-millionths(file.score), file.path) for file in ranked]
    assert places == sorted(places)
    assert any(one.score < other.score for one, other in pairwise(ranked))


@given(st.dictionaries(NAMES, TEXTS, min_size=1), QUESTIONS)
def test_a_first_look_finds_every_file_with_a_word_and_counts_no_less(
    files: dict[str, str], question: str
) -> None:
    query = parse(question)
    _, glimpses, texts = looked_at(query, files)
    seen = {glimpse.path: glimpse for glimpse in glimpses}
    for path, text in texts.items():
        exact = count(query, Glimpse(path, path, text.size, ()), text)
        most = seen[path].bounds if path in seen else (0,) * len(query.terms)
        assert all(times <= bound for times, bound in zip(exact.counts, most, strict=True))
        assert [times > 0 for times in exact.counts] == [bound > 0 for bound in most]


def test_of_many_files_few_are_examined() -> None:
    files = {f"pkg/{number:03}.py": "door\n" + "other words\n" * number for number in range(300)}
    query = parse("door")
    scale, glimpses, texts = looked_at(query, files)
    examined: list[str] = []

    def examine(glimpse: Glimpse) -> Counted:
        examined.append(glimpse.path)
        return count(query, glimpse, texts[glimpse.path])

    best = BestFirst(scale, glimpses, examine)
    assert [file.path for file in best.first(15)] == sorted(files)[:15]
    assert len(examined) <= 16
    assert len(best) == 300


def test_a_file_that_is_gone_by_now_is_left_out() -> None:
    query = parse("door")
    scale, glimpses, texts = looked_at(query, {"a.py": "door", "b.py": "door", "c.py": "door"})
    best = BestFirst(
        scale,
        glimpses,
        lambda glimpse: None if glimpse.path == "b.py" else count(query, glimpse, texts[glimpse.path]),
    )
    assert [file.path for file in best.first(9)] == ["a.py", "c.py"]
    assert best.at(2) is None
