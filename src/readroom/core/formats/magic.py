"""Magic bytes of binary files, and advice for each family of them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from msgspec import Struct

from readroom.core.text.encodings.detect import CONTROLS


class Family(StrEnum):
    """Families of binary files, by what a reader can do about them."""

    PICTURE = "picture"
    DOCUMENT = "document"
    ARCHIVE = "archive"
    COMPRESSED = "compressed"
    PROGRAM = "program"
    DATABASE = "database"
    DATA = "data"
    SOUND = "sound"
    VIDEO = "video"
    FONT = "font"
    PIECE = "piece of an archive"
    DISK = "disk"
    ENCRYPTED = "encrypted"
    UNKNOWN = "unknown"


ADVICE: Mapping[Family, str] = MappingProxyType(
    {
        Family.PICTURE: "Only PNG, JPEG, GIF and WebP are shown as images; ask for a copy in one of them.",
        Family.DOCUMENT: "Look for the same content as text (Markdown, HTML, CSV), or ask for an export.",
        Family.ARCHIVE: "Its files cannot be read in place; look for an unpacked copy, or ask for one.",
        Family.COMPRESSED: "It cannot be read in place; look for an uncompressed copy, or ask for one.",
        Family.PROGRAM: "It is compiled; search for the source it was built from.",
        Family.DATABASE: "Look for a schema or migration, or ask for an export of the tables as CSV or SQL.",
        Family.DATA: "Search for the code that reads or writes it, or ask for an export as text.",
        Family.SOUND: "Sound cannot be shown; look for a transcript.",
        Family.VIDEO: "Video cannot be shown; look for a transcript or still images.",
        Family.FONT: "A font cannot be shown as text.",
        Family.PIECE: "Its name is that of a piece of a split archive; ask for the whole archive.",
        Family.DISK: "It is the image of a disk; its files cannot be read in place, ask for those you need.",
        Family.ENCRYPTED: "It is encrypted; ask the user for what it holds.",
        Family.UNKNOWN: "If it is text in an unusual encoding, read it again with the argument `encoding`.",
    }
)
"""What to do about a refused file, by family."""


class MediaType(Struct, frozen=True):
    """A kind of file with magic bytes. `weak` ones are letters, with which a text may begin by chance."""

    name: str
    family: Family
    weak: bool = False

    @property
    def advice(self) -> str:
        """What to do when a file of this type is refused."""
        return ADVICE[self.family]


_TELLING_BYTES = 3


def _telling(magic: bytes) -> bool:
    """Whether so many bytes outside ASCII begin a file that no text of any language begins so (JPEG)."""
    return len(magic) >= _TELLING_BYTES and not any(byte < 0x80 for byte in magic)


def _media(name: str, family: Family, *magics: bytes, at: int = 0) -> list[tuple[int, bytes, MediaType]]:
    weak = [len(magic) == len(magic.translate(None, CONTROLS)) and not _telling(magic) for magic in magics]
    return [(at, magic, MediaType(name, family, no)) for magic, no in zip(magics, weak, strict=True)]


MAGIC: tuple[tuple[int, bytes, MediaType], ...] = (
    *_media("image/png", Family.PICTURE, b"\x89PNG\r\n\x1a\n"),
    *_media("image/jpeg", Family.PICTURE, b"\xff\xd8\xff"),
    *_media("image/gif", Family.PICTURE, b"GIF87a", b"GIF89a"),
    *_media("image/bmp", Family.PICTURE, b"BM"),
    *_media("image/tiff", Family.PICTURE, b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    *_media("image/vnd.adobe.photoshop", Family.PICTURE, b"8BPS\0"),
    *_media("image/x-icon", Family.PICTURE, b"\0\0\1\0"),
    *_media("image/jxl", Family.PICTURE, b"\xff\x0a", b"\0\0\0\x0cJXL \r\n"),
    *_media("image/jp2", Family.PICTURE, b"\0\0\0\x0cjP  \r\n"),
    *_media("image/heic", Family.PICTURE, b"ftypheic", b"ftypheix", b"ftypmif1", at=4),
    *_media("image/avif", Family.PICTURE, b"ftypavif", b"ftypavis", at=4),
    *_media("image/x-portable-anymap", Family.PICTURE, b"P4\n", b"P5\n", b"P6\n"),
    *_media("image/qoi", Family.PICTURE, b"qoif"),
    *_media("image/x-xcf", Family.PICTURE, b"gimp xcf "),
    *_media("image/icns", Family.PICTURE, b"icns"),
    *_media("image/vnd.ms-dds", Family.PICTURE, b"DDS \x7c\0\0\0"),
    *_media("image/ktx", Family.PICTURE, b"\xabKTX "),
    *_media("image/x-exr", Family.PICTURE, b"\x76\x2f\x31\x01"),
    *_media("image/vnd.radiance", Family.PICTURE, b"#?RADIANCE\n"),
    *_media("image/wmf", Family.PICTURE, b"\xd7\xcd\xc6\x9a\0\0"),
    *_media("image/emf", Family.PICTURE, b" EMF\0\0\1\0", at=40),
    *_media("image/x-cursor", Family.PICTURE, b"\0\0\2\0"),
    *_media("image/vnd.dwg", Family.PICTURE, b"AC10"),
    *_media("application/dicom", Family.PICTURE, b"DICM", at=128),
    *_media("application/vnd.ms-office", Family.DOCUMENT, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    *_media("application/msword", Family.DOCUMENT, b"\xdb\xa5\x2d\0", b"\x9b\xa5\x21\0", b"\x31\xbe\0\0"),
    *_media("application/vnd.ms-powerpoint", Family.DOCUMENT, b"\xed\xde\xad\x0b", b"\x0b\xad\xde\xed"),
    *_media("application/vnd.ms-excel", Family.DOCUMENT, b"\x09\0\4\0", b"\x09\2\6\0", b"\x09\4\6\0"),
    *_media("application/vnd.wordperfect", Family.DOCUMENT, b"\xffWPC"),
    *_media("application/vnd.ms-onenote", Family.DOCUMENT, b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d"),
    *_media("application/vnd.ms-outlook-pst", Family.DOCUMENT, b"!BDN"),
    *_media("image/vnd.djvu", Family.DOCUMENT, b"AT&TFORM"),
    *_media("application/vnd.ms-tnef", Family.DOCUMENT, b"\x78\x9f\x3e\x22"),
    *_media("application/x-mobipocket-ebook", Family.DOCUMENT, b"BOOKMOBI", at=60),
    *_media("application/vnd.ms-access", Family.DATABASE, b"\0\1\0\0Standard "),
    *_media("application/x-postgresql-dump", Family.DATABASE, b"PGDMP"),
    *_media("application/x-redis-dump", Family.DATABASE, b"REDIS0"),
    *_media("application/x-duckdb", Family.DATABASE, b"DUCK", at=8),
    *_media("application/x-berkeley-db", Family.DATABASE, b"\x61\x15\6\0", b"\x62\x31\5\0", at=12),
    *_media("application/x-gdbm", Family.DATABASE, b"\xcf\x9a\x57\x13", b"\x13\x57\x9a\xcf"),
    *_media("application/x-lmdb", Family.DATABASE, b"\xde\xc0\xef\xbe", at=16),
    *_media("application/gzip", Family.COMPRESSED, b"\x1f\x8b\x08"),
    *_media("application/x-bzip2", Family.COMPRESSED, *(b"BZh%d1AY&SY" % level for level in range(1, 10))),
    *_media("application/x-xz", Family.COMPRESSED, b"\xfd7zXZ\0"),
    *_media("application/zstd", Family.COMPRESSED, b"\x28\xb5\x2f\xfd"),
    *_media("application/x-lz4", Family.COMPRESSED, b"\x04\x22\x4d\x18"),
    *_media("application/x-snappy-framed", Family.COMPRESSED, b"\xff\6\0\0sNaPpY"),
    *_media("application/x-lzop", Family.COMPRESSED, b"\x89LZO\0"),
    *_media("application/x-compress", Family.COMPRESSED, b"\x1f\x9d"),
    *_media("application/zlib", Family.COMPRESSED, b"\x78\x01", b"\x78\x9c", b"\x78\xda"),
    *_media("application/x-7z-compressed", Family.ARCHIVE, b"7z\xbc\xaf\x27\x1c"),
    *_media("application/vnd.rar", Family.ARCHIVE, b"Rar!\x1a\x07"),
    *_media("application/x-tar", Family.ARCHIVE, b"ustar", at=257),
    *_media("application/x-cpio", Family.ARCHIVE, b"070701", b"070702", b"070707", b"\xc7\x71", b"\x71\xc7"),
    *_media("application/vnd.ms-cab-compressed", Family.ARCHIVE, b"MSCF\0\0\0\0"),
    *_media("application/x-iso9660-image", Family.ARCHIVE, b"CD001\1\0", at=32769),
    *_media("application/vnd.ms-htmlhelp", Family.ARCHIVE, b"ITSF\3\0\0\0"),
    *_media("application/x-lzip", Family.COMPRESSED, b"LZIP\1"),
    *_media("application/x-lzma", Family.COMPRESSED, b"\x5d\0\0"),
    *_media("application/x-archive", Family.ARCHIVE, b"!<arch>\n"),
    *_media("application/x-archive", Family.ARCHIVE, b"!<thin>\n"),
    *_media("application/x-xar", Family.ARCHIVE, b"xar!"),
    *_media("application/x-ms-wim", Family.ARCHIVE, b"MSWIM\0\0\0"),
    *_media("application/x-arj", Family.ARCHIVE, b"\x60\xea"),
    *_media("application/x-lzh", Family.ARCHIVE, b"-lh0-", b"-lh5-", b"-lh6-", b"-lh7-", at=2),
    *_media("application/x-ace", Family.ARCHIVE, b"**ACE**", at=7),
    *_media("application/x-zoo", Family.ARCHIVE, b"ZOO 2"),
    *_media("application/x-stuffit", Family.ARCHIVE, b"StuffIt (c)", b"SIT!"),
    *_media("application/vnd.squashfs", Family.DISK, b"hsqs", b"sqsh"),
    *_media("application/x-cramfs", Family.DISK, b"\x45\x3d\xcd\x28"),
    *_media("application/x-qemu-disk", Family.DISK, b"QFI\xfb"),
    *_media("application/x-vmdk", Family.DISK, b"KDMV"),
    *_media("application/x-vhdx", Family.DISK, b"vhdxfile"),
    *_media("application/x-vhd", Family.DISK, b"conectix"),
    *_media("application/x-luks", Family.ENCRYPTED, b"LUKS\xba\xbe"),
    *_media("application/x-git-crypt", Family.ENCRYPTED, b"\0GITCRYPT\0"),
    *_media("application/x-age", Family.ENCRYPTED, b"age-encryption.org/v1\n"),
    *_media("application/x-openssl-encrypted", Family.ENCRYPTED, b"Salted__"),
    *_media("application/x-rpm", Family.ARCHIVE, b"\xed\xab\xee\xdb"),
    *_media("application/x-git-pack", Family.ARCHIVE, b"PACK\0\0\0"),
    *_media("application/x-git-bundle", Family.ARCHIVE, b"# v2 git bundle\n", b"# v3 git bundle\n"),
    *_media("application/x-git-pack-index", Family.DATA, b"\xfftOc"),
    *_media("application/x-git-index", Family.DATA, b"DIRC\0\0\0"),
    *_media("application/x-executable", Family.PROGRAM, b"\x7fELF"),
    *_media("application/vnd.microsoft.portable-executable", Family.PROGRAM, b"MZ"),
    *_media("application/x-mach-binary", Family.PROGRAM, b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe"),
    *_media("application/x-mach-binary", Family.PROGRAM, b"\xfe\xed\xfa\xcf", b"\xfe\xed\xfa\xce"),
    *_media("application/wasm", Family.PROGRAM, b"\0asm"),
    *_media("application/x-llvm-bitcode", Family.PROGRAM, b"BC\xc0\xde"),
    *_media("application/x-python-bytecode", Family.PROGRAM, b"\x0d\x0d\x0a", at=1),
    *_media("application/vnd.android.dex", Family.PROGRAM, b"dex\n0"),
    *_media("application/x-lua-bytecode", Family.PROGRAM, b"\x1bLua"),
    *_media("application/x-erlang-beam", Family.PROGRAM, b"BEAM", at=8),
    *_media("application/x-rust-metadata", Family.PROGRAM, b"rust\0\0\0"),
    *_media("application/x-ms-pdb", Family.PROGRAM, b"Microsoft C/C++ MSF "),
    *_media("application/x-java-serialized-object", Family.DATA, b"\xac\xed\0\5"),
    *_media("application/x-java-heap-dump", Family.DATA, b"JAVA PROFILE 1.0"),
    *_media("application/x-minidump", Family.DATA, b"MDMP\x93\xa7"),
    *_media("application/x-ms-shortcut", Family.DATA, b"L\0\0\0\1\x14\2\0"),
    *_media("application/x-ms-event-log", Family.DATA, b"ElfFile\0"),
    *_media("application/x-ms-registry-hive", Family.DATA, b"regf"),
    *_media("application/x-systemd-journal", Family.DATA, b"LPKSHHRH"),
    *_media("application/x-apple-plist", Family.DATA, b"bplist"),
    *_media("application/x-apple-ds-store", Family.DATA, b"\0\0\0\1Bud1"),
    *_media("application/x-apple-bom", Family.DATA, b"BOMStore"),
    *_media("application/x-gettext-translation", Family.DATA, b"\xde\x12\4\x95", b"\x95\4\x12\xde"),
    *_media("application/vnd.tcpdump.pcap", Family.DATA, b"\xd4\xc3\xb2\xa1\2\0", b"\xa1\xb2\xc3\xd4\0\2"),
    *_media("application/vnd.tcpdump.pcap", Family.DATA, b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d"),
    *_media("application/x-pcapng", Family.DATA, b"\x0a\x0d\x0d\x0a"),
    *_media("application/vnd.sqlite3", Family.DATABASE, b"SQLite format 3\0"),
    *_media("application/vnd.apache.parquet", Family.DATA, b"PAR1"),
    *_media("application/vnd.apache.arrow.file", Family.DATA, b"ARROW1\0\0"),
    *_media("application/vnd.apache.avro", Family.DATA, b"Obj\x01"),
    *_media("application/x-hdf5", Family.DATA, b"\x89HDF\r\n\x1a\n"),
    *_media("application/x-netcdf", Family.DATA, b"CDF\1", b"CDF\2", b"CDF\5"),
    *_media("application/fits", Family.DATA, b"SIMPLE  ="),
    *_media("application/vnd.apache.orc", Family.DATA, b"ORC"),
    *_media("application/x-esri-shape", Family.DATA, b"\0\0\x27\x0a"),
    *_media("application/x-matlab-data", Family.DATA, b"MATLAB 5.0 MAT-file"),
    *_media("application/x-spss-sav", Family.DATA, b"$FL2@(#)", b"$FL3@(#)"),
    *_media("application/x-sas-data", Family.DATA, b"\xc2\xea\x81\x60", at=12),
    *_media("application/x-stata-dta", Family.DATA, b"<stata_dta>"),
    *_media("application/x-r-data", Family.DATA, b"RDX2\n", b"RDX3\n", b"X\n\0\0\0\2", b"X\n\0\0\0\3"),
    *_media("application/x-safetensors", Family.DATA, b'\0\0\0\0{"', at=4),
    *_media("application/x-tflite", Family.DATA, b"TFL3", at=4),
    *_media("application/cbor", Family.DATA, b"\xd9\xd9\xf7"),
    *_media("model/gltf-binary", Family.DATA, b"glTF"),
    *_media("application/x-blender", Family.DATA, b"BLENDER"),
    *_media("application/x-numpy", Family.DATA, b"\x93NUMPY"),
    *_media("application/x-gguf", Family.DATA, b"GGUF"),
    *_media("application/x-pickle", Family.DATA, b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95"),
    *_media("audio/mpeg", Family.SOUND, b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"),
    *_media("audio/flac", Family.SOUND, b"fLaC"),
    *_media("audio/ogg", Family.SOUND, b"OggS\0"),
    *_media("audio/aiff", Family.SOUND, b"AIFF", b"AIFC", at=8),
    *_media("audio/basic", Family.SOUND, b".snd"),
    *_media("audio/amr", Family.SOUND, b"#!AMR"),
    *_media("audio/midi", Family.SOUND, b"MThd\0\0\0\6"),
    *_media("audio/mp4", Family.SOUND, b"ftypM4A", at=4),
    *_media("video/quicktime", Family.VIDEO, b"ftypqt", at=4),
    *_media("video/mp4", Family.VIDEO, b"ftyp", at=4),
    *_media("video/matroska", Family.VIDEO, b"\x1a\x45\xdf\xa3"),
    *_media("video/x-ms-asf", Family.VIDEO, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"),
    *_media("video/x-flv", Family.VIDEO, b"FLV\1"),
    *_media("video/mpeg", Family.VIDEO, b"\0\0\1\xba", b"\0\0\1\xb3"),
    *_media("font/woff", Family.FONT, b"wOFF"),
    *_media("font/woff2", Family.FONT, b"wOF2"),
    *_media("font/otf", Family.FONT, b"OTTO\0"),
    *_media("font/ttf", Family.FONT, b"\0\1\0\0\0", b"ttcf\0"),
    *_media("application/pdf", Family.DOCUMENT, b"%PDF-"),
)
"""Offset, bytes, kind; the first match counts. `_sniff_parts` has kinds with bytes in two places."""

ZIPS: tuple[tuple[bytes, MediaType], ...] = tuple(
    (mark, MediaType(name, family))
    for mark, name, family in (
        (
            b"word/",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Family.DOCUMENT,
        ),
        (b"xl/work", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", Family.DOCUMENT),
        (
            b"ppt/",
            "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Family.DOCUMENT,
        ),
        (
            b"mimetypeapplication/vnd.oasis.opendocument",
            "application/vnd.oasis.opendocument",
            Family.DOCUMENT,
        ),
        (b"mimetypeapplication/epub+zip", "application/epub+zip", Family.DOCUMENT),
        (b"AndroidManifest.xml", "application/vnd.android.package-archive", Family.PROGRAM),
        (b"META-INF/MANIFEST.MF", "application/java-archive", Family.PROGRAM),
    )
)
"""The kind of a ZIP, by the beginning of the name of an early member."""

RIFFS: Mapping[bytes, MediaType] = MappingProxyType(
    {
        b"WEBP": MediaType("image/webp", Family.PICTURE, weak=True),
        b"WAVE": MediaType("audio/wav", Family.SOUND, weak=True),
        b"AVI ": MediaType("video/x-msvideo", Family.VIDEO, weak=True),
    }
)
"""RIFF containers by the name at byte 8."""
