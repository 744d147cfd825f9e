"""The services of this process as the house that deep questions are put to."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from pydantic import ValidationError

from app.api.schemas import ChatBody
from app.cli.evaluation.local_app import LocalApp, circumstances_of
from app.domain.principal import Principal
from app.errors import AppError, ErrorCode
from app.evaluation.report import Circumstances
from app.events import Event
from app.main import Services
from app.settings import Settings
from extras.gaia.running import Mode

_SETTINGS = {name for name in Settings.model_fields if name.startswith("deep_")}


class LocalDeepHouse(LocalApp):
    """See `DeepHouse`; needs services whose worker runs."""

    @property
    def max_file_bytes(self) -> int:
        """See `DeepHouse`."""
        return self.services.attachments.limits.max_bytes

    async def attach(self, principal: Principal, name: str, content: bytes) -> UUID:
        """See `DeepHouse`."""
        return (await self.services.attachments.bring_in(principal, content, name)).file_id

    async def question(
        self, principal: Principal, query: str, files: Sequence[UUID], mode: Mode
    ) -> AsyncIterator[Event]:
        """See `DeepHouse`."""
        try:
            body = ChatBody(query=query, mode=mode, files=tuple(files), answer_style="short")
        except ValidationError as error:
            detail = f"query: {error.errors()[0]['msg']}"
            raise AppError(ErrorCode.PAYLOAD_INVALID, detail, status=422) from error
        async for event in self.events_of(principal, body):
            yield event

    async def clear_up(self, principal: Principal, sessions: Sequence[UUID], files: Sequence[UUID]) -> None:
        """See `DeepHouse`."""
        await self.forget(principal, sessions)
        for file_id in files:
            await self.services.attachments.delete(principal, file_id)


def deep_circumstances(services: Services, concurrency: int, mode: Mode) -> Circumstances:
    """Tell what the figures of a run in this mode depend on."""
    told = circumstances_of(services, concurrency)
    if mode == "department":
        return told
    settings = services.settings.model_dump(mode="json", include=_SETTINGS)
    mind = f"{services.rooms.deep.deep.mind.identity}; {told.mind}"
    return told.model_copy(update={"mind": mind, "settings": {**told.settings, **settings}})
