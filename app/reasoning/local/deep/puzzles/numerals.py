"""Numbers in other systems, in Roman numerals, and their digits."""

import re

from app.reasoning.local.deep.puzzles.solution import Solution, program

_BASE = re.compile(
    r"(?P<n>[01]+|0x[\da-f]+|\d+)[^?\d]{0,30}(?P<from>binary|nhị phân|hệ 2|hexadecimal|hệ 16|decimal|"
    r"thập phân|hệ 10)?[^?\d]{0,30}(?:to|in|into|as|sang|thành|trong|"
    r"ra)\s+(?:the )?(?:hệ )?(?P<to>binary|nhị phân|hệ 2|"
    r"hexadecimal|thập lục phân|hệ 16|decimal|thập phân|hệ 10|octal|bát phân)",
    re.IGNORECASE,
)
_ROMAN = re.compile(
    r"(?P<n>\d{1,4})[^?]*(?:roman|la mã)|(?:roman|la mã)[^?]*?\b(?P<r>[MDCLXVI]{2,})\b|"
    r"\b(?P<r2>[MDCLXVI]{2,})\b[^?]*(?:roman|la mã)",
    re.I,
)
_DIGITS = re.compile(r"(?:sum of (?:the |all )?digits|tổng các chữ số)[^?\d]*(?P<n>\d[\d^*]*)", re.IGNORECASE)


_SYSTEMS = {"binary": 2, "nhị phân": 2, "hệ 2": 2, "hexadecimal": 16, "thập lục phân": 16, "hệ 16": 16,
"decimal": 10, "thập phân": 10, "hệ 10": 10,
            "octal": 8, "bát phân": 8}  # fmt: skip


def numeral_puzzle(text: str) -> Solution | None:
    """A number that shall be written in another way."""
    return _converted(text) or _roman(text) or _digits(text)


def _converted(text: str) -> Solution | None:
    mark = _BASE.search(text)
    if not mark or len(text) > 160 or re.search(r"chữ số thập phân|decimal place|decimals", text, re.IGNORECASE):
        return None
    to = _SYSTEMS[mark["to"].lower()]
    source = _SYSTEMS.get((mark["from"] or "").lower(), 2 if to == 10 and set(mark["n"]) <= {"0", "1"} else 10)
    if source == to:
        return None
    code = (
        "digits = '0123456789ABCDEF'\nvalue, out = int(number, source), ''\nwhile value:\n"
        "    value, rest = divmod(value, to)\n    out = digits[rest] + out\n{'result': out or '0'}"
    )
    return program(
        code, {"number": mark["n"], "source": source, "to": to}, kind="text", how=f"{mark['n']}: {source} → {to}"
    )


def _roman(text: str) -> Solution | None:
    mark = _ROMAN.search(text)
    if not mark:
        return None
    if mark["n"]:
        code = (
            "values = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)\n"
            "out = ''\nfor value, sign in zip(values, 'M CM D CD C XC L XL X IX V IV I'.split()):\n"
            "    while n >= value:\n        out, n = out + sign, n - value\n"
            "{'result': out}"
        )
        return program(code, {"n": int(mark["n"])}, kind="text", how=f"{mark['n']} in Roman numerals")
    numeral = (mark["r"] or mark["r2"]).upper()
    code = (
        "v = dict(zip('IVXLCDM', (1, 5, 10, 50, 100, 500, 1000)))\nn = [v[c] for c in numeral]\n"
        "{'result': sum(-a if a < b else a for a, b in zip(n, n[1:] + [0]))}"
    )
    return program(code, {"numeral": numeral}, kind="number", how=f"{numeral} as a number")


def _digits(text: str) -> Solution | None:
    mark = _DIGITS.search(text)
    if not mark:
        return None
    power = re.fullmatch(r"(\d{1,4})(?:\^|\*\*)(\d{1,3})", mark["n"])
    value = str(int(power[1]) ** int(power[2])) if power else mark["n"].strip("^*")
    return (
        program(
            "{'result': sum(int(c) for c in number)}", {"number": value}, kind="number", how=f"digits of {mark['n']}"
        )
        if value.isdigit()
        else None
    )
