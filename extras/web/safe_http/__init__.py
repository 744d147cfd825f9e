"""Fetching from the web without being led astray: only hosts the operator named, and what was checked is dialled."""

from extras.web.safe_http.dial import FetchRefused, Refusal, SystemResolver, dial
from extras.web.safe_http.fetcher import Fetched, Fetcher, FetchLimits
from extras.web.safe_http.hosts import AllowedHosts, WebAddress, is_public, read_address

__all__ = [
    "AllowedHosts",
    "FetchLimits",
    "FetchRefused",
    "Fetched",
    "Fetcher",
    "Refusal",
    "SystemResolver",
    "WebAddress",
    "dial",
    "is_public",
    "read_address",
]
