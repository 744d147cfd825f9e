"""The knowledge desk: what waits for whoever owns a department, what is done about it, and telling them."""

from typing import Annotated, Any, Self
from uuid import UUID, uuid4

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field, model_validator
from starlette.responses import Response

from app.api.deps import Caller, Services
from app.api.documents import ingest_task
from app.api.runs import start_run, wait_for_end
from app.api.schemas import Body, ChatBody, Day, Problem, Question, Text, View
from app.desk import Act, Desk, DeskPage
from app.domain.documents import DocumentFields, Upload
from app.domain.principal import Scope
from app.errors import AppError, ErrorCode
from app.ingestion.intake import document_id_of
from app.storage.desk import DeskItem, Draft, Kind, State, Wanted
from app.text.language import guess_language

router = APIRouter(tags=["desk"])
_TITLES = {"vi": "Giải đáp", "en": "Answer"}
"""What a written answer is called, before its question."""
_TITLE_CHARS = 300
_REFUSALS: dict[int | str, dict[str, Any]] = {code: {"model": Problem} for code in (403, 404, 409, 422)}


class ActBody(Body):
    """What is done about an item."""

    act: Act
    """``assign`` it to somebody (or with null to nobody), ``dismiss`` it with a reason, ``done``, or ``reopen`` it."""
    assignee: UUID | None = None
    reason: Text = Field("", max_length=2_000)
    """Why it is dismissed, or a note; other owners read it."""

    @model_validator(mode="after")
    def _has_a_reason(self) -> Self:
        if self.act == "dismiss" and not self.reason.strip():
            raise ValueError("say in reason why it is dismissed")
        return self


class AnswerBody(Body):
    """What the answer is, for whom to read, and until when it holds unless somebody looked at it again."""

    text: Annotated[Question, Field(max_length=20_000)]
    department: Annotated[Text, Field(min_length=1, max_length=64)]
    scope: Scope
    review_on: Day


class TellBody(Body):
    """Which conflict of the run: its two documents."""

    document_id: UUID
    other_document_id: UUID


class DeskView(View):
    """A page of the desk."""

    you: UUID
    """The caller, as an assignee is named."""
    page: DeskPage


def desk_of(services: Services) -> Desk:
    """The desk, for the agents of this installation."""
    named = {name: services.agents.spec(name).departments for name in services.agents.names}
    return Desk(services.database, services.health, named)


KnowledgeDesk = Annotated[Desk, Depends(desk_of)]


@router.get("/desk/items", summary="What waits for owners of a department", responses={403: {"model": Problem}})
async def items(
    caller: Caller,
    desk: KnowledgeDesk,
    kind: Kind | None = None,
    state: State = "open",
    assignee: Annotated[UUID | None, Query(description="Assigned to this person")] = None,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> DeskView:
    """Newest first, for the role `owner` of its departments and for administrators of all: contradictions, rules that
    end or are outdated, corrections, questions three people asked in vain, documents nobody reaches. Only what the
    caller may read, and no name of who asked."""
    wanted = Wanted(kind=kind, state=state, assignee=assignee)
    return DeskView(you=caller.user_id, page=await desk.page(caller, wanted, cursor, limit))


@router.patch("/desk/items/{item_id}", summary="Assign, dismiss, close or reopen an item", responses=_REFUSALS)
async def act(item_id: UUID, body: ActBody, caller: Caller, desk: KnowledgeDesk) -> DeskItem:
    """Stands in the audit, without the reason. A contradiction is decided by `PATCH /contradictions/{finding_id}`,
    which closes it."""
    return await desk.act(caller, item_id, body.act, body.assignee, body.reason.strip())


@router.post("/desk/items/{item_id}/ask", summary="Ask an item's question with your own rights", responses=_REFUSALS)
async def ask(item_id: UUID, caller: Caller, services: Services, desk: KnowledgeDesk, request: Request) -> DeskItem:
    """A run of yours, as `POST /chat` makes it: what the person who asked may read counts for nothing in it. The answer
    is kept as the item's `before` while it is open and as its `after` once it is closed, and shown to you alone."""
    item = await desk.find(caller, item_id)
    if not item.question:
        detail = "Nobody asked about this: there is no question to ask again."
        raise AppError(ErrorCode.VALIDATION_FAILED, detail, status=409)
    run = await start_run(services, caller, ChatBody(query=item.question), None)
    await wait_for_end(services, run, request)
    return await desk.note_run(caller, item_id, run.task_id)


@router.post("/desk/items/{item_id}/answer", summary="Answer a question nobody could answer", responses=_REFUSALS)
async def answer(item_id: UUID, body: AnswerBody, caller: Caller, services: Services, desk: KnowledgeDesk) -> DeskItem:
    """An owner's answer waits with the item. An administrator's, the owner's own words or others, is brought in as a
    document of the authority `answer` that holds until `review_on`, and the item is done; written again, it is a new
    version."""
    item = await desk.answer(caller, item_id, Draft(**body.model_dump()))
    if not caller.is_admin:
        return item
    question = " ".join((item.question or "").split())
    title = f"{_TITLES[guess_language(question)]}: {question[:_TITLE_CHARS]}"
    said = {"title": title, "external_id": f"answer-{item_id}", "authority": "answer", "effective_to": body.review_on}
    fields = DocumentFields.model_validate({**said, "department": body.department, "scope": body.scope})
    upload = Upload(fields=fields, text=f"# {title}\n\n{body.text}\n")
    services.ingestion.intake.check(caller, upload)
    task_id = uuid4()
    await services.registry.register_task(
        caller,
        ingest_task(caller, task_id, document_id_of(caller, f"answer-{item_id}")),
        within=lambda tx: services.ingestion.intake.take_in(tx, upload, task_id),
    )
    return await desk.act(caller, item_id, "done")


@router.post(
    "/tasks/{task_id}/conflicts/tell", summary="Tell the owners of a conflict", status_code=204,
    response_class=Response, responses=_REFUSALS,
)  # fmt: skip
async def tell(task_id: UUID, body: TellBody, caller: Caller, desk: KnowledgeDesk) -> None:
    """For a conflict that a run of yours showed: owners of its documents find it on their desk, with your question and
    without your name. The same again changes nothing."""
    await desk.tell(caller, task_id, body.document_id, body.other_document_id)
