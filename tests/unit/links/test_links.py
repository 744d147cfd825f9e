import random
import re
import unicodedata
from collections.abc import Iterator
from html import unescape
from importlib.util import find_spec
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from app.links import LinkGuard
from tests.measured import measured
from tests.samples import size
from tests.unit.links.hostile_links import ALLOWED, OK, hostile_answers

KNOWN = "Gửi hr@acme.vn hoặc vào portal.acme.vn, máy chủ 10.0.0.5:8080; ghi Tel:0912345678 và mailto:it@acme.vn."
PERMITTED = re.compile(
    rf"(?:{'|'.join(map(re.escape, ALLOWED))})(?:#page=\d{{1,6}})?"
    r"|(?:https?:)?//(?:[^/]*%(?:60|7C))?portal\.acme\.vn|https?://10\.0\.0\.5:8080|mailto:(?:[^@]*(?:[:;,._-]|%22))?(?:hr|it)@acme\.vn(?:%7C.*)?|mailto:[^@]*[:.]@portal\.acme\.vn"
)
RENDERERS = [MarkdownIt("commonmark", {"html": True}), MarkdownIt("commonmark", {"html": False}).enable("table")]
if find_spec("linkify_it"):
    RENDERERS.append(MarkdownIt("gfm-like", {"html": True}))
FORMATTING = """
    html head body p em strong s code pre a ul ol li blockquote br hr h1 h2 h3 h4 h5 h6 table thead tbody tr th td
"""
HARMLESS = {"start", "title", "class"}
HIDDEN = re.compile("[\x00-\x08\x0e-\x1f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
AUTOLINKED = re.compile(
    r"[^\W\d_][\w+.-]+://[^\s<>\]\"']*[^\W_][^\s<>\"']*|(?<![\w.-])www\.[^\W_][^\s<>]*|\b(?:javascript|vbscript):(?!\]\()\S*\w|\bdata:(?:[a-z]+/|[,;])\S*\w",
    re.IGNORECASE,
)
"""What GitHub, chat programs and mail programs make links of in plain text."""
SENTENCE_ENDS = ".,;:!?)]}\"'*_~`|›"


HOSTILE = hostile_answers()


def guard() -> LinkGuard:
    return LinkGuard(ALLOWED, known_text=KNOWN)


def streamed(pieces: list[str]) -> str:
    stream = guard()
    return "".join(map(stream.feed, pieces)) + stream.finish()


def cut(text: str, places: list[int]) -> list[str]:
    bounds = [0, *sorted(places), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def targets(html: str) -> Iterator[str]:
    """Every address a page of `html` holds, and every element and attribute an answer has no need of."""
    for node in LexborHTMLParser(html).css("*"):
        if node.tag not in FORMATTING.split():
            yield f"<{node.tag}>"
        for name, value in node.attributes.items():
            if not (name in HARMLESS or (name, (value or "").partition(":")[0]) == ("style", "text-align")):
                yield value or ""


def off_list(text: str) -> list[str]:
    """The addresses that some reader of `text` would find and that are not permitted."""
    found = [target for renderer in RENDERERS for target in targets(renderer.render(text))]
    found += targets(text)
    for reading in (text, HIDDEN.sub("", unicodedata.normalize("NFKC", unescape(text)))):
        found += (match[0].rstrip(SENTENCE_ENDS) for match in AUTOLINKED.finditer(reading))
    return [target for target in found if not PERMITTED.fullmatch(target) and not is_prose(target)]


def is_prose(target: str) -> bool:
    """``ngày.Do``, ``handbook.md``, ``https://```: links by guess in one renderer that carry nothing."""
    if re.fullmatch(r"\w+://(?:%[0-9A-F]{2})*|(?:\w+:)?(?://)?[^/]*%(?:60|7C).*", target):
        return True
    name = re.fullmatch(r"http://([^./]+)\.([^./#:]+)(?:#.*|:\d+)?", target)
    return name is not None and (name[1].isdecimal() or name[2] != name[2].lower() or name[2] in ("md", "py", "sh"))


def is_cut_anywhere(text: str, chance: random.Random) -> bool:
    """Whether a text comes out the same by letters, in two pieces cut at every fourth place, and in random ones."""
    whole = guard().clean(text)
    first = chance.randrange(4)
    cuts = [[place] for place in range(first, len(text), 4)]
    cuts += [[chance.randrange(len(text) + 1) for _ in range(chance.randrange(2, 9))] for _ in range(2)]
    return streamed(list(text)) == whole and all(streamed(cut(text, places)) == whole for places in cuts)


class TestHostileAnswers:
    def test_show_no_address_that_is_not_in_the_evidence(self) -> None:
        shown = {text: found for text in HOSTILE if (found := off_list(guard().clean(text)))}
        assert not shown
        measured(16, hostile_answers=len(set(HOSTILE)), addresses_shown=0)

    def test_come_out_the_same_wherever_they_are_cut(self) -> None:
        assert [text for text in HOSTILE if not is_cut_anywhere(text, random.Random(text))] == []

    def test_are_left_alone_the_second_time(self) -> None:
        shown = {text for text in HOSTILE if off_list(guard().clean(guard().clean(text)))}
        assert not shown

    def test_are_more_than_two_hundred(self) -> None:
        assert len(set(HOSTILE)) > 400
        assert sum(bool(off_list(text)) for text in HOSTILE) > 300, "the judge finds them before"


FRAGMENTS = r"""
    [ ] ( ) ]( ![ ]: < > <a <img src= </ <!-- --> ` * _ | \ & &# &#104; &colon; %3a %2f : / // :// https https: https://
    javascript: data: www. evil . com evil.com 。 ． @ ?d=1 #page=3 # x ref phép 3 " ' ‹ › portal.acme.vn hr@acme.vn
    10.0.0.5:8080 ! - 1. https://evil.com mailto: Tel:0912345678 10.0.0.9:80 // [::1]:80 xn-- ftp:// evil.Do a.md
"""
fragments = st.sampled_from(
    [*FRAGMENTS.split(), *ALLOWED, " ", " ", "\n", "\n\n", "\t", "\u00a0", "\u200b", "\u202e", "    "]
)
answers = st.one_of(st.lists(fragments, max_size=14).map("".join), st.text(max_size=60))


class TestAnyText:
    @settings(max_examples=size(150, 600), deadline=None)
    @given(answers)
    def test_shows_no_address_that_is_not_in_the_evidence(self, text: str) -> None:
        assert off_list(guard().clean(text)) == []

    @settings(max_examples=size(75, 300), deadline=None)
    @given(answers, st.lists(st.integers(0, 80), max_size=8))
    def test_comes_out_the_same_wherever_it_is_cut(self, text: str, places: list[int]) -> None:
        assert streamed(cut(text, [min(place, len(text)) for place in places])) == guard().clean(text)

    @settings(max_examples=size(50, 200), deadline=None)
    @given(st.text(st.characters(categories=["L", "N", "Zs", "Sc", "So"], max_codepoint=0x24F), max_size=80))
    def test_without_signs_stays_as_it_is(self, text: str) -> None:
        assert guard().clean(text) == text


PLAIN = [
    "Nhân viên được nghỉ 14 ngày phép năm, tối đa 1.000.000 đồng/tháng (v.v.).",
    "Làm việc 24/7, từ 12:30 đến 17h05 ngày 1/3/2025; xem TP.HCM, TP.HN, ThS.BS Hà, Q.1/TP.HCM và PGS.TS/TS.",
    "Đạt 3.5/5 điểm, tỉ lệ a:b là 3:2, and/or, 50%, 1.000.000.000/năm, +84 28 3822 0000, #5, C#, @lan.",
    "Mở file.docx, README.md, run.sh:12, Node.js/React, ASP.NET",
    "Vào C:\\Users\\an, C:\\\\tmp, \\\\files\\chung, D:/tai-lieu.",
    "Điều 5:Khoản 2 nói vậy.Do đó dừng. 2.So sánh: xong... rồi!Hay “được”… phải không?[1][2] Đúng![3]",
    "| Bậc | Mức |\n|-----|:---:|\n| 1 | `x < 5` |\n\n- [x] xong\n- [ ] chưa\n1. **đậm** _nghiêng_ ~~bỏ~~\n> trích",
    "```python\nif a <= b and x->y or b > 3: return items[0]  # 10.0.0.0/24, std::string, a//b, //ghi chú\n```",
    "👩‍👩‍👧‍👦 ☎️ ✅ ½ № ₫ € → ≥ 5⁰C, ﬁn, ａｂｃ, 5∶3, đ/c, e.g. i.e. p.m., 1.2.3.4, phiên bản 2.10.1, 0912.345.678.",
    "R&D, AT&T, Q&A; &nbsp; &lt;b&gt; 100%25, http và https:// là giao thức, gõ `https://`, www thì không.",
    "Tel: 0912345678. Data: 5GB, Intent:task, file: báo cáo, Javascript: không. Giá 10@1.500.",
    unicodedata.normalize("NFD", "Chính sách nghỉ phép năm hiện hành: ủy quyền, thuỷ."),
    "Gửi hr@acme.vn hoặc vào portal.acme.vn, (HR@acme.vn), **portal.acme.vn**, 10.0.0.5:8080; Tel:0912345678.",
    "",
    " \n\t\r\n ",
]


class TestPlainText:
    def test_comes_out_byte_by_byte(self) -> None:
        for text in PLAIN:
            whole = guard()
            assert whole.clean(text) == text
            assert whole.removed == 0
            assert streamed(list(text)) == text

    def test_goes_out_word_by_word(self) -> None:
        stream = guard()
        assert [stream.feed(piece) for piece in ("Nghỉ ", "14 ng", "ày. H", "ết")] == ["Nghỉ ", "14 ", "ngày. ", ""]
        assert stream.finish() == "Hết"

    def test_keeps_unknown_names_out(self) -> None:
        stream = guard()
        names = "ai@acme.vn hr@acme.vn.evil.com portal.acme.vn/x xportal.acme.vn 10.0.0.5:80 Tel:0999 mailto:a@b.vn"
        for name in names.split():
            assert stream.clean(f"Gửi ({name}), nhé") == "Gửi ([link removed]), nhé"
        assert stream.removed == 7


class TestEvidence:
    def test_keeps_its_addresses(self) -> None:
        for text in (
            f"[Quy định]({OK})",
            f"[Quy định]({OK}#page=3), [VPN]({ALLOWED[1]}).",
            f'Xem [Quy định]({OK} "Nghỉ phép").',
            f"Xem [bản gốc]({ALLOWED[3]}#page=12)!",
            f"Xem {OK}.",
            f"Xem {OK}#page=3, {ALLOWED[1]}; {ALLOWED[2]}?",
            f"(Nguồn: {OK})",
            f"(xem {OK}#page=3).",
            f'"{OK}"',
            f"**{OK}** *{OK}* `{OK}` '{OK}'",
            f"- {OK}\n- {OK}#page=2\n\n{OK}",
            f"| Nguồn | {OK} |",
        ):
            stream = guard()
            assert stream.clean(text) == text
            assert stream.removed == 0

    def test_reads_well_where_something_was_changed(self) -> None:
        for text, shown in (
            (f"<{OK}>", OK),
            (f"[Quy định](<{OK}>)", f"[Quy định]({OK})"),
            (f"![Quy định nghỉ]({OK})", f"[Quy định nghỉ]({OK})"),
            (f"Nguồn:{OK}", f"Nguồn: {OK}"),
            (f"_{ALLOWED[1]}_", f"_{ALLOWED[1]} _"),
            (f"{OK}[1]", f"{OK} [1]"),
            (f"[Quy định]({OK})và", f"[Quy định]({OK} )và"),
            (f"[1]: {OK}", f"[1] : {OK}"),
            (f"[Quy định]({OK}?d=1)", "[Quy định] ([link removed])"),
            (f"{OK}?d=1", "[link removed]"),
            ("[nghỉ phép](nghi-phep.md)", "[nghỉ phép] (nghi-phep.md)"),
            ("Xem <b>ngay</b>", "Xem ‹b›ngay‹/b›"),
            ("Xem [tại đây](https://evil.com/x?d=1).", "Xem [tại đây] ([link removed])."),
            ("**https://evil.com/x**, (evil.com/x).", "**[link removed]**, ([link removed])."),
        ):
            assert guard().clean(text) == shown

    def test_holds_no_address_that_reads_in_two_ways(self) -> None:
        for url in (
            "javascript:alert(1)",
            "https://a.vn/x y",
            "https://a.vn/é",
            "https://a.vn/?a&lt;b",
            "//a.vn/x",
            "/",
            'https://a.vn/"x',
        ):
            assert f"]({url})" not in LinkGuard([url]).clean(f"[x]({url})")

    def test_is_named_in_the_language_of_the_answer(self) -> None:
        assert LinkGuard([], language="vi").clean("Xem evil.com/x.") == "Xem [đã gỡ liên kết]."


class TestTrustedHosts:
    known = "Đặt phòng tại https://intra.acme.vn/rooms. Xem https://help.acme.vn, intra.acme.vn/leave và http://intra.acme.vn/a."

    def shown(self, text: str) -> str:
        return LinkGuard([], known_text=self.known, hosts=frozenset({"intra.acme.vn", "help.acme.vn"})).clean(text)

    def test_may_be_linked_where_a_document_does(self) -> None:
        for text in (
            "https://intra.acme.vn/rooms.",
            "(https://help.acme.vn)",
            "[x](https://intra.acme.vn/rooms)",
            "intra.acme.vn/leave",
        ):
            assert self.shown(text) == text

    def test_lend_nothing_to_other_addresses(self) -> None:
        for url in (
            "https://intra.acme.vn/rooms?d=1", "https://intra.acme.vn/other", "http://intra.acme.vn/a",
            "intra.acme.vn/other",
            "https://help.acme.vn/x", "https://help.acme.vn.evil.com", "https://help.acme.vn@evil.com", "http://help.acme.vn",
        ):  # fmt: skip
            assert self.shown(f"Xem {url} nhé") == "Xem [link removed] nhé"

    def test_are_not_taken_from_longer_names(self) -> None:
        known = "https://intra.acme.vn.evil.com/x https://intra.acme.vn@evil.com/ https://xintra.acme.vn/ https://intra.acme.vn!@evil.com"
        stream = LinkGuard([], known_text=known, hosts=frozenset({"intra.acme.vn"}))
        assert "/" not in stream.clean(known)


UNITS = r"""
    a a. . / ( [ ]( ![ ! < <a & &# &#1 &#x %25 \ @ a@ a@b. : a: :// https:// www. [0: x.com/ A.BC/ 1.2.3.4/ ＆#㉑ &amp;
    [a]: 文 ﷺ
"""
ENDLESS = [*UNITS.split(), "\u200b", "\u00a0"]


class TestBounds:
    def test_of_a_word_that_never_ends(self) -> None:
        """Also a test of time: what is not linear does not end within the limit of a test."""
        for unit in ENDLESS:
            text = unit * (300_000 // len(unit))
            stream = guard()
            shown = "".join(stream.feed(text[at : at + 1000]) for at in range(0, len(text), 1000))
            assert shown + stream.finish() == "[link removed]"
            assert guard().clean(f"{text} hết") == "[link removed] hết"

    def test_of_long_words(self) -> None:
        for unit in ENDLESS:
            text = f"{unit * (4000 // len(unit))} " * 3
            assert streamed(cut(text, list(range(0, len(text), 997)))) == guard().clean(text)
            assert off_list(guard().clean(text[:200])) == []

    def test_of_a_definition_that_never_ends(self) -> None:
        text = "[a]: b" + " " * 50_000 + "\n[a]"
        assert guard().clean(text) == streamed(cut(text, list(range(0, len(text), 100)))) == text.replace("]:", "] :")
        stream = guard()
        assert len(stream.feed("[a]:" + " " * 50_000)) > 50_000


class TestHostsOfDocuments:
    KNOWN = "Xem https://portal.acme.example/leave, https://sso.acme.example và https://evil.example/x?d=1."

    def shown(self, text: str, *allowed: str, hosts: frozenset[str] = frozenset()) -> str:
        return LinkGuard(allowed, known_text=self.KNOWN, hosts=hosts).clean(text)

    def test_a_cited_documents_own_host_is_one(self) -> None:
        text = "Xem https://portal.acme.example/leave nhé."
        assert self.shown(text, "https://portal.acme.example/policies/leave") == text
        assert "[link removed]" in self.shown(text, "https://intra.acme.example/policies/leave")

    def test_a_domain_stands_for_every_host_below_it_and_for_no_other(self) -> None:
        hosts = frozenset({".acme.example"})
        assert self.shown("Xem https://sso.acme.example nhé.", hosts=hosts) == "Xem https://sso.acme.example nhé."
        assert "evil" not in self.shown("Xem https://evil.example/x?d=1 nhé.", hosts=hosts)
        assert "notacme" not in LinkGuard(
            (), known_text="https://notacme.example/x", hosts=frozenset({".acme.example"})
        ).clean("https://notacme.example/x")

    def test_what_no_document_names_may_not_stand_there(self) -> None:
        hosts = frozenset({".acme.example"})
        assert "secret" not in self.shown("https://sso.acme.example/?secret=1", hosts=hosts)
        assert "secret" not in self.shown("https://secret.acme.example/", hosts=hosts)
