"""Spans and metrics of calls, for a collector of OpenTelemetry.

Knows: the semantic conventions for tools of models and for MCP, and the variables of OTLP exporters.
Does not know: content: no argument, no text of a file or reply, and paths only if the operator asks.
May be touched: freely, as long as no call waits for the network.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from readroom.core import config
from readroom.core.errors import MissingProgram
from readroom.core.extras import install
from readroom.core.session.observer import Observer
from readroom.core.values.verbs import function

EXTRA: Final = "otel"
PACKAGE: Final = "opentelemetry-exporter-otlp-proto-http"
_MODULE = "opentelemetry.exporter.otlp.proto.http"

ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
METRICS_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
DEFAULT_ENDPOINT: Final = "http://localhost:4318"
"""That of OTLP over HTTP."""

_PROTOCOL = "http/protobuf"


class OtelPolicy(Struct, frozen=True):
    """The collector of spans and metrics.

    Attributes:
        enabled: None is the default: they are sent if an endpoint is named, here or by a variable.
        endpoint: The address of the collector, before /v1/traces and /v1/metrics; None for the variables'.
        paths: Spans have the paths of files.
        asked: A file of the operator asks for it, not only the environment.
    """

    enabled: bool | None = None
    endpoint: str | None = None
    paths: bool = False
    asked: bool = False

    def observer(self) -> Observer | None:
        """Who sends them; None if nothing is sent. Raises MissingProgram."""
        if self.off_because():
            return None
        if not is_installed():
            raise MissingProgram(PACKAGE, install(EXTRA))
        # By its name, because it knows this policy.
        sender: Observer = function("readroom.server.otel.sender:sender_of")(self)
        return sender

    def tried(self) -> tuple[bool, str, str]:
        """See `Observing`."""
        off = self.off_because()
        if off:
            return self.enabled is False, f"off: {off}", ""
        if not is_installed():
            return False, f"the package {PACKAGE} is not installed", install(EXTRA)
        try_out: Callable[[OtelPolicy], str] = function("readroom.server.otel.pipeline:try_out")
        why, where = try_out(self), _without_password(self.address("traces"))
        if why:
            return False, f"{where} takes no spans: {why}", "Start the collector, or correct the address."
        return True, f"{where} takes spans; they have {'' if self.paths else 'no '}paths", ""

    def off_because(self) -> str:
        """Why nothing is sent; empty if something is."""
        if self.enabled is False:
            return "[otel] enabled is false"
        if config.variables("OTEL_SDK_DISABLED").get("OTEL_SDK_DISABLED", "").lower() == "true":
            return "OTEL_SDK_DISABLED is true"
        if not self.signals():
            return "OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER are none"
        if self.endpoint is not None:
            return ""
        named = config.variables(ENDPOINT, TRACES_ENDPOINT, METRICS_ENDPOINT)
        if not named and not self.enabled:
            return "no endpoint is named"
        wrong = self.other_protocol()
        if wrong:
            return f"{wrong} asks for another protocol than {_PROTOCOL}"
        return "" if self.asked or is_installed() else f"the package {PACKAGE} is not installed"

    def signals(self) -> tuple[str, ...]:
        """The kinds that are sent: traces, metrics, or both."""
        off = config.variables("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")
        return tuple(
            signal for signal in ("traces", "metrics") if off.get(f"OTEL_{signal.upper()}_EXPORTER") != "none"
        )

    def other_protocol(self) -> str:
        """The variable that asks for a protocol that is not spoken here, and its value; empty without one."""
        names = [f"OTEL_EXPORTER_OTLP{signal}_PROTOCOL" for signal in ("", "_TRACES", "_METRICS")]
        for name, value in config.variables(*names).items():
            if value != _PROTOCOL:
                return f"{name}={value}"
        return ""

    def address(self, signal: str) -> str:
        """The address for spans (`traces`) or for metrics (`metrics`)."""
        own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT"
        named = config.variables(ENDPOINT, own)
        if self.endpoint is None and own in named:
            return named[own]
        base = self.endpoint or named.get(ENDPOINT, DEFAULT_ENDPOINT)
        return f"{base.removesuffix('/')}/v1/{signal}"


def _without_password(url: str) -> str:
    """An address of the environment, which may have credentials in it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def is_installed() -> bool:
    """Whether the packages of the extra are there."""
    try:
        return find_spec(_MODULE) is not None
    except ModuleNotFoundError:
        return False
