"""The folder that the examples read: a small service with a log, a table, a secret and build output.

python docs_src/demo.py FOLDER
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

CHANGED = datetime(2026, 11, 3, 12, tzinfo=UTC).timestamp()
"""One time for all files, so that listings look alike wherever they are made."""

FILES = {
    "README.md": "# shop\n\nTakes orders and sends receipts.\n",
    ".gitignore": "dist/\n",
    ".env": "PAYMENT_TOKEN=not-for-you\n",
    ".env.example": "PAYMENT_TOKEN=\n",
    "src/orders.py": '''"""Orders and what they cost."""

RATES = {"basic": 5, "priority": 12}


def shipping(weight: float, kind: str = "basic") -> float:
    """What sending a parcel costs."""
    if weight <= 0:
        raise ValueError("a parcel has a weight")
    return RATES[kind] + 0.5 * weight


def total(items: list[float], weight: float) -> float:
    """The sum of an order with its shipping."""
    return sum(items) + shipping(weight)
''',
    "src/receipts.py": '''"""Receipts as text."""

from orders import total


def receipt(items: list[float], weight: float) -> str:
    return f"to pay: {total(items, weight):.2f}"
''',
    "dist/orders.min.js": "function shipping(w){return 5+.5*w}" * 40 + "\n",
}


def log_lines() -> Iterator[str]:
    for number in range(1, 12_001):
        minute, second = divmod(number, 60)
        line = f"2026-11-03 {8 + minute // 60:02}:{minute % 60:02}:{second:02} "
        if number % 4999 == 0:
            line += "ERROR payment refused: gateway timeout"
        else:
            line += f"INFO order {number} accepted"
        yield line + "\n"


def table_lines() -> Iterator[str]:
    yield "order,weight,kind,total\n"
    for number in range(1, 301):
        weight = number % 17 / 2
        yield f"{number},{weight},basic,{5 + weight / 2:.2f}\n"


def make(folder: Path) -> None:
    """Write the demo into an empty folder."""
    files = {**FILES, "logs/orders.log": "".join(log_lines()), "data/orders.csv": "".join(table_lines())}
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        os.utime(target, (CHANGED, CHANGED))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
