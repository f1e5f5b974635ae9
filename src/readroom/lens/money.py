"""The cost of turns: prices of models, from a file that comes with the release or from the operator.

Knows: names of models as clients write them, and prices for a million tokens, cached input apart.
Does not know: plans and discounts. A model without a price has none: it is never given that of another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from readroom.core.errors import BadValue
from readroom.lens.normal_form import Turn

_MILLION = 1_000_000

_FILE_BYTES = 4 * 1024 * 1024


class Prices(msgspec.Struct, frozen=True, omit_defaults=True):
    """The prices of a million tokens of one model, in US dollars.

    `cached` is input that the provider had cached, `written` input that it cached; without them they cost
    as `input`. `above` has the prices of a request with more input tokens.
    """

    input: float
    output: float
    cached: float | None = None
    written: float | None = None
    above: tuple[Above, ...] = ()


class Above(msgspec.Struct, frozen=True, omit_defaults=True):
    """The prices of a request with more than so many input tokens; those left out stay."""

    tokens: int
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    written: float | None = None


class PriceList(msgspec.Struct, frozen=True):
    """Prices by plain name of the model, their date and their source."""

    models: Mapping[str, Prices]
    dated: str = ""
    source: str = ""

    def of(self, model: str) -> Prices | None:
        """The prices of a model, by the name in a record; None if they are unknown."""
        return self.models.get(self.name(model))

    def name(self, model: str) -> str:
        """The name that has the prices of a model, however a record spells it; as recorded if none has."""
        names = (model.strip().lower(), plain_name(model))
        return next((name for name in names if name in self.models), model)

    def cost(self, turn: Turn, model: str) -> float | None:
        """The cost of one answer; None without a price."""
        prices = self.of(turn.model or model)
        if prices is None:
            return None
        read, cached, written = turn.input_tokens, turn.cache_read_tokens, turn.cache_write_tokens
        by = [prices.input, prices.cached, prices.written, prices.output]
        for tier in prices.above:
            if read + cached + written > tier.tokens:
                tiers = (tier.input, tier.cached, tier.written, tier.output)
                by = [before if now is None else now for before, now in zip(by, tiers, strict=True)]
        each = [by[0] if price is None else price for price in by]
        tokens = (read, cached, written, turn.output_tokens)
        return sum(count * float(price or 0) for count, price in zip(tokens, each, strict=True)) / _MILLION


_DATE = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest)$|\[[^\]]{1,10}\]$|-v\d+(?::\d+)?$")
"""Ends of names that say which state of a model, and not which model."""

_CLOUD = re.compile(r"^(?:(?:us|eu|apac|global|jp|au)\.)?(?:anthropic|openai|google|meta|mistral|amazon)\.")
"""How one cloud begins names of models."""


def plain_name(model: str) -> str:
    """The name of a model without its provider and its date."""
    name = _CLOUD.sub("", model.strip().lower().rpartition("/")[2])
    for _ in range(3):
        name = _DATE.sub("", name)
    return name.replace(".", "-") if name.startswith("claude-") else name


@cache
def released() -> PriceList:
    """The prices that come with the release."""
    return msgspec.json.decode(Path(__file__).with_name("prices.json").read_bytes(), type=PriceList)


def price_list(path: str | None) -> PriceList:
    """The prices of the release, with those of an operator's file in their place. Raises BadValue."""
    if path is None:
        return released()
    advice = 'Write {"dated": "2026-01-31", "models": {"NAME": {"input": 1.0, "output": 4.0}}}.'
    try:
        with open(path, "rb") as stream:
            own = msgspec.json.decode(stream.read(_FILE_BYTES), type=PriceList)
    except OSError as error:
        raise BadValue("--prices", path, f"cannot be read: {error.strerror}", advice) from None
    except msgspec.MsgspecError as error:
        raise BadValue("--prices", path, f"is not a list of prices: {error}", advice) from None
    models = {name.strip().lower(): prices for name, prices in own.models.items()}
    return PriceList({**released().models, **models}, own.dated or released().dated, path)
