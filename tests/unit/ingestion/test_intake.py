"""The door for documents: names, what counts as the same, what is refused by looking at it."""

import unicodedata
from datetime import UTC, date, datetime
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.domain.documents import DocumentFields, Upload
from app.domain.knowledge import DocumentDraft
from app.errors import AppError, ErrorCode
from app.ingestion.catalogue import text_changes
from app.ingestion.intake import (
    Intake,
    aware,
    content_hash,
    document_id_of,
    external_id_of,
    file_name_of,
    kind_of,
    tidy,
)
from app.ingestion.parsing import FileKind
from tests.cases import each_case
from tests.factories import principal

ADMIN = principal(roles=("admin",))
DRAFT = DocumentDraft(
    title="Phép", text="", url="https://x.example", department="hr", scope="public", external_id="leave",
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip
lines = st.lists(st.sampled_from(["một", "hai", "ba", "bốn", ""]), max_size=12)


def upload(content: bytes | None = b"text", file_name: str = "a.md", text: str = "", **fields: Any) -> Upload:
    return Upload(fields=DocumentFields.model_validate(fields), content=content, file_name=file_name, text=text)


class TestFileName:
    @each_case(
        ("given_name", "kept"),
        [
            ("sổ tay.md", "sổ tay.md"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\lan\\a.docx", "a.docx"),
            ("a\r\nb\tc.md", "a b c.md"),
            ("\u202egpj.exe\u200b", "gpj.exe"),
            (unicodedata.normalize("NFD", "sổ.md"), "sổ.md"),
            ("NUL\x00.md", "NUL.md"),
            (" .hidden. ", "hidden"),
            ("..", ""),
            ("/", ""),
            ("", ""),
        ],
    )
    def test_is_the_last_part_and_harmless(self, given_name: str, kept: str) -> None:
        assert file_name_of(given_name) == kept

    @given(st.text())
    def test_never_leads_anywhere(self, given_name: str) -> None:
        kept = file_name_of(given_name)
        assert len(kept) <= 200 and "/" not in kept and "\\" not in kept and kept not in (".", "..")
        assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in kept)
        assert file_name_of(kept) == kept


class TestExternalId:
    @each_case(
        ("said", "expected"),
        [
            ({"external_id": "leave", "url": "https://x.example", "department": "hr"}, "leave"),
            ({"url": "https://x.example", "department": "hr"}, "https://x.example"),
            ({"department": "hr"}, "hr/a.md"),
            ({}, "a.md"),
            ({"external_id": " \u200b"}, "a.md"),
            ({"external_id": unicodedata.normalize("NFD", "phép")}, "phép"),
        ],
    )
    def test_is_what_was_said_or_the_address_or_the_file(self, said: dict[str, Any], expected: str) -> None:
        assert external_id_of(upload(**said)) == expected

    def test_must_come_from_somewhere(self) -> None:
        with pytest.raises(AppError, match="external_id"):
            external_id_of(upload(None, "", "text", department="hr"))

    def test_names_another_document_in_another_company(self) -> None:
        assert document_id_of(ADMIN, "leave") != document_id_of(principal("globex"), "leave")
        assert document_id_of(ADMIN, "leave") == document_id_of(principal(user="minh"), "leave")


class TestContentHash:
    @given(st.binary(max_size=40), st.binary(max_size=40))
    def test_tells_contents_apart(self, one: bytes, other: bytes) -> None:
        same = content_hash(upload(one), DRAFT) == content_hash(upload(other), DRAFT)
        assert same == (one == other)

    @each_case(
        "change",
        [
            {"title": "Phép năm"},
            {"text": "x"},
            {"url": ""},
            {"department": "it"},
            {"scope": "private"},
            {"effective_from": date(2026, 1, 1)},
            {"effective_to": date(2026, 1, 1)},
            {"supersedes": "old"},
            {"authority": "law"},
            {"lang": "en"},
        ],
    )
    def test_tells_fields_apart(self, change: dict[str, Any]) -> None:
        assert content_hash(upload(), DRAFT) != content_hash(upload(), DRAFT.model_copy(update=change))

    def test_counts_the_time_only_when_it_was_named(self) -> None:
        later = DRAFT.model_copy(update={"created_at": datetime(2026, 5, 1, tzinfo=UTC)})
        assert content_hash(upload(), DRAFT) == content_hash(upload(), later)
        named = upload(created_at=DRAFT.created_at)
        assert content_hash(named, DRAFT) != content_hash(named, later)

    @given(st.text(max_size=20), st.text(max_size=20))
    def test_does_not_confuse_a_text_with_a_file(self, file: str, text: str) -> None:
        assume("\ud800" not in file + text)
        as_text = DRAFT.model_copy(update={"text": text})
        assert content_hash(upload(file.encode("utf-8", "ignore")), DRAFT) != content_hash(upload(None), as_text)


class TestCheck:
    def test_lets_a_document_pass(self) -> None:
        Intake("space").check(ADMIN, upload(department="hr", scope="public"))
        Intake("space").check(ADMIN, upload(None, text="Nghỉ phép."))

    @each_case(
        ("refused", "status", "named"),
        [
            (upload(b""), 422, "file"),
            (upload(b"\x7fELF\x02\x01\x01" + b"\x00" * 64), 415, "file"),
            (upload(None, text=" \u200b\n"), 422, "text"),
            (upload(department="HR"), 422, "department"),
            (upload(department="../hr"), 422, "department"),
        ],
    )
    def test_names_what_is_wrong(self, refused: Upload, status: int, named: str) -> None:
        with pytest.raises(AppError) as caught:
            Intake("space").check(ADMIN, refused)
        assert (caught.value.status, caught.value.code) == (status, ErrorCode.DOCUMENT_REJECTED)
        assert caught.value.detail.startswith(f"{named}:")

    def test_looks_at_rights_first(self) -> None:
        with pytest.raises(AppError) as caught:
            Intake("space").check(principal(), upload(b""))
        assert (caught.value.status, caught.value.code) == (403, ErrorCode.PERMISSION_DENIED)


class TestReading:
    def test_sees_what_the_bytes_are(self) -> None:
        assert kind_of(upload(b"%PDF-1.7\n%\xe2\xe3\n1 0 obj", "a.md")) is FileKind.PDF
        assert kind_of(upload(None, text="x")) is None

    def test_puts_a_title_on_one_line(self) -> None:
        assert tidy(DRAFT.model_copy(update={"title": " Phép\r\n\u200bnăm\x00 "})).title == "Phép năm"

    def test_takes_a_moment_without_a_zone_as_utc(self) -> None:
        moment = datetime(2026, 1, 1)  # noqa: DTZ001
        assert aware(moment) == DRAFT.created_at and aware(DRAFT.created_at) is DRAFT.created_at


class TestTextChanges:
    @given(lines, lines)
    def test_turn_the_one_into_the_other(self, before: list[str], now: list[str]) -> None:
        changes, is_cut = text_changes("\n".join(before), "\n".join(now))
        old, new = ([line for line in text if line] for text in (before, now))
        assert not is_cut and bool(changes) == (old != new)
        for change in changes:
            assert change.removed or change.added
        kept = len(old) - sum(len(change.removed) for change in changes)
        assert kept == len(new) - sum(len(change.added) for change in changes)

    @each_case("distinct", [11, 100, 120, 1_000, 100_000])
    def test_say_when_there_is_more_than_they_show(self, distinct: int) -> None:
        """Also of tables whose rows are much alike, which is where comparing lines could take for ever."""
        before, now = ("\n".join(str(row * step % distinct) for row in range(20_000)) for step in (7, 13))
        changes, is_cut = text_changes(before, now)
        assert is_cut and len(changes) <= 100
        assert all(len(change.removed) <= 40 and len(change.added) <= 40 for change in changes)


def test_ids_of_documents_do_not_depend_on_who_asks() -> None:
    who = ADMIN.model_copy(update={"user_id": uuid4()})
    assert document_id_of(who, "leave") == document_id_of(ADMIN, "leave")
