"""Real servers as sources of connectors: git's own, moto for S3, WsgiDAV, and a site of static pages."""

import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from xml.sax.saxutils import escape

import boto3
import httpx
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from wsgidav.fs_dav_provider import FilesystemProvider
from wsgidav.wsgidav_app import WsgiDAVApp

from app.connectors.definition import Grant
from tests.postgres.mail_place import HAS_DOVECOT, Mailbox

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_USER, _PASSWORD = "reader", "a secret of the source"


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.0"

    def log_message(self, *_: object) -> None:
        return


class Served:
    """A WSGI application on a port of this machine, which can be made to fail."""

    tls: ssl.SSLContext | None = None
    has_lists, secret = False, ""
    useless, whole_in = 0, 9

    def named(self, name: str) -> str:
        return name

    def __init__(self, folder: Path, application: Application):
        self.folder, self._application = folder, application
        self.left: int | None = None
        self.fetches = 0
        self._server: WSGIServer = make_server("127.0.0.1", 0, self._answer, handler_class=_Quiet)
        if self.tls is not None:
            self._server.socket = self.tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.host = f"localhost:{self._server.server_port}"
        self.address = f"http{'' if self.tls is None else 's'}://{self.host}"
        self.grant = Grant(hosts=(self.host,))

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def lose_after(self, answers: int | None) -> None:
        self.left = answers

    def is_content(self, environ: dict[str, Any]) -> bool:
        return bool(environ["REQUEST_METHOD"] == "GET")

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        if "HTTP_X_TEST" not in environ and self.left is not None:
            self.left -= 1
            if self.left < 0:
                start("500 Lost", [("Content-Length", "0")])
                return [b""]
        self.fetches += "HTTP_X_TEST" not in environ and self.is_content(environ)
        return self._application(environ, start)

    def label(self, group: str) -> str:
        return group

    def share(self, name: str, group: str | None) -> None:
        raise NotImplementedError

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.changed()

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()
        self.changed()

    def changed(self) -> None:
        return


class Git(Served):
    """A repository behind git's own HTTP service, with a password."""

    kind, whole_in = "git", 3

    def __init__(self, folder: Path):
        self._bare = folder / "handbook.git"
        self._changes = 0
        work = folder / "work"
        work.mkdir()
        super().__init__(work, self._backend)
        self.run("init", "-q", "-b", "main")
        self.run("clone", "-q", "--bare", ".", str(self._bare))
        self.source = {"url": f"{self.address}/handbook.git", "branch": "main", "user": _USER}
        self.secret = "git"
        (folder / "password").write_text(f"{_PASSWORD}\n")
        self.grant = Grant(hosts=(self.host,), secrets={"git": f"file:{folder / 'password'}"})

    def run(self, *arguments: str) -> None:
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
        name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(("git", *name, *arguments), cwd=self.folder, env=own, check=True, capture_output=True)

    def changed(self) -> None:
        self._changes += 1
        self.run("add", "-A")
        self.run("commit", "-q", "--allow-empty", "-m", str(self._changes))
        self.run("push", "-q", "--force", str(self._bare), "main")

    @property
    def fetches(self) -> int:
        return 0  # contents come in one pack with the listing

    @fetches.setter
    def fetches(self, _: int) -> None:
        return

    def _backend(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        expected = httpx.BasicAuth(_USER, _PASSWORD)._auth_header
        if environ.get("HTTP_AUTHORIZATION") != expected:
            start("401 Who", [("WWW-Authenticate", 'Basic realm="git"'), ("Content-Length", "0")])
            return [b""]
        passed = ("PATH_INFO", "QUERY_STRING", "REQUEST_METHOD", "CONTENT_TYPE", "HTTP_CONTENT_ENCODING")
        own = {name: environ[name] for name in passed if name in environ}
        own |= {"GIT_PROJECT_ROOT": str(self._bare.parent), "GIT_HTTP_EXPORT_ALL": "1", "PATH": os.environ["PATH"]}
        own |= {"GIT_PROTOCOL": environ.get("HTTP_GIT_PROTOCOL", ""), "REMOTE_USER": _USER}
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        answered = subprocess.run(("git", "http-backend"), input=body, env=own, capture_output=True, check=True).stdout
        head, _, content = answered.partition(b"\r\n\r\n")
        headers = [tuple(line.decode().split(": ", 1)) for line in head.split(b"\r\n")]
        status = next((value for name, value in headers if name == "Status"), "200 OK")
        start(status, [(name, value) for name, value in headers if name != "Status"])
        return [content]


@cache
def _moto() -> Application:
    """One for all tests: it takes seconds to make."""
    application: Application = DomainDispatcherApplication(create_backend_app)
    return application


class S3(Served):
    """A bucket of moto's server; the tag ``readers`` says who may read."""

    kind, has_lists, whole_in = "s3", True, 2

    def __init__(self, folder: Path):
        super().__init__(folder, _moto())
        os.environ["CONCLAVE_TEST_S3_SECRET"] = _PASSWORD
        self.secret = "bucket"
        self.grant = Grant(hosts=(self.host,), secrets={"bucket": "env:CONCLAVE_TEST_S3_SECRET"})
        self.bucket = f"bucket-{self._server.server_port}"
        self.source = {"endpoint": self.address, "bucket": self.bucket, "prefix": "policies", "user": _USER}
        self._client = boto3.client(
            "s3", endpoint_url=self.address, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1",
            verify=os.environ.get("SSL_CERT_FILE"),
        )  # fmt: skip
        self._client.meta.events.register("before-send.s3", lambda request, **_: _marked(request))
        self._client.create_bucket(Bucket=self.bucket)
        self._client.put_object(Bucket=self.bucket, Key="policies2/other.md", Body=b"not of this folder")
        self._client.put_object(Bucket=self.bucket, Key="policies/", Body=b"")

    def is_content(self, environ: dict[str, Any]) -> bool:
        is_object = "/policies/" in environ["PATH_INFO"] and "tagging" not in environ["QUERY_STRING"]
        return bool(environ["REQUEST_METHOD"] == "GET" and is_object)

    def write(self, name: str, content: str | bytes) -> None:
        body = content.encode() if isinstance(content, str) else content
        self._client.put_object(Bucket=self.bucket, Key=f"policies/{name}", Body=body)

    def remove(self, name: str) -> None:
        self._client.delete_object(Bucket=self.bucket, Key=f"policies/{name}")

    def label(self, group: str) -> str:
        return f"readers={group}"

    def share(self, name: str, group: str | None) -> None:
        what = {"Bucket": self.bucket, "Key": f"policies/{name}"}
        if group is None:
            self._client.delete_object_tagging(**what)
        else:
            self._client.put_object_tagging(**what, Tagging={"TagSet": [{"Key": "readers", "Value": group}]})


def _marked(request: Any) -> None:
    request.headers["X-Test"] = "1"
    if "Expect" in request.headers:  # the client would wait a second for an answer to it
        del request.headers["Expect"]


class Webdav(Served):
    """WsgiDAV, with the property in which Nextcloud says with whom a thing is shared."""

    kind, has_lists = "webdav", True

    def __init__(self, folder: Path):
        root = folder / "root" / "Policies"
        root.mkdir(parents=True)
        own = {
            "provider_mapping": {"/dav": FilesystemProvider(str(folder / "root"))}, "verbose": 0,
            "logging": {"enable": False},
            "simple_dc": {"user_mapping": {"*": {_USER: {"password": _PASSWORD}}}}, "property_manager": True,
            "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
        }  # fmt: skip
        super().__init__(root, WsgiDAVApp(own))
        (folder / "password").write_text(_PASSWORD)
        self.secret = "cloud"
        self.grant = Grant(hosts=(self.host,), secrets={"cloud": f"file:{folder / 'password'}"})
        self.source = {"url": f"{self.address}/dav/Policies", "user": _USER}

    def write(self, name: str, content: str | bytes) -> None:
        """A new file in the place of the old one: tags are made of size and time in whole seconds."""
        super().write(name, content)
        times = (self.folder / name).stat().st_mtime + len(str(content)) + self.fetches
        os.utime(self.folder / name, (times, times))

    def remove(self, name: str) -> None:
        super().remove(name)
        if not any((self.folder / name).parent.iterdir()):
            shutil.rmtree((self.folder / name).parent)

    def label(self, group: str) -> str:
        return f"group:{group}"

    def share(self, name: str, group: str | None) -> None:
        sharee = "" if group is None else f"<nc:sharee><nc:id>{group}</nc:id><nc:type>1</nc:type></nc:sharee>"
        body = (
            '<d:propertyupdate xmlns:d="DAV:" xmlns:nc="http://nextcloud.org/ns"><d:set><d:prop>'
            f"<nc:sharees>{sharee}</nc:sharees></d:prop></d:set></d:propertyupdate>"
        )
        answer = httpx.request(
            "PROPPATCH", f"{self.address}/dav/Policies/{name}", content=body, auth=(_USER, _PASSWORD),
            headers={"X-Test": "1", "Content-Type": "application/xml"},
        )  # fmt: skip
        assert answer.status_code == 207 and "200 OK" in answer.text, answer.text


class Site(Served):
    """Static pages with a site map; of a page the map says nothing but where it is."""

    kind, useless = "sitemap", 1

    def __init__(self, folder: Path):
        root = folder / "site"
        root.mkdir()
        super().__init__(root, self._pages)
        self.source = {"url": f"{self.address}/sitemap.xml"}
        self.further: list[str] = [f"{self.address}/hr/gone.html", "http://elsewhere.example/a.html", "ftp://x/a"]

    def named(self, name: str) -> str:
        return f"{self.host}/{name}"

    def _pages(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = self.folder / environ["PATH_INFO"].lstrip("/")
        if environ["PATH_INFO"] == "/sitemap.xml":
            urls = [f"{self.address}/{one.relative_to(self.folder).as_posix()}" for one in self.folder.rglob("*.*")]
            locs = "".join(f"<url><loc>{escape(one)}</loc></url>" for one in [*urls, *self.further])
            content, kind = (
                f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locs}</urlset>'.encode(),
                "xml",
            )
        elif path.is_file():
            content, kind = path.read_bytes(), "markdown" if path.suffix == ".md" else "x-other"
        else:
            start("404 Gone", [("Content-Length", "0")])
            return [b""]
        start("200 OK", [("Content-Type", f"text/{kind}"), ("Content-Length", str(len(content)))])
        return [content]


KINDS: dict[str, Callable[[Path], Any]] = {"git": Git, "s3": S3, "webdav": Webdav, "sitemap": Site}
if HAS_DOVECOT:
    KINDS["imap"] = lambda folder: Mailbox(folder, tls=Served.tls)


@contextmanager
def served(kind: str, folder: Path) -> Iterator[Any]:
    """A server of this kind for the time of the context."""
    place = KINDS[kind](folder)
    try:
        yield place
    finally:
        place.close()
