"""Bytes decide between text, image and binary; among texts the name decides the window."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import pickle
import plistlib
import py_compile
import sqlite3
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from PIL import Image as pillow

from readroom.core.formats.kinds import (
    IMAGE_TYPES,
    UNKNOWN,
    WINDOWS,
    carries_header,
    classify,
    default_lines,
    media_type,
    sniff,
    starts_at_end,
)
from readroom.core.formats.magic import ADVICE, MAGIC, Family
from readroom.core.text.encodings import detect
from readroom.core.values import Kind
from tests.each import each


def kind_of(path: str, data: bytes) -> Kind:
    return classify(path, data, detect(data, complete=True))


def type_of(data: bytes) -> str | None:
    media = sniff(data, detect(data, complete=True))
    return None if media is None else media.name


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo("notes.txt")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"hello"))
    return out.getvalue()


def pictured(form: str) -> bytes:
    out = io.BytesIO()
    pillow.new("RGB", (30, 20), "red").save(out, form)
    return out.getvalue()


def database() -> bytes:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table notes (line text)")
        return connection.serialize()


@each(
    ("kind", "names"),
    [
        (
            Kind.SOURCE,
            "a.py A.PY src/x.rs m.cpp m.h App.tsx x.vue s.sql t.tf a.b.go Makefile makefile Dockerfile",
        ),
        (
            Kind.SOURCE,
            "Dockerfile.dev CMakeLists.txt Justfile Gemfile BUILD.bazel Jenkinsfile index.html pic.svg",
        ),
        (
            Kind.LOG,
            "app.log APP.LOG build.out BUILD.OUT app.log.1 app.log.12 app.log-20260131 app.log.2026-01-31",
        ),
        (Kind.LOG, "x/y/app.log.2026-01-31T10.old syslog syslog.1 error_log nohup.out"),
        (Kind.CSV, "data.csv DATA.CSV a/b.tsv"),
        (
            Kind.CONFIG,
            "a.json a.yaml a.yml a.toml a.ini a.cfg .env .env.example .gitignore yarn.lock pom.xml go.mod",
        ),
        (Kind.MINIFIED, "app.min.js APP.MIN.JS style.min.css"),
        (Kind.TEXT, "README readme.md notes.txt x.unknown .hidden a.logs catalog blog min.js.txt changelog"),
    ],
)
def test_names_in_any_case_give_the_kind(kind: Kind, names: str) -> None:
    assert {name: kind_of(name, b"line\n") for name in names.split()} == dict.fromkeys(names.split(), kind)


def test_a_name_made_to_be_slow_to_match_is_not() -> None:
    assert kind_of("a.log" + ".1" * 120 + "x", b"") is Kind.TEXT
    assert kind_of("a" + ".log.1_-" * 30 + "x", b"") is Kind.TEXT


def test_windows_are_those_of_the_design() -> None:
    lines = {kind: default_lines(kind) for kind in Kind}
    assert lines[Kind.SOURCE] == lines[Kind.CONFIG] == lines[Kind.TEXT] == 2000
    assert (lines[Kind.LOG], lines[Kind.CSV], lines[Kind.MINIFIED]) == (500, 100, 20)
    assert [kind for kind in Kind if starts_at_end(kind)] == [Kind.LOG]
    assert [kind for kind in Kind if carries_header(kind)] == [Kind.CSV]
    assert set(WINDOWS) == set(Kind)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_is_an_image_whatever_its_name(form: str) -> None:
    data = pictured(form)
    assert type_of(data) == f"image/{form.lower()}"
    assert kind_of("notes.txt", data) == kind_of("a.py", data) == Kind.IMAGE


@each("text", ["GIF89a is a format", "BM", "MZ is at the start", "PAR1", "ID3 tags", "", "RIFF1234WEBP"])
def test_text_is_text_whatever_its_name_and_first_letters(text: str) -> None:
    assert kind_of("picture.png", text.encode()) == Kind.TEXT
    assert kind_of("data.bin", text.encode()) == Kind.TEXT
    assert kind_of("a.log", text.encode("utf-8-sig")) == Kind.LOG
    assert kind_of("a.log", text.encode("utf-16")) == Kind.LOG


def test_letters_that_are_latin1_are_text_though_magic_bytes_are_the_same() -> None:
    assert kind_of("a.txt", "xÚ\n".encode("latin-1")) == Kind.TEXT
    assert kind_of("a.txt", "ÿû ja\n".encode("latin-1")) == Kind.TEXT


@each(
    ("data", "name"),
    [
        (gzip.compress(b"x" * 100, mtime=0), "application/gzip"),
        (bz2.compress(b"x" * 100), "application/x-bzip2"),
        (lzma.compress(b"x" * 100), "application/x-xz"),
        (zlib.compress(bytes(range(256)) * 9), "application/zlib"),
        (zipped("a.txt"), "application/zip"),
        (
            zipped("[Content_Types].xml", "word/document.xml"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (
            zipped("[Content_Types].xml", "xl/workbook.xml"),
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ),
        (
            zipped("[Content_Types].xml", "ppt/presentation.xml"),
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        ),
        (zipped("META-INF/MANIFEST.MF", "A.class"), "application/java-archive"),
        (tarred(), "application/x-tar"),
        (pickle.dumps(list(range(300))), "application/x-pickle"),
        (database(), "application/vnd.sqlite3"),
        (pictured("BMP"), "image/bmp"),
        (pictured("TIFF"), "image/tiff"),
        (pictured("ICO"), "image/x-icon"),
        (b"%PDF-1.7\n1 0 obj\n", "application/pdf"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
        (b"\x7fELF\2\1\1\0" + bytes(40), "application/x-executable"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(40), "application/java-vm"),
        (b"\xca\xfe\xba\xbe\0\0\0\2" + bytes(40), "application/x-mach-binary"),
        (b"\xcf\xfa\xed\xfe\7\0\0\1" + bytes(40), "application/x-mach-binary"),
        (b"MZ\x90\0\3\0\0\0" + bytes(40), "application/vnd.microsoft.portable-executable"),
        (b"\0asm\1\0\0\0", "application/wasm"),
        (b"\x28\xb5\x2f\xfd\x04\0" + bytes(9), "application/zstd"),
        (b"7z\xbc\xaf\x27\x1c\0\4" + bytes(9), "application/x-7z-compressed"),
        (b"Obj\x01\4\x14avro.codec\bnull" + bytes(9), "application/vnd.apache.avro"),
        (b"wOF2\0\1\0\0" + bytes(9), "font/woff2"),
        (b"\xdb\xa5\x2d\0" + bytes(30), "application/msword"),
        (b"\xed\xde\xad\x0b\3\0\0\0", "application/vnd.ms-powerpoint"),
        (b"\x09\0\4\0\2\0\x10\0", "application/vnd.ms-excel"),
        (b"MSCF\0\0\0\0" + bytes(30), "application/vnd.ms-cab-compressed"),
        (bytes(32768) + b"\1CD001\1\0" + bytes(99), "application/x-iso9660-image"),
        (b"\x5d\0\0\x80\0\xff\xff", "application/x-lzma"),
        (b"\xc7\x71" + bytes(30), "application/x-cpio"),
        (b"ID3\4\0\0\0\0" + bytes(9), "audio/mpeg"),
        (b"RIFF\x24\0\0\0WAVEfmt " + bytes(9), "audio/wav"),
        (b"\0\0\0\x20ftypisom" + bytes(9), "video/mp4"),
        (b"\0\0\0\x20ftypheic" + bytes(9), "image/heic"),
        (b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a" + bytes(30), "application/x-pcapng"),
        (plistlib.dumps({"a": [1, "b"]}, fmt=plistlib.FMT_BINARY), "application/x-apple-plist"),
        (struct.pack("<Q", 21) + b'{"a":{"dtype":"F32"}}' + bytes(9), "application/x-safetensors"),
        (b"\x78\x9f\x3e\x22\1\0\1" + bytes(30), "application/vnd.ms-tnef"),
        (b"\xde\x12\4\x95" + bytes(24), "application/x-gettext-translation"),
        (b"FORM\0\0\0\x50AIFFCOMM" + bytes(20), "audio/aiff"),
        (b"FOR1\0\0\0\x50BEAMAtU8" + bytes(20), "application/x-erlang-beam"),
        (b"PGDMP\1\x0e\0\4\x08" + bytes(20), "application/x-postgresql-dump"),
        (b"QFI\xfb\0\0\0\3" + bytes(90), "application/x-qemu-disk"),
        (b"Salted__" + bytes(range(256)), "application/x-openssl-encrypted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_binaries_are_told_by_their_first_bytes(data: bytes, name: str) -> None:
    assert type_of(data) == name
    assert kind_of("notes.txt", data) is Kind.BINARY


@pytest.mark.parametrize("name", ["a.z01", "a.zip", "a.7z.001", "a.part2.rar", "a.r00"])
def test_pieces_of_archives_are_told_by_their_names(name: str) -> None:
    data = b"\x8f\0\x93" + bytes(range(256))
    assert media_type(name, data).advice == ADVICE[Family.PIECE]
    assert media_type("a.bin", data).advice == ADVICE[Family.UNKNOWN]
    assert media_type("a.zip", zipped("a.txt")).family is Family.ARCHIVE


def test_this_interpreter_and_its_bytecode_are_programs(tmp_path: Path) -> None:
    with Path(sys.executable).open("rb") as program:
        media = sniff(program.read(4096))
    assert media is not None
    assert media.family is Family.PROGRAM
    source = tmp_path / "m.py"
    source.write_text("x = 1\n", encoding="utf-8")
    compiled = Path(py_compile.compile(str(source), str(tmp_path / "m.pyc")) or "").read_bytes()
    assert type_of(compiled) == "application/x-python-bytecode"


def test_binary_that_nobody_knows_is_binary() -> None:
    data = b"\x99\0\x01\x02" * 50
    assert type_of(data) is None
    assert kind_of("a.py", data) is Kind.BINARY
    assert UNKNOWN.advice


def test_only_images_a_model_can_see_are_images() -> None:
    assert kind_of("a.png", pictured("BMP")) is Kind.BINARY
    assert {media.name for _, _, media in MAGIC if media.family is Family.PICTURE} > IMAGE_TYPES - {
        "image/webp"
    }


def test_every_family_has_advice() -> None:
    assert set(ADVICE) == set(Family)
    assert all(media.advice.endswith(".") for _, _, media in MAGIC)


def test_no_magic_bytes_hide_behind_others() -> None:
    """The first that fits counts, so a shorter one must not stand before a longer one that starts with it."""
    for number, (at, magic, _) in enumerate(MAGIC):
        assert not [
            later for where, later, _ in MAGIC[number + 1 :] if where == at and later.startswith(magic)
        ]
