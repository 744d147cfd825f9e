"""What is remembered of searches belongs to one set of rights, however many people ask the same."""

from datetime import date
from itertools import combinations
from random import Random

from app.domain.knowledge import SearchPlan, SearchResult
from app.domain.principal import SCOPES, Principal
from app.retrieval.cache import Area, CacheKey, ResultCache, Rights
from tests.factories import principal
from tests.measured import measured
from tests.samples import SEED, size

LOOKUPS = size(5_000, 50_000, trust=50_000)
DEPARTMENTS, ROLES = ("hr", "it", "finance"), ("admin", "owner", "auditor")
PLAN = SearchPlan(
    strategy="exact", embedding_model="m", legs={}, unaccented=False, candidates=0, duration_ms=0
)  # fmt: skip


def person(drawing: Random) -> Principal:
    """Somebody of one of 20 companies, with rights of their own."""
    some = {
        name: frozenset(drawing.choice([one for n in range(4) for one in combinations(of, n)]))
        for name, of in (("scopes", SCOPES), ("departments", DEPARTMENTS), ("roles", ROLES))
    }
    who = principal(f"company-{drawing.randrange(20)}", f"user-{drawing.randrange(1_000)}")
    return who.model_copy(update=some)


def rights_in_words(who: Principal) -> str:
    """Told apart from the key: by what a reader would compare."""
    return f"{who.tenant_id} {sorted(who.scopes)} {sorted(who.departments)} {sorted(who.roles)}"


def test_no_lookup_crosses_rights() -> None:
    drawing, cache = Random(SEED), ResultCache(ttl_seconds=60, max_entries=4_000, timer=lambda: 0.0)
    people = [person(drawing) for _ in range(3_000)]
    area, hits, crossed = Area(None, date(2026, 1, 1), with_superseded=False), 0, 0
    for _ in range(LOOKUPS):
        who = drawing.choice(people)
        key = CacheKey(Rights.of(who), 1, "space", "đi muộn", area, 8)
        if (found := cache.get(key)) is None:
            cache.put(key, SearchResult(query=rights_in_words(who), passages=(), plan=PLAN))
            continue
        hits, crossed = hits + 1, crossed + (found.query != rights_in_words(who))
    measured(6, lookups=LOOKUPS, hits_across_rights=crossed)
    assert crossed == 0, f"CONCLAVE_SAMPLE_SEED={SEED}"
    assert hits > LOOKUPS // 4, "the same rights share what is remembered"
