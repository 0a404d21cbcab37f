"""Whether traces are asked for; what sends them is loaded only then."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from evenmatch.errors import NotSupported
from evenmatch.server.runtime.logs import log

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The standard's own names for the address of a collector."""
INSTALL = "traces need more packages: pip install 'evenmatch[traces]'"


def asks_for_traces(address: str | None, environment: Mapping[str, str]) -> bool:
    """Return whether traces are to be sent.

    Args:
        address: The collector that the configuration names.
        environment: May name one in the standard's way; what is missing is then only told, since
            a platform may set the variable for all its programs.

    Raises:
        NotSupported: The configuration names a collector, and the packages are missing.
    """
    if address is None and not any(environment.get(name) for name in ENDPOINTS):
        return False
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    try:
        is_there = find_spec("opentelemetry.sdk") is not None
    except ModuleNotFoundError:
        is_there = False
    if not is_there and address is not None:
        raise NotSupported(f"[server] traces: {INSTALL}")
    if not is_there:
        log.warning("no_traces", reason=INSTALL)
    return is_there
