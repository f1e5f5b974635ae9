"""Pages as pictures: what is drawn, which region, at what size and cost, and what is refused."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as pillow
from PIL import ImageDraw

from readroom.core.contracts.base import picture_tokens
from readroom.core.formats import images, regions
from readroom.core.formats.regions import WHOLE, Region
from readroom.core.limits import IMAGE_LONG_SIDE, IMAGE_REPLY_BYTES
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.documents.formats.pdf_pages import CONTENT, FIRST, PAGE, page, stream, text
from tests.each import each
from tests.laws.driving import hints

BARS = b"".join(b"0.9 0.1 0.1 rg %d 100 8 %d re f " % (60 + 10 * at, 20 + 5 * at) for at in range(40))
WORDS = text("Sales by month", 60, 780)


def sized(content: bytes, width: int, height: int) -> bytes:
    """A PDF of one page of this size, in points."""
    other = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d %d]/Resources<</Font<</F 3 0 R>>>>/Contents 5 0 R>>"
    return page(content, {PAGE: other % (width, height), CONTENT: stream(content)})


def with_picture(width: int, height: int) -> bytes:
    """A PDF whose page shows words and a picture of this many pixels, packed to next to nothing."""
    packed = zlib.compressobj(9)
    row = bytes(width)
    data = b"".join(packed.compress(row) for _ in range(height)) + packed.flush()
    entries = b"/Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray/BitsPerComponent 8"
    shown = WORDS + b"q 400 0 0 400 60 200 cm /P Do Q"
    objects = {FIRST: stream(data, entries % (width, height) + b"/Filter/FlateDecode")}
    return page(shown, objects, resources=b"/XObject<</P %d 0 R>>" % FIRST)


def quarters(size: tuple[int, int] = (400, 300)) -> pillow.Image:
    """A picture whose quarters are red, green, blue and white."""
    whole = pillow.new("RGB", size, "white")
    draw = ImageDraw.Draw(whole)
    middle = (size[0] // 2, size[1] // 2)
    draw.rectangle((0, 0, middle[0] - 1, middle[1] - 1), fill="red")
    draw.rectangle((middle[0], 0, size[0], middle[1] - 1), fill="lime")
    draw.rectangle((0, middle[1], middle[0] - 1, size[1]), fill="blue")
    return whole


def saved(picture: pillow.Image, form: str, **options: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, form, **options)
    return data.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pictures")
    files = {
        "chart.pdf": page(WORDS + BARS),
        "plain.pdf": page(WORDS + b"60 700 m 500 700 l S"),
        "photo.pdf": with_picture(300, 300),
        "bomb.pdf": with_picture(30_000, 30_000),
        "long.pdf": sized(WORDS + BARS, 28_346, 28_346),
        "thin.pdf": sized(BARS, 28_346, 1),
        "quarters.png": saved(quarters((4000, 3000)), "PNG"),
        "quarters.bmp": saved(quarters(), "BMP"),
        "pages.tiff": saved(
            quarters(), "TIFF", compression="tiff_lzw", save_all=True, append_images=[quarters().rotate(180)]
        ),
        "cut.tiff": saved(quarters(), "TIFF", compression="tiff_lzw")[:400],
        "notes.txt": b"words\n",
        "BMW": b"BM and other words\n",
    }
    for name, data in files.items():
        (found / name).write_bytes(data)
    return found


@pytest.fixture(scope="module")
def workspace(folder: Path) -> Iterator[Workspace]:
    with Workspace(folder) as opened:
        yield opened


def read(workspace: Workspace, **arguments: Any) -> Reply:
    return workspace.call("read_file", arguments)


def colour(reply: Reply, across: float, down: float) -> tuple[int, ...]:
    """The colour of a place in the only image of a reply."""
    (image,) = reply.images
    shown = pillow.open(io.BytesIO(image.data)).convert("RGB")
    found = shown.getpixel((int(across * (shown.width - 1)), int(down * (shown.height - 1))))
    assert isinstance(found, tuple)
    return found


def test_a_page_with_figures_says_what_its_picture_costs_and_the_call_shows_it(workspace: Workspace) -> None:
    reply = read(workspace, path="chart.pdf")
    assert "Page 1: 1 figure not shown (about " in reply.text
    (call,) = hints(reply)
    assert call["arguments"] == {"path": "chart.pdf", "pages": "1", "view": "image"}
    shown = workspace.call(call["tool"], call["arguments"])
    (image,) = shown.images
    assert f"about {picture_tokens(image.width, image.height):,} tokens" in reply.text
    assert max(image.width, image.height) == IMAGE_LONG_SIDE
    assert len(image.data) <= IMAGE_REPLY_BYTES
    assert colour(shown, 450 / 595, 1 - 110 / 842)[0] > 200
    assert colour(shown, 0.02, 0.5) == (255, 255, 255)


def test_a_rule_below_a_title_is_no_figure(workspace: Workspace) -> None:
    assert "figure" not in read(workspace, path="plain.pdf").text
    assert len(read(workspace, path="plain.pdf", view="image").images) == 1


def test_a_picture_on_a_page_with_text_is_one(workspace: Workspace) -> None:
    assert "1 figure not shown" in read(workspace, path="photo.pdf").text
    assert colour(read(workspace, path="photo.pdf", view="image"), 0.4, 0.5) == (0, 0, 0)


def test_a_region_is_drawn_larger(workspace: Workspace) -> None:
    reply = read(workspace, path="chart.pdf", pages="1!0,80,50,90", view="image")
    (image,) = reply.images
    assert image.width == IMAGE_LONG_SIDE
    assert image.height == pytest.approx(IMAGE_LONG_SIDE * 84.2 / 297.5, abs=2)
    assert "[0,80,50,90: image 1 of this reply]" in reply.text
    # The first bar is between 60 and 68 points from the left, and 722 and 742 of 842 from the top.
    assert colour(reply, 64 / 297.5, 0.6) == colour(reply, 65 / 297.5, 0.7) == (230, 26, 26)


@each("name", ["long.pdf", "thin.pdf"])
def test_a_page_of_ten_metres_is_as_large_as_any(workspace: Workspace, name: str) -> None:
    for pages in ("1", "1!99,99,100,100", "1!0,0,1,100", "1!0,0,100,1"):
        reply = read(workspace, path=name, pages=pages, view="image")
        assert not reply.is_error, reply.text
        (image,) = reply.images
        assert 1 <= min(image.width, image.height) <= max(image.width, image.height) <= IMAGE_LONG_SIDE


def test_a_picture_made_to_fill_memory_is_refused_or_shown_small(workspace: Workspace) -> None:
    reply = read(workspace, path="bomb.pdf", view="image")
    assert reply.is_error or max(reply.images[0].width, reply.images[0].height) <= IMAGE_LONG_SIDE
    assert "Sales by month" in read(workspace, path="bomb.pdf").text


@each(
    ("arguments", "problem"),
    [
        ({"path": "chart.pdf", "pages": "1!0,0,50,50"}, 'Send view="image"'),
        ({"path": "chart.pdf", "pages": "1!50,0,50,50", "view": "image"}, "is empty or reaches beyond"),
        ({"path": "chart.pdf", "pages": "1!0,0,101,50", "view": "image"}, "is empty or reaches beyond"),
        ({"path": "chart.pdf", "pages": "2!0,0,50,50", "view": "image"}, "names page 2"),
        ({"path": "notes.txt", "view": "image"}, "is for pages of PDF and TIFF, and images"),
        ({"path": "BMW", "view": "image"}, "is for pages of PDF and TIFF, and images"),
        ({"path": "quarters.png", "pages": "9,9,9,10"}, "is empty or reaches beyond"),
        ({"path": "quarters.png", "pages": "2", "view": "image"}, "nothing in an image but a region"),
        ({"path": "cut.tiff"}, "its first page cannot be found"),
    ],
)
def test_what_has_no_picture_is_refused_with_a_call_that_works(
    workspace: Workspace, arguments: dict[str, Any], problem: str
) -> None:
    reply = read(workspace, **arguments)
    assert reply.is_error
    assert problem in reply.text
    for call in hints(reply):
        assert not workspace.call(call["tool"], call["arguments"]).is_error


def test_a_client_that_makes_text_of_pictures_is_told_before(workspace: Workspace) -> None:
    def ask(**arguments: Any) -> Reply:
        return workspace.call("read_file", arguments, images=False)

    assert "this client passes on no images" in ask(path="chart.pdf").text
    refused = ask(path="chart.pdf", pages="1!0,0,50,50", view="image")
    assert refused.is_error
    assert not refused.images
    (call,) = hints(refused)
    assert "Sales by month" in ask(**call["arguments"]).text


def test_a_region_of_an_image_is_cut_out_of_the_original(workspace: Workspace) -> None:
    whole = read(workspace, path="quarters.png")
    assert 'pages="0,0,50,50" shows a region' in whole.text
    for pages, expected in (
        ("0,0,50,50", (255, 0, 0)), ("50,0,100,50", (0, 255, 0)), ("!0,50,50,100", (0, 0, 255)),
        ("1!50,50,100,100", (255, 255, 255)),
    ):  # fmt: skip
        reply = read(workspace, path="quarters.png", pages=pages)
        assert (reply.images[0].original_width, reply.images[0].original_height) == (2000, 1500)
        assert {colour(reply, x, y) for x in (0.05, 0.95) for y in (0.05, 0.95)} == {expected}, pages


def test_bmp_and_tiff_are_images(workspace: Workspace) -> None:
    bitmap = read(workspace, path="quarters.bmp")
    assert [image.media_type for image in bitmap.images] == ["image/png"]
    assert colour(bitmap, 0.25, 0.25) == (255, 0, 0)
    both = read(workspace, path="pages.tiff")
    assert len(both.images) == 2
    assert colour(read(workspace, path="pages.tiff", pages="1"), 0.25, 0.25) == (255, 0, 0)
    assert colour(read(workspace, path="pages.tiff", pages="2"), 0.75, 0.75) == (255, 0, 0)
    corner = read(workspace, path="pages.tiff", pages="2!0,50,50,100", view="image")
    assert colour(corner, 0.5, 0.5) == (0, 255, 0)


_PERCENT = st.integers(0, 99)


@given(st.sampled_from(range(1, 9)), _PERCENT, _PERCENT, st.integers(1, 100), st.integers(1, 100))
def test_a_region_is_that_of_the_picture_as_it_is_seen(
    orientation: int, left: int, top: int, right: int, bottom: int
) -> None:
    """Cut out of the stored picture and turned, it is what is cut out of the turned one."""
    region = Region(left, top, max(left + 1, right), max(top + 1, bottom))
    stored = quarters((100, 100))
    stored.putpixel((3, 7), (9, 9, 9))
    seen = images.upright(stored, orientation)
    box = (region.left, region.top, region.right, region.bottom)
    inner = region.turned(orientation)
    cut = stored.crop((inner.left, inner.top, inner.right, inner.bottom))
    assert images.upright(cut, orientation).tobytes() == seen.crop(box).tobytes()


@given(_PERCENT, _PERCENT, st.integers(1, 100), st.integers(1, 100))
def test_a_region_is_read_as_it_is_written(left: int, top: int, right: int, bottom: int) -> None:
    region = Region(left, top, max(left + 1, right), max(top + 1, bottom))
    assert regions.parse(str(region)) == region
    assert regions.of_image(f"1!{region}") == regions.of_image(f"!{region}") == region
    assert regions.of_image(None) == regions.of_image("1") == WHOLE


def test_a_tiff_for_more_than_four_gigabytes_is_a_picture(tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(saved(quarters(), "TIFF", big_tiff=True))
    with Workspace(tmp_path) as workspace:
        (picture,) = workspace.call("read_file", {"path": "a.tif"}).images
    assert (picture.width, picture.height) == (400, 300)


def test_a_page_that_cannot_be_decoded_is_refused_however_often_it_is_asked_for(tmp_path: Path) -> None:
    """The library shows it white when it is asked again."""
    data = bytearray(saved(quarters(), "TIFF", compression="tiff_lzw"))
    first = data.index(b"\x80", 8)
    data[first : first + 400] = b"\xff" * 400
    (tmp_path / "a.tif").write_bytes(bytes(data))
    with Workspace(tmp_path) as workspace:
        for arguments in ({}, {"pages": "1!0,0,50,50", "view": "image"}, {"pages": "1"}, {"pages": "1"}):
            reply = workspace.call("read_file", {"path": "a.tif", **arguments})
            assert reply.is_error, reply.text
            assert "broken or cut short" in reply.text


@each("pages", ["0,0,50,50", "1!0,0,50,50", "2"])
def test_a_text_that_is_asked_for_as_a_picture_names_a_call_that_works(tmp_path: Path, pages: str) -> None:
    (tmp_path / "a.svg").write_text("<svg/>\n", "utf-8")
    with Workspace(tmp_path) as workspace:
        refused = workspace.call("read_file", {"path": "a.svg", "pages": pages, "view": "image"})
        (call,) = hints(refused)
        assert not workspace.call(call["tool"], call["arguments"]).is_error
