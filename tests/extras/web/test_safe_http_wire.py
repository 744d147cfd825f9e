import asyncio
import gzip
import time
import zlib
from collections.abc import Awaitable, Callable

import pytest
from httpcore2 import AsyncNetworkStream, ConnectError

from extras.web.safe_http import AllowedHosts, Fetched, Fetcher, FetchLimits, FetchRefused, Refusal, SystemResolver
from tests.fakes.web_server import (
    SITE_ADDRESS,
    Answer,
    Asked,
    Names,
    Reply,
    Site,
    Wire,
    begin,
    moved,
    page,
    trusting_tls,
    web_site,
    zipped,
)
from tests.limits import limit
from tests.unit.tools.lag import LoopLag

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("settled_heap")]

HTML = frozenset(("text/html",))
SITE, OTHER = "site.example", "other.example"
LIMITS = FetchLimits(
    total_seconds=1.0, connect_seconds=0.5, header_bytes=8_192, wire_bytes=200_000, content_bytes=300_000
)
TLS_NAMES = (SITE, "www.site.example")


def guard(
    wire: Wire,
    *,
    names: Names | None = None,
    hosts: frozenset[str] = frozenset({SITE, OTHER, ".site.example"}),
    private: frozenset[str] = frozenset(),
    limits: FetchLimits = LIMITS,
) -> Fetcher:
    known = names or Names(dict.fromkeys((SITE, OTHER, "www.site.example"), SITE_ADDRESS))
    return Fetcher(AllowedHosts(hosts, private), known, limits, connect=wire, tls=trusting_tls())


async def fetched(answers: dict[str, Answer | Reply], url: str = f"http://{SITE}/", **changes: object) -> Fetched:
    async with web_site(answers, tls_names=TLS_NAMES) as site:
        return await guard(Wire(site), **changes).fetch(url, media_types=HTML)  # type: ignore[arg-type]


async def refused(answers: dict[str, Answer | Reply], url: str = f"http://{SITE}/", **changes: object) -> Refusal:
    """Why it was refused; asserts that it took no longer than its limit and a second, and did not hold up the loop."""
    async with web_site(answers, tls_names=TLS_NAMES) as site:
        client = guard(Wire(site), **changes)  # type: ignore[arg-type]
        async with LoopLag() as lag:
            began = time.monotonic()
            with pytest.raises(FetchRefused) as told:
                await client.fetch(url, media_types=HTML)
            assert time.monotonic() - began < client.limits.total_seconds + limit(1)
        assert lag.longest_seconds < limit(0.1)
        return told.value.reason


def talking(*pieces: bytes, again: bytes = b"", pause: float = 0.0) -> Answer:
    """Writes the pieces, then `again` without end."""

    async def talk(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        while again:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(pause)

    return lambda _: talk


class TestFetching:
    async def test_gets_a_page(self) -> None:
        got = await fetched({"/": page("<p>Xin chào</p>")}, f"http://{SITE}/a?b=c")
        assert (got.status, got.media_type, got.charset) == (200, "text/html", "utf-8")
        assert got.content.decode() == "<p>Xin chào</p>"
        assert [str(hop) for hop in got.hops] == [f"http://{SITE}/a?b=c"]

    async def test_unpacks_gzip(self) -> None:
        assert (await fetched({"/": zipped(b"<p>packed</p>")})).content == b"<p>packed</p>"

    async def test_follows_redirects_and_says_where_it_came_out(self) -> None:
        answers: dict[str, Answer | Reply] = {
            "/a": moved("/b?c=1"), "/b": moved(f"http://{OTHER}/d", 308), "/d": page("there"),
        }  # fmt: skip
        got = await fetched(answers, f"http://{SITE}/a")
        assert [str(hop) for hop in got.hops] == [
            f"http://{SITE}/a", f"http://{SITE}/b?c=1", f"http://{OTHER}/d",
        ]  # fmt: skip
        assert str(got.address) == f"http://{OTHER}/d"

    async def test_gives_other_statuses_without_their_body(self) -> None:
        got = await fetched({"/": Reply(b"no such page", "text/plain", 404)})
        assert (got.status, got.content) == (404, b"")

    async def test_sends_nothing_about_who_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, "http://127.0.0.1:9/")
        cookie = Reply(b"", status=302, headers=(("Location", "/next"), ("Set-Cookie", "a=b; Path=/")))
        async with web_site({"/first": cookie, "/next": page("done")}) as site:
            wire = Wire(site)
            await guard(wire).fetch(f"http://{SITE}/first", media_types=HTML, language="vi")
            assert [asked.target for asked in site.asked] == ["/first", "/next"]
            for asked in site.asked:
                assert set(asked.headers) == {
                    "host", "user-agent", "accept", "accept-encoding", "accept-language", "connection",
                }  # fmt: skip
                assert asked.method == "GET"
            assert wire.dialled == [(SITE_ADDRESS, 80)] * 2

    async def test_posts_only_where_it_is_told_to_and_never_on(self) -> None:
        async with web_site({"/api": page("{}"), "/on": moved("/api", 307)}) as site:
            client = guard(Wire(site))
            await client.fetch(f"http://{SITE}/api", media_types=HTML, body=b'{"a": 1}')
            assert (site.asked[0].method, site.asked[0].body) == ("POST", b'{"a": 1}')
            with pytest.raises(FetchRefused) as told:
                await client.fetch(f"http://{SITE}/on", media_types=HTML, body=b'{"a": 1}')
            assert told.value.reason is Refusal.TOO_MANY_REDIRECTS
            assert [asked.target for asked in site.asked] == ["/api", "/on"]


class TestDialling:
    async def test_dials_what_was_checked_though_the_name_leads_elsewhere_the_second_time(self) -> None:
        names = Names({SITE: [(SITE_ADDRESS,), ("127.0.0.1",)]})
        async with web_site({"/": page("once")}) as site:
            wire = Wire(site)
            client = guard(wire, names=names)
            await client.fetch(f"http://{SITE}/", media_types=HTML)
            assert (names.asked, wire.dialled) == ([SITE], [(SITE_ADDRESS, 80)])
            with pytest.raises(FetchRefused) as told:
                await client.fetch(f"http://{SITE}/", media_types=HTML)
            assert told.value.reason is Refusal.PRIVATE_ADDRESS
            assert wire.dialled == [(SITE_ADDRESS, 80)]

    async def test_checks_again_at_a_redirect_to_the_same_name(self) -> None:
        names = Names({SITE: [(SITE_ADDRESS,), ("169.254.169.254",)]})
        async with web_site({"/": moved("/again")}) as site:
            wire = Wire(site)
            with pytest.raises(FetchRefused) as told:
                await guard(wire, names=names).fetch(f"http://{SITE}/", media_types=HTML)
            assert told.value.reason is Refusal.PRIVATE_ADDRESS
            assert wire.dialled == [(SITE_ADDRESS, 80)]

    async def test_tries_the_next_checked_address(self) -> None:
        names = Names({SITE: [("9.9.9.11", SITE_ADDRESS)]})
        async with web_site({"/": page("second")}) as site:
            wire = Wire(site)
            await guard(wire, names=names).fetch(f"http://{SITE}/", media_types=HTML)
            assert wire.dialled == [("9.9.9.11", 80), (SITE_ADDRESS, 80)]

    async def test_a_private_host_is_read_where_the_operator_named_it(self) -> None:
        names = Names({"wiki.site.example": "127.0.0.1", "other.site.example": "127.0.0.1"})
        async with web_site({"/": page("inside")}) as site:
            wire = Wire(site, leads=("127.0.0.1",))
            client = guard(wire, names=names, private=frozenset({"wiki.site.example"}))
            assert (await client.fetch("http://wiki.site.example/", media_types=HTML)).content == b"inside"
            with pytest.raises(FetchRefused):
                await client.fetch("http://other.site.example/", media_types=HTML)
            assert wire.dialled == [("127.0.0.1", 80)]

    @pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "100.100.100.200", "0.0.0.0", "224.0.0.1"])
    async def test_but_never_where_keys_are_handed_out(self, address: str) -> None:
        names = Names({SITE: address})
        reason = await refused({"/": page("keys")}, names=names, private=frozenset({SITE}))
        assert reason is Refusal.PRIVATE_ADDRESS

    async def test_secured_pages_are_verified_by_name(self) -> None:
        got = await fetched({"/": page("secured")}, f"https://{SITE}/")
        assert got.content == b"secured"
        assert await refused({"/": page("secured")}, f"https://{OTHER}/") is Refusal.TLS

    async def test_never_goes_from_https_to_http(self) -> None:
        answers: dict[str, Answer | Reply] = {"/": moved(f"http://{SITE}/plain"), "/plain": page("plain")}
        assert await refused(answers, f"https://{SITE}/") is Refusal.DOWNGRADE

    async def test_the_machines_own_resolver_is_judged_like_any_other(self) -> None:
        resolver = SystemResolver()
        found = await resolver("localhost")
        assert set(found) <= {"127.0.0.1", "::1"}
        client = Fetcher(AllowedHosts({"localhost"}), resolver, LIMITS, tls=trusting_tls())
        with pytest.raises(FetchRefused) as told:
            await client.fetch("http://localhost/", media_types=HTML)
        assert told.value.reason is Refusal.PRIVATE_ADDRESS
        resolver.close()

    async def test_dials_by_itself_where_nobody_else_does(self) -> None:
        async with web_site({"/": page("dialled")}) as site:
            hosts = AllowedHosts({f"{SITE}:{site.port}"}, {SITE})
            client = Fetcher(hosts, Names({SITE: "127.0.0.1"}), LIMITS, tls=trusting_tls())
            got = await client.fetch(f"http://{SITE}:{site.port}/", media_types=HTML)
            assert got.content == b"dialled"
            assert site.asked[0].host == f"{SITE}:{site.port}"

    async def test_nobody_there(self) -> None:
        names = Names({SITE: "9.9.9.99"})
        assert await refused({}, names=names) is Refusal.UNREACHABLE

    async def test_cancelling_closes_the_connection(self) -> None:
        for secured in (False, True):
            async with web_site({"/": talking(begin(), again=b" ", pause=0.01)}, tls_names=TLS_NAMES) as site:
                client = guard(Wire(site), limits=LIMITS.model_copy(update={"total_seconds": 60.0}))
                url = f"http{'s' if secured else ''}://{SITE}/"
                task = asyncio.create_task(client.fetch(url, media_types=HTML))
                await site.opened.wait()
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                async with asyncio.timeout(2):
                    await site.closed.wait()

    async def test_cancelling_a_handshake_closes_the_connection(self) -> None:
        arrived, gone = asyncio.Event(), asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            arrived.set()
            while await reader.read(4096):
                pass
            gone.set()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        deaf = Site(tls_port=server.sockets[0].getsockname()[1])
        task = asyncio.create_task(guard(Wire(deaf)).fetch(f"https://{SITE}/", media_types=HTML))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(2):
            await gone.wait()
        server.close()


class TestLimits:
    async def test_slow_drip(self) -> None:
        assert await refused({"/": talking(begin(), again=b".", pause=0.02)}) is Refusal.TIME_LIMIT

    async def test_headers_that_drip(self) -> None:
        answer = talking(b"HTTP/1.1 200 OK\r\n", again=b"a: b\r\n", pause=0.02)
        assert await refused({"/": answer}) is Refusal.TIME_LIMIT

    async def test_silence(self) -> None:
        assert await refused({"/": talking(again=b"", pause=0)}) is Refusal.PROTOCOL

        async def silent(_: asyncio.StreamWriter) -> None:
            await asyncio.sleep(30)

        assert await refused({"/": lambda _: silent}) is Refusal.TIME_LIMIT

    async def test_endless_body(self) -> None:
        assert await refused({"/": talking(begin(), again=b"x" * 65_536)}) is Refusal.TOO_LARGE

    @pytest.mark.parametrize(("size", "reason"), [(1, Refusal.PROTOCOL), (1_000, Refusal.TOO_LARGE)])
    async def test_endless_chunks(self, size: int, reason: Refusal) -> None:
        head = begin().replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = f"{size:x}\r\n{'x' * size}\r\n".encode()
        assert await refused({"/": talking(head, again=chunk * 1_000)}) is reason

    async def test_endless_chunk_extension(self) -> None:
        head = begin().replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n1;")
        assert await refused({"/": talking(head, again=b"a" * 4_096)}) in (Refusal.TOO_LARGE, Refusal.PROTOCOL)

    @pytest.mark.parametrize("layers", [1, 2])
    async def test_gzip_bomb(self, layers: int) -> None:
        packed = bytes(200_000_000)
        for _ in range(layers):
            packed = gzip.compress(packed)
        encoding = ", ".join(["gzip"] * layers)
        bomb = Reply(packed, "text/html", headers=(("Content-Encoding", encoding),))
        assert await refused({"/": bomb}) is (Refusal.TOO_LARGE if layers == 1 else Refusal.ENCODING)

    async def test_a_limit_in_the_middle_of_what_is_packed(self) -> None:
        most = LIMITS.content_bytes
        assert len((await fetched({"/": zipped(b"x" * most)})).content) == most
        assert await refused({"/": zipped(b"x" * (most + 1))}) is Refusal.TOO_LARGE

    async def test_header_flood(self) -> None:
        answer = talking(b"HTTP/1.1 200 OK\r\n", again=b"x-a: " + b"b" * 1_000 + b"\r\n")
        assert await refused({"/": answer}) is Refusal.HEADERS_TOO_LARGE

    async def test_one_endless_header(self) -> None:
        assert await refused({"/": talking(b"HTTP/1.1 200 OK\r\nx: ", again=b"y" * 1_000)}) is Refusal.HEADERS_TOO_LARGE

    async def test_flood_of_provisional_responses(self) -> None:
        assert await refused({"/": talking(again=b"HTTP/1.1 103 Early\r\n\r\n")}) is Refusal.HEADERS_TOO_LARGE

    async def test_redirect_loop(self) -> None:
        async with web_site({"/": moved("/")}) as site:
            with pytest.raises(FetchRefused) as told:
                await guard(Wire(site)).fetch(f"http://{SITE}/", media_types=HTML)
            assert told.value.reason is Refusal.TOO_MANY_REDIRECTS
            assert len(site.asked) == 1 + LIMITS.redirects

    async def test_slow_redirects_share_one_limit(self) -> None:
        async def slowly(writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.4)
            writer.write(moved("/").on_the_wire())
            await writer.drain()

        assert await refused({"/": lambda _: slowly}) is Refusal.TIME_LIMIT

    async def test_no_longer_than_the_caller_has(self) -> None:
        async with web_site({"/": talking(begin(), again=b".", pause=0.02)}) as site:
            began = time.monotonic()
            with pytest.raises(FetchRefused) as told:
                await guard(Wire(site)).fetch(f"http://{SITE}/", media_types=HTML, seconds=0.2)
            assert told.value.reason is Refusal.TIME_LIMIT
            assert time.monotonic() - began < limit(0.9)

    async def test_a_resolver_that_hangs(self) -> None:
        class Hanging(Names):
            async def __call__(self, host: str) -> tuple[str, ...]:
                await asyncio.sleep(30)
                return ()

        assert await refused({}, names=Hanging({})) is Refusal.UNRESOLVED

    async def test_a_connection_that_hangs(self) -> None:
        class Hanging(Wire):
            async def __call__(self, address: str, port: int, seconds: float) -> AsyncNetworkStream:
                await asyncio.sleep(30)
                raise ConnectError

        client = guard(Hanging(Site()))
        with pytest.raises(FetchRefused) as told:
            await client.fetch(f"http://{SITE}/", media_types=HTML)
        assert told.value.reason is Refusal.TIME_LIMIT


ODD: dict[str, tuple[bytes, Refusal]] = {
    "no HTTP": (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", Refusal.PROTOCOL),
    "nothing": (b"", Refusal.PROTOCOL),
    "half a body": (begin(length=100) + b"short", Refusal.PROTOCOL),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", Refusal.PROTOCOL),
    "two types": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Type: image/png\r\nContent-Length: 0\r\n\r\n",
        Refusal.PROTOCOL,
    ),
    "two locations": (
        b"HTTP/1.1 302 Go\r\nLocation: /a\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n",
        Refusal.PROTOCOL,
    ),
    "no location": (b"HTTP/1.1 302 Go\r\nContent-Length: 0\r\n\r\n", Refusal.MALFORMED),
    "another protocol": (b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", Refusal.PROTOCOL),
    "an image": (b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nx", Refusal.CONTENT_TYPE),
    "no type": (b"HTTP/1.1 200 OK\r\n\r\nx", Refusal.CONTENT_TYPE),
    "brotli": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\nx", Refusal.ENCODING),
    "no gzip": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\nx", Refusal.PROTOCOL),
    "half gzip": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
        + gzip.compress(zlib.compress(bytes(range(256)) * 20))[:40],
        Refusal.PROTOCOL,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
async def test_what_makes_no_sense_is_refused(case: str) -> None:
    said, reason = ODD[case]
    assert await refused({"/": talking(said)}) is reason


async def test_fetches_wait_for_their_turn() -> None:
    at_work: list[int] = []

    def counted(site: Site) -> Callable[[Asked], Callable[[asyncio.StreamWriter], Awaitable[None]]]:
        async def talk(writer: asyncio.StreamWriter) -> None:
            at_work.append(site.open_connections)
            await asyncio.sleep(0.02)
            writer.write(page("x").on_the_wire())
            await writer.drain()

        return lambda _: talk

    async with web_site() as site:
        site.answers["/"] = counted(site)
        client = guard(Wire(site), limits=LIMITS.model_copy(update={"connections": 2, "total_seconds": 10.0}))
        await asyncio.gather(*(client.fetch(f"http://{SITE}/", media_types=HTML) for _ in range(8)))
    assert max(at_work) <= 3
