"""However many refusals there are, few are told, and none is lost from the sums."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.caller import Caller
from readroom.server.http.refusal_log import Refusal, RefusalSampler

REFUSALS = st.builds(
    Refusal,
    code=st.sampled_from(["unauthorized", "no_such_route", "bad_request"]),
    status=st.just(400),
    caller=st.builds(Caller, token=st.sampled_from(["", "t1"])),
    address=st.sampled_from([f"10.0.0.{last}" for last in range(9)]),
    target=st.sampled_from(["/v1/native/read_file", "/*"]),
)


@given(st.lists(st.tuples(REFUSALS, st.booleans()), max_size=120))
def test_what_is_told_and_what_is_counted_are_all_there_were(many: list[tuple[Refusal, bool]]) -> None:
    tally = RefusalSampler(most=12, alike=3)
    told = [one for one, room in many if tally.add(one, room=room)]
    sums = tally.settle()
    for code in ("unauthorized", "no_such_route", "bad_request"):
        assert sum(one.times for one in [*told, *sums] if one.code == code) == sum(
            one.code == code for one, _ in many
        )
    assert len(told) <= 12
    assert len(sums) <= 12 // 3 + 3
    assert not tally.counted


def test_a_flood_from_one_address_leaves_room_for_others() -> None:
    tally = RefusalSampler(most=12, alike=3)
    flood = Refusal("unauthorized", 401, address="10.0.0.1", target="/mcp")
    assert [tally.add(flood) for _ in range(5)] == [True] * 3 + [False] * 2
    assert tally.add(Refusal("unauthorized", 401, address="10.0.0.2"))
    assert tally.settle() == [Refusal("unauthorized", address="10.0.0.1", times=2)]
    assert tally.add(flood)
