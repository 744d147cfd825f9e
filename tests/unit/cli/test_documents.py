"""Documents on the command line: what is shown of a run, and why somebody may read a document."""

import io
import json
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from app.cli.access import explain
from app.cli.bulk_ingest import Outcome
from app.cli.ingest import Report
from app.client.connection import ingested
from app.client.records import Streamed
from app.domain.documents import DocumentStatus, DocumentView, VersionView
from app.domain.principal import SCOPES
from tests.factories import principal

TODAY = date(2026, 11, 21)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DEPARTMENTS = ("general", "hr", "it")


def view(**changes: Any) -> DocumentView:
    """A private hr document, published and in force without limits."""
    values: dict[str, Any] = {
        "document_id": uuid4(), "external_id": "salary", "title": "Thang lương", "url": "", "department": "hr",
        "scope": "private", "lang": "vi", "authority": "policy", "created_at": NOON, "effective_from": None,
        "effective_to": None, "supersedes": None, "status": "ready", "status_code": "", "status_detail": "",
        "current_version": 1, "latest_version": 1, "kind": "pdf", "file_name": "a.pdf", "byte_count": 1,
        "warnings": (), "chunks_total": 1, "chunks_embedded": 1, "heartbeat_at": None, "task_id": None,
        "updated_at": NOON,
    }  # fmt: skip
    return DocumentView.model_validate(values | changes)


def version(number: int, begins: date | None, *, is_current: bool = False) -> VersionView:
    return VersionView(
        version=number, status=DocumentStatus.READY, status_code="", status_detail="", title="", effective_to=None,
        effective_from=begins, file_name="", kind="pdf", byte_count=1, created_at=NOON, published_at=NOON,
        is_current=is_current,
    )  # fmt: skip


class TestExplain:
    @given(
        st.sampled_from(DEPARTMENTS), st.frozensets(st.sampled_from(SCOPES)), st.sampled_from(DEPARTMENTS),
        st.sampled_from(SCOPES),
    )  # fmt: skip
    def test_says_what_the_permission_rule_says(
        self, own: str, scopes: frozenset[str], department: str, scope: str
    ) -> None:
        document = view(department=department, scope=scope)
        reader = principal("acme", "x", own, tuple(one for one in SCOPES if one in scopes))
        found = explain("acme/x", reader, document, (), TODAY)
        assert found.is_allowed == reader.may_read(document.scope, department)
        assert found.decided_by in ("scope", "department")

    @pytest.mark.parametrize(
        ("reader", "document", "decided_by", "told"),
        [
            (principal(), view(), "department", "may read “Thang lương” (salary): it is private to hr, and u belongs"),
            (principal(department="it"), view(), "department", "may not read “Thang lương” (salary): it is private"),
            (principal(department="it"), view(scope="internal"), "scope", "it is internal, and u holds that scope"),
            (principal(scopes=("public",)), view(), "scope", "u does not hold that scope"),
            (principal(), view(current_version=0, status="failed", status_code="NO_TEXT"), "published", "failed NO_TE"),
            (principal(), view(effective_to=date(2026, 1, 31)), "in force", "not in force today (… to 2026-01-31)"),
            (principal(), view(effective_from=date(2027, 1, 1)), "in force", "(2027-01-01 to …); questions about"),
            (principal(department="it", roles=("admin",)), view(), "department", "An administrator sees it in the"),
            (principal(department="it"), view(department="general"), "department", "to which everybody belongs"),
        ],
    )
    def test_names_the_part_that_decides(self, reader: Any, document: DocumentView, decided_by: str, told: str) -> None:
        found = explain("u", reader, document, (), TODAY)
        assert found.decided_by == decided_by
        assert told in found.sentence

    def test_counts_the_version_that_holds_until_a_later_one_begins(self) -> None:
        document = view(effective_from=date(2027, 1, 1), current_version=2)
        versions = (version(2, date(2027, 1, 1), is_current=True), version(1, None))
        found = explain("u", principal(), document, versions, TODAY)
        assert found.is_allowed
        replaced = (version(2, None, is_current=True), version(1, None))
        assert not explain("u", principal(), view(effective_to=date(2026, 1, 1)), replaced, TODAY).is_allowed


class TestReport:
    def report(self, outcomes: list[Outcome], lines: Console | None = None) -> Report:
        report = Report(len(outcomes), Console(file=io.StringIO()), lines)
        with report:
            for one in outcomes:
                report.add(one)
        return report

    def shown(self, outcomes: list[Outcome]) -> str:
        out = io.StringIO()
        self.report(outcomes).print(Console(file=out, width=160))
        return out.getvalue()

    def test_tells_outcome_and_advice_of_each(self) -> None:
        text = self.shown(
            [
                Outcome(file="hr/b.pdf", outcome="failed", code="ENCRYPTED", detail="Save a copy without a password."),
                Outcome(file="hr/a.md", outcome="published", chunks=3),
            ]
        )
        assert text.index("hr/a.md") < text.index("hr/b.pdf")
        assert "ENCRYPTED Save a copy without a password." in text
        assert "1 published, 1 failed · 3 chunks" in text

    def test_lists_of_many_only_what_needs_a_person(self) -> None:
        many = [Outcome(file=f"{number}.md", outcome="unchanged") for number in range(200)]
        text = self.shown([*many, Outcome(file="bad.pdf", outcome="failed", code="NO_TEXT")])
        assert "bad.pdf" in text and "17.md" not in text and "200 unchanged, 1 failed" in text

    def test_lets_neither_markup_nor_control_characters_through(self) -> None:
        text = self.shown([Outcome(file="[red]a[/red]\x1b[2J.md", outcome="failed", detail="\x07[bold]")])
        assert "[red]a[/red][2J.md" in text and "\x1b" not in text and "\x07" not in text

    def test_writes_a_json_line_an_outcome_at_once(self) -> None:
        out = io.StringIO()
        report = self.report([Outcome(file="a", outcome="published", chunks=2, embedded=1)], Console(file=out))
        assert json.loads(out.getvalue())["outcome"] == "published"
        assert report.summary() | {"seconds": 0} == {
            "published": 1, "unchanged": 0, "partial": 0, "failed": 0, "retired": 0, "skipped": 0, "chunks": 2,
            "embedded": 1, "planted": 0, "seconds": 0,
        }  # fmt: skip


class TestEnding:
    def test_is_how_the_servers_task_ended(self) -> None:
        document_id = str(uuid4())
        answer = {"document_id": document_id, "version": 2, "status": "partial", "code": "PARTIAL", "chunks": 3}
        done = ingested(document_id, {**answer, "task_id": "x"})
        assert (done.version, done.chunks, done.status) == (2, 3, DocumentStatus.PARTIAL)
        failed = ingested(document_id, {"error_code": "INTERNAL", "error_message": "oh"})
        assert (failed.status, failed.code) == (DocumentStatus.FAILED, "INTERNAL")
        stopped = ingested(document_id, Streamed(9, "task_cancelled", {"reason": "by its owner"}).ending)
        assert (stopped.status, stopped.detail) == (DocumentStatus.FAILED, "by its owner")
