"""What a model gets to see of an image, and what broken and hostile ones do."""

from __future__ import annotations

import contextlib
import io
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator

import pytest
from PIL import Image as pillow
from PIL import ImageChops, ImageDraw

from readroom.core.errors import BadImage
from readroom.core.formats import images
from readroom.core.formats.images import IMAGE_MAX_PIXELS, IMAGE_WORK_BYTES, SIGNATURE, to_image
from readroom.core.formats.kinds import sniff
from readroom.core.limits import IMAGE_LONG_SIDE, IMAGE_REPLY_BYTES
from readroom.core.values import Image
from tests.each import each
from tests.peak import REPO
from tests.suites import daily

FORMATS = ["PNG", "JPEG", "GIF", "WEBP"]


def drawn(width: int, height: int, mode: str = "RGB") -> pillow.Image:
    """A picture of which every part looks different."""
    gradient = pillow.linear_gradient("L").resize((width, height))
    other = gradient.transpose(pillow.Transpose.FLIP_LEFT_RIGHT).rotate(90).resize((width, height))
    picture = pillow.merge("RGB", (gradient, other, ImageChops.difference(gradient, other)))
    ImageDraw.Draw(picture).ellipse((width // 4, height // 4, width // 2, height // 2), fill="red")
    return picture.convert(mode)


def saved(picture: pillow.Image, form: str, **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()


def shown(data: bytes) -> Image:
    media = sniff(data)
    assert media is not None
    return to_image(data, media.name, path="picture")


def opened(image: Image) -> pillow.Image:
    picture = pillow.open(io.BytesIO(image.data))
    assert picture.get_format_mimetype() == image.media_type
    assert picture.size == (image.width, image.height)
    picture.load()
    return picture


def difference(one: pillow.Image, other: pillow.Image) -> float:
    """Mean difference of a sample, 0 to 255."""
    values = ImageChops.difference(one.convert("RGB"), other.convert("RGB")).resize(
        (1, 1), pillow.Resampling.BOX
    )
    pixel = values.getpixel((0, 0))
    assert isinstance(pixel, tuple)
    return max(pixel)


@pytest.mark.parametrize("form", FORMATS)
def test_an_image_that_is_small_leaves_byte_for_byte(form: str) -> None:
    data = saved(drawn(200, 100), form)
    assert shown(data) == Image(data, f"image/{form.lower()}", 200, 100, 200, 100)


@daily(2, "form", FORMATS)
@pytest.mark.parametrize("size", [(2000, 1000), (900, 1800)])
def test_a_large_image_is_shrunk_and_says_what_it_was(form: str, size: tuple[int, int]) -> None:
    picture = drawn(*size)
    image = shown(saved(picture, form))
    assert max(image.width, image.height) == IMAGE_LONG_SIDE
    assert image.width * size[1] == pytest.approx(image.height * size[0], rel=0.01)
    assert (image.original_width, image.original_height) == size
    assert image.media_type == ("image/jpeg" if form == "JPEG" else "image/png")
    assert difference(opened(image), picture.resize((image.width, image.height))) < 8


@daily(
    2,
    ("mode", "form"),
    [*((mode, "PNG") for mode in ("1", "L", "LA", "P", "RGBA", "I;16")), ("L", "JPEG"), ("CMYK", "JPEG")],
)
def test_every_mode_is_shrunk_to_what_it_showed(mode: str, form: str) -> None:
    plain = drawn(1700, 900)
    if mode == "I;16":
        plain = plain.convert("L")
        picture = pillow.frombytes(
            "I;16", plain.size, b"".join(bytes((0, level)) for level in plain.tobytes())
        )
    else:
        picture = plain.convert(mode)
        plain = picture.convert("RGB")
    image = shown(saved(picture, form))
    assert difference(opened(image), plain.resize((image.width, image.height))) < 8


def test_transparency_survives_shrinking() -> None:
    picture = drawn(2000, 500, "RGBA")
    picture.putalpha(pillow.linear_gradient("L").resize((2000, 500)))
    small = opened(shown(saved(picture, "PNG")))
    assert small.mode == "RGBA"
    assert small.getchannel("A").getextrema() == (0, 255)


def test_a_transparent_colour_survives_shrinking() -> None:
    small = opened(shown(saved(drawn(2000, 500, "P"), "PNG", transparency=0)))
    assert small.mode == "RGBA"


@each("form", ["PNG", "JPEG", "WEBP"])
@each("orientation", range(1, 9))
def test_a_picture_is_shown_upright(form: str, orientation: int) -> None:
    upright = drawn(60, 40)
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}
    lying = upright.transpose(pillow.Transpose(undo[orientation])) if orientation > 1 else upright
    exif = pillow.Exif()
    exif[images.ORIENTATION] = orientation
    data = saved(lying, form, exif=exif, quality=95)
    image = shown(data)
    assert (image.original_width, image.original_height) == (60, 40)
    assert difference(opened(image), upright) < 15
    assert difference(opened(image).rotate(180), upright) > 30
    assert (image.data == data) == (orientation == 1)


def test_an_orientation_that_says_nothing_is_ignored() -> None:
    exif = pillow.Exif()
    exif[images.ORIENTATION] = 99
    data = saved(drawn(60, 40), "JPEG", exif=exif)
    assert shown(data).data == data


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_an_animation_is_kept_when_small_and_its_first_frame_is_shown_when_large(form: str) -> None:
    frames = [drawn(1600, 200), drawn(1600, 200).rotate(180)]
    large = saved(frames[0], form, save_all=True, append_images=frames[1:], duration=50)
    assert difference(opened(shown(large)), frames[0].resize((1568, 196))) < 8
    frames = [frame.resize((160, 20)) for frame in frames]
    small = saved(frames[0], form, save_all=True, append_images=frames[1:], duration=50)
    assert shown(small).data == small


def test_what_is_too_many_bytes_as_png_is_sent_as_jpeg() -> None:
    noise = pillow.effect_noise((1568, 1568), 100)
    colour = pillow.merge("RGBA", (noise, noise.rotate(90), noise.rotate(180), noise))
    data = saved(colour, "PNG")
    assert len(data) > IMAGE_REPLY_BYTES
    image = shown(data)
    assert image.media_type == "image/jpeg"
    assert len(image.data) <= IMAGE_REPLY_BYTES


def test_a_colour_for_print_is_sent_as_rgb() -> None:
    image = shown(saved(drawn(100, 100, "CMYK"), "JPEG"))
    assert opened(image).mode == "RGB"


@pytest.mark.parametrize("size", [(5000, 1), (1, 5000), (20000, 3), (3, 20000)])
def test_a_line_of_pixels_keeps_its_one_pixel(size: tuple[int, int]) -> None:
    for form in ("PNG", "JPEG", "GIF"):
        image = shown(saved(pillow.new("RGB", size, "blue"), form))
        assert max(image.width, image.height) == IMAGE_LONG_SIDE
        assert min(image.width, image.height) == 1


# --- broken and hostile ---------------------------------------------------------------------------


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_claiming(width: int, height: int, *extra: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1_000_000))
    return SIGNATURE + chunk(b"IHDR", header) + b"".join(extra) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def gif_claiming(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + saved(drawn(8, 8), "GIF")[10:]


def webp_claiming(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + size + b"VP8 \0\0\0\0"


def jpeg_claiming(width: int, height: int) -> bytes:
    data = saved(drawn(8, 8), "JPEG")
    at = data.index(b"\xff\xc0") + 5
    return data[:at] + struct.pack(">HH", height, width) + data[at + 4 :]


BOMBS = {
    "png": png_claiming(2**31 - 1, 2**31 - 1),
    "png of 144 MP": png_claiming(12_000, 12_000),
    "gif": gif_claiming(65535, 65535),
    "webp": webp_claiming(2**24, 2**24),
    "webp of 268 MP": webp_claiming(16383, 16383),
    "jpeg": jpeg_claiming(65500, 65500),
}


@each("data", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_it_is_decoded(data: bytes) -> None:
    with pytest.raises(BadImage) as refused:
        shown(data)
    assert "pixels" in refused.value.message or "memory" in refused.value.message


def test_the_most_pixels_are_decoded_and_one_row_more_is_not() -> None:
    side = 10_000
    assert side * side == IMAGE_MAX_PIXELS
    assert shown(saved(pillow.new("L", (side, side)), "JPEG")).original_width == side
    with pytest.raises(BadImage, match="100,010,000 pixels"):
        shown(saved(pillow.new("L", (side, side + 1)), "PNG"))


def test_a_png_too_large_for_memory_is_refused_with_what_works() -> None:
    """Screens of up to 6K are shown; of an 8K one a JPEG is."""
    assert shown(saved(pillow.new("RGB", (6016, 3384)), "PNG")).original_width == 6016
    picture = pillow.new("RGB", (7680, 4320))
    with pytest.raises(BadImage, match="at most 100 MB are used") as refused:
        shown(saved(picture, "PNG"))
    assert "JPEG" in refused.value.advice
    assert shown(saved(picture, "JPEG")).original_width == 7680


def test_notes_that_inflate_a_thousandfold_are_not_read() -> None:
    note = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(900_000), 9))
    picture = saved(drawn(1700, 300), "PNG")
    data = picture[:33] + note * 300 + picture[33:]
    assert difference(opened(shown(data)), drawn(1700, 300).resize((1568, 277))) < 8


def test_a_panorama_too_wide_for_bounded_memory_is_refused_as_such() -> None:
    with pytest.raises(BadImage, match="60,000 pixels across"):
        shown(saved(pillow.new("L", (60_000, 900)), "PNG"))


@pytest.mark.parametrize("form", FORMATS)
def test_a_header_alone_is_broken(form: str) -> None:
    data = saved(drawn(300, 300), form)
    for end in (12, 30, len(data) // 3):
        with pytest.raises(BadImage, match="broken or cut short"):
            to_image(data[:end], f"image/{form.lower()}", path="picture")


def damaged(data: bytes, chance: random.Random) -> Iterator[bytes]:
    for _ in range(60):
        copy = bytearray(data)
        for _ in range(chance.choice([1, 2, 8])):
            at = chance.randrange(min(len(copy), chance.choice([40, 200, len(copy)])))
            copy[at] = chance.choice([0, 255, chance.randrange(256)])
        yield bytes(copy[: chance.choice([len(copy), chance.randrange(len(copy))])])


@each("mode", ["RGB", "RGBA", "P", "L", "1", "CMYK"])
@each("form", FORMATS)
def test_damage_is_shown_or_refused_and_nothing_else_happens(form: str, mode: str) -> None:
    """Warnings are errors here, so none leaves either."""
    picture = drawn(50, 40, mode)
    if form == "JPEG" and mode in ("RGBA", "P"):
        picture = picture.convert("RGB")
    if mode == "CMYK" and form != "JPEG":
        picture = picture.convert("RGB")
    data = saved(picture, form)
    for copy in damaged(data, random.Random(form + mode)):
        with contextlib.suppress(BadImage):
            image = to_image(copy, f"image/{form.lower()}", path="picture")
            assert max(image.width, image.height) <= IMAGE_LONG_SIDE


# --- memory ---------------------------------------------------------------------------------------

MEASURE = """
import sys
from readroom.core.formats.images import SIGNATURE, to_image
from readroom.core.formats.kinds import sniff
from tests.peak import own_peak_bytes
def show(path):
    with open(path, "rb") as file:
        data = file.read()
    to_image(data, sniff(data).name, path=path)
show(sys.argv[1])
before = own_peak_bytes()
show(sys.argv[2])
print(own_peak_bytes() - before)
"""


@daily(
    1,
    ("form", "size", "options"),
    [
        pytest.param("JPEG", (8000, 6000), {}, id="48 MP JPEG"),
        pytest.param("JPEG", (4000, 3000), {"progressive": True}, id="12 MP progressive"),
        pytest.param("PNG", (6016, 3384), {"compress_level": 9}, id="20 MP PNG"),
        pytest.param("PNG", (3700, 2700), {"compress_level": 1}, id="10 MP PNG"),
        pytest.param("GIF", (7000, 5000), {}, id="35 MP GIF"),
        pytest.param("WEBP", (2560, 1440), {"lossless": True, "method": 0}, id="3.7 MP WebP"),
    ],
)
def test_the_largest_images_stay_within_what_they_may_take(
    tmp_path_factory: pytest.TempPathFactory, form: str, size: tuple[int, int], options: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("images")
    (folder / "small").write_bytes(saved(drawn(100, 100), form))
    picture = drawn(*size, "L" if form == "GIF" else "RGB")
    (folder / "large").write_bytes(saved(picture, form, **options))
    command = [sys.executable, "-c", MEASURE, str(folder / "small"), str(folder / "large")]
    peak = int(subprocess.run(command, cwd=REPO, check=True, capture_output=True, encoding="utf-8").stdout)
    assert peak < 1.15 * IMAGE_WORK_BYTES
