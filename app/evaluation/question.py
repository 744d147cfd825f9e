"""A question of a dataset: who asks what, and what a right answer shows. `docs/evaluation.md` tells the format."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from app.domain.answer import Outcome
from app.domain.knowledge import DocumentDraft, Language
from app.domain.principal import GENERAL, Principal, Scope, tenant_id_of, user_id_of
from app.domain.record import Record
from app.evaluation.fact import Alternatives
from app.text.language import clean, guess_language

Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Canary = Annotated[str, StringConstraints(min_length=4, max_length=500)]
"""Long enough not to stand anywhere by chance."""
Id = Annotated[str, StringConstraints(pattern=r"^[\w.:/#-]{1,120}$")]
_OWN_USER = "evaluation"
_BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)


class Rights(Record):
    """An asker who is no user: only what may be read."""

    tenant: Annotated[str, StringConstraints(max_length=100)] = ""
    """Whose documents are asked about; empty = the dataset's own."""
    department: Name = GENERAL
    departments: tuple[Name, ...] = ()
    """Further ones."""
    scopes: tuple[Scope, ...] = Field(min_length=1)

    def principal(self, tenant: str) -> Principal:
        """A caller of `tenant` with exactly these rights and no role."""
        tenant_id = tenant_id_of(tenant)
        return Principal(
            tenant_id=tenant_id, user_id=user_id_of(tenant_id, _OWN_USER), department=self.department,
            departments=frozenset({self.department, *self.departments}), scopes=frozenset(self.scopes),
        )  # fmt: skip


User = Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$")]


class OwnDocument(Record):
    """A document that exists for this dataset only."""

    title: Name
    text: Annotated[str, StringConstraints(min_length=1, max_length=200_000)]
    """Markdown or plain text."""
    url: Name
    department: Name = GENERAL
    scope: Scope = "internal"
    created_at: datetime = _BEGINNING
    effective_from: date | None = None
    effective_to: date | None = None
    supersedes: Name | None = None
    authority: Name = "policy"
    external_id: Name | None = None
    """Unset = the url."""
    lang: Language | None = None

    @property
    def name(self) -> str:
        """Its external id."""
        return self.external_id or self.url

    def draft(self) -> DocumentDraft:
        """As it is brought in."""
        fields = self.model_dump(exclude={"external_id", "created_at", "lang"})
        moment = self.created_at if self.created_at.tzinfo else self.created_at.replace(tzinfo=UTC)
        return DocumentDraft(**fields, external_id=self.name, created_at=moment, lang=self.lang or "")


class Cited(Record):
    """Documents an answer must cite, by url or external id; a plain list stands for `all_of`."""

    all_of: tuple[Name, ...] = ()
    any_of: tuple[Name, ...] = ()
    """One of them is enough."""

    @property
    def needs(self) -> tuple[frozenset[str], ...]:
        """Each a set of documents of which one must be cited."""
        return (*(frozenset({name}) for name in self.all_of), *((frozenset(self.any_of),) if self.any_of else ()))

    @model_validator(mode="before")
    @classmethod
    def _read_list(cls, value: Any) -> Any:
        return {"all_of": value} if isinstance(value, list) else value

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.needs:
            raise ValueError("name at least one document in all_of or any_of")
        return self


class Disagreement(Record):
    """Whether the sources contradict each other, and which one holds; a plain true or false is enough."""

    exists: bool = True
    type: Name | None = None
    """The kind of conflict, as the answer's own ledger names it."""
    winner: Name | None = None
    """url or external id of the source that holds."""

    @model_validator(mode="before")
    @classmethod
    def _read_bool(cls, value: Any) -> Any:
        return {"exists": value} if isinstance(value, bool) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.exists and (self.type or self.winner):
            raise ValueError("where nothing disagrees there is neither type nor winner")
        return self


class Expected(Record):
    """What a right answer shows; what is left out is not asked of it."""

    outcome: tuple[Outcome, ...] = ()
    """The first is the right one; the others are let pass. A plain string in the file stands for one."""
    evidence: Cited | None = None
    facts: tuple[Alternatives, ...] = ()
    """Each must stand in the answer, in one of its spellings."""
    stale: tuple[Alternatives, ...] = ()
    """Superseded values: none may be told as current, without a note that names it as such."""
    belongs: tuple[Text, ...] = ()
    """Passages of documents, word for word: a sentence of the answer belongs that overlaps one, or holds a fact."""
    dates: tuple[date, ...] = ()
    """Days the answer must name, in whatever spelling."""
    must_not_contain: tuple[Canary, ...] = ()
    """What the asker must not learn: neither the answer nor anything else that is told of the run contains it."""
    agents: tuple[Name, ...] = ()
    """Who has to be asked."""
    conflict: Disagreement | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_one_outcome(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("outcome"), str):
            return {**value, "outcome": [value["outcome"]]}
        return value

    @property
    def names(self) -> frozenset[str]:
        """Every document that is named."""
        wanted = self.evidence
        winner = self.conflict.winner if self.conflict else None
        return frozenset((*(wanted.all_of + wanted.any_of if wanted else ()), *((winner,) if winner else ())))


class Question(Record):
    """One line of a dataset."""

    id: Id
    question: Text
    asker: User | Rights
    """``tenant/user`` with that user's stored rights, or rights alone."""
    language: Language | None = None
    """Of the question; unset = told from its words."""
    department: str = ""
    """What the question is about, for the report's groups."""
    as_of: date | None = None
    history: tuple[Text, ...] = Field((), max_length=10)
    """Earlier questions of the same conversation, asked before it."""
    documents: tuple[OwnDocument, ...] = Field((), max_length=200)
    corpus: Annotated[str, StringConstraints(max_length=60)] = ""
    """Questions of one dataset that name the same corpus share their documents; they see no other's."""
    expected: Expected = Expected()
    tags: tuple[Annotated[str, StringConstraints(min_length=1, max_length=60)], ...] = ()
    to_review: bool = False
    """Nobody has confirmed what is expected: it is asked and shown, and counts nowhere."""
    note: str = ""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.expected == Expected() and not self.to_review:
            raise ValueError("expected: say what a right answer shows, or set to_review")
        if self.is_in_own_tenant:
            return self
        if self.documents or self.corpus:
            detail = "own documents lie in a tenant of their own, where no user is known: give the asker's rights"
            raise ValueError(f"asker: {detail} without a tenant")
        return self

    @model_validator(mode="after")
    def _canaries_are_not_asked(self) -> Self:
        asked = clean(" ".join((self.question, *self.history))).lower()
        for canary in self.expected.must_not_contain:
            if clean(canary).lower() in asked:
                raise ValueError(f"expected.must_not_contain: {canary!r} stands in the question itself")
        return self

    @property
    def is_in_own_tenant(self) -> bool:
        """Whether it is asked about the dataset's own documents."""
        return isinstance(self.asker, Rights) and not self.asker.tenant

    @property
    def told_in(self) -> Literal["vi", "en"]:
        """The question's language."""
        return self.language or guess_language(self.question)

    @property
    def asker_name(self) -> str:
        """For people: ``tenant/user``, or the rights."""
        if isinstance(self.asker, str):
            return self.asker
        rights = self.asker
        departments = "+".join(dict.fromkeys((rights.department, *rights.departments)))
        return f"{rights.tenant or 'own documents'}: {departments}; {', '.join(rights.scopes)}"
