"""States of files that are kept in memory: the latest ones, within a bound."""

from __future__ import annotations

from readroom.core.session.caches import TextCache


def test_a_state_is_found_by_its_file_and_the_start_of_its_hash() -> None:
    texts = TextCache()
    texts.put("f", "abc123", b"one")
    assert texts.find("f", "abc") == b"one"
    assert texts.find("f", "abd") is None
    assert texts.find("g", "abc") is None


def test_of_two_states_with_one_start_the_latest_is_found() -> None:
    texts = TextCache()
    texts.put("f", "abc1", b"one")
    texts.put("f", "abc2", b"two")
    assert texts.find("f", "abc") == b"two"


def test_a_state_that_is_too_large_is_not_kept() -> None:
    texts = TextCache(max_text_bytes=3)
    texts.put("f", "a", b"1234")
    assert not texts.wants(4)
    assert texts.find("f", "a") is None


def test_the_least_recently_used_states_leave_when_the_bound_is_passed() -> None:
    texts = TextCache(max_bytes=10)
    texts.put("f", "a", b"1234")
    texts.put("f", "b", b"1234")
    assert texts.find("f", "a") == b"1234"
    texts.put("f", "c", b"1234")
    assert texts.find("f", "b") is None
    assert texts.find("f", "a") == b"1234"


def test_a_state_that_is_put_again_counts_once() -> None:
    texts = TextCache(max_bytes=10)
    for _ in range(5):
        texts.put("f", "a", b"1234")
    texts.put("f", "b", b"1234")
    assert texts.find("f", "a") == b"1234"
