"""What is a host name: "intra.company.vn" is, "Node.js", "TP.HCM", "v.v." and "1.000.000" are not.

With a path, port or query behind it nearly every dotted name is taken for one: that is where data leaves. A bare name
must end in a domain that people can register or that organisations use at home. Of the 1,400 domains that exist all
countries are listed here, and those of the others that links are usually written with.
"""

import re


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_COUNTRIES = _words(
    """
    ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv bw by bz ca
    cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr
    ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm
    jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq
    mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa
    re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn
    to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw рф рус укр бел срб мкд қаз 中国 中國
    香港 台灣 한국
    """
)
_ESTABLISHED = _words("com net org info biz edu gov mil int arpa vn")
_GENERIC = _words(
    """
    academy adult aero africa agency app army art asia associates attorney auction autos bank bar beauty beer best
    bet bid bike bio blog boats bond bot boutique build builders business buzz cam camera camp capital cards care
    careers casa casino cat center cfd chat church city claims cleaning click clinic cloud club coach codes coffee
    community company computer consulting contact contractors cool coop country coupons courses credit cricket cyou
    cash dance date dating day deals degree delivery democrat dental dev diet digital direct directory discount
    doctor domains download earth education email energy engineer engineering enterprises equipment estate events
    example exchange expert exposed express fail faith family fans farm fashion finance financial fish fit fitness
    flights florist foo football forex forsale foundation fun fund furniture futbol fyi gallery game games gay gdn
    gift gifts gives glass global gmbh gold golf graphics gratis green gripe group guide guitars guru hair
    healthcare help hiphop holdings holiday home homes horse hospital host hosting house icu immo inc industries ink
    institute insure international internal invalid investments jetzt jewelry jobs juegos kim kitchen kiwi lan land
    lat law lawyer lease legal lgbt life lighting limited limo link live llc loan loans local localdomain lol london
    love ltd luxury makeup market marketing markets mba media memorial men menu mobi moda moe mom money monster
    mortgage motorcycles mov movie museum music name network new news ngo ninja nyc one ong onion onl online ooo
    page partners parts party pet phone photo photography photos pics pictures pink pizza place plumbing plus poker
    porn press pro productions promo properties property protection pub qpon quest racing radio realty recipes red
    rehab reise rent rentals repair report republican rest restaurant review reviews rip rocks rodeo run sale salon
    sbs school science services sex sexy shiksha shoes shop shopping show singles site ski skin soccer social
    software solar solutions space spot storage store stream studio study style sucks supply support surf surgery
    systems tattoo tax taxi team tech technology tel tennis theater tickets tienda tips tires today tokyo tools top
    tours town toys trade trading training travel tube university uno vacations ventures vet viajes video villas vin
    vip vision vodka vote voting voyage wang watch web webcam website wedding wiki win wine work works world wtf xxx
    xyz yachts yoga zip zone онлайн сайт орг 公司 网络 在线 世界
    """
)
_TOP = _COUNTRIES | _ESTABLISHED | _GENERIC
_SCRIPTS = frozenset({"md", "py", "sh"})
"""File endings that are countries as well: a bare ``handbook.md`` is the name of a file, and can carry nothing away."""
_FILES = _words(
    """
    docx doc docm xlsx xls xlsm csv tsv pptx ppt pdf txt rtf odt ods odp json jsonl yaml yml toml xml html htm css
    js ts log sql ini cfg conf env lock png jpg jpeg gif svg webp mp3 mp4 exe dll msi bat tar gz bak tmp
    """
)
"""File endings no domain ends in."""
_WEB = re.compile(r"(?:\A|\W)www\Z", re.IGNORECASE)
_NETWORK = re.compile(r"/\d{1,2}|/255(?:\.\d{1,3}){3}")
"""What stands behind an IP address and makes it a range: ``10.0.0.0/24``."""


def is_host(name: str, rest: str) -> bool:
    """Whether the dotted `name` is one that programs make links of. `rest`: the port, path or query behind it."""
    labels = name.split(".")
    top = labels[-1]
    low = top.lower()
    if any(map(_WEB.search, labels[:-1])) or any(label[:4].lower() == "xn--" for label in labels):
        return True
    if top.isdecimal() or low.startswith("0x"):
        return bool(rest) and _is_address(labels, rest)
    if len(top) < 2 or not top.isalpha() or not all(labels):
        return False
    return _leads_on(labels, top, rest) if rest else low in _TOP and not _is_prose(labels, top, low)


def is_unlikely(name: str) -> bool:
    """Whether the host `name` is more likely abbreviations joined by a dot (ThS.BS, B.Sc)."""
    top = name.rpartition(".")[2]
    return top.isalpha() and not top.islower() and top.lower() not in _ESTABLISHED


def _leads_on(labels: list[str], top: str, rest: str) -> bool:
    low = top.lower()
    if low in _SCRIPTS:
        return "/" in rest or "?" in rest or len(labels) > 2
    if low in _TOP or rest[0] in ":#":
        return low in _TOP
    return low not in _FILES and ((top.isascii() and top.islower()) or "?" in rest or "=" in rest)


def _is_prose(labels: list[str], top: str, low: str) -> bool:
    """A file, an abbreviation (TP.HN, ThS.BS), a numbered or a missing space (ngày.Do): one dot, nothing behind it."""
    if len(labels) != 2 or low in _ESTABLISHED:
        return ".".join(labels).lower() in ("asp.net", "ado.net", "vb.net")
    return low in _SCRIPTS or not top.islower() or labels[0].isdecimal()


def _is_address(labels: list[str], rest: str) -> bool:
    """An IP address; ``1.200.000/tháng`` is none."""
    if any(label[:2] in ("0x", "0X") for label in labels):
        return True
    if len(labels) != 4 or not all(label.isdecimal() and len(label) <= 4 for label in labels):
        return False
    octal = labels[0][0] == "0" and len(labels[0]) > 1
    decimal = all(int(label) < 256 and str(int(label)) == label for label in labels)
    return octal or (decimal and not _NETWORK.fullmatch(rest))
