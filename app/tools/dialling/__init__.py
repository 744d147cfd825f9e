"""Fetching from the web without being led astray: only hosts the operator named, and what was checked is dialled."""

from app.tools.dialling.address import WebAddress, read_address
from app.tools.dialling.dial import Connect, Resolve, SystemResolver, dial
from app.tools.dialling.fetcher import Fetched, Fetcher, FetchLimits
from app.tools.dialling.hosts import AllowedHosts, is_public
from app.tools.dialling.refusal import FetchRefused, Refusal, told

__all__ = [
    "AllowedHosts",
    "Connect",
    "FetchLimits",
    "FetchRefused",
    "Fetched",
    "Fetcher",
    "Refusal",
    "Resolve",
    "SystemResolver",
    "WebAddress",
    "dial",
    "is_public",
    "read_address",
    "told",
]
