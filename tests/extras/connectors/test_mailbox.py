"""A mailbox, beyond what the suite of all connectors holds it to: attachments, new numbers, and mails that lie."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.connectors.source import ItemRefused, Reach, SourceLost
from app.errors import AppError
from extras.connectors.mailbox import MAILBOX, MailboxSource, _encoded, _named, _Row
from tests.postgres.mail_place import _PASSWORD, HAS_DOVECOT, Mailbox

MOST = 1_000_000


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Mailbox]:
    if not HAS_DOVECOT:
        pytest.skip("no Dovecot here, and none could be fetched: make dovecot")
    found = Mailbox(tmp_path)
    yield found
    found.close()


def opened(place: Mailbox, cache: Path, **more: str) -> MailboxSource:
    source: MailboxSource = MAILBOX.open(
        MAILBOX.options.model_validate(place.source | more), Reach((place.host,), secret=_PASSWORD, cache_dir=cache)
    )  # type: ignore[assignment]
    return source


async def read(place: Mailbox, cache: Path) -> dict[str, tuple[str, bytes]]:
    """Everything that is listed, with tag and content."""
    source = opened(place, cache)
    try:
        listed = [item async for item in source.list()]
        return {item.source_id: (item.tag, await source.fetch(item, MOST)) for item in listed}
    finally:
        await source.aclose()


class TestMailbox:
    async def test_gives_mails_and_what_is_attached_to_them(self, place: Mailbox, tmp_path: Path) -> None:
        place.append("a", "See the rules.", {"rules.md": b"# Rules", "../x/.hidden": b"y"}, subject="Rules")
        place.append("b", "Nothing more.", {})
        found = await read(place, tmp_path)
        assert place.fetches == 3  # "a" for the listing and all its files, "a" and "b" as they came
        assert list(found) == [
            "a@example.com.eml",
            "a@example.com/1-rules.md",
            "a@example.com/2-x_.hidden",
            "b@example.com.eml",
        ]
        assert found["a@example.com/1-rules.md"][1] == b"# Rules"
        assert b"Subject: Rules" in found["a@example.com.eml"][1]

    async def test_fetches_for_a_listing_only_what_is_new(self, place: Mailbox, tmp_path: Path) -> None:
        for name in ("a", "b"):
            place.append(name, "See the rules.", {"rules.md": name.encode()})
        before = await read(place, tmp_path)
        source, fetches = opened(place, tmp_path), place.fetches
        assert [item.source_id async for item in source.list()] == list(before) and place.fetches == fetches
        await source.aclose()
        place.number_anew()
        after = await read(place, tmp_path)
        assert {name: content for name, (_, content) in after.items()} == {
            name: content for name, (_, content) in before.items()
        }
        assert all(after[name][0] != before[name][0] for name in before)

    async def test_a_mail_that_says_the_id_of_another_does_not_take_its_place(
        self, place: Mailbox, tmp_path: Path
    ) -> None:
        place.append("a", "The first.", {})
        place.append("a", "A forger.", {})
        found = await read(place, tmp_path)
        assert len(found) == 2 and b"The first." in found["a@example.com.eml"][1]

    async def test_leaves_no_mark(self, place: Mailbox, tmp_path: Path) -> None:
        place.append("a", "The first.", {})
        await read(place, tmp_path)
        _, (flags,) = place._own.fetch("1", "(FLAGS)")
        assert isinstance(flags, bytes) and b"Seen" not in flags

    @pytest.mark.parametrize("more", [{"user": "stranger"}, {"folder": "Elsewhere"}])
    async def test_is_lost_where_it_may_not_look(self, place: Mailbox, tmp_path: Path, more: dict[str, str]) -> None:
        source = opened(place, tmp_path, **more)
        with pytest.raises(SourceLost):
            _ = [item async for item in source.list()]
        await source.aclose()

    async def test_a_mail_that_is_gone_is_refused(self, place: Mailbox, tmp_path: Path) -> None:
        place.append("a", "The first.", {})
        source = opened(place, tmp_path)
        (item,) = [item async for item in source.list()]
        with pytest.raises(ItemRefused, match="larger"):
            await source.fetch(item, 10)
        place.remove("a")
        with pytest.raises(ItemRefused):
            await source.fetch(item, MOST)
        await source.aclose()


def lying(listing: bytes) -> Iterator[str]:
    """The host of a server that lets everybody in, and gives this where a listing of two mails is asked for."""
    server = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        client, _ = server.accept()
        with client, client.makefile("rb") as heard:
            client.sendall(b"* OK ready\r\n")
            for line in heard:
                tag, _, asked = line.strip().partition(b" ")
                says = {b"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n", b"FETCH": listing}
                says[b"EXAMINE"] = b"* 2 EXISTS\r\n* OK [UIDVALIDITY 7] ok\r\n"
                client.sendall(says.get(asked.partition(b" ")[0], b"") + tag + b" OK done\r\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield f"localhost:{server.getsockname()[1]}"
    thread.join()
    server.close()


ROW = b"* 1 FETCH (UID 1 FLAGS () RFC822.SIZE 9 BODY[HEADER.FIELDS (MESSAGE-ID CONTENT-TYPE)] {%d}\r\n%s)\r\n"


class TestLies:
    @pytest.mark.parametrize(
        "listing",
        [b"", ROW % (4, b"\r\n\r\n"), (ROW % (4, b"\r\n\r\n")) * 2, ROW % (10**12, b""), b"* nonsense\r\n\xff\r\n"],
        ids=["nothing", "half", "twice", "endless", "nonsense"],
    )
    async def test_are_taken_for_no_listing(self, listing: bytes, tmp_path: Path) -> None:
        for host in lying(listing):
            options = MAILBOX.options.model_validate({"url": f"imap://{host}", "user": "a"})
            source = MAILBOX.open(options, Reach((host,), cache_dir=tmp_path))
            with pytest.raises(SourceLost):
                _ = [item async for item in source.list()]
            await source.aclose()


class TestNames:
    def test_lead_nowhere(self) -> None:
        told = ["<../../etc/passwd>", "<.hidden@x>", "", "<a b\u202e\x00@x>", "<é@x>"]
        rows = [_Row(at, 1, frozenset(), one, True) for at, one in enumerate(told, 1)]
        assert [mail.name for mail in _named(rows)] == [
            "etc_passwd.eml", "hidden@x.eml", "mail-3.eml", "a_b_@x.eml", "é@x.eml"
        ]  # fmt: skip

    def test_of_folders_are_written_as_the_protocol_does(self) -> None:
        assert (_encoded("Hộp thư & A"), _encoded("INBOX")) == (
            "H&Htk-p th&AbA- &- A",
            "INBOX",
        )

    def test_of_hosts_need_their_port(self) -> None:
        options = MAILBOX.options.model_validate({"url": "imaps://mail.example.com", "user": "a"})
        with pytest.raises(AppError):
            MAILBOX.open(options, Reach(("mail.example.com",)))
        MAILBOX.open(options, Reach(("mail.example.com:993",)))
