"""Traces by OpenTelemetry, where the standard variables of the environment ask for them; docs/telemetry.md tells more.

Nothing of OpenTelemetry is imported, and no function of the service is wrapped, until somebody asks.
"""

import os
from importlib import import_module

import structlog

_NO = frozenset({"", "none"})
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_log = structlog.get_logger(__name__)


def exporters_wanted() -> tuple[str, ...]:
    """The exporters the environment names, by OpenTelemetry's names; ``otlp`` where only an endpoint is given. None of
    them unless one is named or an endpoint is set: nothing is sent to a collector that nobody mentioned."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    default = "otlp" if any(os.environ.get(name) for name in _ENDPOINTS) else ""
    named = os.environ.get("OTEL_TRACES_EXPORTER") or default
    return tuple(name for one in named.split(",") if (name := one.strip().lower()) not in _NO)


def begin() -> None:
    """Trace this process from now on, if the environment asks for it; called before anything is opened. Where a library
    is missing a line in the log says so, and the service goes on without traces."""
    if not (wanted := exporters_wanted()):
        return
    try:
        tracing = import_module("extras.telemetry.tracing")
        tracing.trace_process(wanted)
    except (ImportError, LookupError, ValueError) as error:
        _log.warning("no_traces", error_class=type(error).__name__, reason=_ADVICE)


_ADVICE = "pip install 'conclave[telemetry]', and check the variables OTEL_*: docs/telemetry.md"
