"""The record of clients that looked at pictures keeps its claims, and its searcher knows every form."""

from __future__ import annotations

import base64
import json

import pytest

from scripts.docs.runs import PICTURES
from scripts.record_pictures import judge, pictures_in
from tests.documents.reading.making import png
from tests.suites import needs

pytestmark = needs("documents")

DATA = base64.b64encode(png(4, 2)).decode()
FORMS = {
    "messages": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    "responses": {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
    "chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "gemini": {"inlineData": {"mimeType": "image/png", "data": DATA}},
}


@pytest.mark.parametrize("form", FORMS)
def test_a_picture_is_found_in_every_form_of_a_request(form: str) -> None:
    assert list(pictures_in({"messages": [{"content": [{"text": "x"}, FORMS[form]]}]})) == [png(4, 2)]
    assert list(pictures_in({"text": DATA, "data": DATA, "note": "data:image/png;base64,%"})) in ([], [b""])


def test_a_picture_that_did_not_arrive_or_arrived_otherwise_is_said() -> None:
    other = [{"body": {"content": [FORMS["chat"]]}}]
    expected = [None, *[{"sha256": "0" * 12, "width": 1, "height": 1} for _ in range(4)]]
    said = "view='image' would show nothing: this client does not pass on images. Read the text. read_file {}"
    row = judge("qwen", [{"step": 1, "text": said}], other, expected)
    assert [call["arrived"] for call in row["calls"]] == [False] * 4
    assert [call["refused_with_call_for_text"] for call in row["calls"]] == [True, False, False, False]
    assert [(one["width"], one["height"]) for one in row["pictures_of_other_bytes"]] == [(4, 2)]


def test_the_record_has_three_clients_that_see_and_one_that_is_told() -> None:
    assert PICTURES is not None
    results = json.loads(PICTURES.read_text(encoding="utf-8"))["results"]
    seeing = [result for result in results if all(call["arrived"] for call in result["calls"])]
    assert len(seeing) >= 3
    for result in seeing:
        assert not result["pictures_of_other_bytes"]
        assert result["tokens_told_beforehand"] == result["calls"][0]["tokens_ours"]
    blind = [result for result in results if result not in seeing]
    assert blind
    for result in blind:
        asked = [call for call in result["calls"] if call["call"].get("view") == "image"]
        assert all(call["refused_with_call_for_text"] for call in asked)
