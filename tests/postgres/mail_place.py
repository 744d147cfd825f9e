"""Dovecot as a source of connectors: its own process for each connection, behind a door that can fail."""

import imaplib
import os
import platform
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import IO, Any

from app.connectors.definition import Grant

ROOT = Path(__file__).parents[2]
_USER, _PASSWORD = "reader", "a-secret-of-the-source"
_NOBODY = 65534
_FILM = "hr/film.md"


def _program() -> tuple[Path, dict[str, str]] | None:
    """Dovecot's process for one connection, installed or unpacked by `make dovecot`, and where its libraries are."""
    for root in (Path("/usr"), Path(os.environ.get("CONCLAVE_DOVECOT", ROOT / ".venv" / "dovecot")) / "usr"):
        if (root / "lib/dovecot/imap").is_file():
            beside = root / "lib" / f"{platform.machine()}-linux-gnu"
            return root / "lib/dovecot/imap", {"LD_LIBRARY_PATH": f"{root / 'lib/dovecot'}:{beside}"}
    return None


HAS_DOVECOT = _program() is not None


class Mailbox:
    """One folder of a mailbox; ``hr/leave.md`` is the mail with the Message-ID ``hr_leave.md@example.com``."""

    kind, has_lists, secret = "imap", True, "mail"
    useless, whole_in = 0, 9

    def __init__(self, folder: Path, *, tls: ssl.SSLContext | None = None):
        self.tls = tls
        self.left: int | None = None
        self.fetches = 0
        self._mail = Path(tempfile.mkdtemp(prefix="mail"))
        if os.getuid() == 0:
            os.chown(self._mail, _NOBODY, _NOBODY)
        self._beside: dict[str, bytes] = {}
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self.host = f"localhost:{self._listening.getsockname()[1]}"
        (folder / "password").write_text(_PASSWORD)
        self.grant = Grant(hosts=(self.host,), secrets={"mail": f"file:{folder / 'password'}"})
        self.source: dict[str, Any] = {"url": f"imap{'s' if self.tls else ''}://{self.host}", "user": _USER}
        self._own = imaplib.IMAP4_stream(self._command())
        self._own.select("INBOX")

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._open:
            one.close()
        self._own.logout()
        self._own.process.wait()
        self._thread.join()
        shutil.rmtree(self._mail, ignore_errors=True)

    def named(self, name: str) -> str:
        told = name.replace("/", "_")
        return told if "*" in name else f"{told}@example.com.eml"

    def label(self, group: str) -> str:
        return f"keyword:{group}"

    def lose_after(self, answers: int | None) -> None:
        self.left = answers

    def write(self, name: str, content: str | bytes) -> None:
        """Put the mail in the place of the one before; what no mail can be is attached to the film's."""
        data = content.encode() if isinstance(content, str) else content
        if not data or not name.endswith(".md"):
            self._beside[name.rpartition("/")[2]] = data
            name, data = _FILM, b"x" * 3_000_000
        self._drop(name)
        self.append(name, data.decode(), self._beside if name == _FILM else {})

    def append(self, name: str, text: str, attached: dict[str, bytes], *, subject: str = "") -> None:
        """A mail with files attached to it."""
        message = EmailMessage(policy=SMTP)
        message["Message-ID"], message["Subject"] = f"<{self.named(name).removesuffix('.eml')}>", subject
        message.set_content(text, cte="8bit")
        for file_name, data in attached.items():
            message.add_attachment(data, maintype="application", subtype="octet-stream", filename=file_name)
        status, told = self._own.append("INBOX", "", "", message.as_bytes())
        assert status == "OK", told

    def remove(self, name: str) -> None:
        assert self._drop(name)

    def share(self, name: str, group: str | None) -> None:
        for uid in self._uids(name):
            _, rows = self._own.uid("FETCH", uid, "(FLAGS)")
            flags = imaplib.ParseFlags(next(one for one in rows if isinstance(one, bytes)))
            for flag in (one.decode() for one in flags if not one.startswith(b"\\")):
                self._own.uid("STORE", uid, "-FLAGS", f"({flag})")
            if group is not None:
                self._own.uid("STORE", uid, "+FLAGS", f"({group})")

    def number_anew(self) -> None:
        """What a server does that has lost its index: UIDs count under another UIDVALIDITY."""
        self._own.close()
        for path in (self._mail / "INBOX").glob("dovecot.*"):
            path.unlink()
        numbers = self._mail / "INBOX" / "dovecot-uidlist"
        told = numbers.read_text("ascii")
        numbers.write_text(re.sub(r"(?<= V)\d+", lambda found: str(int(found[0]) + 1), told, count=1), "ascii")
        self._own.select("INBOX")

    def _uids(self, name: str) -> list[str]:
        self._own.noop()
        told = f'"<{self.named(name).removesuffix(".eml")}>"'
        _, found = self._own.uid("SEARCH", "HEADER", "Message-ID", told)
        return (found[0] or b"").decode().split()

    def _drop(self, name: str) -> bool:
        uids = self._uids(name)
        for uid in uids:
            self._own.uid("STORE", uid, "+FLAGS", "(\\Deleted)")
        self._own.expunge()
        return bool(uids)

    def _command(self) -> str:
        found = _program()
        assert found is not None
        program, environment = found
        owner = _NOBODY if os.getuid() == 0 else os.getuid()
        said = {
            "mail_location": f"maildir:{self._mail}/INBOX", "log_path": os.devnull, "base_dir": str(self._mail),
            "state_dir": str(self._mail), "ssl": "no", "default_internal_user": "root", "default_login_user": "root",
            "mail_uid": str(owner), "mail_gid": str(owner), "first_valid_uid": "0", "first_valid_gid": "0",
        }  # fmt: skip
        options = [part for name, value in said.items() for part in ("-o", f"{name}={value}")]
        own = [f"{name}={value}" for name, value in (environment | {"HOME": str(self._mail), "USER": _USER}).items()]
        return shlex.join(["env", "-i", *own, str(program), "-O", *options])

    def _serve(self) -> None:
        while True:
            try:
                found, _ = self._listening.accept()
                if self.tls is not None:
                    found = self.tls.wrap_socket(found, server_side=True)
            except ssl.SSLError:
                continue
            except OSError:
                return
            self._open.append(found)
            threading.Thread(target=self._answer, args=(found,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        """Let the reader in with the password; from then on every line is a command for Dovecot."""
        with suppress(OSError, ValueError), client, client.makefile("rb") as heard:
            client.sendall(b"* OK ready\r\n")
            for line in heard:
                tag, _, asked = line.strip().partition(b" ")
                if self._is_lost():
                    return
                if asked == b"CAPABILITY":
                    client.sendall(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")
                elif asked == f'LOGIN {_USER} "{_PASSWORD}"'.encode():
                    client.sendall(tag + b" OK welcome\r\n")
                    self._speak(client, heard)
                    return
                else:
                    client.sendall(tag + b" NO go away\r\n")

    def _is_lost(self) -> bool:
        if self.left is not None:
            self.left -= 1
        return self.left is not None and self.left < 0

    def _speak(self, client: socket.socket, heard: IO[bytes]) -> None:
        with subprocess.Popen(
            shlex.split(self._command()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as imap:
            assert imap.stdin is not None and imap.stdout is not None
            imap.stdout.readline()
            try:
                for line in heard:
                    if self._is_lost():
                        return
                    self.fetches += b"BODY.PEEK[])" in line
                    imap.stdin.write(line)
                    imap.stdin.flush()
                    self._pass_on(client, imap.stdout, line.partition(b" ")[0])
            finally:
                imap.kill()

    def _pass_on(self, client: socket.socket, said: IO[bytes], tag: bytes) -> None:
        while line := said.readline():
            client.sendall(line)
            if line.endswith(b"}\r\n"):
                client.sendall(said.read(int(line.rpartition(b"{")[2][:-3])))
            elif line.startswith(tag + b" "):
                return
