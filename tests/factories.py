"""Records for tests, with sensible values where the test does not care."""

import shutil
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from app.domain.knowledge import Evidence, Finding, Passage, Quote
from app.domain.principal import Principal, Scope, tenant_id_of, user_id_of
from app.embedding.onnx import Tokenizer, sentencepiece_model
from app.embedding.weights import Weights
from app.ingestion.seed import read_demo
from app.main.identity import demo_claims, sign_token
from app.settings import Settings

SEED_DATA = Path(__file__).parents[1] / "seed_data"
SEED_USERS = read_demo(SEED_DATA).users
"""The demo companies' people, the default asker first."""
NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


@cache
def _tokenizer() -> Tokenizer:
    weights = Weights()
    return Tokenizer(weights, sentencepiece_model(weights.vocabulary))


def bundled_tokens(text: str) -> int:
    """Tokens of a text as the bundled model counts them."""
    return len(_tokenizer().ids(text))


def with_demo_people(folder: Path) -> Path:
    """The seed folder, made, with the people of the demo companies."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SEED_DATA / "demo.toml", folder)
    return folder


def demo_token(settings: Settings, user: str) -> str:
    """A token of a demo user, ``tenant/user``, signed with the installation's secret."""
    claims = next(demo_claims(one) for one in SEED_USERS if f"{one.tenant}/{one.name}" == user)
    return sign_token(settings, claims, 8 * 3600)


def principal(
    tenant: str = "acme",
    user: str = "lan",
    department: str = "hr",
    scopes: tuple[Scope, ...] = ("public", "internal", "private"),
    roles: tuple[str, ...] = (),
) -> Principal:
    tenant_id = tenant_id_of(tenant)
    return Principal(
        tenant_id=tenant_id,
        user_id=user_id_of(tenant_id, user),
        department=department,
        departments=frozenset({department}),
        scopes=frozenset(scopes),
        roles=frozenset(roles),
        name=user,
    )


def stable_id(name: str) -> UUID:
    return uuid5(NAMESPACE_OID, name)


def passage(text: str, **changes: Any) -> Passage:
    """A private hr passage in force since 2026-01-01; `document` names its document."""
    document = changes.pop("document", "doc")
    values: dict[str, Any] = {
        "chunk_id": stable_id(f"{document}/{text}"),
        "document_id": stable_id(document),
        "external_id": document,
        "title": document,
        "section": "",
        "text": text,
        "url": f"https://intra.example/{document}",
        "department": "hr",
        "scope": "private",
        "language": "vi",
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "effective_from": date(2026, 1, 1),
        "effective_to": None,
        "authority": "policy",
        "similarity": 0.88,
        "text_rank": 0.1,
        "relevance_score": 0.9,
        "fused_score": 0.03,
    }
    return Passage.model_validate(values | changes)


def finding(*passages: Passage, agent: str = "hr", index: int = 1, query: str = "Nghỉ phép năm mấy ngày?") -> Finding:
    """A finding that quotes each passage whole."""
    return Finding(
        agent=agent,
        index=index,
        query=query,
        context="",
        answer=" ".join(found.text for found in passages),
        found=bool(passages),
        confidence=0.8 if passages else 0.0,
        quotes=tuple(Quote(passage=found, text=found.text, score=0.8) for found in passages),
        evidence=tuple(
            Evidence(
                url=found.url,
                created_at=found.created_at,
                source_type="rag",
                scope=found.scope,
                relevance_score=found.relevance_score,
            )
            for found in passages
        ),
    )
