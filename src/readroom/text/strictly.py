"""Decoding that tells where a text does not fit its encoding."""

from __future__ import annotations

from collections.abc import Callable

from readroom.text.encodings import Encoding, decode

Decode = Callable[[bytes, Encoding], str]


class Undecodable(Exception):
    """The first `byte` that is no character in an encoding that was insisted on, and its `line`."""

    def __init__(self, byte: int, line: int) -> None:
        super().__init__(f"byte 0x{byte:02x} in line {line}")
        self.byte = byte
        self.line = line


def decoded(data: bytes, encoding: Encoding, decoder: Decode, line: int = 1) -> str:
    """The characters of `data`, which starts in line `line`.

    Raises:
        Undecodable: The decoder is a strict one and refuses.
    """
    try:
        return decoder(data, encoding)
    except UnicodeDecodeError as problem:
        before = decode(data[: problem.start], encoding).count("\n")
        raise Undecodable(data[problem.start], line + before) from None
