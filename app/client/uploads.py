"""Files on their way to a server, and how far documents have come."""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import aiohttp

from app.domain.documents import DocumentStatus, Progress


def file_form(content: bytes, name: str, said: Mapping[str, Any] | None = None) -> aiohttp.FormData:
    """A form with one file, and the fields that stand beside it."""
    form = aiohttp.FormData(dict(said or {}))
    form.add_field("file", BytesIO(content), filename=name, content_type="application/octet-stream")
    return form


def progress_of(output: Mapping[str, Any]) -> Progress:
    """What a ``progress`` event of an ingestion says."""
    return Progress(
        stage=DocumentStatus(output["processing_status"]),
        chunks_total=output["chunks_total"],
        chunks_embedded=output["chunks_embedded"],
    )
