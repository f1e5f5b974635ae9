"""One cache for all that may be forgotten: its bound holds, and what was used last stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.lru import LruCache

_KEYS = st.sampled_from("abcdef")
_STEPS = st.lists(
    st.tuples(st.just("put"), _KEYS, st.integers(0, 12)) | st.tuples(st.sampled_from(["get", "pop"]), _KEYS)
)


@given(st.integers(0, 20), _STEPS)
def test_what_is_kept_is_the_longest_run_of_the_last_used_that_fits(
    bound: int, steps: list[tuple[str, str, int]]
) -> None:
    cache: LruCache[str, int] = LruCache(bound, lambda size: size)
    model: list[tuple[str, int]] = []  # the one used last at the end
    for name, key, *size in steps:
        old = dict(model).get(key)
        if name == "put":
            model = [*(entry for entry in model if entry[0] != key), (key, size[0])]
            left = []
            while sum(value for _, value in model) > bound:
                left.append(model.pop(0)[1])
            assert cache.put(key, size[0]) == left
        else:
            assert getattr(cache, name)(key) == old
            model = [entry for entry in model if entry[0] != key]
            model += [(key, old)] if name == "get" and old is not None else []
        assert cache.items() == model[::-1]
        assert [key for key in "abcdef" if key in cache] == sorted(key for key, _ in model)
    assert cache.clear() == [value for _, value in model]
    assert cache.items() == []


@given(st.integers(0, 20), st.integers(1, 4), st.lists(st.tuples(_KEYS, st.integers(0, 30))))
def test_with_a_count_no_more_values_are_kept_and_the_last_one_however_large(
    bound: int, count: int, puts: list[tuple[str, int]]
) -> None:
    cache: LruCache[str, int] = LruCache(bound, lambda size: size, count)
    for key, size in puts:
        cache.put(key, size)
        kept = cache.items()
        assert kept[0] == (key, size)
        assert len(kept) == 1 or (len(kept) <= count and sum(value for _, value in kept) <= bound)


def test_a_value_is_made_once() -> None:
    cache: LruCache[str, list[int]] = LruCache(1)
    assert cache.get_or_put("a", list) is cache.get_or_put("a", list)
    cache.get_or_put("b", list)
    assert "a" not in cache
