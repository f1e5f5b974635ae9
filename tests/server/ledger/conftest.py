"""Ledgers that tests open are closed when they end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server.ledger.events import close_books


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    close_books()
