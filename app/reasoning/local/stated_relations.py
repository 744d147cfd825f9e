"""Relations the words of a question state by themselves: hourly pay × hours × rate, a yearly amount pro rata."""

import re
from collections.abc import Sequence

from app.domain.knowledge import Language
from app.reasoning.local.formula import kind_of_amount
from app.reasoning.local.numbers import Amount, amounts_in, plain
from app.reasoning.local.reckoning import Reckoning, sum_of
from app.text.language import guess_language, normalise

_HOURLY = re.compile(
    r"lương giờ|tiền giờ|mỗi giờ|một giờ|/\s?giờ|luong gio|moi gio|mot gio|hourly|per hour|an hour|/\s?h(?:our)?\b",
    re.IGNORECASE,
)
_DAILY = re.compile(r"lương ngày|tiền công ngày|mỗi ngày|một ngày|/\s?ngày|luong ngay|moi ngay|daily|per day|a day",
                    re.IGNORECASE)  # fmt: skip
_PRO_RATA = re.compile(r"tỷ lệ|tỉ lệ|pro.?rata|tương ứng|theo tháng|ty le|ti le|tuong ung", re.IGNORECASE)
_YEARLY = re.compile(
    r"mỗi năm|một năm|hằng năm|hàng năm|/\s?năm|a year|per year|annual|yearly|moi nam|mot nam|hang nam", re.IGNORECASE
)
_RATE_IN_RULES = re.compile(
    r"làm thêm|tăng ca|ngày nghỉ|ngày lễ|ban đêm|cuối tuần|chủ nhật|lam them|tang ca|ngay nghi|ngay le|ban dem"
    r"|cuoi tuan|chu nhat|overtime|holiday|rest day|weekend|sunday|night",
    re.IGNORECASE,
)
"""Work whose rate stands in the rules when the question does not say it."""
_DISCOUNT = re.compile(r"discount|giảm giá|giam gia|khuyến mãi|khuyen mai|chiết khấu|chiet khau", re.IGNORECASE)
_PAID = re.compile(
    r"(?:have to|will|must|do|should|would) \w+ (?:have to )?pay|(?:phải|phai) (?:trả|tra|thanh toán|thanh toan)"
    r"|(?:new|sale|final|discounted) price|pay after",
    re.IGNORECASE,
)
"""What is asked of a price less a discount: what is left of it."""
_NOT_PRICE = re.compile(r"\b(?:tax|vat|tip|fee|thuế|phí|each|per|every|mỗi|members?|staff|nhân viên)\b", re.IGNORECASE)
_TWELVE = "12"
_MOST_CHARS = 300


def stated_relation(question: str) -> Reckoning | None:
    """The relation of a question that states all its operands; None when one is left over or the rate is lacking."""
    text = normalise(question)
    return relation_among(text, kinds_in(text, guess_language(text)), is_alone=True) if _may_be(text) else None


def _may_be(text: str) -> bool:
    if _DISCOUNT.search(text):
        return len(text) <= _MOST_CHARS and any(map(str.isdigit, text))
    is_short = len(text) <= _MOST_CHARS and any(map(str.isdigit, text))
    return is_short and bool(_HOURLY.search(text) or _DAILY.search(text) or _PRO_RATA.search(text))


def kinds_in(text: str, language: Language) -> list[tuple[str, Amount]]:
    """The amounts of a text with their kinds (``money hour day % …``), in order."""
    return [
        (kind_of_amount(amount, " ".join(text[: amount.start].split()[-3:])), amount)
        for amount in amounts_in(text, language)
    ]


def relation_among(text: str, stated: Sequence[tuple[str, Amount]], *, is_alone: bool = False) -> Reckoning | None:
    """The relation between the amounts of a question, each kind named once.

    Args:
        text: The question.
        stated: Its amounts with their kinds.
        is_alone: Nothing but the question is known: every amount has to be used, and a rate of the rules is lacking.
    """
    by_kind = {kind: amount for kind, amount in stated if kind}
    if len(by_kind) < (len(stated) if is_alone else len([kind for kind, _ in stated if kind])):
        return None
    found = _pay(text, by_kind, is_alone=is_alone) or _share_of_year(text, by_kind) or _discounted(text, by_kind)
    is_whole = found is None or len(found.grounds) == len(stated)
    return found if is_whole or not is_alone else None


def _pay(text: str, by_kind: dict[str, Amount], *, is_alone: bool) -> Reckoning | None:
    """Pay of an hour or a day × their number × the rate."""
    money, rate = by_kind.get("money"), by_kind.get("%")
    worked = by_kind.get("hour") if _HOURLY.search(text) else by_kind.get("day") if _DAILY.search(text) else None
    if money is None or worked is None or (is_alone and rate is None and _RATE_IN_RULES.search(text)):
        return None
    used = [money, worked, *([rate] if rate else [])]
    factors = [plain(money.value), plain(worked.value), *([f"{plain(rate.value)} / 100"] if rate else [])]
    unit = money.unit or ("VND" if guess_language(text) == "vi" else "")
    return sum_of(" * ".join(factors), [amount.text for amount in used], unit=unit)


def _share_of_year(text: str, by_kind: dict[str, Amount]) -> Reckoning | None:
    """A yearly number of days for the months worked."""
    days, months = by_kind.get("day"), by_kind.get("month")
    if not (days and months and _PRO_RATA.search(text) and _YEARLY.search(text)):
        return None
    expression = f"{plain(days.value)} / {_TWELVE} * {plain(months.value)}"
    return sum_of(expression, [days.text, months.text], unit="day")


def _discounted(text: str, by_kind: dict[str, Amount]) -> Reckoning | None:
    """A price less a discount, when what has to be paid is asked for."""
    price, rate = by_kind.get("money"), by_kind.get("%")
    if price is None or rate is None or not (_DISCOUNT.search(text) and _PAID.search(text)) or _NOT_PRICE.search(text):
        return None
    expression = f"{plain(price.value)} * (100 - {plain(rate.value)}) / 100"
    return sum_of(expression, [price.text, rate.text], unit=price.unit)
