"""Web pages, mails and texts made to hurt whoever opens them, with how each may end."""

from app.ingestion.parsing import ParseFailure as F
from tests.unit.ingestion.parsing.hostile_office import LAUGHS, REFUSED, XXE_FILE, Case
from tests.unit.ingestion.parsing.rawpdf import page_with, text_at

BIG, TIME = {F.TOO_MUCH_TEXT}, {F.TIME_LIMIT}


def nested_mail(depth: int) -> bytes:
    heads = (f"Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n" for at in range(depth))
    return (
        "MIME-Version: 1.0\r\nFrom: a\r\n" + "".join(heads) + "Content-Type: text/plain\r\n\r\nhello there\r\n"
    ).encode()


def attached(count: int) -> bytes:
    part = b'--b\r\nContent-Type: a/b\r\nContent-Disposition: attachment; filename="../../x%d"\r\n\r\nx\r\n'
    head = b"From: a\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    return (
        head
        + b"--b\r\nContent-Type: text/plain\r\n\r\nhello there\r\n"
        + b"".join(part % at for at in range(count))
        + b"--b--"
    )


def html_mail(markup: str) -> bytes:
    return b"From: a\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + markup.encode()


def calling(address: str) -> bytes:
    """A page that would call home in every way there is."""
    home = f"http://{address}/"
    return (
        f"<html><head><base href='{home}'><meta http-equiv=refresh content='0;url={home}'>"
        f"<link rel=stylesheet href='{home}'>"
        f"<style>@import '{home}';</style><script src='{home}'></script></head><body><p>Call me</p><img src='{home}'>"
        f"<iframe src='file:///etc/passwd'></iframe><object data='{home}'></object></body></html>"
    ).encode()


TEXT: dict[str, Case] = {
    "entities in a page": ("a.html", lambda _: f"{LAUGHS}<html><body>&j;</body></html>".encode(), REFUSED),
    "a file in a page": (
        "a.html",
        lambda _: f"<?xml version='1.0'?>{XXE_FILE}<html><p>&j;</p></html>".encode(),
        REFUSED,
    ),
    "entities in a page in UTF-16": ("a.html", lambda _: f"{LAUGHS}<html>&j;</html>".encode("utf-16"), REFUSED),
    "a drawing with a file in it": (
        "a.svg",
        lambda _: f"<?xml version='1.0'?>{XXE_FILE}<svg>&j;</svg>".encode(),
        REFUSED,
    ),
    "a drawing with entities named as text": ("a.txt", lambda _: f"{LAUGHS}<svg>&j;</svg>".encode(), REFUSED),
    "a mail with entities": ("a.eml", lambda _: html_mail(f"{LAUGHS}<p>&j;</p>"), REFUSED),
    "a page that calls home": ("a.html", calling, {"ok"}),
    "a mail that calls home": ("a.eml", lambda address: html_mail(calling(address).decode()), {"ok"}),
    "a body that is elsewhere": (
        "a.eml",
        lambda address: (
            "From: a\r\nMIME-Version: 1.0\r\nContent-Type: message/external-body; access-type=URL; "
            f'URL="http://{address}/"\r\n\r\nContent-Type: text/plain\r\n\r\nhello'
        ).encode(),
        {"ok", F.DAMAGED},
    ),
    "elements 20,000 deep": ("a.html", lambda _: b"<div>" * 20_000 + b"hello there", {"ok", F.DAMAGED, *TIME}),
    "tables 2,000 deep": ("a.html", lambda _: b"<table><tr><td>" * 2_000 + b"hello there", {"ok", F.DAMAGED, *TIME}),
    "lists 5,000 deep": ("a.html", lambda _: b"<ul><li>" * 5_000 + b"hello there", {"ok", F.DAMAGED, *TIME}),
    "formatting that is never closed": (
        "a.html",
        lambda _: b"<p><b><i><a><font>" * 3_000 + b"hello",
        {"ok", F.DAMAGED, *TIME, F.MEMORY_LIMIT},
    ),
    "cells over a billion rows": (
        "a.html",
        lambda _: b"<table><tr><td rowspan=999999999 colspan=999999999>a<td>b</tr><tr><td>cell</table>" * 50,
        {"ok"},
    ),
    "an attribute of 4 MB": ("a.html", lambda _: b"<p style='" + b"a:b;" * 1_000_000 + b"'>hello there", {"ok"}),
    "30,000 rules of style": (
        "a.html",
        lambda _: b"<style>" + b".a .b .c{display:none}" * 30_000 + b"</style><p class=c>hello there",
        {"ok"},
    ),
    "a comment without end": ("a.html", lambda _: b"<p>hello there<!-- " + b"-- " * 500_000, {"ok"}),
    "a page and a PDF at once": (
        "a.html",
        lambda _: b"<html><body>hello<!--" + page_with(text_at(9, 9, "other text")),
        {F.WRONG_TYPE},
    ),
    "a mail 3,000 deep": ("a.eml", lambda _: nested_mail(3_000), {"ok", F.DAMAGED, *TIME, F.NO_TEXT}),
    "2,000 attachments": ("a.eml", lambda _: attached(2_000), {"ok", *TIME}),
    "a header line of 3 MB": (
        "a.eml",
        lambda _: b"From: a\r\nSubject: " + b"=?utf-8?q?a?= " * 200_000 + b"\r\n\r\nhello",
        {"ok", F.DAMAGED, F.MEMORY_LIMIT, *TIME},
    ),
    "a mail of broken parts": (
        "a.eml",
        lambda _: (
            b"From: a\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=\x00\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\n!!!!===="
        ),
        {"ok", F.DAMAGED, F.NO_TEXT, F.UNSUPPORTED},
    ),
    "a mail in a strange encoding": (
        "a.eml",
        lambda _: (
            b"From: a\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=base64\r\n\r\nhello =?rot13?q?x?="
        ),
        {"ok"},
    ),
    "one line of 50 MB": ("a.txt", lambda _: b"word " * 10_000_000, BIG),
    "one line of a megabyte without a space": ("a.txt", lambda _: b"a" * 900_000, {"ok"}),
    "3 million line ends": ("a.txt", lambda _: b"hello" + b"\n" * 3_000_000, {"ok", *BIG}),
    "marks over marks": ("a.txt", lambda _: ("a" + "\u0301\u0323" * 300_000).encode(), {"ok", F.NO_TEXT, *TIME, *BIG}),
    "NULs": ("a.txt", lambda _: bytes(100_000), {F.UNSUPPORTED}),
    "noise": ("a.txt", lambda _: bytes(range(256)) * 500, {F.UNSUPPORTED}),
    "a program": ("a.txt", lambda _: b"MZ" + bytes(range(256)) * 20, {F.UNSUPPORTED}),
    "a picture named as a page": (
        "a.html",
        lambda _: b"GIF89a\x01\x00\x01\x00\x80\x00\x00" + bytes(200),
        {F.UNSUPPORTED},
    ),
    "a quote without end": ("a.csv", lambda _: b'a,b\n"' + b"x,y\n" * 1_000_000, {"ok", F.DAMAGED, *BIG}),
    "300,000 columns": ("a.csv", lambda _: b"a," * 300_000 + b"\n" + b"1," * 300_000, {"ok", *TIME, *BIG}),
    "a million short rows": ("a.csv", lambda _: b"a,b\n" * 1_000_000, {"ok", *BIG, *TIME}),
    "100,000 comments that do not end": ("a.md", lambda _: b"hello there <!-- <!--" + b"<!--" * 100_000, {"ok", *TIME}),
    "100,000 fences that do not end": ("a.md", lambda _: b"hello there\n" + b"```x\n~~~y\n" * 50_000, {"ok", *TIME}),
    "tags that do not end": (
        "a.md",
        lambda _: b"hello there <a hidden " + b"<a style=display hidden " * 30_000,
        {"ok", *TIME},
    ),
    "front matter without end": ("a.md", lambda _: b"---\n" + b"title: x\n" * 100_000, {"ok"}),
}
