"""Taps that fill a tank, people who work together, trains that meet, journeys: rates that add up."""

import re

from app.reasoning.local.deep.inquiry import Inquiry
from app.reasoning.local.deep.puzzles.solution import Solution, sum_for
from app.reasoning.local.deep.quantities import Quantity
from app.reasoning.local.numbers import plain

_N = r"(\d+(?:[.,]\d+)*)"
_FLOW = re.compile(
    rf"{_N}\s*(?:lít|litres?|liters?|gallons?|m3|m³|l|trang|pages|sản phẩm|items|words|từ|chiếc|cái|bánh|"
    rf"units?|parts?)\s*(?:nước\s*)?(?:một|mỗi|/|a|an|per|each|every)\s*(?:phút|giờ|minute|hour|ngày|day|"
    rf"min)",
    re.IGNORECASE,
)
_VOLUME = re.compile(
    rf"{_N}\s*[- ]?(?:lít|litres?|liters?|gallons?|m3|m³|trang|pages|sản phẩm|items|words|từ|chiếc|cái|"
    rf"bánh|units?|parts?)(?!\s*(?:nước\s*)?(?:một|mỗi|/|a |an |per|each|every))",
    re.I,
)
_DRAIN = re.compile(r"chảy ra|tháo|rò|xả|drains?|leaks?|empties|out of", re.IGNORECASE)
_TOGETHER = re.compile(r"cùng|cả hai|cả ba|together|both|at the same time|same time|đồng thời", re.IGNORECASE)
_LONG_ASKED = re.compile(
    r"(?:sau|trong|mất)?\s*(?:bao nhiêu|mấy) (?:phút|giờ|ngày)|bao lâu|how (?:long|many (?:minutes|hours|days))",
    re.IGNORECASE,
)
_WORK = re.compile(
    rf"(?:trong|mất|hết|in|takes?|needs?|alone in|sau)\s+(?:[^\d.,;?]{{0,12}})?{_N}\s*(?:giờ|ngày|phút|"
    rf"hours?|days?|minutes?)",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"một mình|riêng|alone|by (?:him|her|it)self|on (?:his|her|its) own|làm xong|hoàn thành|đầy bể|"
    r"fills?|finish(?:es)?|paints?|can do",
    re.IGNORECASE,
)
_SPEED = re.compile(
    rf"{_N}\s*(?:km/h|km/giờ|km một giờ|km mỗi giờ|kmh|kph|km per hour|mph|miles per hour|"
    rf"miles an hour|km an hour|m/s)",
    re.IGNORECASE,
)
_DISTANCE = re.compile(rf"{_N}\s*(?:km|kilomet\w*|miles?|dặm)(?!\s*/|\s*(?:một|mỗi|per|an) )(?!/h|h\b)", re.IGNORECASE)
_TOWARDS = re.compile(r"ngược chiều|về phía nhau|gặp nhau|towards? each other|opposite directions|meet", re.IGNORECASE)
_TIME = re.compile(rf"{_N}\s*(?P<u>giờ|tiếng|phút|hours?|minutes?)(?!\s*\d)", re.IGNORECASE)
_AVERAGE_SPEED = re.compile(
    r"(?:vận tốc|tốc độ)(?: trung bình)?[^?]*(?:bao nhiêu|mấy)|average speed|how fast", re.IGNORECASE
)
_FAR_ASKED = re.compile(
    r"(?:bao nhiêu|mấy) (?:km|ki-?lô-?mét)|bao xa|how (?:far|many (?:km|kilomet\w*|miles))|quãng đường", re.IGNORECASE
)


def rate_puzzle(inquiry: Inquiry) -> Solution | None:
    """The puzzle about rates a question is."""
    text = inquiry.text
    if len(text) > 400 or re.search(
        r"quy định|chính sách|policy|globex|acme|công ty|công tác|lương|overtime|hoàn|reimburs", text, re.IGNORECASE
    ):
        return None
    return _filled(text) or _worked(text) or _journey(text)


def _plain(number: str) -> str:
    grouped = re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", number)
    return re.sub(r"[.,]", "", number) if grouped else number.replace(",", ".")


def _filled(text: str) -> Solution | None:
    """A volume over the sum of flows; what runs out is taken away."""
    flows = list(_FLOW.finditer(text))
    volumes = [
        mark for mark in _VOLUME.finditer(text) if not any(flow.start() <= mark.start() < flow.end() for flow in flows)
    ]
    if not flows or len(volumes) != 1 or not _LONG_ASKED.search(text):
        return None
    signed = []
    for at, flow in enumerate(flows):
        start = flows[at - 1].end() if at else 0
        sign = "-" if _DRAIN.search(text[start : flow.start()]) else "+"
        signed.append(f"{sign} {_plain(flow[1])}")
    total = " ".join(signed).removeprefix("+ ")
    return sum_for(f"{_plain(volumes[0][1])} / ({total})")


def _worked(text: str) -> Solution | None:
    """One needs so long, another so long: together 1 / (1/a + 1/b)."""
    if not (_TOGETHER.search(text) and _ALONE.search(text) and _LONG_ASKED.search(text)) or _SPEED.search(text):
        return None
    times = [_plain(mark[1]) for mark in _WORK.finditer(text)]
    units = {mark[0].split()[-1].rstrip("s") for mark in _WORK.finditer(text)}
    if not 2 <= len(times) <= 3 or len(units) != 1:
        return None
    return sum_for(f"1 / ({' + '.join(f'1 / {one}' for one in times)})")


def _journey(text: str) -> Solution | None:
    """Distance, speed and time: two of them give the third; speeds towards each other add up."""
    speeds = [_plain(mark[1]) for mark in _SPEED.finditer(text)]
    bare = _SPEED.sub(" ", text)
    distances = [_plain(mark[1]) for mark in _DISTANCE.finditer(bare)]
    times = [_hours(mark) for mark in _TIME.finditer(bare)]
    if len(speeds) == 2 and len(distances) == 1 and _TOWARDS.search(text) and _LONG_ASKED.search(text):
        return sum_for(f"{distances[0]} / ({speeds[0]} + {speeds[1]})")
    if len(speeds) == 1 and len(distances) == 1 and not times and _LONG_ASKED.search(text):
        asked = re.search(r"phút|minutes", _LONG_ASKED.search(text)[0], re.IGNORECASE)  # type: ignore[index]
        return sum_for(f"{distances[0]} / {speeds[0]}{' * 60' if asked else ''}")
    if len(speeds) == 1 and len(times) == 1 and not distances and _FAR_ASKED.search(text):
        return sum_for(f"{speeds[0]} * {times[0]}")
    if not speeds and len(distances) == 1 and len(times) == 1 and _AVERAGE_SPEED.search(text):
        return sum_for(f"{distances[0]} / ({times[0]})")
    return None


def _hours(mark: re.Match[str]) -> str:
    return f"{_plain(mark[1])} / 60" if mark["u"].lower().startswith(("phút", "minute")) else _plain(mark[1])


def shown(quantity: Quantity) -> str:
    """A quantity as a calculator reads it."""
    return plain(quantity.value)
