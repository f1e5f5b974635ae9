"""Write the prices of models that an audit uses, from the data of genai-prices (MIT).

    python -m pip install --target FOLDER --no-deps genai-prices
    PYTHONPATH=FOLDER python -m scripts.prices

Prices change when this is run, with the date and the version from which they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from readroom.lens import money

PROVIDERS = (
    "anthropic", "openai", "google", "x-ai", "deepseek", "mistral", "moonshotai", "zai", "alibaba", "qwen",
)  # fmt: skip
"""Those who sell their own models, in the order in which a name is looked for."""

_DIGIT = re.compile(r"\d")
"""A name without one (`chat`) is of no certain model."""

_NAMES = {
    "input_mtok": "input",
    "cache_read_mtok": "cached",
    "cache_write_mtok": "written",
    "output_mtok": "output",
}


_SOURCE = "genai_prices"
"""Of those who refresh the prices alone, and so no dependency for developers."""


def main() -> None:
    """Write the file."""
    now = datetime.now(UTC)
    providers = {one.id: one for one in import_module(f"{_SOURCE}.data").providers}
    models: dict[str, dict[str, Any]] = {}
    for provider in filter(None, map(providers.get, PROVIDERS)):
        for model in provider.models:
            prices = _prices(model.get_prices(now))
            for name in map(money.plain_name, _named(model) if prices else ()):
                if _DIGIT.search(name):
                    models.setdefault(name, prices)
    whole = {
        "dated": now.date().isoformat(),
        "source": f"genai-prices {version('genai-prices')}, github.com/pydantic/genai-prices (MIT)",
        "unit": "US dollars for a million tokens",
        "models": dict(sorted(models.items())),
    }
    path = Path(money.__file__).with_name("prices.json")
    path.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n")


def _named(model: Any) -> Iterator[str]:
    yield model.id
    clauses = getattr(model.match, "or_", [model.match])
    for clause in clauses:
        name = getattr(clause, "equals", None)
        if isinstance(name, str):
            yield name


def _prices(price: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    above: dict[int, dict[str, float]] = {}
    for field, name in _NAMES.items():
        value = getattr(price, field, None)
        if value is None:
            continue
        found[name] = float(getattr(value, "base", value))
        for tier in getattr(value, "tiers", ()):
            above.setdefault(tier.start, {})[name] = float(tier.price)
    if "input" not in found or "output" not in found:
        return {}
    if above:
        found["above"] = [{"tokens": start, **prices} for start, prices in sorted(above.items())]
    return found


if __name__ == "__main__":
    main()
