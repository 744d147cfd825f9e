"""Spellings of addresses that must never be dialled: numbers in disguise, names that lead inside, tricks of parsers.

``site.example`` and all below ``inside.example`` are on the operator's list; names below it lead where `LEADS` says.
"""

SITE = "site.example"

_NUMBERS = (
    # This machine, in every spelling some library takes.
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F000001", "0x7f.0.0.1", "0x7f.1", "017700000001",
    "0177.0.0.1", "0177.1", "127.0.0.1.", "127.000.000.001", "0", "0.0.0.0", "00000000", "0x0", "127.255.255.254",
    # Where clouds hand out keys.
    "169.254.169.254", "2852039166", "0xA9FEA9FE", "0251.0376.0251.0376", "169.254.43518", "169.16689662",
    "100.100.100.200", "168.63.129.16", "192.0.0.192",
    # Inside.
    "10.0.0.1", "10.1", "172.16.0.1", "192.168.1.1", "192.168.257", "100.64.0.1", "198.18.0.1", "224.0.0.1",
    "255.255.255.255", "240.0.0.1",
    # The same in IPv6, mapped, translated, tunnelled.
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
    "[::ffff:169.254.169.254]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]",
    "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%lo]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]",
    "[fec0::1]", "[::1", "::1", "[v1.a]", "[127.0.0.1]",
)  # fmt: skip
_SIGNS = (
    "１２７.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1", "١٢٧.0.0.1", "ｌocalhost", "sıte.example",
    "ｓite.example", "site｡example", "site.exämple", "ſite.example", "site.example\u200b", "site\u00ad.example",
    "%31%32%37.0.0.1", "site%2eexample", "127.0.0.1%00.site.example", "site.example%40evil.example",
)  # fmt: skip
_STRANGERS = (
    "localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost", "evil.example",
    "site.example.evil.example", "evilsite.example", "site.example.", "example", "inside.example",
    "127.0.0.1.nip.io", "1.0.0.127.in-addr.arpa", "metadata.google.internal", "xn--ste-dma.example", "evil.example.",
    "site..example", ".site.example", "-site.example", "site_.example", "site.example-", "a" * 300, "a." * 130 + "a",
)  # fmt: skip
_AUTHORITIES = (
    "user@site.example", "user:secret@site.example", "@site.example", "site.example@evil.example",
    "site.example:80@evil.example", "site.example%20@evil.example", "evil.example#@site.example",
    "evil.example?@site.example", "evil.example\\@site.example", "evil.example\\.site.example", "site.example:22",
    "site.example:6379", "site.example:8080", "site.example:0", "site.example:65536", "site.example:99999",
    "site.example:080", "site.example:", "site.example:-80", "site.example:+80", "site.example:80:80",
    "site.example:8O", "site.example:٨٠", "site.example: 80", "site.example:80\t",
)  # fmt: skip
_WHOLE = (
    "", "/", "//", "http:", "http://", "https://", "http:///", "http:///evil.example/", "http:/evil.example/",
    "http:evil.example", "http:\\\\evil.example\\", "http:/\\evil.example", "//evil.example/x", "\\\\evil.example\\x",
    "evil.example", "site.example", "://site.example", "http//site.example", "http;//site.example",
    "http://site.example\\@evil.example/", "ht\ttp://site.example/", "http://si\tte.example/",
    "http://site.exa\nmple/", "http://site.example\x00.evil.example/", " http://evil.example/", "http://evil.example/ ",
    "http://site.example/\r\nHost: evil.example", "http://site.example /", "http://" + "site.example/" + "a" * 5_000,
    "file:///etc/passwd", "file://localhost/etc/passwd", "ftp://site.example/", "gopher://site.example:70/_x",
    "dict://site.example:11211/stat", "ldap://site.example/", "data:text/html,hello", "javascript:alert(1)",
    "jar:http://site.example!/", "blob:http://site.example/x", "ws://site.example/", "view-source:http://evil.example/",
    "unix:/var/run/docker.sock", "http+unix://%2Fvar%2Frun%2Fdocker.sock/info", "netdoc:///etc/passwd",
    "feed:http://evil.example/", "tel:113", "about:blank", "httpx://site.example/",
)  # fmt: skip

LEADS: dict[str, tuple[str, ...]] = {
    f"{name}.inside.example": addresses
    for name, addresses in {
        "this": ("127.0.0.1",), "zero": ("0.0.0.0",), "ten": ("10.0.0.5",), "twelve": ("172.16.3.4",),
        "home": ("192.168.1.1",), "carrier": ("100.64.1.1",), "link": ("169.254.10.10",),
        "metadata": ("169.254.169.254",), "azure": ("168.63.129.16",), "alibaba": ("100.100.100.200",),
        "oracle": ("192.0.0.192",), "bench": ("198.18.0.1",), "docs": ("203.0.113.7",), "many": ("224.0.0.251",),
        "all": ("255.255.255.255",), "later": ("240.0.0.1",), "relay": ("192.88.99.1",), "six": ("::1",),
        "none": ("::",), "mapped": ("::ffff:127.0.0.1",), "mapped2": ("::ffff:10.0.0.1",),
        "compat": ("::127.0.0.1",), "nat": ("64:ff9b::a00:1",), "nat2": ("64:ff9b:1::a00:1",),
        "tunnel": ("2002:7f00:1::1",), "teredo": ("2001:0:4136:e378:8000:63bf:3fff:fdd2",), "ula": ("fd12:3456::1",),
        "aws": ("fd00:ec2::254",), "local": ("fe80::1",), "zone": ("fe80::1%eth0",), "zone2": ("2600::1%eth0",),
        "group": ("ff02::1",), "paper": ("2001:db8::7",), "paper2": ("3fff::1",), "srv6": ("5f00::1",),
        "mixed": ("9.9.9.10", "10.0.0.5"), "mixed2": ("10.0.0.5", "9.9.9.10"), "odd": ("0x7f000001",),
        "odd2": ("localhost",), "empty": (),
    }.items()
}  # fmt: skip

FORMS: tuple[str, ...] = tuple(
    dict.fromkeys(
        (
            *(f"http://{form}/" for form in (*_NUMBERS, *_SIGNS, *_STRANGERS, *_AUTHORITIES, *LEADS)),
            *(f"https://{form}" for form in (*_NUMBERS[:20], *_AUTHORITIES[:6])),
            *_WHOLE,
        )
    )
)
