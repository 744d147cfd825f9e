"""Writes `tests.vectors.SHIPPED`: ``python -m tests.ship_vectors``.

It brings in what the acceptance tests bring in, with a model that remembers nothing, and keeps the vectors of the
longer texts.
"""

import asyncio
import tempfile
from pathlib import Path

import numpy as np

from app.embedding import Vectors
from app.embedding.onnx import OnnxEmbedder
from app.main import Services
from app.settings import Settings
from tests.acceptance.poisoned import neighbours, write_seed
from tests.acceptance.test_injection import HANDS, RUNS
from tests.acceptance.test_planted import CLASSES, ON_TOPIC
from tests.factories import SEED_DATA
from tests.vectors import SHIPPED, computed, key_of
from tests.warm import warm

_LEAST_TOKENS = 40
"""Of a text whose vector is shipped; a shorter one is computed in milliseconds."""


async def bring_in(folder: Path, seed_dir: Path) -> None:
    services = await Services.open(Settings(_env_file=None, data_dir=warm(folder), seed_dir=seed_dir), work=False)
    await services.aclose()


def main() -> None:
    kept: dict[bytes, Vectors] = {}

    def vector(self: OnnxEmbedder, prefix: str, text: str) -> Vectors:
        made = computed(self, prefix, text)
        if len(self._tokenizer.ids(text)) >= _LEAST_TOKENS:
            kept[key_of(self, prefix, text)] = made
        return made

    OnnxEmbedder._vector = vector  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory(prefix="conclave-ship-") as scratch:
        root = Path(scratch)
        poisoned = write_seed(root / "poisoned-seed", neighbours(HANDS * RUNS))
        planted = write_seed(root / "planted-seed", [*ON_TOPIC, *CLASSES])
        for number, seed_dir in enumerate((SEED_DATA, poisoned, planted)):
            asyncio.run(bring_in(root / str(number), seed_dir))
    keys = sorted(kept)
    rows = np.stack([kept[key] for key in keys]).astype(np.float16)
    np.savez(SHIPPED, keys=np.stack([np.frombuffer(key, np.uint8) for key in keys]), vectors=rows)


if __name__ == "__main__":
    main()
