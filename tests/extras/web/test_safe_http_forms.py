import asyncio
import re
import time
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extras.web.safe_http import AllowedHosts, Fetcher, FetchLimits, FetchRefused, Refusal, is_public, read_address
from tests.extras.web.url_forms import FORMS, LEADS, SITE
from tests.fakes.web_server import SITE_ADDRESS, Asked, Names, Reply, Site, Wire, moved, page, trusting_tls, web_site
from tests.limits import limit
from tests.measured import measured
from tests.unit.tools.lag import LoopLag

pytestmark = pytest.mark.usefixtures("settled_heap")

HTML = frozenset(("text/html",))
LIMITS = FetchLimits(total_seconds=2.0, connect_seconds=1.0, connections=100)


def hop(asked: Asked) -> Reply:
    """``/hop/2?to=…`` leads to ``/hop/1?to=…``, and that to where `to` says, letter by letter."""
    number = asked.path.removeprefix("/hop/")
    if not number.isdecimal():
        return page("somewhere else on the site")
    left = int(number)
    to = asked.query.get("to", "")
    return moved(to if left <= 1 else f"/hop/{left - 1}?to={quote(to, safe='')}")


@pytest.fixture(scope="module")
async def site() -> AsyncIterator[Site]:
    async with web_site({"/hop/": hop, "/": page("<p>hello</p>")}) as running:
        yield running


def fetcher(wire: Wire, limits: FetchLimits = LIMITS) -> Fetcher:
    names = Names({SITE: SITE_ADDRESS, **{name: (found,) for name, found in LEADS.items()}})
    return Fetcher(AllowedHosts({SITE, ".inside.example"}), names, limits, connect=wire, tls=trusting_tls())


async def ended(guard: Fetcher, url: str) -> tuple[Refusal | None, float]:
    """How a fetch ends, and after how many seconds; None = something was fetched."""
    began = time.monotonic()
    try:
        await guard.fetch(url, media_types=HTML)
    except FetchRefused as refused:
        return refused.reason, time.monotonic() - began
    return None, time.monotonic() - began


class TestForms:
    def test_there_are_more_than_a_hundred_and_twenty(self) -> None:
        assert len(FORMS) >= 200

    async def test_none_is_looked_up_or_dialled_directly(self, site: Site) -> None:
        for form in FORMS:
            wire = Wire(site)
            reason, seconds = await ended(fetcher(wire), form)
            assert reason is not None, form
            assert wire.dialled == [], form
            assert seconds < LIMITS.total_seconds + limit(1), form
        measured(15, forms=len(FORMS), depths=1)

    @pytest.mark.parametrize("depth", [1, 3])
    async def test_none_is_dialled_behind_redirects(self, site: Site, depth: int) -> None:
        """What a redirect may mean is more than an address: a path on the site is followed, and stays there."""
        allowed, tried = {(SITE_ADDRESS, 80)}, 0
        followed = []
        async with LoopLag() as lag:
            for form in FORMS:
                wire = Wire(site)
                to = quote(form.encode("utf-8", "surrogateescape"), safe="")
                url = f"http://{SITE}/hop/{depth}?to={to}"
                if len(url) > 2_000:
                    continue
                reason, seconds = await ended(fetcher(wire), url)
                assert set(wire.dialled) <= allowed, form
                assert len(wire.dialled) >= depth, form
                assert seconds < LIMITS.total_seconds + limit(1), form
                tried += 1
                if reason is None:
                    followed.append(form)
                elif form.startswith(("http://", "https://")):
                    assert len(wire.dialled) == depth, form
        assert lag.longest_seconds < limit(0.1)
        assert [form for form in followed if re.match(rf"\w+://(?!{SITE})", form)] == []
        measured(15, forms_behind_redirects=tried, depths=1, dials_outside=0)

    async def test_side_by_side_they_do_not_hold_up_the_loop(self, site: Site) -> None:
        wire = Wire(site)
        guard = fetcher(wire)
        async with LoopLag() as lag:
            reasons = await asyncio.gather(*(ended(guard, form) for form in FORMS))
        assert all(reason is not None for reason, _ in reasons)
        assert wire.dialled == []
        assert lag.longest_seconds < limit(0.1)

    async def test_says_why(self, site: Site) -> None:
        rows: list[tuple[str, Refusal]] = [
            ("http://127.0.0.1/", Refusal.IP_LITERAL),
            ("http://2130706433/", Refusal.IP_LITERAL),
            ("http://0x7f.1/", Refusal.IP_LITERAL),
            ("http://0177.0.0.1/", Refusal.IP_LITERAL),
            ("http://[::1]/", Refusal.IP_LITERAL),
            ("http://[::ffff:127.0.0.1]:80/", Refusal.IP_LITERAL),
            ("http://user:secret@site.example/", Refusal.CREDENTIALS),
            ("ftp://site.example/", Refusal.SCHEME),
            ("http://evil.example/", Refusal.HOST_NOT_ALLOWED),
            ("http://inside.example/", Refusal.HOST_NOT_ALLOWED),
            ("http://site.example:8080/", Refusal.PORT),
            ("https://site.example:80/", Refusal.PORT),
            ("http://ten.inside.example/", Refusal.PRIVATE_ADDRESS),
            ("http://mixed.inside.example/", Refusal.PRIVATE_ADDRESS),
            ("http://nobody.inside.example/", Refusal.UNRESOLVED),
            ("http://site.example\\@evil.example/", Refusal.MALFORMED),
        ]
        for form, reason in rows:
            assert (await ended(fetcher(Wire(site)), form))[0] is reason


_HOSTS = st.sampled_from(
    (SITE, "evil.example", "127.0.0.1", "127.1", "0x7f000001", "localhost", "[::1]", "ten.inside.example", "2130706433")
)
_GLUE = st.sampled_from(
    ("", "@", ":", "#", "?", "/", "\\", "//", ".", "%00", "%2e", "\t", " ", "\n", "。", "&", ";", "80")
)
_SCHEMES = st.sampled_from(("http://", "https://", "HTTP://", "http:/", "http:", "//", "", "file://", "ftp://", "\\\\"))


class TestSpellings:
    @given(st.builds("".join, st.tuples(_SCHEMES, _HOSTS, _GLUE, _HOSTS, _GLUE, _GLUE)))
    async def test_no_mixture_dials_anything_but_the_site(self, site: Site, url: str) -> None:
        wire = Wire(site)
        await ended(fetcher(wire), url)
        assert set(wire.dialled) <= {(SITE_ADDRESS, 80), (SITE_ADDRESS, 443)}

    @given(st.text(max_size=60), st.sampled_from(("", "http://", f"http://{SITE}", f"http://{SITE}/", "https://")))
    async def test_nor_does_any_text(self, site: Site, text: str, before: str) -> None:
        wire = Wire(site)
        await ended(fetcher(wire), before + text)
        assert set(wire.dialled) <= {(SITE_ADDRESS, 80), (SITE_ADDRESS, 443)}

    @given(st.text(min_size=1, max_size=80))
    def test_what_is_read_is_read_the_same_again(self, text: str) -> None:
        try:
            address = read_address(f"https://{SITE}/{text}")
        except FetchRefused:
            return
        assert address.host == SITE
        assert str(address).isascii()
        assert read_address(str(address)) == address

    def test_reads_plain_addresses(self) -> None:
        rows: list[tuple[str, str]] = [
            ("HTTP://Site.Example", "http://site.example/"),
            ("https://site.example:443/x#part", "https://site.example/x"),
            ("https://site.example:8443/x?y=1", "https://site.example:8443/x?y=1"),
            ("https://site.example?y=1", "https://site.example/?y=1"),
            ("https://site.example/wiki/Hà_Nội", "https://site.example/wiki/H%C3%A0_N%E1%BB%99i"),
            ("https://site.example/%C3%A0/a@b", "https://site.example/%C3%A0/a@b"),
        ]
        for written, read in rows:
            assert str(read_address(written)) == read

    @given(st.ip_addresses(v=4) | st.ip_addresses(v=6))
    def test_an_address_that_python_calls_private_is_never_public(self, address: object) -> None:
        shown = str(address)
        if is_public(shown):
            assert getattr(address, "is_global", False)
            assert not getattr(address, "is_multicast", True)


class TestAllowedHosts:
    def test_a_dot_means_everything_below(self) -> None:
        hosts = AllowedHosts({".company.example"})
        assert hosts.allows(read_address("https://docs.company.example/"))
        assert hosts.allows(read_address("https://a.b.company.example/"))
        assert not hosts.allows(read_address("https://company.example/"))
        assert not hosts.allows(read_address("https://mycompany.example/"))

    def test_a_port_means_that_port_alone(self) -> None:
        hosts = AllowedHosts({"docs.example:8443"})
        assert hosts.allows(read_address("https://docs.example:8443/"))
        assert not hosts.allows(read_address("https://docs.example/"))

    def test_refuses_entries_that_name_no_host(self) -> None:
        rows: list[str] = ["", ".", "*", "*.example.com", "http://x.example", "10.0.0.1", "a:b", "a:0", "[::1]"]
        for entry in rows:
            with pytest.raises(ValueError, match="names no"):
                AllowedHosts({entry})

    def test_private_hosts_are_named_exactly(self) -> None:
        with pytest.raises(ValueError, match="exactly"):
            AllowedHosts({".company.example"}, {".company.example"})
