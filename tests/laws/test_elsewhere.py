"""The laws of stores hold where files are elsewhere: behind a shell as a sandbox has one, and in buckets.

Each law is the one that holds on this machine, tried with few examples: an answer there takes a process, or a
request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from readroom.core.stores.base import Store
from tests.laws import test_bytes_survive, test_hints, test_names, test_progress, test_secrecy
from tests.laws.driving import stored
from tests.laws.places import PLACES, PlaceName
from tests.suites import whole

LAWS: dict[Callable[..., None], int] = {
    test_progress.test_reading_on_shows_every_line_and_column_once: 3,
    test_progress.test_reading_on_from_anywhere_shows_the_rest: 3,
    test_progress.test_reading_on_from_a_tail_shows_all_above_it_once: 2,
    test_progress.test_a_tail_and_what_it_left_out_are_the_whole_file: 2,
    test_progress.test_a_large_file_is_read_as_a_small_one: 2,
    test_progress.test_what_long_lines_were_cut_of_is_shown_in_every_kind_of_text: 1,
    test_bytes_survive.test_what_was_shown_can_be_edited_and_nothing_else_changes: 6,
    test_secrecy.test_no_reply_holds_a_byte_of_a_denied_or_outside_file: 2,
    test_names.test_native_replies_are_those_about_an_everyday_name: 3,
    test_names.test_a_reader_of_native_replies_finds_the_name: 5,
}
"""Laws that are given the name of a store, each with how many examples are tried."""

DAILY = {
    test_progress.test_reading_on_shows_every_line_and_column_once,
    test_bytes_survive.test_what_was_shown_can_be_edited_and_nothing_else_changes,
}

LAWS_OF_CALLS: dict[Callable[..., None], int] = {
    test_hints.test_every_reply_is_within_its_cap: 10,
    test_hints.test_every_hint_is_accepted: 10,
    test_hints.test_a_call_for_lines_or_characters_shows_just_those: 5,
}
"""Laws about one call of any kind in a tree of everything."""

every_place = pytest.mark.parametrize("place", PLACES)


def few(law: Any, examples: int) -> Callable[..., None]:
    """The same law with so many examples, and without its store; examples are not made smaller, which would
    take minutes."""
    handle = law.hypothesis
    drawn = {name: some for name, some in vars(handle)["_given_kwargs"].items() if name != "store"}
    made: Callable[..., None] = settings(
        max_examples=examples, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )(given(**drawn)(handle.inner_test))
    return made


def _laws(laws: dict[Callable[..., None], int]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("law", "examples"),
        [
            pytest.param(law, count, id=law.__name__, marks=() if law in DAILY else whole)
            for law, count in laws.items()
        ],
    )


@every_place
@_laws(LAWS)
def test_a_law_holds_elsewhere(place: PlaceName, law: Callable[..., None], examples: int) -> None:
    few(law, examples)(store=place)


@pytest.fixture(scope="module", params=PLACES)
def everything(request: pytest.FixtureRequest) -> Iterator[Store]:
    with test_hints.tree(request.param) as store:
        yield store


@_laws(LAWS_OF_CALLS)
def test_a_law_of_calls_holds_elsewhere(everything: Store, law: Callable[..., None], examples: int) -> None:
    few(law, examples)(store=everything)


@whole
def test_mistakes_are_named_elsewhere_as_here(everything: Store) -> None:
    every_mistake: Callable[..., None] = test_hints.test_a_mistake_is_named_and_its_hint_works
    every_mistake(store=everything)


ABSENT = {
    "shell": {"exchange", "locks", "opening", "together"},
    "bucket": {"locks", "together"},
    "container": {"locks", "together"},
}
"""Laws of this machine that cannot hold there, as promises that nobody keeps.

A sandbox runs commands one after the other, and other programs between them: nothing of this machine's kernel
reaches there.  A bucket has no locks, and its requests change one object each.
"""


@every_place
def test_a_law_that_cannot_hold_is_no_promise(place: PlaceName) -> None:
    with stored(place, {"a": b"one\n"}) as store:
        told = store.promises.facts
        assert {name for name, keeper in told.items() if keeper == "none"} - {"confinement"} == ABSENT[place]
        assert told["confinement"] == "none"
