"""What the routes are handed: the services below and the caller. Filled by `app.main`, never looked up globally."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from app.agents.registry import AgentRegistry
from app.api.auth import Authenticator, DevLogin
from app.domain.oversight import KeptRun
from app.domain.principal import Principal
from app.embedding import Embedder
from app.errors import AppError, ErrorCode
from app.flow.deep.graph import DeepFlow
from app.flow.graph import DepartmentFlow
from app.identity.accounts import Accounts
from app.identity.sign_ins import SignIns
from app.ingestion.attached import Attachments
from app.ingestion.catalogue import Catalogue
from app.ingestion.health import Health
from app.ingestion.pipeline import Ingestion
from app.journal import Journal
from app.operations.metrics import Metrics
from app.retrieval.search import Retriever
from app.sessions.session import SessionStore
from app.storage.database import Database
from app.tasks.approvals import Approvals
from app.tasks.oversight import Oversight
from app.tasks.registry import TaskRegistry
from app.tasks.reviews import RunReviews


@dataclass(frozen=True)
class Limits:
    """What one request may bring and how long a run may take."""

    max_body_bytes: int
    max_upload_bytes: int
    max_query_chars: int
    task_deadline_ms: int
    deep_deadline_ms: int
    data_dir: Path
    connectors_file: Path | None

    def deadline_ms(self, mode: str) -> int:
        """How long a run of this mode may take."""
        return self.deep_deadline_ms if mode == "deep" else self.task_deadline_ms


@dataclass(frozen=True)
class AppServices:
    """The services below the API, one set for the whole process."""

    database: Database
    """For routes of plug-ins: every statement is under the rights of a principal."""
    authenticator: Authenticator
    accounts: Accounts | None
    """None = nobody has a password here."""
    dev_login: DevLogin | None
    """None = nobody may sign in without a token of their own."""
    registry: TaskRegistry
    approvals: Approvals
    journal: Journal
    sessions: SessionStore
    retriever: Retriever
    embedder: Embedder
    agents: AgentRegistry
    flow: DepartmentFlow
    deep: DeepFlow
    ingestion: Ingestion
    catalogue: Catalogue
    health: Health
    attachments: Attachments
    reviews: RunReviews
    oversight: Oversight
    evaluations: Callable[[Principal], Awaitable[Sequence[KeptRun]]]
    """Evaluations kept on this machine that an administrator may see, newest first."""
    limits: Limits
    now: Callable[[], datetime]
    metrics: Metrics
    readiness: Callable[[], Awaitable[Mapping[str, bool]]]
    """Named checks of `/ready`; does I/O."""

    @property
    def sign_ins(self) -> SignIns | None:
        """Sign-ins at providers; None = there are none."""
        return self.authenticator.sign_ins


_bearer = HTTPBearer(
    auto_error=False, bearerFormat="JWT", description="A token or key of this service, or a token of your provider."
)


def services_of(request: Request) -> AppServices:
    """The services this application was opened with."""
    services = request.app.state.services
    assert isinstance(services, AppServices)
    return services


def caller_of(request: Request, _scheme: Annotated[object, Security(_bearer)]) -> Principal:
    """The caller the middleware let in. Raises `AppError` when a route was reached without passing it."""
    principal = getattr(request.state, "principal", None)
    if not isinstance(principal, Principal):
        raise AppError(ErrorCode.UNAUTHENTICATED, "A valid bearer token is needed.", status=401)
    return principal


Services = Annotated[AppServices, Depends(services_of)]
Caller = Annotated[Principal, Depends(caller_of)]


def check_question(query: str, limits: Limits) -> None:
    """Refuse a question longer than the operator allows."""
    if len(query) > limits.max_query_chars:
        detail = f"query: must have at most {limits.max_query_chars} characters."
        raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422)
