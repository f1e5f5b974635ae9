"""What passes is HTTP for the reader that follows, however it is cut, and nothing is held back for ever."""

from __future__ import annotations

import httptools
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import ReadroomError
from readroom.server.http.framing import Framing

_PIECES = st.sampled_from(
    [
        *(
            b"GET ",
            b"POST ",
            b"PRI ",
            b"/a",
            b"/a?b=%20",
            b"*",
            b"/\xc3",
            b"#",
            b" ",
            b"\t",
            b" HTTP/1.1\r\n",
        ),
        *(
            b"Host: a\r\n",
            b"X: y\r\n",
            b": z\r\n",
            b"Upgrade: h2c\r\nConnection: Upgrade\r\n",
            b"\r\n",
            b"\n",
            b"\r",
        ),
        *(
            b"Content-Length: 3\r\n\r\nabc",
            b"Transfer-Encoding: chunked\r\n\r\n",
            b"Expect: 100-continue\r\n",
        ),
        *(
            b"3\r\nabc\r\n",
            b"3;x\r\nabc\r\n",
            b'3;x="y \r\nabc\r\n',
            b"0\r\n\r\n",
            b"0\r\nX: y\r\n\r\n",
            b"abc",
        ),
        *(b"GET /a HTTP/1.1\r\n\r\n", b"POST /a HTTP/1.0\r\nContent-Length: 1\r\n\r\nx", b"\0", b"\xff"),
        b"Connection: close\r\n",
    ]
)


class _Reader:
    """Counts requests that begin and end."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_message_complete(self) -> None:
        self.ended += 1


def _passed(data: bytes, size: int) -> tuple[bytes, bool, bool]:
    """What a reader gets, whether a request is incomplete, and whether all was accepted."""
    framing, passed = Framing(), b""
    for at in range(0, len(data), size):
        try:
            passed += framing.feed(data[at : at + size])
        except ReadroomError:
            return passed, False, False
    return passed, framing.begun, True


@given(st.lists(_PIECES, max_size=12).map(b"".join), st.integers(1, 40))
def test_what_passes_is_what_the_reader_accepts(data: bytes, size: int) -> None:
    reader = _Reader()
    passed, begun, accepted = _passed(data, size)
    reader.parser.feed_data(passed)
    if accepted:
        assert passed == _passed(data, len(data) or 1)[0]
        assert begun or reader.begun == reader.ended
