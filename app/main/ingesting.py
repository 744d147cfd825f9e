"""A document on its way as a task: what the worker does with a job of kind ``ingest``."""

import asyncio
from uuid import UUID

from app.domain.answer import ErrorAnswer, to_json
from app.domain.documents import DocumentStatus
from app.domain.documents import Progress as Stage
from app.domain.tasks import TaskStatus
from app.embedding import EmbeddingUnavailable
from app.errors import AppError, ErrorCode
from app.events import FinalReport, Progress, TaskFailed
from app.ingestion.pipeline import Ingestion
from app.ingestion.stages import Published
from app.tasks.registry import TaskRegistry
from app.tasks.run import TaskRun
from app.telemetry import log_context

_PAUSES_SECONDS = (1, 2, 5, 10, 30, 60, 120)
"""Between tries while the embedding model is away; then the version fails with advice."""
_MESSAGES = {
    DocumentStatus.RECEIVED: "Waiting",
    DocumentStatus.PARSING: "Reading the file",
    DocumentStatus.CHUNKING: "Cutting the text into chunks",
    DocumentStatus.EMBEDDING: "Making vectors",
    DocumentStatus.READY: "Published",
    DocumentStatus.PARTIAL: "Published, with parts that could not be read",
    DocumentStatus.FAILED: "Failed",
}


async def run_ingestion(run: TaskRun, ingestion: Ingestion, registry: TaskRegistry) -> None:
    """Take a document's version to its end and tell every stage in the journal."""
    document_id = UUID(run.task.request["document_id"])

    async def tell(stage: Stage) -> None:
        run.writer.append(progress_of(stage))

    with log_context(task_id=run.task.task_id, attempt=run.attempt):
        for pause in (*_PAUSES_SECONDS, None):
            try:
                published = await ingestion.process(run.principal, document_id, run.task.task_id, tell)
                break
            except EmbeddingUnavailable as error:
                if pause is None:
                    detail = "The embedding model cannot be reached. Bring the document in again when it can."
                    raise AppError(ErrorCode.LLM_UNAVAILABLE, detail, status=503) from error
                await asyncio.sleep(pause)
    await _finish(run, registry, published)


def progress_of(stage: Stage) -> Progress:
    """A stage as the journal tells it, in the form of §9.2 of the flow."""
    return Progress(
        node="ingestion",
        output={
            "processing_status": stage.stage.value,
            "progress_percentage": stage.percentage,
            "progress_message": _MESSAGES[stage.stage],
            "chunks_total": stage.chunks_total,
            "chunks_embedded": stage.chunks_embedded,
        },
    )


async def _finish(run: TaskRun, registry: TaskRegistry, published: Published) -> None:
    ids = {"session_id": str(run.task.session_id), "task_id": str(run.task.task_id)}
    told = {**published.model_dump(mode="json"), **ids}
    if published.status is not DocumentStatus.FAILED:
        await registry.finish(run, status=TaskStatus.COMPLETED, result=told, event=FinalReport(answer=told))
        return
    message = f"{published.code}: {published.detail}"
    error = to_json(
        ErrorAnswer(
            error=True, error_code=ErrorCode.DOCUMENT_REJECTED.value, error_message=message, partial_results={},
            fallback_answer="", flow_action=(),
        )
    )  # fmt: skip
    result = {**error, **told, "outcome": "failed"}
    await registry.finish(
        run, status=TaskStatus.FAILED, result=result, error_message=message, event=TaskFailed(answer=result)
    )
