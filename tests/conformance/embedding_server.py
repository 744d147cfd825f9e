"""A real HTTP server that serves the bundled model in the OpenAI wire format, and can be told to misbehave."""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from app.embedding import Embedder

Rows = list[dict[str, Any]]

FAULTS: dict[str, Callable[[Rows], Rows]] = {
    "wrong dimension": lambda rows: [{**row, "embedding": row["embedding"][:100]} for row in rows],
    "NaN": lambda rows: [{**row, "embedding": [float("nan"), *row["embedding"][1:]]} for row in rows],
    "infinite": lambda rows: [{**row, "embedding": [1e400, *row["embedding"][1:]]} for row in rows],
    "zero vector": lambda rows: [{**row, "embedding": [0.0] * len(row["embedding"])} for row in rows],
    "short batch": lambda rows: rows[:-1],
    "long batch": lambda rows: [*rows, {**rows[-1], "index": len(rows)}],
    "index twice": lambda rows: [{**row, "index": 0} for row in rows],
    "ragged": lambda rows: [rows[0], *({**row, "embedding": row["embedding"][:-1]} for row in rows[1:])],
    "words for numbers": lambda rows: [{**row, "embedding": ["x"] * len(row["embedding"])} for row in rows],
    "null rows": lambda rows: [{**row, "embedding": None} for row in rows],
}
"""What a broken or hostile endpoint may answer; every one must be refused."""


class EmbeddingServer:
    """Answers ``POST /v1/embeddings`` with vectors of `model`; prefixes tell questions from passages, as for e5."""

    def __init__(self, model: Embedder):
        self._model = model
        self.spoil: Callable[[Rows], Rows] = list
        """Changes the rows before they are sent."""
        self.status = 200
        self.requests: list[list[str]] = []
        application = web.Application()
        application.router.add_post("/v1/embeddings", self._answer)
        self._runner = web.AppRunner(application)
        self.url = ""

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}/v1"

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        texts: list[str] = (await request.json())["input"]
        self.requests.append(texts)
        if self.status != 200:
            return web.json_response({"error": {"message": "no", "type": "server_error"}}, status=self.status)
        rows = self.spoil(
            [
                {"object": "embedding", "index": index, "embedding": await self._embed(text)}
                for index, text in enumerate(texts)
            ]
        )
        body = {"object": "list", "model": "e5", "data": rows, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        return web.Response(text=json.dumps(body), content_type="application/json")

    async def _embed(self, text: str) -> list[float]:
        prefix, _, rest = text.partition(": ")
        embed = self._model.embed_queries if prefix == "query" else self._model.embed_passages
        vector: list[float] = (await embed([rest]))[0].tolist()
        return vector
