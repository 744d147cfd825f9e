"""What reading claims out of documents costs beside bringing them in with the bundled embedding model, and no other."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from app.claims import claims_in
from app.domain.knowledge import DocumentDraft
from app.embedding.onnx import OnnxEmbedder
from app.ingestion.passages import Passages
from app.ingestion.pipeline import Ingestion
from app.ingestion.seed import read_seed
from app.retrieval.ranking import load_calibration
from app.storage.database import Database
from bench.ingest.corpus import administrator

MOST = 0.15
"""Share of the time of bringing documents in that reading their claims may take."""


class Extraction(NamedTuple):
    """Seconds of one run over the same passages."""

    passages: int
    claims: int
    ingestion: float
    """Without claims."""
    reading: float

    @property
    def share(self) -> float:
        """Of bringing the documents in and reading their claims."""
        return self.reading / (self.ingestion + self.reading)

    def __str__(self) -> str:
        return (
            f"claims: {self.claims} of {self.passages} passages read in {self.reading:.2f} s, bringing them in"
            f" {self.ingestion:.2f} s with the bundled model: {self.share:.1%} of both (at most {MOST:.0%})"
        )


async def extraction(database: Database, seed: Path, models: Path) -> Extraction:
    """Bring the bundled documents in, every vector computed anew, then read the claims of the same passages."""
    embedder = await asyncio.to_thread(OnnxEmbedder.open, models)
    try:
        drafts = [draft for tenant in read_seed(seed) for draft in tenant.documents]
        named = [one.model_copy(update={"external_id": f"extraction-{one.external_id}"}) for one in drafts]
        await embedder.embed_passages([named[0].text[:200]])  # the first call loads the weights
        report = await Ingestion(database, embedder).ingest(administrator(), named)
        passages = Passages(database, embedder, load_calibration(embedder.model))
        count, seconds = await asyncio.to_thread(_read, passages, named)
    finally:
        await embedder.aclose()
    return Extraction(report.chunks, count, report.seconds, seconds)


def _read(passages: Passages, drafts: Sequence[DocumentDraft]) -> tuple[int, float]:
    cut = [passage.chunk for draft in drafts for passage in passages.cut(draft, ())]
    started = time.perf_counter()
    count = sum(len(claims_in(chunk.text, chunk.section)) for chunk in cut)
    return count, time.perf_counter() - started
