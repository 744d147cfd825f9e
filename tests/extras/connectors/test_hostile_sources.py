"""Sources that lie: what they answer leads nowhere else, is never taken for an empty place, and costs no memory."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from app.connectors.definition import Definition, reach_of
from app.connectors.source import Item, ItemRefused, Reach, Source, SourceLost
from app.errors import AppError
from extras.connectors import git
from extras.connectors.git import GIT
from extras.connectors.reaching import hosts_of
from extras.connectors.s3 import S3
from extras.connectors.sitemap import SITEMAP
from extras.connectors.webdav import WEBDAV
from tests.fakes.web_server import _authority, _server_tls
from tests.postgres.served_places import KINDS, Git, Served, served

MULTI = '<d:multistatus xmlns:d="DAV:" xmlns:nc="http://nextcloud.org/ns">{}</d:multistatus>'
FOLDER = (
    "<d:response><d:href>{}</d:href><d:propstat><d:prop><d:resourcetype><d:collection/></d:resourcetype>{}</d:prop>"
    "</d:propstat></d:response>"
)
FILE = "<d:response><d:href>{}</d:href><d:propstat><d:prop><d:getetag>x</d:getetag></d:prop></d:propstat></d:response>"


class Liar(Served):
    """Answers what it is told to, by path; what it is not told, with 404."""

    def __init__(self, folder: Path):
        self.told: dict[str, tuple[str, list[tuple[str, str]], bytes]] = {}
        super().__init__(folder, self._lie)

    def tell(self, path: str, status: str, content: str | bytes = b"", **headers: str) -> None:
        named = [(name.replace("_", "-"), value) for name, value in headers.items()]
        self.told[path] = status, named, content.encode() if isinstance(content, str) else content

    def _lie(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        status, headers, content = self.told.get(environ["PATH_INFO"], ("404 Gone", [], b""))
        start(status, headers)
        return [content]


@pytest.fixture
def liar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Liar]:
    monkeypatch.setattr("extras.connectors.reaching.PAUSES_SECONDS", ())
    place = Liar(tmp_path)
    yield place
    place.close()


def dav(liar: Liar) -> Source:
    return WEBDAV.open(WEBDAV.options.model_validate({"url": f"{liar.address}/d"}), Reach((liar.host,)))


async def listed(source: Source) -> list[Item]:
    try:
        return [item async for item in source.list()]
    finally:
        await source.aclose()


class TestWebdav:
    @pytest.mark.parametrize(
        ("status", "content"),
        [
            ("207 M", MULTI.format(FOLDER.format("/d/", ""))[:-9]),
            ("207 M", "<html/>"),
            ("207 M", MULTI.format("")),
            ("207 M", MULTI.format(FILE.format("/d/a.md"))),
            ("207 M", f"<!DOCTYPE x [<!ENTITY e 'x'>]>{MULTI.format(FOLDER.format('/d/', ''))}"),
            ("200 OK", MULTI.format(FOLDER.format("/d/", ""))),
            ("401 Who", ""),
            ("404 Gone", ""),
            ("503 Away", ""),
        ],
    )
    async def test_a_listing_that_is_none_is_a_loss(self, liar: Liar, status: str, content: str) -> None:
        liar.tell("/d/", status, content)
        with pytest.raises(SourceLost):
            await listed(dav(liar))

    async def test_a_redirect_is_not_followed(self, liar: Liar) -> None:
        liar.tell("/d/", "302 Found", Location=f"{liar.address}/e/")
        liar.tell("/e/", "207 M", MULTI.format(FOLDER.format("/d/", "")))
        with pytest.raises(SourceLost, match="302"):
            await listed(dav(liar))

    async def test_addresses_of_a_listing_lead_nowhere(self, liar: Liar) -> None:
        own = FOLDER.format("/d/", "")
        paths = ("/d/../etc/a.md", "/etc/a.md", "http://elsewhere.example/d/x/y.md", "/d/%2e%2e/a.md", "/d/x%2Fy.md")
        loop = FOLDER.format("/d/sub/", "") + FOLDER.format("/d/sub/../", "")
        liar.tell("/d/", "207 M", MULTI.format(own + "".join(map(FILE.format, paths)) + loop))
        liar.tell("/d/sub/", "403 No")
        found = await listed(dav(liar))
        assert [item.source_id for item in found if item.is_readable and not item.source_id.startswith("/")] == []
        assert [item.source_id for item in found if not item.is_readable] == ["sub"]

    async def test_a_share_of_a_folder_holds_below_it(self, liar: Liar) -> None:
        sharees = "<nc:sharees>{}</nc:sharees>"
        one = "<nc:sharee><nc:type>1</nc:type><nc:id>hr</nc:id></nc:sharee>"
        two = "<nc:sharee><nc:type>3</nc:type></nc:sharee><nc:sharee><nc:type>99</nc:type><nc:id>x</nc:id></nc:sharee>"
        liar.tell("/d/", "207 M", MULTI.format(FOLDER.format("/d/", "") + FOLDER.format("/d/s/", sharees.format(one))))
        below = FOLDER.format("/d/s/", sharees.format(one + two)) + FILE.format("/d/s/a.md")
        liar.tell("/d/s/", "207 M", MULTI.format(below))
        source = dav(liar)
        (item,) = await listed(source)
        assert item.source_id == "s/a.md" and await source.access(item) == {"group:hr", "link", "other:x"}

    async def test_a_file_without_end_is_refused(self, liar: Liar) -> None:
        liar.tell("/d/a.md", "200 OK", b"x" * 5_000_000)
        with pytest.raises(ItemRefused):
            await dav(liar).fetch(Item("a.md", size=1), 1_000)
        with pytest.raises(ItemRefused):
            await dav(liar).fetch(Item("ễ" * 400), 1_000)


class TestSitemap:
    def site(self, liar: Liar) -> Source:
        return SITEMAP.open(SITEMAP.options.model_validate({"url": f"{liar.address}/map.xml"}), Reach((liar.host,)))

    async def test_maps_that_name_each_other_are_read_once(self, liar: Liar) -> None:
        maps = "".join(f"<sitemap><loc>{liar.address}/{name}.xml</loc></sitemap>" for name in ("map", "b"))
        index = f"<sitemapindex>{maps}</sitemapindex>"
        page = f"<url><loc>{liar.address}/a/</loc><lastmod>2026</lastmod></url>"
        pages = f"<urlset>{page}<url><loc>http://[::1]/x</loc></url></urlset>"
        liar.tell("/map.xml", "200 OK", index, Content_Type="text/xml")
        liar.tell("/b.xml", "200 OK", pages, Content_Type="application/xml")
        (item,) = await listed(self.site(liar))
        assert (item.source_id, item.tag, item.named) == (f"{liar.host}/a/index", "2026", "index.html")

    @pytest.mark.parametrize("content", ["<urlset>", "<html/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><urlset/>"])
    async def test_a_map_that_is_none_is_a_loss(self, liar: Liar, content: str) -> None:
        liar.tell("/map.xml", "200 OK", content, Content_Type="text/xml")
        with pytest.raises(SourceLost):
            await listed(self.site(liar))


class TestGit:
    @pytest.fixture
    def place(self, tmp_path: Path) -> Iterator[Git]:
        made = Git(tmp_path)
        yield made
        made.close()

    def opened(self, place: Git, tmp_path: Path, **options: str) -> Source:
        wanted = GIT.options.model_validate({**place.source, **options})
        return GIT.open(wanted, Reach((place.host,), (), "a secret of the source", tmp_path / "copy"))

    async def test_links_and_foreign_repositories_are_no_documents(self, place: Git, tmp_path: Path) -> None:
        (place.folder / "link.md").symlink_to("/etc/passwd")
        place.run("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module.md")
        place.write('sub/Đặc biệt "x".md', "# A")
        source = self.opened(place, tmp_path)
        assert len(await source.changes()) == 40
        (item,) = await listed(source)
        assert (item.source_id, await source.fetch(item, 10)) == ('sub/Đặc biệt "x".md', b"# A")
        assert not list((tmp_path / "copy").rglob("*.md"))
        with pytest.raises(ItemRefused):
            await source.fetch(item, 2)
        below = self.opened(place, tmp_path, path="sub", web="https://git.example.com/b")
        await below.changes()
        (item,) = await listed(below)
        assert item.url == "https://git.example.com/b/sub/%C4%90%E1%BA%B7c%20bi%E1%BB%87t%20%22x%22.md"

    async def test_a_wrong_password_a_wrong_branch_and_too_much_are_losses(
        self, place: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place.write("a.md", "# A")
        with pytest.raises(SourceLost, match="may the user read it"):
            await self.opened(place, tmp_path, user="other").changes()
        with pytest.raises(SourceLost):
            await self.opened(place, tmp_path, branch="none").changes()
        monkeypatch.setattr(git, "FETCH_SECONDS", 0.001)
        with pytest.raises(SourceLost, match="took longer"):
            await self.opened(place, tmp_path).changes()
        monkeypatch.setattr(git, "FETCH_SECONDS", 60.0)
        place.write("big.md", b"".join(number.to_bytes(4) for number in range(100_000, 200_000)))
        monkeypatch.setattr(git, "MOST_PACK_BLOCKS", 64)
        with pytest.raises(SourceLost):
            await self.opened(place, tmp_path).changes()

    async def test_a_folder_is_read_where_the_operator_says_so(self, place: Git, tmp_path: Path) -> None:
        place.write("a.md", "# A")
        options = GIT.options.model_validate({"url": str(place.folder)})
        (tmp_path / "elsewhere").symlink_to(place.folder)
        for folders in ((), (tmp_path / "other",)):
            with pytest.raises(AppError, match="does not let this company read"):
                GIT.open(options, Reach((), folders, "", tmp_path / "c"))
        led = GIT.options.model_validate({"url": f"{tmp_path / 'copy'}/../elsewhere"})
        with pytest.raises(AppError):
            GIT.open(led, Reach((), (tmp_path / "copy",), "", tmp_path / "c"))
        source = GIT.open(options, Reach((), (tmp_path,), "", tmp_path / "c"))
        await source.changes()
        assert [item.source_id for item in await listed(source)] == ["a.md"]


class TestReach:
    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.1/",
            "http://169.254.169.254/",
            "http://x@a.example/",
            "http://b.example/",
            "https://a.example:81/",
        ],
    )
    def test_is_what_the_operator_named(self, url: str) -> None:
        with pytest.raises(AppError, match="does not let this company reach"):
            hosts_of(Reach(("a.example", ".c.example")), url)
        hosts_of(Reach(("a.example",)), "https://a.example/x")

    async def test_of_a_bucket_uses_no_keys_of_the_machine(self, liar: Liar, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of-the-machine")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setattr("extras.connectors.s3.ATTEMPTS", 1)
        seen: list[str] = []
        lie = liar._application

        def noting(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
            seen.append(environ.get("HTTP_AUTHORIZATION", ""))
            return lie(environ, start)

        liar._application = noting
        options = S3.options.model_validate({"endpoint": liar.address, "bucket": "open-bucket"})
        with pytest.raises(SourceLost, match="404"):
            await listed(S3.open(options, Reach((liar.host,))))
        assert seen == [""]


class TestTls:
    @pytest.mark.parametrize("kind", KINDS)
    async def test_believes_the_authorities_of_the_machine_alone(
        self, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("extras.connectors.reaching.PAUSES_SECONDS", ())
        monkeypatch.setattr("extras.connectors.s3.ATTEMPTS", 1)
        monkeypatch.setattr(Served, "tls", _server_tls(("localhost",)))
        (tmp_path / "authority.pem").write_bytes(_authority()[1].public_bytes(Encoding.PEM))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
        with served(kind, tmp_path) as place:
            place.write("a.md", "# A")
            own = {"name": "x", "kind": kind, "source": place.source, "secret": place.secret}
            definition = Definition.model_validate({**own, "access": [{"scope": "public"}]})
            found, options = definition.opened_kind()
            reach = reach_of(place.grant, definition, tmp_path / "copy")
            believing = found.open(options, reach)
            await believing.changes()
            assert place.named("a.md") in [item.source_id for item in await listed(believing)]
            monkeypatch.delenv("SSL_CERT_FILE")
            doubting = found.open(options, reach)
            with pytest.raises(SourceLost):
                await doubting.changes()
                await listed(doubting)
