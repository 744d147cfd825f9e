"""What a person decides about two documents: it stays over examinations while both sentences stand, no longer."""

import random
from collections.abc import AsyncIterator
from datetime import date, timedelta
from itertools import count
from typing import Any, TypeAlias, get_args
from uuid import UUID, uuid4

import asyncpg
import pytest
import pytest_asyncio

from app.domain.conflicts import Known
from app.domain.health import FindingAct, FindingStatus, Handling, HealthFilter, HealthItem, HealthKind, Ruling
from app.domain.principal import SCOPES, Principal
from app.errors import AppError, ErrorCode
from app.ingestion import comparison
from app.ingestion.health import Health
from app.reasoning.local.terms import concepts_in
from app.retrieval.cache import Corpus
from app.storage.conflicts import known_contradictions
from app.storage.database import Database
from tests.cases import each_case
from tests.postgres.library import add_tenants, admin
from tests.postgres.test_health import LEAVE_12, LEAVE_14, PARKING, SPACE, TODAY, Shelf, somebody
from tests.samples import SEED, size

Superuser: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
LEAVE_16 = LEAVE_14.replace("14", "16")
STATUSES: tuple[FindingStatus, ...] = get_args(FindingStatus)
_numbers = count(1)


def examiner(database: Database) -> Health:
    return Health(database, SPACE, concepts=concepts_in, today=lambda _zone: TODAY)


@pytest.fixture
def health(database: Database) -> Health:
    return examiner(database)


@pytest_asyncio.fixture
async def owner(maintenance_url: str) -> Principal:
    name = f"verdicts-{next(_numbers)}"
    await add_tenants(maintenance_url, name)
    return admin(name)


@pytest.fixture
def shelf(superuser: Superuser, owner: Principal) -> Shelf:
    return Shelf(superuser, owner.tenant_id)


@pytest.fixture
async def unbound(superuser_url: str) -> AsyncIterator[Database]:
    """Statements without row security: their own predicates alone keep the rule."""
    opened = await Database.connect(superuser_url, pool_size=1)
    yield opened
    await opened.dispose()


async def listed(health: Health, who: Principal, **wanted: Any) -> list[HealthItem]:
    asked = HealthFilter.model_validate({"kind": HealthKind.CONTRADICTION, **wanted})
    return list((await health.report(who, asked)).items)


async def found(health: Health, owner: Principal, shelf: Shelf) -> UUID:
    """The finding about two documents, one of which says 14 and the other 12."""
    await shelf.publish("other", LEAVE_12)
    await health.examine(owner, await shelf.publish("policy", LEAVE_14))
    [item] = await listed(health, owner)
    return handling_of(item).finding_id


def handling_of(item: HealthItem) -> Handling:
    assert item.handling is not None
    return item.handling


def holds(shelf: Shelf, name: str, **said: Any) -> Ruling:
    return Ruling(verdict="holds", holds=shelf.ids[name], **said)


async def refused(health: Health, who: Principal, *said: Any) -> tuple[ErrorCode, int]:
    with pytest.raises(AppError) as refusal:
        await health.act(who, *said)
    return refusal.value.code, refusal.value.status


class TestActs:
    async def test_go_from_open_to_decided_and_back(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        one = await found(health, owner, shelf)
        told = await health.act(owner, one, "decide", holds(shelf, "policy", note="board of 3 May"))
        assert (told.status, told.judge, told.verdict, told.decided_by) == ("decided", "person", "holds", owner.user_id)
        assert await listed(health, owner) == []
        [item] = await listed(health, owner, status="decided")
        assert handling_of(item) == told
        again = await health.act(owner, one, "reopen", Ruling())
        assert (again.status, again.judge, again.verdict, again.decided_at) == ("open", "rule", None, None)
        assert again.earlier is not None
        assert (again.earlier.verdict, again.earlier.note) == ("holds", "board of 3 May")
        assert handling_of((await listed(health, owner))[0]) == again

    async def test_are_refused_where_they_do_not_fit(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        one = await found(health, owner, shelf)
        misfit, clash = (ErrorCode.VALIDATION_FAILED, 422), (ErrorCode.VALIDATION_FAILED, 409)
        assert await refused(health, owner, one, "reopen", Ruling()) == clash
        assert await refused(health, owner, one, "decide", Ruling()) == misfit
        assert await refused(health, owner, one, "dismiss", Ruling(verdict="no_contradiction")) == misfit
        assert await refused(health, owner, one, "decide", Ruling(verdict="holds")) == misfit
        assert await refused(health, owner, one, "decide", Ruling(verdict="holds", holds=uuid4())) == misfit
        assert await refused(health, owner, one, "decide", Ruling(verdict="different_cases", supersedes=True)) == misfit
        assert await refused(health, owner, one, "assign", Ruling(assignee=uuid4())) == misfit
        assert await refused(health, owner, uuid4(), "dismiss", Ruling()) == (ErrorCode.NOT_FOUND, 404)
        await health.act(owner, one, "dismiss", Ruling())
        for act, said in (("decide", holds(shelf, "policy")), ("dismiss", Ruling()), ("assign", Ruling())):
            assert await refused(health, owner, one, act, said) == clash

    async def test_are_for_administrators_who_may_read_both(
        self, health: Health, owner: Principal, shelf: Shelf, unbound: Database
    ) -> None:
        await shelf.publish("other", LEAVE_12, scope="private")
        await health.examine(owner, await shelf.publish("policy", LEAVE_14))
        one = handling_of((await listed(health, owner))[0]).finding_id
        person, clerk = somebody(owner, SCOPES, "hr", roles=()), somebody(owner, ("public",))
        assert await refused(health, person, one, "dismiss", Ruling()) == (ErrorCode.PERMISSION_DENIED, 403)
        for door in (health, examiner(unbound)):  # by row security, and by the statements without it
            assert await refused(door, clerk, one, "dismiss", Ruling()) == (ErrorCode.NOT_FOUND, 404)
            assert await listed(door, clerk) == []

    async def test_hold_in_the_table_itself(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database
    ) -> None:
        await found(health, owner, shelf)
        await shelf.publish("secret", PARKING, scope="private")
        hide = "update documents set scope = 'private' where external_id = 'other'"
        async with database.principal_scope(owner) as tx:
            assert await tx.driver.execute(hide) == "UPDATE 1"
        seen = {
            "owner": (owner, 1, 1), "person": (somebody(owner, SCOPES, "hr", roles=()), 1, 0),
            "clerk": (somebody(owner, ("public",)), 0, 0), "stranger": (admin("globex"), 0, 0),
        }  # fmt: skip
        for name, (who, reads, writes) in seen.items():
            async with database.principal_scope(who) as tx:
                assert await tx.driver.fetchval("select count(*) from document_findings") == reads, name
                done = await tx.driver.execute("update document_findings set note = 'x'")
                assert done == f"UPDATE {writes}", name

    async def test_stand_in_the_audit_without_a_word(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database
    ) -> None:
        one = await found(health, owner, shelf)
        await health.act(owner, one, "decide", holds(shelf, "policy", note="secret words", supersedes=True))
        async with database.principal_scope(owner) as tx:
            rows = await tx.driver.fetch("select action, target, details from audit where user_id = $1", owner.user_id)
        told = {row["action"]: row for row in rows}
        assert told["finding_decided"]["target"] == str(one)
        assert told["finding_decided"]["details"]["verdict"] == "holds"
        assert told["document_changed"]["details"] == {"supersedes": "other"}
        assert "secret" not in str(rows) and "14 ngày" not in str(rows)

    async def test_one_click_supersedes(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        one = await found(health, owner, shelf)
        await health.act(owner, one, "decide", holds(shelf, "policy", supersedes=True))
        assert await listed(health, owner, status="decided") == []  # one takes the other's place: nothing contradicts

    async def test_leave_a_document_that_replaces_another(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("third", PARKING)
        await shelf.publish("other", LEAVE_12)
        await health.examine(owner, await shelf.publish("policy", LEAVE_14, supersedes="third"))
        one = handling_of((await listed(health, owner))[0]).finding_id
        said = holds(shelf, "policy", supersedes=True)
        assert await refused(health, owner, one, "decide", said) == (ErrorCode.VALIDATION_FAILED, 409)
        assert handling_of((await listed(health, owner))[0]).status == "open"


class TestAtAnswerTime:
    async def known(
        self, database: Database, who: Principal, shelf: Shelf, name: str, today: date = TODAY
    ) -> list[Known]:
        """What is known of the passages of a document, as somebody asks on a day."""
        async with database.principal_scope(who, durable=False) as tx:
            find = "select chunk_id from chunks where tenant_id = $1 and document_id = $2"
            rows = await tx.driver.fetch(find, shelf.tenant, shelf.ids[name])
            return await known_contradictions(tx, [row["chunk_id"] for row in rows], today, None)

    async def test_both_sides_are_known_until_one_is_dismissed(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database
    ) -> None:
        one = await found(health, owner, shelf)
        person = somebody(owner, SCOPES, roles=())
        for name, other, sentence in (("policy", "other", LEAVE_12), ("other", "policy", LEAVE_14)):
            [told] = await self.known(database, person, shelf, name)
            assert (told.other.external_id, told.other_sentence, told.other.text) == (other, sentence, sentence)
            assert (told.verdict, told.holds, told.decided_on) == (None, None, None)
        await health.act(owner, one, "decide", holds(shelf, "policy"))
        [told] = await self.known(database, person, shelf, "other")
        assert (told.verdict, told.holds) == ("holds", shelf.ids["policy"]) and told.decided_on is not None
        await health.act(owner, one, "reopen", Ruling())
        await health.act(owner, one, "dismiss", Ruling())
        assert await self.known(database, person, shelf, "other") == []

    async def test_what_may_not_be_read_or_is_not_in_force_is_not_known(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database, unbound: Database
    ) -> None:
        await shelf.publish("secret", LEAVE_12, scope="private", effective_to=TODAY)
        await health.examine(owner, await shelf.publish("policy", LEAVE_14))
        clerk, later = somebody(owner, ("public",)), TODAY + timedelta(days=1)
        for door in (database, unbound):  # by row security, and by the statement without it
            assert len(await self.known(door, owner, shelf, "policy")) == 1
            assert await self.known(door, clerk, shelf, "policy") == []
            assert await self.known(door, clerk, shelf, "secret") == []
            assert await self.known(door, admin("globex"), shelf, "policy") == []
            assert await self.known(door, owner, shelf, "policy", later) == []

    async def test_a_finding_or_a_verdict_ends_what_is_remembered(
        self, health: Health, owner: Principal, shelf: Shelf, database: Database
    ) -> None:
        corpus = Corpus(database, SPACE)
        await shelf.publish("other", LEAVE_12)
        policy = await shelf.publish("policy", LEAVE_14)
        before = await corpus.version(owner)
        await health.examine(owner, policy)
        examined = await corpus.version(owner)
        await health.examine(owner, policy)
        assert before != examined == await corpus.version(owner)  # nothing new the second time
        one = handling_of((await listed(health, owner))[0]).finding_id
        await health.act(owner, one, "decide", holds(shelf, "policy"))
        assert examined != await corpus.version(owner)


class TestListing:
    async def test_filters_and_counts(
        self, health: Health, owner: Principal, shelf: Shelf, superuser: Superuser
    ) -> None:
        one = await found(health, owner, shelf)
        who = uuid4()
        await superuser.execute(
            "insert into users (tenant_id, user_id, name, display_name, department, departments, scopes, roles)"
            " values ($1, $2, 'mai', 'Mai', 'hr', '{hr}', '{public}', '{admin}')",
            owner.tenant_id, who,
        )  # fmt: skip
        assert (await health.act(owner, one, "assign", Ruling(assignee=who))).assignee == who
        for wanted, number in (
            ({"assignee": who}, 1), ({"assignee": uuid4()}, 0), ({"department": "hr"}, 1), ({"department": "it"}, 0),
            ({"document_id": shelf.ids["other"]}, 1), ({"document_id": uuid4()}, 0), ({"status": "decided"}, 0),
            ({"kind": HealthKind.DUPLICATE}, 0),
        ):  # fmt: skip
            assert len(await listed(health, owner, **wanted)) == number, wanted
        await health.act(owner, one, "decide", Ruling(verdict="different_cases"))
        report = await health.report(owner, HealthFilter(kind=HealthKind.CONTRADICTION))
        assert (report.counts.get(HealthKind.CONTRADICTION), report.statuses) == (None, {"decided": 1})
        report = await health.report(owner, HealthFilter(status="decided"))
        assert report.counts == {HealthKind.CONTRADICTION: 1} and report.items[0].handling is not None
        assert report.items[0].handling.assignee == who


class TestOverExaminations:
    async def test_a_verdict_stays_with_the_sentences(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        one = await found(health, owner, shelf)
        await health.act(owner, one, "decide", holds(shelf, "other"))
        await health.examine(owner, await shelf.publish("policy", PARKING, LEAVE_14))
        await health.examine(owner, await shelf.publish("other", LEAVE_12))
        [item] = await listed(health, owner, status="decided")
        told = handling_of(item)
        assert (told.finding_id, told.holds) == (one, shelf.ids["other"])

    async def test_it_lapses_when_one_changed_and_is_named(
        self, health: Health, owner: Principal, shelf: Shelf
    ) -> None:
        one = await found(health, owner, shelf)
        await health.act(owner, one, "decide", holds(shelf, "policy", note="why"))
        await health.examine(owner, await shelf.publish("policy", LEAVE_16))
        assert await listed(health, owner, status="decided") == []
        [item] = await listed(health, owner)
        told = handling_of(item)
        assert (told.status, told.judge) == ("open", "rule") and told.finding_id != one
        assert told.earlier is not None
        assert (told.earlier.verdict, told.earlier.holds, told.earlier.note) == ("holds", shelf.ids["policy"], "why")
        await health.examine(owner, await shelf.publish("policy", LEAVE_14))
        [item] = await listed(health, owner)  # still named, two changes later
        assert handling_of(item).earlier == told.earlier

    async def test_it_stays_when_the_rules_see_nothing_any_more(
        self, health: Health, owner: Principal, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        one = await found(health, owner, shelf)
        await health.act(owner, one, "decide", Ruling(verdict="no_contradiction"))
        monkeypatch.setattr(comparison, "LEAST_SIMILARITY", 0.999)
        assert await health.examine(owner, await shelf.publish("policy", PARKING, LEAVE_14)) == 0
        assert [handling_of(item).finding_id for item in await listed(health, owner, status="decided")] == [one]
        assert await health.examine(owner, await shelf.publish("policy", PARKING)) == 0
        assert await listed(health, owner, status="decided") == []

    async def test_who_may_not_read_it_does_not_undo_it(self, health: Health, owner: Principal, shelf: Shelf) -> None:
        await shelf.publish("other", LEAVE_12, scope="private")
        policy = await shelf.publish("policy", LEAVE_14)
        await health.examine(owner, policy)
        one = handling_of((await listed(health, owner))[0]).finding_id
        await health.act(owner, one, "decide", holds(shelf, "policy"))
        await health.examine(somebody(owner, ("public",)), policy)
        assert len(await listed(health, owner, status="decided")) == 1

    @each_case("seed", range(size(4, 60)))
    async def test_any_story_ends_as_told(
        self, health: Health, superuser: Superuser, maintenance_url: str, seed: int
    ) -> None:
        name = f"verdicts-{next(_numbers)}"
        await add_tenants(maintenance_url, name)
        owner = admin(name)
        story = Story(health, owner, Shelf(superuser, owner.tenant_id), random.Random(f"{SEED} {seed}"))
        await story.begin()
        for _step in range(14):
            await story.go_on()


class Story:
    """Two documents that change, are compared and decided in any order, and a model of what must be there."""

    def __init__(self, health: Health, owner: Principal, shelf: Shelf, rng: random.Random):
        self._health, self._owner, self._shelf, self._rng = health, owner, shelf, rng
        self._days = {"policy": 14, "other": 12}
        self._pair: tuple[int, int] | None = None
        """What the finding speaks of; None = there is none."""
        self._state: tuple[str, str | None] = ("open", None)
        self._earlier: tuple[str, str | None] | None = None

    async def begin(self) -> None:
        for name in self._days:
            await self._publish(name)

    async def go_on(self) -> None:
        step = self._rng.choice((self._change, self._change, self._compare, self._compare, self._act, self._act))
        await step()

    async def _publish(self, name: str) -> None:
        text = {"policy": LEAVE_14.replace("14", "{}"), "other": LEAVE_12.replace("12", "{}")}[name]
        told = text.format(self._days[name])
        await self._shelf.publish(name, *self._rng.choice(((told,), (PARKING, told))))

    async def _change(self) -> None:
        name = self._rng.choice(sorted(self._days))
        self._days[name] = self._rng.choice((12, 14, 16))
        await self._publish(name)

    async def _compare(self) -> None:
        for name in self._rng.sample(sorted(self._days), 2):
            await self._health.examine(self._owner, self._shelf.ids[name])
        now = self._days["policy"], self._days["other"]
        if now[0] == now[1]:
            self._pair, self._state, self._earlier = None, ("open", None), None
        elif now != self._pair:
            self._earlier = self._earlier if self._state[0] == "open" else self._state
            self._pair, self._state = now, ("open", None)
        await self._look()

    async def _look(self) -> HealthItem | None:
        items = [one for status in STATUSES for one in await listed(self._health, self._owner, status=status)]
        assert len(items) == (self._pair is not None)
        if not items:
            return None
        told = handling_of(items[0])
        assert items[0].other is not None
        days = {one.external_id: int(one.value.split()[0]) for one in (items[0].document, items[0].other)}
        assert (days["policy"], days["other"]) == self._pair
        assert (told.status, told.verdict) == self._state
        assert (told.earlier and (told.earlier.status, told.earlier.verdict)) == self._earlier
        return items[0]

    async def _act(self) -> None:
        await self._compare()
        item = await self._look()
        if item is None:
            return
        act: FindingAct = self._rng.choice(("decide", "dismiss")) if self._state[0] == "open" else "reopen"
        said = self._rng.choice((holds(self._shelf, "policy"), Ruling(verdict="different_cases")))
        if act == "reopen":
            self._earlier, self._state = self._state, ("open", None)
        else:
            self._state = ("decided", said.verdict) if act == "decide" else ("dismissed", None)
        said = said if act == "decide" else Ruling()
        await self._health.act(self._owner, handling_of(item).finding_id, act, said)
        await self._look()
